#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "operator/kube/object.h"
#include "operator/kube/time.h"

namespace freezepipe::kube {

/// Something that happened to an object, for people to read.
struct EventText {
  enum class Type { kNormal, kWarning };

  Type type = Type::kNormal;
  /// CamelCase, one word for each kind of thing that happens: "Released".
  std::string reason;
  /// What was being done, CamelCase: "Repartition".
  std::string action;
  std::string note;

  auto operator<=>(const EventText&) const = default;
};

/// Folds repetitions (same object, same text, within 6 minutes) into one events.k8s.io/v1 Event
/// with a series: the first and second are written at once, later ones counted, and the count
/// written every 30 minutes and when the series ends. Pure: the time is told. Not thread-safe.
class EventSeries {
 public:
  struct Write {
    ObjectKey key;
    /// An Event to create, or, if it exists already, a merge patch of it.
    Json body;
    bool create;
  };

  /// `controller`: "freezepipe.io/operator"; `instance`: this process.
  EventSeries(std::string controller, std::string instance);

  std::optional<Write> Record(const Json& regarding, const EventText& text, WallTime now);
  /// Counts that are to be written by now.
  std::vector<Write> Due(WallTime now);

 private:
  using Subject = std::pair<std::string, EventText>;

  struct Series {
    ObjectKey key;
    int count = 1;
    int written_count = 1;
    WallTime last;
    WallTime written;
  };

  Write Count(Series& series, WallTime now);

  const std::string controller_;
  const std::string instance_;
  std::map<Subject, Series> series_;
  /// Tells events of one instant apart.
  uint64_t created_ = 0;
};

}  // namespace freezepipe::kube
