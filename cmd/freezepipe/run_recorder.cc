#include "cmd/freezepipe/run_recorder.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace freezepipe::cli {

RunRecorder::RunRecorder(report::SummaryBuilder summary, double time_offset, TerminalView* view)
    : time_offset_(time_offset), view_(view), summary_(std::move(summary)) {}

void RunRecorder::SetLog(std::unique_ptr<EventLog> log) {
  std::lock_guard lock(mutex_);
  log_ = std::move(log);
}

void RunRecorder::OnEvent(const v1alpha1::JobEvent& event) {
  v1alpha1::JobEvent shifted = event;
  shifted.set_time(event.time() + time_offset_);
  if (event.has_epoch_done()) {
    shifted.mutable_epoch_done()->set_time(event.epoch_done().time() + time_offset_);
  }
  std::lock_guard lock(mutex_);
  step_ = event.step();
  summary_.Add(shifted);
  view_->Show(shifted);
  if (log_ == nullptr) return;
  if (const absl::Status written = log_->Write(shifted); !written.ok()) {
    // The job itself can go on without; whether its records still fit the disk it finds out itself.
    view_->Say({absl::StrCat(written.message(), "; events from here on are missing there"),
                Style::kWarning});
    log_.reset();
  }
}

void RunRecorder::OnOver(const v1alpha1::FreezePipeJobStatus& status) {
  std::lock_guard lock(mutex_);
  over_ = status;
  changed_.notify_all();
}

void RunRecorder::GiveUp() {
  std::lock_guard lock(mutex_);
  gave_up_ = true;
  changed_.notify_all();
}

std::optional<v1alpha1::FreezePipeJobStatus> RunRecorder::Wait() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return over_.has_value() || gave_up_; });
  return over_;
}

}  // namespace freezepipe::cli
