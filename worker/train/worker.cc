#include "worker/train/worker.h"

#include <ATen/Parallel.h>
#include <unistd.h>

#include <cstdio>
#include <random>
#include <stdexcept>

#include "worker/checkpoint/checkpoint_folders.h"
#include "worker/model/describe.h"
#include "worker/train/profile.h"
#include "worker/train/session_memory.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::Order;
using v1alpha1::WorkerMessage;

std::string MakeIncarnation() {
  std::random_device random;
  char text[32];
  std::snprintf(text, sizeof(text), "%08x%08x", random(), random());
  return text;
}

std::string HostName() {
  char name[256] = {};
  gethostname(name, sizeof(name) - 1);
  return name;
}

/// LibTorch's errors carry a C++ stack behind the first line.
std::string FirstLine(const std::string& text) { return text.substr(0, text.find('\n')); }

}  // namespace

Worker::Worker(WorkerOptions options, std::unique_ptr<BackendFactory> device_backend)
    : options_(std::move(options)),
      incarnation_(MakeIncarnation()),
      store_(options_.host),
      control_backend_(MakeGlooFactory(options_.host)),
      device_backend_(std::move(device_backend)) {
  client_ = std::make_unique<CoordinatorClient>(
      options_.coordinator, [this] { return MakeHello(); },
      [this](const Order& order) { OnOrder(order); },
      [this](const std::string& why) {
        const std::lock_guard lock(mutex_);
        alone_ = why;
        if (trainer_ != nullptr) trainer_->Abort();
        changed_.notify_all();
      });
  client_->Start();
}

Worker::~Worker() { client_.reset(); }

v1alpha1::Hello Worker::MakeHello() {
  const std::lock_guard lock(mutex_);
  v1alpha1::Hello hello;
  hello.set_job(options_.job);
  hello.set_worker(options_.worker);
  hello.set_incarnation(incarnation_);
  hello.set_host(options_.host);
  hello.set_store_port(store_.port());
  hello.set_device(options_.device.str());
  hello.set_memory_bytes(options_.memory_bytes);
  hello.set_term(term_);
  hello.set_generation(generation_);
  hello.set_node(options_.node.empty() ? HostName() : options_.node);
  for (auto& copy : held_.Holdings()) *hello.add_holdings() = std::move(copy);
  if (trainer_ != nullptr) trainer_->Describe(&hello);
  if (next_ && next_->generation() > hello.plan().generation()) *hello.mutable_next() = *next_;
  hello.set_switching_to(lead_orders_.switching_to());
  hello.set_stopping(lead_orders_.stopping());
  *hello.mutable_memory() = memory_;
  hello.set_terminating(terminating_);
  return hello;
}

void Worker::Say(WorkerMessage message) { client_->Send(std::move(message)); }

void Worker::OnOrder(const Order& order) {
  {
    const std::lock_guard lock(mutex_);
    if (order.term() < term_ || leaving_) return;  // of a deposed coordinator, or too late
    term_ = order.term();
  }
  switch (order.kind_case()) {
    case Order::kPrepare:
      return Prepare(order.prepare());
    case Order::kDrop:
      return AbandonPreparation(order.drop().generation());
    case Order::kScheduleFreeze:
      return lead_orders_.ScheduleFreeze(order.schedule_freeze().entry());
    case Order::kSwitch:
      return lead_orders_.Switch(order.switch_().generation());
    case Order::kStop:
      return lead_orders_.Stop();
    case Order::kRetire:
      return held_.DropRetained();
    case Order::kCompleteCheckpoint:
      return keeper_.Complete(checkpoints_, order.complete_checkpoint());
    case Order::kFindCheckpoint:
      return keeper_.Find(checkpoints_);
    case Order::kRemember:
      return Remember(order.remember());
    default:
      break;
  }
  const std::lock_guard lock(mutex_);
  if (order.has_abort() || order.has_exit() || order.has_release()) {
    leaving_ = leaving_ || !order.has_abort();
    if (preparation_ != nullptr) preparation_->Abandon();
    preparation_.reset();
    next_.reset();
    held_.Leave();
    if (trainer_ != nullptr) trainer_->Abort();
  }
  // Orders that are carried out here may come before the other thread has seen it.
  if (order.has_welcome()) checkpoints_ = order.welcome().checkpoint_directory();
  orders_.push_back(order);
  changed_.notify_all();
}

