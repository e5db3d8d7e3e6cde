#include "worker/freeze/stored_type.h"

namespace freezepipe::worker {

at::ScalarType StoredType(v1alpha1::CacheType::Type asked, at::ScalarType own) {
  if (asked == v1alpha1::CacheType::Full) return own;
  const auto type = asked == v1alpha1::CacheType::BFloat16 ? at::kBFloat16 : at::kHalf;
  return at::elementSize(type) < at::elementSize(own) ? type : own;
}

at::Tensor RoundToStored(v1alpha1::CacheType::Type asked, const at::Tensor& output) {
  return output.to(StoredType(asked, output.scalar_type())).to(output.scalar_type());
}

}  // namespace freezepipe::worker
