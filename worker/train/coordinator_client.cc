#include "worker/train/coordinator_client.h"

#include <grpcpp/create_channel.h>
#include <grpcpp/security/credentials.h>

#include <algorithm>
#include <chrono>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::WorkerMessage;

constexpr size_t kMostKept = 10'000;
constexpr std::chrono::milliseconds kFirstBackOff{100};
constexpr std::chrono::milliseconds kLongestBackOff{5'000};

bool Standing(const WorkerMessage& message) {
  switch (message.kind_case()) {
    case WorkerMessage::kPrepared:
    case WorkerMessage::kSwitched:
    case WorkerMessage::kSettled:
    case WorkerMessage::kCheckpointWritten:
    case WorkerMessage::kFinished:
    case WorkerMessage::kFailure:
      return true;
    default:
      return false;
  }
}

std::unique_ptr<v1alpha1::Coordinator::Stub> Connect(const std::string& target) {
  grpc::ChannelArguments arguments;
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, 10'000);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, 10'000);
  return v1alpha1::Coordinator::NewStub(
      grpc::CreateCustomChannel(target, grpc::InsecureChannelCredentials(), arguments));
}

}  // namespace

CoordinatorClient::CoordinatorClient(std::string target, MakeHello make_hello, OnOrder on_order)
    : target_(std::move(target)),
      make_hello_(std::move(make_hello)),
      on_order_(std::move(on_order)) {}

void CoordinatorClient::Start() {
  thread_ = std::jthread([this](std::stop_token stop) { Run(stop); });
}

CoordinatorClient::~CoordinatorClient() {
  thread_.request_stop();
  const std::lock_guard lock(mutex_);
  if (context_ != nullptr) context_->TryCancel();
  changed_.notify_all();
}

void CoordinatorClient::Send(WorkerMessage message) {
  const std::lock_guard lock(mutex_);
  if (Standing(message)) standing_[message.kind_case()] = message;
  // Training may go on from before that checkpoint, and write it anew.
  if (message.has_aborted()) standing_.erase(WorkerMessage::kCheckpointWritten);
  if (message.has_step() && !queue_.empty() && queue_.back().has_step()) queue_.pop_back();
  if (queue_.size() < kMostKept) queue_.push_back(std::move(message));
  changed_.notify_all();
}

void CoordinatorClient::Flush(std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return queue_.empty() && !writing_; });
}

void CoordinatorClient::Run(std::stop_token stop) {
  auto back_off = kFirstBackOff;
  while (!stop.stop_requested()) {
    const auto begin = std::chrono::steady_clock::now();
    Attach(stop);
    if (std::chrono::steady_clock::now() - begin > kLongestBackOff) back_off = kFirstBackOff;
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, stop, back_off, [] { return false; });
    back_off = std::min(back_off * 2, kLongestBackOff);
  }
}

void CoordinatorClient::Attach(std::stop_token stop) {
  const auto stub = Connect(target_);
  grpc::ClientContext context;
  {
    const std::lock_guard lock(mutex_);
    if (stop.stop_requested()) return;
    context_ = &context;
  }
  const auto stream = stub->Attach(&context);
  WorkerMessage hello;
  *hello.mutable_hello() = make_hello_();
  if (stream->Write(hello)) {
    std::deque<WorkerMessage> again;
    {
      const std::lock_guard lock(mutex_);
      for (const auto& [kind, message] : standing_) again.push_back(message);
    }
    for (const auto& message : again) stream->Write(message);
    std::jthread writer([&](std::stop_token stop) {
      Write(stop, [&](const WorkerMessage& message) { return stream->Write(message); });
    });
    v1alpha1::Order order;
    while (stream->Read(&order)) on_order_(order);
  }
  {
    const std::lock_guard lock(mutex_);
    context_ = nullptr;
  }
  context.TryCancel();
  stream->Finish();
}

void CoordinatorClient::Write(std::stop_token stop,
                              const std::function<bool(const WorkerMessage&)>& write) {
  std::unique_lock lock(mutex_);
  while (changed_.wait(lock, stop, [&] { return !queue_.empty(); })) {
    WorkerMessage message = std::move(queue_.front());
    queue_.pop_front();
    writing_ = true;
    lock.unlock();
    const bool written = write(message);
    lock.lock();
    writing_ = false;
    if (!written) {
      queue_.push_front(std::move(message));
      return;
    }
    changed_.notify_all();
  }
}

}  // namespace freezepipe::worker
