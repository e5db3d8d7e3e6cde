#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <optional>

#include "cmd/freezepipe/event_log.h"
#include "cmd/freezepipe/view/terminal_view.h"
#include "operator/coordinator/session_runner.h"
#include "operator/report/summary_builder.h"

namespace freezepipe::cli {

/// Hands a job's events to the log, the summary and the view, and lets one thread wait for the
/// job's end. Thread-safe, but for summary(), which is for when no event can come any more.
class RunRecorder : public coordinator::Listener {
 public:
  /// `time_offset` goes onto every event's time: the seconds of the runs that this one goes on
  /// from.
  RunRecorder(report::SummaryBuilder summary, double time_offset, TerminalView* view);

  /// Before the first event.
  void SetLog(std::unique_ptr<EventLog> log);

  void OnEvent(const v1alpha1::JobEvent& event) override;
  void OnOver(const v1alpha1::FreezePipeJobStatus& status) override;

  /// Makes Wait return at once, with nothing.
  void GiveUp();

  /// The status that the job ended with; none after GiveUp.
  std::optional<v1alpha1::FreezePipeJobStatus> Wait();

  const report::SummaryBuilder& summary() const { return summary_; }
  /// Steps done, as the newest event said.
  int step() const { return step_; }

 private:
  const double time_offset_;
  TerminalView* const view_;

  /// Guards what follows.
  std::mutex mutex_;
  std::condition_variable changed_;
  report::SummaryBuilder summary_;
  std::unique_ptr<EventLog> log_;
  int step_ = 0;
  std::optional<v1alpha1::FreezePipeJobStatus> over_;
  bool gave_up_ = false;
};

}  // namespace freezepipe::cli
