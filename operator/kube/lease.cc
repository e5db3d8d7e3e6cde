#include "operator/kube/lease.h"

namespace freezepipe::kube {
namespace {

using Pointer = Json::json_pointer;

int64_t NumberAt(const Json& object, const Pointer& pointer) {
  if (!object.contains(pointer)) return 0;
  const Json& value = object.at(pointer);
  return value.is_number_integer() ? value.get<int64_t>() : 0;
}

}  // namespace

LeaseSpec ReadLease(const Json& lease) {
  return {.holder = TextAt(lease, Pointer("/spec/holderIdentity")),
          .duration_seconds = NumberAt(lease, Pointer("/spec/leaseDurationSeconds")),
          .acquired = TextAt(lease, Pointer("/spec/acquireTime")),
          .renewed = TextAt(lease, Pointer("/spec/renewTime")),
          .transitions = NumberAt(lease, Pointer("/spec/leaseTransitions"))};
}

Json LeaseSpecJson(const LeaseSpec& spec) {
  return {{"holderIdentity", spec.holder.empty() ? Json() : Json(spec.holder)},
          {"leaseDurationSeconds", spec.duration_seconds},
          {"acquireTime", spec.acquired},
          {"renewTime", spec.renewed},
          {"leaseTransitions", spec.transitions}};
}

}  // namespace freezepipe::kube
