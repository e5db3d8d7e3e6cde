#include "worker/train/coordinator_client.h"

#include <algorithm>
#include <chrono>
#include <iostream>

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

}  // namespace

CoordinatorClient::CoordinatorClient(CoordinatorAddress address, MakeHello make_hello,
                                     OnOrder on_order, OnGivenUp on_given_up,
                                     std::chrono::milliseconds limit)
    : address_(std::move(address)),
      make_hello_(std::move(make_hello)),
      on_order_(std::move(on_order)),
      on_given_up_(std::move(on_given_up)),
      limit_(limit) {}

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
  if (message.has_window() && windows_.size() < kMostKept) windows_.push_back(message);
  // Training may go on from before that, and come there anew.
  if (message.has_aborted()) {
    standing_.erase(WorkerMessage::kCheckpointWritten);
    standing_.erase(WorkerMessage::kFinished);
  }
  if (message.has_step() && !queue_.empty() && queue_.back().has_step()) queue_.pop_back();
  if (queue_.size() < kMostKept) queue_.push_back(std::move(message));
  changed_.notify_all();
}

void CoordinatorClient::Remembered(int step) {
  const std::lock_guard lock(mutex_);
  std::erase_if(windows_, [&](const auto& message) { return message.window().step() <= step; });
}

void CoordinatorClient::GiveUpIfUnknown() {
  const std::lock_guard lock(mutex_);
  gives_up_if_unknown_ = true;
}

void CoordinatorClient::Flush(std::chrono::seconds limit) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, limit, [&] { return queue_.empty() && !writing_; });
}

void CoordinatorClient::Run(std::stop_token stop) {
  using Clock = std::chrono::steady_clock;
  auto back_off = kFirstBackOff;
  const auto give_up = Clock::now() + limit_;
  std::string said;
  while (!stop.stop_requested()) {
    const auto begin = Clock::now();
    const grpc::Status end = Attach(stop);
    if (stop.stop_requested()) return;
    const std::string why =
        "coordinator " + address_.target + ": " +
        (end.ok() ? "it ended the stream"
                  : end.error_message() + " (" + std::to_string(end.error_code()) + ")");
    // The same again and again would hide all else.
    if (why != said) std::cerr << why << ", trying again" << std::endl;
    said = why;
    if (!heard_ && Clock::now() >= give_up) return on_given_up_(why);
    if (Clock::now() - begin > kLongestBackOff) back_off = kFirstBackOff;
    std::unique_lock lock(mutex_);
    if (gives_up_if_unknown_ && end.error_code() == grpc::StatusCode::NOT_FOUND) {
      lock.unlock();
      return on_given_up_(why);
    }
    changed_.wait_for(lock, stop, back_off, [] { return false; });
    back_off = std::min(back_off * 2, kLongestBackOff);
  }
}

grpc::Status CoordinatorClient::Attach(std::stop_token stop) {
  const auto stub = v1alpha1::Coordinator::NewStub(MakeChannel(address_));
  grpc::ClientContext context;
  if (!ShowToken(address_, &context)) {
    return {grpc::StatusCode::UNAUTHENTICATED, "cannot read a token in " + address_.token_file};
  }
  {
    const std::lock_guard lock(mutex_);
    if (stop.stop_requested()) return grpc::Status::CANCELLED;
    context_ = &context;
  }
  const auto stream = stub->Attach(&context);
  WorkerMessage hello;
  *hello.mutable_hello() = make_hello_();
  v1alpha1::Order order;
  // Until the first order nothing else is said: one that doesn't lead would lose it.
  if (stream->Write(hello) && stream->Read(&order)) {
    heard_ = true;
    on_order_(order);
    std::deque<WorkerMessage> again;
    {
      const std::lock_guard lock(mutex_);
      again = windows_;
      for (const auto& [kind, message] : standing_) again.push_back(message);
    }
    for (const auto& message : again) stream->Write(message);
    std::jthread writer([&](std::stop_token stop) {
      Write(stop, [&](const WorkerMessage& message) { return stream->Write(message); });
    });
    while (stream->Read(&order)) on_order_(order);
  }
  // The coordinator has ended it; if not, the destructor does.
  const grpc::Status end = stream->Finish();
  const std::lock_guard lock(mutex_);
  context_ = nullptr;
  return end;
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
