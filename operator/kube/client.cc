#include "operator/kube/client.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <utility>

#include "operator/kube/api_error.h"

namespace freezepipe::kube {
namespace {

using Pointer = Json::json_pointer;

constexpr Resource kPods{"", "v1", "pods"};
constexpr int kPageSize = 500;
/// A healthy API server sends a bookmark every minute; a watch without any is on a dead connection.
constexpr std::chrono::minutes kWatchSilence(3);

std::string Doing(const char* verb, const Resource& resource, const ObjectKey& key) {
  return absl::StrCat(verb, " ", std::string(resource.plural), " ", KeyText(key));
}

std::string Doing(const char* verb, const Resource& resource, const std::string& ns) {
  return absl::StrCat(verb, " ", std::string(resource.plural), ns.empty() ? "" : " in ", ns);
}

/// Items of a list don't say what they are: the list does ("PodList").
void NameItems(const Json& list, std::vector<Json>& items) {
  const std::string kind(absl::StripSuffix(TextAt(list, Pointer("/kind")), "List"));
  const std::string version = TextAt(list, Pointer("/apiVersion"));
  for (Json& item : items) {
    item.emplace("kind", kind);
    item.emplace("apiVersion", version);
  }
}

const char* PropagationName(Propagation propagation) {
  switch (propagation) {
    case Propagation::kBackground:
      return "Background";
    case Propagation::kForeground:
      return "Foreground";
    case Propagation::kOrphan:
      return "Orphan";
  }
  return "";
}

Json DeleteBody(const DeleteOptions& options) {
  Json body = {{"apiVersion", "v1"},
               {"kind", "DeleteOptions"},
               {"propagationPolicy", PropagationName(options.propagation)}};
  if (!options.uid.empty()) body["preconditions"]["uid"] = options.uid;
  if (!options.resource_version.empty()) {
    body["preconditions"]["resourceVersion"] = options.resource_version;
  }
  if (options.grace_period_seconds >= 0) body["gracePeriodSeconds"] = options.grace_period_seconds;
  return body;
}

}  // namespace

Client::Client(std::shared_ptr<Transport> transport, ClientOptions options)
    : transport_(std::move(transport)),
      options_(std::move(options)),
      bucket_(options_.requests_per_second, options_.requests_per_second) {}

absl::Status Client::AwaitTurn(const std::stop_token& stop) {
  Duration wait;
  {
    std::lock_guard lock(mutex_);
    wait = bucket_.Take(SteadyClock::now());
  }
  if (wait > Duration::zero()) {
    if (options_.on_throttled) options_.on_throttled(wait);
    SleepFor(wait, stop);
  }
  return stop.stop_requested() ? absl::CancelledError("stopped") : absl::OkStatus();
}

absl::StatusOr<Json> Client::Call(HttpRequest request, const std::string& doing) {
  if (auto status = AwaitTurn(options_.stop); !status.ok()) return status;
  request.timeout = options_.timeout;
  const auto response = transport_->Send(request, options_.stop);
  if (!response.ok()) {
    return absl::Status(response.status().code(),
                        absl::StrCat(doing, ": ", response.status().message()));
  }
  if (response->code < 200 || response->code > 299) {
    return ApiError(response->code, response->body, doing, response->retry_after);
  }
  Json json = Json::parse(response->body, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) return absl::DataLossError(absl::StrCat(doing, ": the answer isn't JSON"));
  return json;
}

absl::StatusOr<Json> Client::Get(const Resource& resource, const ObjectKey& key) {
  return Call({.target = ObjectPath(resource, key)}, Doing("get", resource, key));
}

absl::StatusOr<ObjectList> Client::List(const Resource& resource, const Selection& selection) {
  auto list = ListPages(resource, selection, kPageSize);
  // The pages took longer than the server keeps them: all in one then.
  if (IsGone(list.status())) list = ListPages(resource, selection, 0);
  return list;
}

absl::StatusOr<ObjectList> Client::ListPages(const Resource& resource, const Selection& selection,
                                             int page_size) {
  ObjectList list;
  std::string rest;
  do {
    const Query query = {{"labelSelector", selection.labels},
                         {"fieldSelector", selection.fields},
                         {"limit", page_size > 0 ? absl::StrCat(page_size) : ""},
                         {"continue", rest}};
    auto page = Call({.target = CollectionPath(resource, selection.ns) + QueryText(query)},
                     Doing("list", resource, selection.ns));
    if (!page.ok()) return page.status();
    std::vector<Json> items;
    if (page->contains("items") && page->at("items").is_array()) {
      items = std::move(page->at("items").get_ref<Json::array_t&>());
    }
    NameItems(*page, items);
    std::move(items.begin(), items.end(), std::back_inserter(list.items));
    list.resource_version = ResourceVersion(*page);
    rest = TextAt(*page, Pointer("/metadata/continue"));
  } while (!rest.empty());
  return list;
}

absl::StatusOr<Json> Client::Create(const Resource& resource, const Json& object,
                                    const CreateOptions& options) {
  const ObjectKey key = KeyOf(object);
  const Query query = {{"fieldManager", options_.field_manager},
                       {"dryRun", options.dry_run ? "All" : ""},
                       {"fieldValidation", options.dry_run ? "Strict" : ""}};
  return Call({.method = Method::kPost,
               .target = CollectionPath(resource, key.ns) + QueryText(query),
               .body = JsonText(object)},
              Doing("create", resource, key));
}

absl::StatusOr<Json> Client::MergePatch(const Resource& resource, const ObjectKey& key,
                                        const Json& patch, std::string_view subresource) {
  const Query query = {{"fieldManager", options_.field_manager}};
  return Call({.method = Method::kPatch,
               .target = ObjectPath(resource, key, subresource) + QueryText(query),
               .content_type = "application/merge-patch+json",
               .body = JsonText(patch)},
              Doing(subresource.empty() ? "patch" : "patch status of", resource, key));
}

absl::StatusOr<Json> Client::Patch(const Resource& resource, const ObjectKey& key,
                                   const Json& patch) {
  return MergePatch(resource, key, patch, "");
}

absl::StatusOr<Json> Client::PatchStatus(const Resource& resource, const ObjectKey& key,
                                         const Json& patch) {
  return MergePatch(resource, key, patch, "status");
}

absl::StatusOr<Json> Client::Apply(const Resource& resource, const Json& object) {
  const ObjectKey key = KeyOf(object);
  const Query query = {{"fieldManager", options_.field_manager}, {"force", "true"}};
  return Call({.method = Method::kPatch,
               .target = ObjectPath(resource, key) + QueryText(query),
               // JSON is YAML; older servers know this name alone.
               .content_type = "application/apply-patch+yaml",
               .body = JsonText(object)},
              Doing("apply", resource, key));
}

absl::Status Client::Delete(const Resource& resource, const ObjectKey& key,
                            const DeleteOptions& options) {
  return Call({.method = Method::kDelete,
               .target = ObjectPath(resource, key),
               .body = JsonText(DeleteBody(options))},
              Doing("delete", resource, key))
      .status();
}

absl::Status Client::Watch(const Resource& resource, const WatchOptions& options,
                           std::stop_token stop,
                           absl::FunctionRef<void(WatchEvent event)> on_event) {
  // Either of the two ends it.
  std::stop_source ended;
  const auto end = [&ended] { ended.request_stop(); };
  const std::stop_callback on_stop(stop, end);
  const std::stop_callback on_client_stop(options_.stop, end);

  const std::string doing = Doing("watch", resource, options.selection.ns);
  if (auto status = AwaitTurn(ended.get_token()); !status.ok()) return status;
  const Query query = {{"watch", "true"},
                       {"allowWatchBookmarks", "true"},
                       {"labelSelector", options.selection.labels},
                       {"fieldSelector", options.selection.fields},
                       {"resourceVersion", options.resource_version},
                       {"timeoutSeconds", absl::StrCat(options.duration.count())}};
  const HttpRequest request = {
      .target = CollectionPath(resource, options.selection.ns) + QueryText(query),
      .timeout = kWatchSilence};
  absl::Status in_stream;
  const auto response = transport_->Stream(request, ended.get_token(), [&](std::string_view line) {
    // After an error there is nothing to be relied on.
    if (!in_stream.ok()) return;
    auto event = ParseWatchEvent(line, doing);
    if (event.ok()) {
      on_event(*std::move(event));
    } else {
      in_stream = event.status();
    }
  });
  if (!in_stream.ok()) return in_stream;
  if (!response.ok()) {
    return absl::Status(response.status().code(),
                        absl::StrCat(doing, ": ", response.status().message()));
  }
  if (response->code != 200) {
    return ApiError(response->code, response->body, doing, response->retry_after);
  }
  return absl::OkStatus();
}

}  // namespace freezepipe::kube
