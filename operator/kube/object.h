#pragma once

#include <compare>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace freezepipe::kube {

using Json = nlohmann::json;

/// A Kubernetes object that many may read and none may change.
using Object = std::shared_ptr<const Json>;

struct ObjectKey {
  /// Empty for objects of the whole cluster.
  std::string ns;
  std::string name;

  auto operator<=>(const ObjectKey&) const = default;
};

/// "namespace/name", or "name".
std::string KeyText(const ObjectKey& key);
/// The other way round.
ObjectKey ParseKey(std::string_view text);

ObjectKey KeyOf(const Json& object);
/// These read metadata; empty if it isn't there.
std::string Uid(const Json& object);
std::string ResourceVersion(const Json& object);
std::string Label(const Json& object, const std::string& name);
/// The uid of the owner that has `controller: true`.
std::string ControllerUid(const Json& object);
/// Its deletion was asked for.
bool IsBeingDeleted(const Json& object);

/// For the wire; bytes that aren't UTF-8 are replaced.
std::string JsonText(const Json& json);

/// The string at a JSON pointer ("/metadata/name"), or empty.
std::string TextAt(const Json& object, const Json::json_pointer& pointer);

}  // namespace freezepipe::kube
