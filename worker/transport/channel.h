#pragma once

#include <ATen/core/Tensor.h>

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include "worker/transport/group.h"
#include "worker/transport/shared_memory.h"

namespace freezepipe::worker {

/// What every worker must know before it starts a step; written by the lead, passed downstream.
struct StepHeader {
  int64_t step = 0;
  int64_t term = 0;
  /// A higher one than in force: switch to it before this step.
  int64_t generation = 0;
  /// Frozen boundary in force at this step.
  int64_t boundary = 0;
  /// Instead of doing the step, evaluate the epoch that ended before it; another header follows.
  int64_t evaluate = 0;
  /// Instead of doing the step, write a checkpoint and finish.
  int64_t stop = 0;
  /// A new entry of the freeze log; new_boundary 0 for none.
  int64_t new_boundary = 0;
  int64_t chosen_at = 0;
  int64_t frozen_at = 0;
};

/// What travels between two stages.
struct Message {
  enum class Kind : int64_t { kHeader, kTraining, kEvaluation };
  Kind kind = Kind::kTraining;
  /// Index in the global batch (training) or of the evaluation chunk.
  int micro_batch = 0;
  StepHeader header;
  /// Activation or gradient; shape, type and strides are the sender's. Wait for `pending` before
  /// use.
  at::Tensor tensor;
  Handle pending;
};

/// The sending end of one direction between two neighbours. Shapes travel with every tensor on
/// `control`; the tensors on `data`, or in memory that the peer sees (`share`, CPU tensors only).
/// Sends return at once.
class Outbox {
 public:
  Outbox(Group& control, Group& data, int peer, int tag, bool share = false);

  void Send(const StepHeader& header);
  void Send(Message::Kind kind, int micro_batch, const at::Tensor& tensor);

 private:
  void Keep(Handle handle);

  Group& control_;
  Group& data_;
  const int peer_, tag_;
  std::optional<SharedSender> shared_;
  std::deque<Handle> pending_;
};

/// The receiving end: a thread of its own takes what comes, up to `capacity` messages ahead. The
/// group must be aborted before it is destroyed.
class Inbox {
 public:
  Inbox(Group& control, Group& data, int peer, int tag, at::Device device, size_t capacity);
  ~Inbox();
  Inbox(const Inbox&) = delete;
  Inbox& operator=(const Inbox&) = delete;

  /// The next message, its tensor ready for use. Adds the seconds waited to *waited. Throws
  /// TransportError.
  Message Take(double* waited);

 private:
  void Run(std::stop_token stop);
  Message Next();

  Group& control_;
  Group& data_;
  const int peer_, tag_;
  const at::Device device_;
  const size_t capacity_;
  SharedReceiver shared_;
  std::mutex mutex_;  // guards queue_ and error_
  std::condition_variable_any changed_;
  std::deque<Message> queue_;
  std::string error_;
  std::jthread thread_;
};

}  // namespace freezepipe::worker
