#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "operator/kube/object.h"

namespace freezepipe::kube {

/// Where objects of one type are found: `Resource kPods{"", "v1", "pods"}`. Names are constants
/// that outlive it.
struct Resource {
  /// Empty for the core group.
  std::string_view group;
  std::string_view version;
  /// As it stands in the path, "freezepipejobs".
  std::string_view plural;
  bool namespaced = true;
};

/// "v1", "apps/v1".
std::string ApiVersion(const Resource& resource);

/// The path of all objects of the resource, in one namespace or (empty) in all.
std::string CollectionPath(const Resource& resource, const std::string& ns);

/// The path of one object; subresource "status", "log" or empty.
std::string ObjectPath(const Resource& resource, const ObjectKey& key,
                       std::string_view subresource = {});

using Query = std::vector<std::pair<std::string, std::string>>;

/// "?a=b&c=d" with values encoded; empty values are left out.
std::string QueryText(const Query& query);

}  // namespace freezepipe::kube
