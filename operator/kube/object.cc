#include "operator/kube/object.h"

namespace freezepipe::kube {

using Pointer = Json::json_pointer;

std::string KeyText(const ObjectKey& key) {
  return key.ns.empty() ? key.name : key.ns + "/" + key.name;
}

ObjectKey ParseKey(std::string_view text) {
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return {.ns = "", .name = std::string(text)};
  return {.ns = std::string(text.substr(0, slash)), .name = std::string(text.substr(slash + 1))};
}

bool IsBeingDeleted(const Json& object) {
  return !TextAt(object, Json::json_pointer("/metadata/deletionTimestamp")).empty();
}

std::string JsonText(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string TextAt(const Json& object, const Pointer& pointer) {
  if (!object.contains(pointer)) return "";
  const Json& value = object.at(pointer);
  return value.is_string() ? value.get<std::string>() : "";
}

ObjectKey KeyOf(const Json& object) {
  return {.ns = TextAt(object, Pointer("/metadata/namespace")),
          .name = TextAt(object, Pointer("/metadata/name"))};
}

std::string Uid(const Json& object) { return TextAt(object, Pointer("/metadata/uid")); }

std::string ResourceVersion(const Json& object) {
  return TextAt(object, Pointer("/metadata/resourceVersion"));
}

std::string Label(const Json& object, const std::string& name) {
  return TextAt(object, Pointer("/metadata/labels") / name);
}

std::string ControllerUid(const Json& object) {
  const Pointer owners("/metadata/ownerReferences");
  if (!object.contains(owners)) return "";
  for (const Json& owner : object.at(owners)) {
    if (owner.value("controller", false)) return owner.value("uid", "");
  }
  return "";
}

}  // namespace freezepipe::kube
