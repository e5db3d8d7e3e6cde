#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <stop_token>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/watch_event.h"

namespace freezepipe::kube {

struct Change {
  enum class Kind { kAdded, kUpdated, kDeleted };

  Kind kind;
  /// As it was before; null when added.
  Object before;
  /// As it is, or when deleted as it was last known.
  Object object;
};

/// What the API server holds of one resource, as far as it has been heard of. Many read, a
/// Reflector writes. An object replaced by another of the same name (uid) is a deletion and an
/// addition. managedFields are left out. Thread-safe; handlers are added before the Reflector
/// starts.
class Cache {
 public:
  /// The values under which an object is found.
  using Index = std::function<std::vector<std::string>(const Json& object)>;
  using Handler = std::function<void(const Change& change)>;

  explicit Cache(std::map<std::string, Index> indexes = {});

  /// Called after the change can be read, on the Reflector's thread, without a lock held. The first
  /// list comes as additions.
  void AddHandler(Handler handler);

  /// Null if there is none.
  Object Get(const ObjectKey& key) const;
  std::vector<Object> List() const;
  /// `index` is one that the constructor was given.
  std::vector<Object> Find(const std::string& index, const std::string& value) const;
  size_t size() const;

  /// Waits until the first list is there and its handlers have been called; false: `stop` came
  /// first.
  bool WaitUntilSynced(std::stop_token stop) const;

  /// For the Reflector: what there is now, all of it. What is missing was deleted meanwhile.
  void Replace(std::vector<Json> objects);
  /// For the Reflector: one event; a bookmark changes nothing.
  void Apply(WatchEvent event);

 private:
  struct IndexEntries {
    Index values_of;
    std::map<std::string, std::set<ObjectKey>> keys;
  };

  /// These three hold mutex_.
  void Put(const ObjectKey& key, Object object, std::vector<Change>& changes);
  void Remove(const ObjectKey& key, Object last_known, std::vector<Change>& changes);
  void Unindex(const ObjectKey& key, const Json& object);

  void Tell(const std::vector<Change>& changes) const;

  std::vector<Handler> handlers_;
  /// Guards all below.
  mutable std::mutex mutex_;
  std::map<ObjectKey, Object> objects_;
  std::map<std::string, IndexEntries> indexes_;
  bool synced_ = false;
  mutable std::condition_variable_any became_synced_;
};

}  // namespace freezepipe::kube
