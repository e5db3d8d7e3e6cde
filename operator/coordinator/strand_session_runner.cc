#include "operator/coordinator/strand_session_runner.h"

#include <exception>
#include <utility>

namespace freezepipe::coordinator {

StrandSessionRunner::StrandSessionRunner(JobSetup setup, OrderSink* orders,
                                         Collaborators collaborators,
                                         std::chrono::milliseconds tick_period)
    : orders_(orders),
      collaborators_(collaborators),
      session_(std::move(setup)),
      status_(session_.status()),
      strand_(tick_period, [this] { Handle(Tick{}); }) {}

void StrandSessionRunner::Start() { Post(JobStarted{}); }

void StrandSessionRunner::Post(Event event) {
  strand_.Post([this, event = std::move(event)]() mutable { Handle(std::move(event)); });
}

void StrandSessionRunner::OnWorkerExit(int worker, cluster::WorkerEnd end) {
  Post(WorkerGone{worker, std::move(end.why), end.disrupted});
}

void StrandSessionRunner::Handle(Event event) {
  std::deque<Event> due;
  due.push_back(std::move(event));
  while (!due.empty() && !deposed_) {
    const Event next = std::move(due.front());
    due.pop_front();
    std::vector<Action> actions = session_.Handle(next, Now());
    {
      std::lock_guard lock(mutex_);
      status_ = session_.status();
    }
    for (Action& action : actions) {
      if (!deposed_) CarryOut(std::move(action), due);
    }
  }
}

v1alpha1::FreezePipeJobStatus StrandSessionRunner::Status() const {
  std::lock_guard lock(mutex_);
  return status_;
}

void StrandSessionRunner::CarryOut(Action action, std::deque<Event>& outcomes) {
  if (auto* send = std::get_if<SendOrder>(&action)) {
    orders_->Send(send->worker, std::move(send->order));
  } else if (const auto* launch = std::get_if<LaunchWorker>(&action)) {
    collaborators_.cluster->Launch(launch->worker);
  } else if (const auto* kill = std::get_if<KillWorker>(&action)) {
    collaborators_.cluster->Kill(kill->worker);
  } else if (const auto* record = std::get_if<Record>(&action)) {
    try {
      collaborators_.records->Write(record->status);
      outcomes.push_back(Recorded{record->number});
    } catch (const Deposed&) {
      deposed_ = true;
    } catch (const std::exception& error) {
      outcomes.push_back(RecordFailed{record->number, error.what()});
    }
  } else if (const auto* notice = std::get_if<Notice>(&action)) {
    collaborators_.listener->OnEvent(notice->event);
  } else {
    collaborators_.listener->OnOver(session_.status());
  }
}

Seconds StrandSessionRunner::Now() const {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - epoch_).count();
}

}  // namespace freezepipe::coordinator
