#include "worker/transport/group.h"

#include <ATen/ops/empty.h>

#include <utility>

namespace freezepipe::worker {
namespace {

// Gloo and NCCL take dense memory as a flat run of elements: strides (channels-last) are the
// caller's business.
at::Tensor Flat(const at::Tensor& tensor) {
  return tensor.is_contiguous() ? tensor : tensor.as_strided({tensor.numel()}, {1});
}

}  // namespace

Handle& Handle::operator=(Handle&& other) noexcept {
  std::swap(group_, other.group_);
  std::swap(work_, other.work_);
  return *this;
}

Handle::~Handle() {
  if (!work_) return;
  try {
    Wait();
  } catch (const TransportError&) {
    // Whoever needed the transfer has seen the error; a dropped handle only keeps the memory alive
    // until here.
  }
}

void Handle::Wait() { WaitFor(kNoTimeout); }  // the group's own time-out, that is

void Handle::WaitWithoutLimit() { WaitFor(std::chrono::hours(24 * 365)); }

void Handle::WaitFor(std::chrono::milliseconds limit) {
  if (!work_) return;
  auto work = std::exchange(work_, {});
  try {
    const bool done = work->wait(limit);
    group_->Forget(work);
    if (!done) throw TransportError("transfer was aborted");
  } catch (const TransportError&) {
    throw;
  } catch (const std::exception& error) {
    group_->Forget(work);
    throw TransportError(error.what());
  }
}

Group::~Group() { Abort(); }

template <typename Start>
Handle Group::Begin(Start start) {
  const std::lock_guard lock(mutex_);
  if (aborted_) throw TransportError("group was aborted");
  try {
    auto work = start();
    works_.push_back(work);
    return Handle(this, std::move(work));
  } catch (const std::exception& error) {
    throw TransportError(error.what());
  }
}

void Group::Forget(const c10::intrusive_ptr<c10d::Work>& work) {
  const std::lock_guard lock(mutex_);
  works_.remove(work);
}

Handle Group::Send(const at::Tensor& tensor, int to, int tag) {
  return Begin([&] {
    std::vector<at::Tensor> tensors{Flat(tensor)};
    return backend_->send(tensors, to, tag);
  });
}

Handle Group::Receive(const at::Tensor& tensor, int from, int tag) {
  return Begin([&] {
    std::vector<at::Tensor> tensors{Flat(tensor)};
    return backend_->recv(tensors, from, tag);
  });
}

Handle Group::AllReduce(const at::Tensor& tensor) {
  return Begin([&] {
    std::vector<at::Tensor> tensors{tensor};
    return backend_->allreduce(tensors);
  });
}

at::Tensor Group::AllGather(const at::Tensor& tensor) {
  auto gathered = at::empty({size_, tensor.numel()}, tensor.options());
  std::vector<std::vector<at::Tensor>> outputs{std::vector<at::Tensor>(gathered.unbind(0))};
  std::vector<at::Tensor> inputs{tensor};
  Begin([&] { return backend_->allgather(outputs, inputs); }).Wait();
  return gathered;
}

void Group::Barrier() {
  Begin([&] { return backend_->barrier(); }).Wait();
}

void Group::Abort() {
  Works works;
  {
    const std::lock_guard lock(mutex_);
    aborted_ = true;
    works = works_;
  }
  for (const auto& work : works) {
    try {
      work->abort();
    } catch (const std::exception&) {
      // Gloo's collectives can't be aborted: they end when their peers' connections close, or by
      // time-out.
    }
  }
}

}  // namespace freezepipe::worker
