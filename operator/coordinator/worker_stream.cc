#include "operator/coordinator/worker_stream.h"

#include <utility>

#include "operator/coordinator/attach_service.h"

namespace freezepipe::coordinator {

WorkerStream::WorkerStream(AttachService* service, grpc::CallbackServerContext* context)
    : service_(service), context_(context) {}

void WorkerStream::Begin() { StartRead(&incoming_); }

void WorkerStream::Enqueue(v1alpha1::Order order) {
  std::lock_guard lock(mutex_);
  if (closing_) return;
  if (outgoing_.size() >= kMaxQueuedOrders) {
    closing_ = grpc::Status(grpc::StatusCode::RESOURCE_EXHAUSTED, "too many unread orders");
    context_->TryCancel();
    FinishIfIdle();
    return;
  }
  outgoing_.push_back(std::move(order));
  if (writing_) return;
  writing_ = true;
  StartWrite(&outgoing_.front());
}

void WorkerStream::Close(grpc::Status status) {
  std::lock_guard lock(mutex_);
  if (closing_) return;
  closing_ = std::move(status);
  // A write that waits for a reader ends only so.
  if (writing_) context_->TryCancel();
  FinishIfIdle();
}

void WorkerStream::FinishIfIdle() {
  if (writing_ || finished_) return;
  finished_ = true;
  Finish(*closing_);
}

void WorkerStream::OnReadDone(bool ok) {
  if (!ok) {
    // The worker has said all. An order under way may still reach it: not cancelled, as Close
    // would.
    std::lock_guard lock(mutex_);
    if (!closing_) closing_ = grpc::Status::OK;
    FinishIfIdle();
    return;
  }
  grpc::Status heard = service_->OnMessage(this, std::move(incoming_));
  if (!heard.ok()) return Close(std::move(heard));
  incoming_.Clear();
  StartRead(&incoming_);
}

void WorkerStream::OnWriteDone(bool ok) {
  std::lock_guard lock(mutex_);
  outgoing_.pop_front();
  writing_ = false;
  if (!ok && !closing_) closing_ = grpc::Status::CANCELLED;
  if (closing_) {
    FinishIfIdle();
  } else if (!outgoing_.empty()) {
    writing_ = true;
    StartWrite(&outgoing_.front());
  }
}

void WorkerStream::OnDone() {
  service_->OnClosed(this);
  delete this;
}

}  // namespace freezepipe::coordinator
