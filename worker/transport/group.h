#pragma once

#include <ATen/core/Tensor.h>

#include <chrono>
#include <list>
#include <mutex>
#include <stdexcept>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <vector>

namespace freezepipe::worker {

/// A peer is gone, a time-out passed, or the group was aborted: the step under way can't be
/// finished.
class TransportError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Group;

/// A transfer under way. Must be waited for before its group is destroyed; movable.
class Handle {
 public:
  Handle() = default;
  Handle(Handle&& other) noexcept { *this = std::move(other); }
  Handle& operator=(Handle&& other) noexcept;
  ~Handle();

  /// Blocks until the transfer is done (CPU), or makes the current stream wait for it (CUDA).
  /// Throws TransportError. A second call does nothing.
  void Wait();
  /// As Wait, but for as long as it takes, where nobody may have a reason to send: until it is
  /// done, the peer is gone, or the group is aborted.
  void WaitWithoutLimit();

 private:
  friend class Group;
  void WaitFor(std::chrono::milliseconds limit);
  Handle(Group* group, c10::intrusive_ptr<c10d::Work> work)
      : group_(group), work_(std::move(work)) {}

  Group* group_ = nullptr;
  c10::intrusive_ptr<c10d::Work> work_;
};

/// Some workers that send to each other and reduce together, on one c10d backend. Sends and
/// receives may come from several threads; collectives from one. Tensors must be dense; a receive's
/// tensor has the sent one's bytes.
class Group {
 public:
  Group(c10::intrusive_ptr<c10d::Backend> backend, int rank, int size)
      : backend_(std::move(backend)), rank_(rank), size_(size) {}
  ~Group();

  int rank() const { return rank_; }
  int size() const { return size_; }

  Handle Send(const at::Tensor& tensor, int to, int tag);
  Handle Receive(const at::Tensor& tensor, int from, int tag);
  /// Sums in place.
  Handle AllReduce(const at::Tensor& tensor);
  /// [n] of every rank to [size, n].
  at::Tensor AllGather(const at::Tensor& tensor);
  void Barrier();

  /// Makes every wait under way, and every later call, throw TransportError. From any thread.
  void Abort();

 private:
  friend class Handle;
  using Works = std::list<c10::intrusive_ptr<c10d::Work>>;

  template <typename Start>
  Handle Begin(Start start);
  void Forget(const c10::intrusive_ptr<c10d::Work>& work);

  c10::intrusive_ptr<c10d::Backend> backend_;
  const int rank_, size_;
  std::mutex mutex_;  // guards works_ and aborted_
  Works works_;
  bool aborted_ = false;
};

}  // namespace freezepipe::worker
