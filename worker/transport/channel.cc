#include "worker/transport/channel.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/empty_strided.h>

#include <chrono>
#include <cstring>
#include <vector>

namespace freezepipe::worker {
namespace {

constexpr int kMaxDimensions = 8;

/// What precedes every tensor, as int64 values.
struct Envelope {
  int64_t kind = 0;
  int64_t micro_batch = 0;
  int64_t type = 0;
  int64_t dimensions = 0;
  int64_t sizes[kMaxDimensions] = {};
  int64_t strides[kMaxDimensions] = {};
  /// Of the block that the tensor lies in; process 0 if it comes on the data group.
  SharedAddress shared;
  StepHeader header;
};
constexpr int64_t kEnvelopeValues = sizeof(Envelope) / sizeof(int64_t);

at::Tensor EnvelopeTensor() { return at::empty({kEnvelopeValues}, at::kLong); }

at::Tensor ToTensor(const Envelope& envelope) {
  auto tensor = EnvelopeTensor();
  std::memcpy(tensor.data_ptr(), &envelope, sizeof(envelope));
  return tensor;
}

}  // namespace

Outbox::Outbox(Group& control, Group& data, int peer, int tag, bool share)
    : control_(control), data_(data), peer_(peer), tag_(tag) {
  if (share) shared_.emplace();
}

void Outbox::Send(const StepHeader& header) {
  Envelope envelope;
  envelope.kind = static_cast<int64_t>(Message::Kind::kHeader);
  envelope.header = header;
  Keep(control_.Send(ToTensor(envelope), peer_, tag_));
}

void Outbox::Send(Message::Kind kind, int micro_batch, const at::Tensor& tensor) {
  const auto dense = tensor.is_non_overlapping_and_dense() ? tensor : tensor.contiguous();
  if (dense.dim() > kMaxDimensions) throw TransportError("tensor has more than 8 dimensions");
  Envelope envelope;
  envelope.kind = static_cast<int64_t>(kind);
  envelope.micro_batch = micro_batch;
  envelope.type = static_cast<int64_t>(dense.scalar_type());
  envelope.dimensions = dense.dim();
  for (int64_t i = 0; i < dense.dim(); ++i) {
    envelope.sizes[i] = dense.size(i);
    envelope.strides[i] = dense.stride(i);
  }
  if (shared_) envelope.shared = shared_->Put(dense);
  Keep(control_.Send(ToTensor(envelope), peer_, tag_));
  if (!shared_) Keep(data_.Send(dense, peer_, tag_ + 1));
}

void Outbox::Keep(Handle handle) {
  // The receiver takes an inbox's capacity ahead, so the oldest of many was taken long ago, unless
  // this stage runs ahead of a slower one in evaluation: then it waits, and holds no more memory.
  constexpr size_t kMostPending = 16;
  pending_.push_back(std::move(handle));
  while (pending_.size() > kMostPending) {
    pending_.front().Wait();
    pending_.pop_front();
  }
}

Inbox::Inbox(Group& control, Group& data, int peer, int tag, at::Device device, size_t capacity)
    : control_(control),
      data_(data),
      peer_(peer),
      tag_(tag),
      device_(device),
      capacity_(capacity),
      thread_([this](std::stop_token stop) { Run(stop); }) {}

Inbox::~Inbox() {
  thread_.request_stop();
  changed_.notify_all();
}

void Inbox::Run(std::stop_token stop) {
  try {
    while (!stop.stop_requested()) {
      Message message = Next();
      std::unique_lock lock(mutex_);
      changed_.wait(lock, stop, [&] { return queue_.size() < capacity_; });
      queue_.push_back(std::move(message));
      changed_.notify_all();
    }
  } catch (const std::exception& error) {
    const std::lock_guard lock(mutex_);
    error_ = error.what();
    changed_.notify_all();
  }
}

Message Inbox::Next() {
  const auto values = EnvelopeTensor();
  // No gradient comes from a stage that begins with a frozen layer or evaluates, and a step may
  // take any time.
  control_.Receive(values, peer_, tag_).WaitWithoutLimit();
  Envelope envelope;
  std::memcpy(&envelope, values.data_ptr(), sizeof(envelope));
  Message message;
  message.kind = static_cast<Message::Kind>(envelope.kind);
  message.micro_batch = static_cast<int>(envelope.micro_batch);
  message.header = envelope.header;
  if (message.kind == Message::Kind::kHeader) return message;
  const at::IntArrayRef sizes(envelope.sizes, envelope.dimensions);
  const at::IntArrayRef strides(envelope.strides, envelope.dimensions);
  const auto type = static_cast<at::ScalarType>(envelope.type);
  if (envelope.shared.process != 0) {
    message.tensor = shared_.Take(envelope.shared, sizes, strides, type);
  } else {
    message.tensor =
        at::empty_strided(sizes, strides, at::TensorOptions().dtype(type).device(device_));
    message.pending = data_.Receive(message.tensor, peer_, tag_ + 1);
  }
  return message;
}

Message Inbox::Take(double* waited) {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !queue_.empty() || !error_.empty(); });
  if (queue_.empty()) throw TransportError(error_);
  Message message = std::move(queue_.front());
  queue_.pop_front();
  changed_.notify_all();
  lock.unlock();
  message.pending.Wait();
  *waited += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  return message;
}

}  // namespace freezepipe::worker
