#include "operator/kube/event_series.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace freezepipe::kube {
namespace {

constexpr std::chrono::minutes kQuietEnd(6);
constexpr std::chrono::minutes kRefresh(30);
/// Limits of the API server.
constexpr size_t kMaxNote = 1024;
constexpr size_t kMaxName = 253;

/// No character cut in two.
std::string Shortened(const std::string& text) {
  size_t end = std::min(text.size(), kMaxNote);
  while (end > 0 && end < text.size() && (text[end] & 0xC0) == 0x80) --end;
  return text.substr(0, end);
}

Json Reference(const Json& object) {
  const ObjectKey key = KeyOf(object);
  Json reference = {{"apiVersion", object.value("apiVersion", "")},
                    {"kind", object.value("kind", "")},
                    {"name", key.name},
                    {"uid", Uid(object)}};
  if (!key.ns.empty()) reference["namespace"] = key.ns;
  return reference;
}

}  // namespace

EventSeries::EventSeries(std::string controller, std::string instance)
    : controller_(std::move(controller)), instance_(std::move(instance)) {}

std::optional<EventSeries::Write> EventSeries::Record(const Json& regarding, const EventText& text,
                                                      WallTime now) {
  const ObjectKey subject = KeyOf(regarding);
  const auto [entry, is_new] = series_.try_emplace({Uid(regarding), text});
  Series& series = entry->second;
  series.last = now;
  if (!is_new) {
    ++series.count;
    if (series.count == 2) return Count(series, now);
    return std::nullopt;
  }
  series.written = now;
  const auto nanoseconds =
      std::chrono::duration_cast<std::chrono::nanoseconds>(now.time_since_epoch()).count();
  const std::string suffix = absl::StrCat(".", absl::Hex(nanoseconds + created_++));
  // Events of objects of the whole cluster live in "default".
  series.key = {.ns = subject.ns.empty() ? "default" : subject.ns,
                .name = subject.name.substr(0, kMaxName - suffix.size()) + suffix};
  return Write{.key = series.key,
               .body = {{"apiVersion", "events.k8s.io/v1"},
                        {"kind", "Event"},
                        {"metadata", {{"namespace", series.key.ns}, {"name", series.key.name}}},
                        {"eventTime", MicroTime(now)},
                        {"reportingController", controller_},
                        {"reportingInstance", instance_},
                        {"type", text.type == EventText::Type::kNormal ? "Normal" : "Warning"},
                        {"reason", text.reason},
                        {"action", text.action},
                        {"note", Shortened(text.note)},
                        {"regarding", Reference(regarding)}},
               .create = true};
}

EventSeries::Write EventSeries::Count(Series& series, WallTime now) {
  series.written = now;
  series.written_count = series.count;
  return {
      .key = series.key,
      .body = {{"series", {{"count", series.count}, {"lastObservedTime", MicroTime(series.last)}}}},
      .create = false};
}

std::vector<EventSeries::Write> EventSeries::Due(WallTime now) {
  std::vector<Write> writes;
  for (auto entry = series_.begin(); entry != series_.end();) {
    Series& series = entry->second;
    const bool ended = now - series.last >= kQuietEnd;
    const bool stale = ended || now - series.written >= kRefresh;
    if (stale && series.count > series.written_count) writes.push_back(Count(series, now));
    entry = ended ? series_.erase(entry) : std::next(entry);
  }
  return writes;
}

}  // namespace freezepipe::kube
