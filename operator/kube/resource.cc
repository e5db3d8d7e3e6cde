#include "operator/kube/resource.h"

#include <absl/strings/str_cat.h>
#include <cpprest/base_uri.h>

namespace freezepipe::kube {
namespace {

std::string Encoded(const std::string& text) { return web::uri::encode_data_string(text); }

}  // namespace

std::string ApiVersion(const Resource& resource) {
  return resource.group.empty()
             ? std::string(resource.version)
             : absl::StrCat(std::string(resource.group), "/", std::string(resource.version));
}

std::string CollectionPath(const Resource& resource, const std::string& ns) {
  std::string path =
      absl::StrCat(resource.group.empty() ? "/api/" : "/apis/", ApiVersion(resource));
  if (resource.namespaced && !ns.empty()) absl::StrAppend(&path, "/namespaces/", Encoded(ns));
  absl::StrAppend(&path, "/", std::string(resource.plural));
  return path;
}

std::string ObjectPath(const Resource& resource, const ObjectKey& key,
                       std::string_view subresource) {
  std::string path = absl::StrCat(CollectionPath(resource, key.ns), "/", Encoded(key.name));
  if (!subresource.empty()) absl::StrAppend(&path, "/", std::string(subresource));
  return path;
}

std::string QueryText(const Query& query) {
  std::string text;
  for (const auto& [name, value] : query) {
    if (value.empty()) continue;
    absl::StrAppend(&text, text.empty() ? "?" : "&", name, "=", Encoded(value));
  }
  return text;
}

}  // namespace freezepipe::kube