Order Worker::NextOrder() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [&] { return !orders_.empty() || alone_; });
  if (orders_.empty()) throw std::runtime_error(*alone_);
  Order order = std::move(orders_.front());
  orders_.pop_front();
  return order;
}

void Worker::Run() {
  while (Carry(NextOrder())) {
  }
  constexpr std::chrono::seconds kFarewell{5};
  client_->Flush(kFarewell);
}

bool Worker::Terminate() {
  {
    const std::lock_guard lock(mutex_);
    if (leaving_) return true;
    if (trainer_ == nullptr || trainer_->generation() == 0) return false;
    terminating_ = true;
  }
  client_->GiveUpIfUnknown();
  WorkerMessage message;
  message.mutable_terminating();
  Say(std::move(message));
  return true;
}

double Worker::longest_step_seconds() const {
  return trainer_ == nullptr ? 0 : trainer_->longest_step_seconds();
}

bool Worker::Carry(const Order& order) {
  switch (order.kind_case()) {
    case Order::kWelcome:
      Welcome(order.welcome());
      return true;
    case Order::kDescribe:
      Describe();
      return true;
    case Order::kProfile:
      Profile();
      return true;
    case Order::kStart:
      Train(order.start());
      return true;
    case Order::kAbort:
      SayAborted(order.abort().generation(), "ordered");
      return true;
    case Order::kRelease: {
      FinishFiles();
      WorkerMessage message;
      message.mutable_released();
      Say(std::move(message));
      return false;
    }
    case Order::kExit:
      FinishFiles();
      return false;
    default:
      return true;
  }
}

void Worker::FinishFiles() {
  if (trainer_ != nullptr) trainer_->FinishWriting();
  keeper_.Wait();
}

void Worker::Welcome(const v1alpha1::Welcome& welcome) {
  if (job_ != nullptr || !welcome.has_spec()) return;
  spec_ = welcome.spec();
  try {
    at::set_num_threads(welcome.spec().worker().threads());
    auto job = std::make_unique<JobContext>(welcome.spec(), options_.device);
    auto trainer = std::make_unique<Trainer>(
        *job, options_.worker, welcome.checkpoint_directory(), options_.cache, held_, lead_orders_,
        [this](int generation) { return TakePreparation(generation); },
        [this](WorkerMessage message) { Say(std::move(message)); });
    const std::lock_guard lock(mutex_);
    job_ = std::move(job);
    trainer_ = std::move(trainer);
  } catch (const std::exception& error) {
    // What is wrong with the spec is said whole.
    const auto description = worker::Describe(spec_);
    if (!description.faults().empty()) {
      SayDescribed(description);
    } else {
      Fail("DataError", FirstLine(error.what()));
    }
  }
}

void Worker::Describe() {
  if (job_ == nullptr) return;  // Welcome failed, and said so
  auto description = worker::Describe(spec_);
  // Else it would show at the first checkpoint, which may be the end of the run.
  std::string checkpoints;
  {
    const std::lock_guard lock(mutex_);
    checkpoints = checkpoints_;
  }
  const std::string unwritable = checkpoints.empty() ? "" : WhyNotWritable(checkpoints);
  if (!unwritable.empty()) {
    auto& fault = *description.add_faults();
    fault.set_path("spec.checkpoint.claimName");
    fault.set_message("the workers, user " + std::to_string(geteuid()) +
                      ", can't write to the volume: " + unwritable);
  }
  SayDescribed(description);
}

void Worker::SayDescribed(const v1alpha1::JobDescription& description) {
  WorkerMessage message;
  *message.mutable_described() = description;
  Say(std::move(message));
}

void Worker::Profile() {
  if (job_ == nullptr) return;  // Welcome failed, and said so
  try {
    WorkerMessage message;
    *message.mutable_profile()->mutable_profile() = ProfileModel(*job_);
    Say(std::move(message));
  } catch (const NotFiniteError& error) {
    Fail("NotFinite", error.what());
  } catch (const std::exception& error) {
    Fail("Internal", FirstLine(error.what()));
  }
}

