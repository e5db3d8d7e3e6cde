#include "cmd/freezepipe/local_run.h"

#include <absl/strings/str_cat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <stdexcept>
#include <utility>

#include "cmd/freezepipe/exit_code.h"
#include "cmd/freezepipe/messages.h"
#include "cmd/freezepipe/view/closing.h"
#include "files/checkpoint_layout.h"
#include "files/durable_file.h"
#include "operator/cluster/local/worker_cores.h"
#include "operator/coordinator/job_setup.h"
#include "operator/report/json.h"
#include "proto/activation_caching.h"

namespace freezepipe::cli {
namespace {

using v1alpha1::JobState;

/// Workers that were told to exit get so long before they are killed.
constexpr std::chrono::seconds kExitPatience{10};

planner::RunShape Shape(const RunPlan& plan) {
  return coordinator::MakeJobSetup(plan.job.spec(), plan.description).shape;
}

std::vector<std::string> LayerNames(const RunPlan& plan) {
  return coordinator::MakeJobSetup(plan.job.spec(), plan.description).layer_names;
}

/// More worker threads than cores.
bool Oversubscribed(const RunPlan& plan) {
  if (plan.devices.front() != "cpu") return false;
  const size_t threads = plan.devices.size() * plan.job.spec().worker().threads();
  return threads > cluster::UsableCores().size();
}

report::SummaryBuilder MakeSummary(const RunPlan& plan) {
  const planner::RunShape shape = Shape(plan);
  report::RunFacts facts;
  facts.job = plan.name;
  facts.workers = plan.job.spec().worker().count();
  facts.total_steps = shape.total_steps;
  facts.steps_per_epoch = shape.steps_per_epoch;
  facts.batch_size = plan.job.spec().training().batch_size();
  facts.train_samples = static_cast<int>(plan.description.train_samples());
  facts.oversubscribed = Oversubscribed(plan);
  report::SummaryBuilder summary(facts);
  if (plan.resume) {
    for (const auto& event : plan.resume->events) summary.Add(event);
    summary.ResumeFrom(plan.resume->checkpoint.step);
  }
  return summary;
}

JobView MakeView(const RunPlan& plan) {
  const planner::RunShape shape = Shape(plan);
  JobView view;
  view.facts = {plan.name, LayerNames(plan), plan.job.spec().training().epochs(),
                shape.steps_per_epoch, shape.total_steps};
  if (!plan.resume) return view;
  view.step = plan.resume->checkpoint.step;
  for (const auto& entry : plan.resume->checkpoint.freeze_log) {
    if (entry.frozen_at() <= view.step) view.frozen.push_back(entry);
  }
  return view;
}

}  // namespace

LocalRun::LocalRun(RunPlan plan, OutputDirectory* output)
    : plan_(std::move(plan)),
      output_(output),
      view_(MakeView(plan_), STDOUT_FILENO),
      time_offset_(MakeSummary(plan_).last_time()),
      recorder_(MakeSummary(plan_), time_offset_, &view_),
      records_(output->status()),
      cluster_(ClusterOptions(), [this](int worker, cluster::WorkerEnd end) {
        session_->OnWorkerExit(worker, std::move(end));
      }) {}

LocalRun::~LocalRun() { EndEverything(); }

absl::Status LocalRun::Prepare(int port) {
  try {
    server_ = coordinator::MakeCoordinatorServer({absl::StrCat("127.0.0.1:", port)});
  } catch (const std::runtime_error& error) {
    return absl::UnavailableError(error.what());
  }
  session_ = server_->AddJob(plan_.name, Setup(),
                             {.cluster = &cluster_, .records = &records_, .listener = &recorder_});
  if (const absl::Status made = output_->Create(plan_.job); !made.ok()) return made;
  auto log = EventLog::Open(output_->events());
  if (!log.ok()) return log.status();
  recorder_.SetLog(*std::move(log));
  MakeCacheFolders();
  return absl::OkStatus();
}

int LocalRun::Run() {
  if (Oversubscribed(plan_)) {
    view_.Say({"more workers than cores: they share, and times say nothing about speed",
               Style::kWarning});
  }
  if (plan_.resume) {
    const int step = plan_.resume->checkpoint.step;
    view_.Say({step > 0 ? absl::StrCat("going on from the checkpoint of step ", step)
                        : "there was no checkpoint yet: starting over",
               Style::kPlain});
  }
  start_ = std::chrono::steady_clock::now();
  signals_.Start([this](int count) { StopByPerson(count); }, [this] { view_.Resized(); });
  session_->Start();

  std::optional<v1alpha1::FreezePipeJobStatus> status = recorder_.Wait();
  const double seconds = Seconds();
  if (status) cluster_.WaitUntilEmpty(kExitPatience);
  EndEverything();
  if (!status) status = StoppedAtOnce();
  return Conclude(*status, seconds);
}

coordinator::JobSetup LocalRun::Setup() const {
  auto setup = coordinator::MakeJobSetup(plan_.job.spec(), plan_.description);
  setup.checkpoint_directory = std::filesystem::absolute(output_->checkpoints());
  if (plan_.resume && plan_.resume->checkpoint.step > 0) setup.resume = plan_.resume->checkpoint;
  return setup;
}

cluster::LocalClusterOptions LocalRun::ClusterOptions() {
  cluster::LocalClusterOptions options;
  options.log_directory = output_->logs();
  options.threads = plan_.job.spec().worker().threads();
  options.command = [this](int worker) {
    auto arguments =
        plan_.worker.TrainArguments(server_->port(), plan_.name, worker, plan_.devices.at(worker));
    if (cache_memory_) {
      arguments.insert(arguments.end(), {"--cache-memory", cache_memory_->path()});
    }
    if (cache_disk_) arguments.insert(arguments.end(), {"--cache-disk", cache_disk_->path()});
    return arguments;
  };
  return options;
}

void LocalRun::MakeCacheFolders() {
  const auto& freeze = plan_.job.spec().freeze();
  if (freeze.policy() == v1alpha1::FreezePolicy::None) return;
  const auto make = [&](const std::string& limit, const std::string& parent) {
    if (CacheBytes(limit) == 0) return std::unique_ptr<ScratchFolder>();
    auto made = ScratchFolder::Make(parent);
    if (made.ok()) return *std::move(made);
    view_.Say({absl::StrCat("outputs of frozen layers are not kept: ", made.status().message()),
               Style::kWarning});
    return std::unique_ptr<ScratchFolder>();
  };
  cache_memory_ = make(freeze.cache().memory_limit(), "/dev/shm");
  cache_disk_ = make(freeze.cache().disk_limit(), std::filesystem::absolute(output_->path()));
}

void LocalRun::StopByPerson(int count) {
  if (count > 1) return recorder_.GiveUp();
  view_.Say({"stopping after this step and its checkpoint; once more stops at once, without them",
             Style::kWarning});
  session_->Post(coordinator::StopRequested{});
}

void LocalRun::EndEverything() {
  signals_.Finish();
  // The session may still give orders to the cluster, which obeys none any more.
  cluster_.Stop();
  session_.reset();
  server_.reset();
}

v1alpha1::FreezePipeJobStatus LocalRun::StoppedAtOnce() {
  v1alpha1::FreezePipeJobStatus status = records_.last();
  if (!status.has_generation() && plan_.resume) {
    // Nothing was trained yet: it stands where it stood.
    const auto& log = plan_.resume->checkpoint.freeze_log;
    status.mutable_freeze_log()->Assign(log.begin(), log.end());
    status.set_step(plan_.resume->checkpoint.step);
  }
  status.set_state(JobState::Stopped);
  const auto checkpoints = files::FindCheckpoints(output_->checkpoints());
  status.set_message(checkpoints.empty()
                         ? "stopped at once, before the first checkpoint: --resume starts over"
                         : absl::StrCat("stopped at once: --resume goes on from the checkpoint of ",
                                        "step ", checkpoints.front().step));
  status.set_step(std::max(status.step(), recorder_.step()));
  status.set_total_steps(Shape(plan_).total_steps);
  try {
    records_.Write(status);
  } catch (const std::runtime_error& error) {
    PrintError(error.what());
  }
  return status;
}

double LocalRun::Seconds() const {
  const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - start_;
  return time_offset_ + passed.count();
}

int LocalRun::Conclude(const v1alpha1::FreezePipeJobStatus& status, double seconds) {
  v1alpha1::Summary summary = recorder_.summary().Build(status, seconds);
  int code = status.state() == JobState::Succeeded ? kDone
             : status.state() == JobState::Stopped ? kStopped
                                                   : kJobFailed;
  if (code == kDone) {
    const absl::Status exported = ExportWeights();
    if (exported.ok()) {
      summary.set_weights(std::filesystem::path(output_->weights()).filename());
    } else {
      PrintError(exported);
      code = kJobFailed;
    }
  }
  const absl::Status written = files::WriteDurably(
      output_->summary(), {report::ToJson(summary, report::JsonLayout::kIndented)});
  if (!written.ok()) {
    PrintError(written);
    code = kJobFailed;
  }
  view_.Close();
  for (const StyledLine& line : DescribeSummary(summary, LayerNames(plan_), output_->path())) {
    view_.Say(line);
  }
  return code;
}

absl::Status LocalRun::ExportWeights() const {
  const auto checkpoints = files::FindCheckpoints(output_->checkpoints());
  if (checkpoints.empty()) {
    return absl::NotFoundError(absl::StrCat("no checkpoint in ", output_->checkpoints()));
  }
  return plan_.worker.Export(checkpoints.front().path, output_->weights());
}

}  // namespace freezepipe::cli
