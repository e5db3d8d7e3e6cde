#include "operator/kube/fake_api_server.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_split.h>
#include <cpprest/base_uri.h>

#include <algorithm>

namespace freezepipe::kube {
namespace {

using Pointer = Json::json_pointer;

HttpResponse Answer(const Json& object, int code = 200) {
  return {.code = code, .body = object.dump(), .retry_after = {}};
}

HttpResponse Refuse(int code, const char* reason, const std::string& message) {
  return Answer({{"kind", "Status"},
                 {"apiVersion", "v1"},
                 {"status", "Failure"},
                 {"reason", reason},
                 {"message", message},
                 {"code", code}},
                code);
}

std::string Line(const std::string& type, const Json& object) {
  return Json{{"type", type}, {"object", object}}.dump();
}

}  // namespace

/// A request's target, taken apart.
struct FakeApiServer::Target {
  std::string api;
  std::string plural;
  std::string ns;
  std::string name;
  std::string subresource;
  std::map<std::string, std::string> query;

  explicit Target(const std::string& text) {
    const web::uri uri(text);
    for (const auto& [key, value] : web::uri::split_query(uri.query())) {
      query[key] = web::uri::decode(value);
    }
    std::vector<std::string> parts = web::uri::split_path(web::uri::decode(uri.path()));
    const size_t api_parts = !parts.empty() && parts[0] == "api" ? 2 : 3;
    parts.resize(std::max(parts.size(), api_parts));
    for (size_t i = 0; i < api_parts; ++i) absl::StrAppend(&api, i > 0 ? "/" : "", parts[i]);
    parts.erase(parts.begin(), parts.begin() + api_parts);
    if (parts.size() > 2 && parts[0] == "namespaces") {
      ns = parts[1];
      parts.erase(parts.begin(), parts.begin() + 2);
    }
    parts.resize(3);
    plural = parts[0];
    name = parts[1];
    subresource = parts[2];
  }

  Id id() const { return {api, plural, ns, name}; }

  bool Selects(const Id& id, const Json& object) const {
    if (std::get<0>(id) != api || std::get<1>(id) != plural) return false;
    if (!ns.empty() && std::get<2>(id) != ns) return false;
    const auto selector = query.find("labelSelector");
    if (selector == query.end()) return true;
    const Json labels = object["metadata"].value("labels", Json::object());
    for (const std::string& term :
         std::vector<std::string>(absl::StrSplit(selector->second, ','))) {
      const std::vector<std::string> sides = absl::StrSplit(term, '=');
      if (!labels.contains(sides[0])) return false;
      if (sides.size() > 1 && labels[sides[0]] != sides[1]) return false;
    }
    return true;
  }