void Worker::Remember(const v1alpha1::Remember& order) {
  {
    const std::lock_guard lock(mutex_);
    worker::Remember(order, &memory_);
  }
  const auto& windows = order.memory().windows();
  if (!windows.empty()) client_->Remembered(windows.rbegin()->step());
}

void Worker::Prepare(const v1alpha1::Prepare& order) {
  const int number = order.plan().generation();
  const auto say_prepared = [this, number] {
    WorkerMessage message;
    message.mutable_prepared()->set_generation(number);
    Say(std::move(message));
  };
  const auto say_failed = [this, number](const std::string& error,
                                         std::optional<int> damaged_checkpoint) {
    WorkerMessage message;
    auto& failed = *message.mutable_prepare_failed();
    failed.set_generation(number);
    failed.set_reason(FirstLine(error));
    if (damaged_checkpoint) failed.set_damaged_checkpoint(*damaged_checkpoint);
    Say(std::move(message));
  };
  const std::lock_guard lock(mutex_);
  if (preparation_ != nullptr && preparation_->number() == number) {  // said again
    if (preparation_->ready()) say_prepared();
    return;
  }
  if (trainer_ != nullptr && trainer_->generation() >= number) return;
  generation_ = std::max(generation_, number);
  next_ = order.plan();
  if (preparation_ != nullptr) preparation_->Abandon();
  Preparation::Means means{.worker = options_.worker,
                           .control = control_backend_.get(),
                           .device = device_backend_.get(),
                           .checkpoints = checkpoints_,
                           .held = {},
                           .prepared = say_prepared,
                           .failed = say_failed};
  if (order.live()) {
    means.held = [this](int layer) { return held_.FrozenCopy(layer); };
  } else {
    means.held = [this, step = order.step()](int layer) { return held_.Copy(layer, step); };
  }
  preparation_ = Preparation::Begin(order, std::move(means));
}

std::shared_ptr<Preparation> Worker::TakePreparation(int generation) {
  const std::lock_guard lock(mutex_);
  if (preparation_ == nullptr || preparation_->number() != generation) return nullptr;
  return std::exchange(preparation_, nullptr);
}

void Worker::AbandonPreparation(int generation) {
  {
    const std::lock_guard lock(mutex_);
    if (next_ && next_->generation() == generation) next_.reset();
  }
  const auto preparation = TakePreparation(generation);
  if (preparation != nullptr) preparation->Abandon();
}

void Worker::Train(const v1alpha1::Start& start) {
  std::shared_ptr<Preparation> preparation;
  {
    const std::lock_guard lock(
        mutex_);  // an Abort comes before, and takes the preparation, or is seen by Run
    if (preparation_ == nullptr || preparation_->number() != start.generation()) return;
    if (!preparation_->ready()) return;
    preparation = std::exchange(preparation_, nullptr);
    trainer_->Arm();
  }
  try {
    trainer_->Run(preparation, start);
  } catch (const TransportError& error) {
    // It may have switched since that start.
    SayAborted(trainer_->generation(), error.what());
  } catch (const NotFiniteError& error) {
    Fail("NotFinite", error.what());
  } catch (const std::exception& error) {
    Fail("Internal", FirstLine(error.what()));
  }
}

void Worker::SayAborted(int generation, const std::string& reason) {
  {
    const std::lock_guard lock(mutex_);
    if (leaving_) return;
  }
  WorkerMessage message;
  auto& aborted = *message.mutable_aborted();
  aborted.set_generation(generation);
  aborted.set_reason(FirstLine(reason));
  for (auto& copy : held_.Holdings()) *aborted.add_holdings() = std::move(copy);
  Say(std::move(message));
}

void Worker::Fail(const std::string& reason, const std::string& message) {
  WorkerMessage failure;
  failure.mutable_failure()->set_reason(reason);
  failure.mutable_failure()->set_message(message);
  Say(std::move(failure));
}

}  // namespace freezepipe::worker
