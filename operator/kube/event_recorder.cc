#include "operator/kube/event_recorder.h"

#include <optional>
#include <utility>

namespace freezepipe::kube {
namespace {

constexpr Resource kEvents{"events.k8s.io", "v1", "events"};
constexpr size_t kMostWaiting = 1000;
constexpr int kTries = 12;
constexpr std::chrono::seconds kTryPeriod(10);
/// How often series are looked through.
constexpr std::chrono::seconds kDuePeriod(30);

bool MaySucceedLater(const absl::Status& status) {
  return absl::IsUnavailable(status) || absl::IsDeadlineExceeded(status) ||
         absl::IsResourceExhausted(status) || absl::IsInternal(status);
}

}  // namespace

EventRecorder::EventRecorder(Client& client, std::string controller, std::string instance,
                             ErrorHandler on_error)
    : client_(client),
      on_error_(std::move(on_error)),
      series_(std::move(controller), std::move(instance)),
      thread_([this](const std::stop_token& stop) { Run(stop); }) {}

EventRecorder::~EventRecorder() {
  thread_.request_stop();
  thread_.join();
  for (const EventSeries::Write& write : waiting_) {
    if (!TryWrite(write)) break;
  }
}

void EventRecorder::Record(const Json& regarding, const EventText& text) {
  bool dropped = false;
  {
    std::lock_guard lock(mutex_);
    auto write = series_.Record(regarding, text, std::chrono::system_clock::now());
    if (!write) return;
    dropped = waiting_.size() >= kMostWaiting;
    if (!dropped) waiting_.push_back(*std::move(write));
    added_.notify_one();
  }
  if (dropped) on_error_(absl::ResourceExhaustedError("too many events wait: one was dropped"));
}

void EventRecorder::Run(const std::stop_token& stop) {
  int tries = 0;
  while (!stop.stop_requested()) {
    std::optional<EventSeries::Write> next;
    {
      std::unique_lock lock(mutex_);
      added_.wait_for(lock, stop, kDuePeriod, [this] { return !waiting_.empty(); });
      for (auto& write : series_.Due(std::chrono::system_clock::now())) {
        waiting_.push_back(std::move(write));
      }
      if (waiting_.empty() || stop.stop_requested()) continue;
      next = waiting_.front();
    }
    if (!TryWrite(*next)) {
      if (++tries < kTries) {
        SleepFor(kTryPeriod, stop);
        continue;
      }
      on_error_(absl::UnavailableError("an event was given up: " + JsonText(next->body)));
    }
    tries = 0;
    std::lock_guard lock(mutex_);
    waiting_.pop_front();
  }
}

bool EventRecorder::TryWrite(const EventSeries::Write& write) {
  const absl::Status status = write.create ? client_.Create(kEvents, write.body).status()
                                           : client_.Patch(kEvents, write.key, write.body).status();
  // Already there: written by a try whose answer was lost.
  if (status.ok() || absl::IsAlreadyExists(status)) return true;
  if (MaySucceedLater(status)) return false;
  if (!absl::IsCancelled(status)) on_error_(status);
  return true;
}

}  // namespace freezepipe::kube