  uint64_t Number(const std::string& field) const {
    uint64_t number = 0;
    const auto found = query.find(field);
    if (found != query.end() && !absl::SimpleAtoi(found->second, &number)) number = 0;
    return number;
  }
};

absl::StatusOr<HttpResponse> FakeApiServer::Send(const HttpRequest& request, std::stop_token stop) {
  std::lock_guard lock(mutex_);
  if (stop.stop_requested()) return absl::CancelledError("stopped");
  if (auto prepared = Prepared(request)) return *prepared;
  HttpResponse response = Handle(request);
  changed_.notify_all();
  return response;
}

absl::StatusOr<HttpResponse> FakeApiServer::Stream(
    const HttpRequest& request, std::stop_token stop,
    absl::FunctionRef<void(std::string_view line)> on_line) {
  std::unique_lock lock(mutex_);
  if (auto prepared = Prepared(request)) return *prepared;
  const Target target(request.target);
  uint64_t seen = target.Number("resourceVersion");
  const TimePoint end = SteadyClock::now() + std::chrono::seconds(target.Number("timeoutSeconds"));
  while (true) {
    if (stop.stop_requested()) return absl::CancelledError("stopped");
    if (away_) return absl::UnavailableError("the server went away");
    if (seen < compacted_) return Refuse(410, "Expired", "too old resource version");
    std::vector<std::string> lines;
    for (const Event& event : history_) {
      if (event.version <= seen) continue;
      seen = event.version;
      if (target.Selects(event.id, event.object)) lines.push_back(Line(event.type, event.object));
    }
    lock.unlock();
    for (const std::string& line : lines) on_line(line);
    lock.lock();
    const bool more =
        changed_.wait_until(lock, stop, end, [&] { return version_ > seen || away_; });
    if (!more && !stop.stop_requested())
      return HttpResponse{.code = 200, .body = {}, .retry_after = {}};
  }
}

void FakeApiServer::FailNext(absl::StatusOr<HttpResponse> outcome, int times) {
  std::lock_guard lock(mutex_);
  failures_.insert(failures_.end(), times, outcome);
}

void FakeApiServer::SetAway(bool away) {
  std::lock_guard lock(mutex_);
  away_ = away;
  changed_.notify_all();
}

void FakeApiServer::Compact() {
  std::lock_guard lock(mutex_);
  history_.clear();
  compacted_ = ++version_;
  changed_.notify_all();
}

std::vector<std::string> FakeApiServer::Requests() const {
  std::lock_guard lock(mutex_);
  return requests_;
}

std::optional<Json> FakeApiServer::Find(const std::string& path) const {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find(Target(path).id());
  return found == objects_.end() ? std::nullopt : std::optional(found->second);
}

std::optional<absl::StatusOr<HttpResponse>> FakeApiServer::Prepared(const HttpRequest& request) {
  static constexpr const char* kMethods[] = {"GET ", "POST ", "PATCH ", "DELETE "};
  requests_.push_back(kMethods[static_cast<int>(request.method)] + request.target);
  if (away_) return absl::UnavailableError("the server is away");
  if (failures_.empty()) return std::nullopt;
  absl::StatusOr<HttpResponse> outcome = std::move(failures_.front());
  failures_.pop_front();
  return outcome;
}

HttpResponse FakeApiServer::Handle(const HttpRequest& request) {
  const Target target(request.target);
  const Json body = request.body.empty() ? Json() : Json::parse(request.body);
  switch (request.method) {
    case Method::kPost:
      return Create(target, body);
    case Method::kPatch:
      return Patch(target, body, request.content_type.find("apply") != std::string::npos);
    case Method::kDelete:
      return Delete(target, body);
    case Method::kGet:
      break;
  }
  if (target.name.empty()) return List(target);
  const auto found = objects_.find(target.id());
  if (found == objects_.end()) return Refuse(404, "NotFound", target.name + " not found");
  return Answer(found->second);
}

Json FakeApiServer::Store(const Id& id, const std::string& type, Json object) {
  object["metadata"]["resourceVersion"] = absl::StrCat(++version_);
  const bool gone = type == "DELETED" || (object["metadata"].contains("deletionTimestamp") &&
                                          object["metadata"].value("finalizers", Json()).empty());
  history_.push_back({version_, id, gone ? "DELETED" : type, object});
  if (gone) {
    objects_.erase(id);
  } else {
    objects_[id] = object;
  }
  return object;
}

HttpResponse FakeApiServer::Create(const Target& target, Json object) {
  Target named = target;
  named.name = TextAt(object, Pointer("/metadata/name"));
  if (objects_.contains(named.id())) {
    return Refuse(409, "AlreadyExists", named.name + " already exists");
  }
  if (target.query.contains("dryRun")) return Answer(object, 201);
  object["metadata"]["uid"] = absl::StrCat("uid-", ++uids_);
  if (!target.ns.empty()) object["metadata"]["namespace"] = target.ns;
  return Answer(Store(named.id(), "ADDED", std::move(object)), 201);
}

HttpResponse FakeApiServer::Patch(const Target& target, const Json& patch, bool may_create) {
  const auto found = objects_.find(target.id());
  if (found == objects_.end()) {
    return may_create ? Create(target, patch) : Refuse(404, "NotFound", target.name + " not found");
  }
  const std::string version = ResourceVersion(patch);
  if (!version.empty() && version != ResourceVersion(found->second)) {
    return Refuse(409, "Conflict", "the object has been modified");
  }
  Json changed = found->second;
  if (target.subresource.empty()) {
    const Json status = changed.value("status", Json());
    changed.merge_patch(patch);
    // Its own subresource where there is one: kinds with a spec and a status.
    changed.erase("status");
    if (!status.is_null()) changed["status"] = status;
  } else {
    changed.merge_patch({{"status", patch.value("status", Json::object())}});
  }
  if (changed == found->second) return Answer(changed);
  return Answer(Store(target.id(), "MODIFIED", std::move(changed)));
}

HttpResponse FakeApiServer::Delete(const Target& target, const Json& options) {
  const auto found = objects_.find(target.id());
  if (found == objects_.end()) return Refuse(404, "NotFound", target.name + " not found");
  const std::string uid = TextAt(options, Pointer("/preconditions/uid"));
  const std::string version = TextAt(options, Pointer("/preconditions/resourceVersion"));
  if ((!uid.empty() && uid != Uid(found->second)) ||
      (!version.empty() && version != ResourceVersion(found->second))) {
    return Refuse(409, "Conflict", "the precondition doesn't hold");
  }
  Json object = found->second;
  if (object["metadata"].value("finalizers", Json()).empty()) {
    return Answer(Store(target.id(), "DELETED", std::move(object)));
  }
  object["metadata"]["deletionTimestamp"] = "2024-01-01T00:00:00Z";
  return Answer(Store(target.id(), "MODIFIED", std::move(object)));
}

HttpResponse FakeApiServer::List(const Target& target) const {
  const uint64_t start = target.Number("continue");
  const uint64_t limit = target.Number("limit");
  Json list = {{"apiVersion", "v1"},
               {"kind", "List"},
               {"metadata", {{"resourceVersion", absl::StrCat(version_)}}},
               {"items", Json::array()}};
  uint64_t position = 0;
  for (const auto& [id, object] : objects_) {
    if (!target.Selects(id, object) || position++ < start) continue;
    if (limit > 0 && list["items"].size() == limit) {
      list["metadata"]["continue"] = absl::StrCat(position - 1);
      break;
    }
    list["items"].push_back(object);
  }
  return Answer(list);
}

}  // namespace freezepipe::kube
