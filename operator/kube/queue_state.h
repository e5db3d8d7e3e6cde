#pragma once

#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>

#include "operator/kube/time.h"

namespace freezepipe::kube {

/// Which keys wait to be worked on. A key waits once however often it is added; one that is added
/// while it is worked on waits again when that is done. Pure: the time is told. Not thread-safe.
class QueueState {
 public:
  void Add(const std::string& key);
  /// Not before `when`; the earlier of two such times counts.
  void AddAt(const std::string& key, TimePoint when);

  /// The key that has waited longest; it is being worked on until Done.
  std::optional<std::string> Take(TimePoint now);
  void Done(const std::string& key);

  /// When the next delayed key is due.
  std::optional<TimePoint> NextDue() const;
  /// Keys that wait and are due.
  size_t waiting() const { return order_.size(); }

 private:
  void AddDue(TimePoint now);

  std::deque<std::string> order_;
  /// Those in order_, and those to put there when they are done.
  std::set<std::string> wanted_;
  std::set<std::string> in_work_;
  std::map<std::string, TimePoint> delayed_;
  std::set<std::pair<TimePoint, std::string>> due_;
};

}  // namespace freezepipe::kube
