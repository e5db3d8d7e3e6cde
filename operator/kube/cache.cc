#include "operator/kube/cache.h"

#include <utility>

namespace freezepipe::kube {
namespace {

Object Shared(Json object) {
  if (object.contains("metadata")) object["metadata"].erase("managedFields");
  return std::make_shared<const Json>(std::move(object));
}

}  // namespace

Cache::Cache(std::map<std::string, Index> indexes) {
  for (auto& [name, values_of] : indexes) {
    indexes_[name] = {.values_of = std::move(values_of), .keys = {}};
  }
}

void Cache::AddHandler(Handler handler) { handlers_.push_back(std::move(handler)); }

Object Cache::Get(const ObjectKey& key) const {
  std::lock_guard lock(mutex_);
  const auto found = objects_.find(key);
  return found == objects_.end() ? nullptr : found->second;
}

std::vector<Object> Cache::List() const {
  std::lock_guard lock(mutex_);
  std::vector<Object> objects;
  objects.reserve(objects_.size());
  for (const auto& [key, object] : objects_) objects.push_back(object);
  return objects;
}

std::vector<Object> Cache::Find(const std::string& index, const std::string& value) const {
  std::lock_guard lock(mutex_);
  std::vector<Object> objects;
  const auto& keys = indexes_.at(index).keys;
  const auto found = keys.find(value);
  if (found == keys.end()) return objects;
  for (const ObjectKey& key : found->second) objects.push_back(objects_.at(key));
  return objects;
}

size_t Cache::size() const {
  std::lock_guard lock(mutex_);
  return objects_.size();
}

bool Cache::WaitUntilSynced(std::stop_token stop) const {
  std::unique_lock lock(mutex_);
  return became_synced_.wait(lock, stop, [this] { return synced_; });
}

void Cache::Replace(std::vector<Json> objects) {
  std::vector<Change> changes;
  {
    std::lock_guard lock(mutex_);
    std::map<ObjectKey, Object> listed;
    for (Json& object : objects) {
      const ObjectKey key = KeyOf(object);
      listed[key] = Shared(std::move(object));
    }
    std::vector<std::pair<ObjectKey, Object>> missing;
    for (const auto& [key, object] : objects_) {
      if (!listed.contains(key)) missing.emplace_back(key, object);
    }
    for (auto& [key, object] : missing) Remove(key, std::move(object), changes);
    for (auto& [key, object] : listed) Put(key, std::move(object), changes);
  }
  Tell(changes);
  std::lock_guard lock(mutex_);
  synced_ = true;
  became_synced_.notify_all();
}

void Cache::Apply(WatchEvent event) {
  if (event.type == WatchEvent::Type::kBookmark) return;
  const bool deleted = event.type == WatchEvent::Type::kDeleted;
  const ObjectKey key = KeyOf(event.object);
  std::vector<Change> changes;
  {
    std::lock_guard lock(mutex_);
    Object object = Shared(std::move(event.object));
    if (deleted) {
      Remove(key, std::move(object), changes);
    } else {
      Put(key, std::move(object), changes);
    }
  }
  Tell(changes);
}

void Cache::Put(const ObjectKey& key, Object object, std::vector<Change>& changes) {
  Object before;
  if (const auto found = objects_.find(key); found != objects_.end()) {
    before = found->second;
    if (ResourceVersion(*before) == ResourceVersion(*object)) return;
    if (Uid(*before) != Uid(*object)) {
      Remove(key, before, changes);
      before = nullptr;
    }
  }
  if (before) Unindex(key, *before);
  for (auto& [name, index] : indexes_) {
    for (const std::string& value : index.values_of(*object)) index.keys[value].insert(key);
  }
  objects_[key] = object;
  changes.push_back({.kind = before ? Change::Kind::kUpdated : Change::Kind::kAdded,
                     .before = before,
                     .object = std::move(object)});
}

void Cache::Remove(const ObjectKey& key, Object last_known, std::vector<Change>& changes) {
  const auto found = objects_.find(key);
  if (found == objects_.end()) return;
  Object before = std::move(found->second);
  objects_.erase(found);
  Unindex(key, *before);
  changes.push_back({.kind = Change::Kind::kDeleted,
                     .before = std::move(before),
                     .object = std::move(last_known)});
}

void Cache::Unindex(const ObjectKey& key, const Json& object) {
  for (auto& [name, index] : indexes_) {
    for (const std::string& value : index.values_of(object)) {
      auto& keys = index.keys[value];
      keys.erase(key);
      if (keys.empty()) index.keys.erase(value);
    }
  }
}

void Cache::Tell(const std::vector<Change>& changes) const {
  for (const Change& change : changes) {
    for (const Handler& handler : handlers_) handler(change);
  }
}

}  // namespace freezepipe::kube
