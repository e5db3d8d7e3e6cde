#include "worker/train/trainer.h"

#include <stdexcept>

#include "proto/activation_caching.h"
#include "proto/freeze_timing.h"
#include "worker/freeze/available_memory.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::WorkerMessage;

double SecondsSince(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Expect(bool condition, const std::string& what) {
  if (!condition) throw std::logic_error(what);
}

/// The freeze that the header announces.
v1alpha1::FreezeLogEntry NewEntry(const StepHeader& header) {
  v1alpha1::FreezeLogEntry entry;
  entry.set_chosen_at(static_cast<int>(header.chosen_at));
  entry.set_frozen_at(static_cast<int>(header.frozen_at));
  entry.set_boundary(static_cast<int>(header.new_boundary));
  return entry;
}

/// Null where there is none.
std::unique_ptr<ActivationCache> MakeCache(const JobContext& job, const CacheFolders& folders) {
  // From a GPU's memory and back costs more than most layers: not before it is measured there.
  if (!job.device().is_cpu()) return nullptr;
  const auto& spec = job.spec().freeze().cache();
  std::vector<CacheTier> tiers;
  const auto add = [&](const std::string& folder, const std::string& limit, auto medium) {
    if (folder.empty() || CacheBytes(limit) == 0) return;
    tiers.emplace_back(folder, CacheBytes(limit), medium, [] { return AvailableMemory(); });
  };
  add(folders.memory, spec.memory_limit(), CacheTier::Medium::kMemory);
  add(folders.disk, spec.disk_limit(), CacheTier::Medium::kDisk);
  if (tiers.empty()) return nullptr;
  const Dataset& data = job.dataset();
  return std::make_unique<ActivationCache>(job.views() * data.train_size() + data.test_size(),
                                           std::move(tiers), spec.dtype());
}

}  // namespace

Trainer::Trainer(const JobContext& job, int worker, const std::string& checkpoints,
                 const CacheFolders& cache, HeldLayers& held, LeadOrders& orders,
                 TakePreparation take_preparation, Reporter::Say say)
    : job_(job),
      worker_(worker),
      held_(held),
      orders_(orders),
      take_preparation_(std::move(take_preparation)),
      say_(std::move(say)),
      reporter_(job, say_),
      writes_checkpoints_(!checkpoints.empty()),
      writer_(checkpoints),
      cache_(MakeCache(job, cache)) {}

void Trainer::Abort() {
  abort_requested_ = true;
  const std::lock_guard lock(mutex_);
  if (generation_ != nullptr) generation_->Abort();
}

void Trainer::Describe(v1alpha1::Hello* hello) const {
  const std::lock_guard lock(mutex_);
  if (!plan_) return;
  *hello->mutable_plan() = *plan_;
  hello->set_stands_still(left_ || abort_requested_);
  hello->mutable_freeze_log()->Assign(log_.begin(), log_.end());
}

void Trainer::SetLog(FreezeLog log) {
  const std::lock_guard lock(mutex_);
  log_ = std::move(log);
}

void Trainer::Run(std::shared_ptr<Preparation> preparation, const v1alpha1::Start& start) {
  const auto generation = preparation->TakeGeneration();
  SetLog({start.freeze_log().begin(), start.freeze_log().end()});
  reporter_.Reset();
  orders_.Clear();
  written_ = -1;  // layers may come to another worker than the one that wrote them
  auto layers =
      Assemble(*preparation, *generation, start.step(), std::move(preparation->fetched()));
  Enter(generation, std::move(layers), start.step());
  try {
    if (generation->member()) Loop();
  } catch (...) {
    Leave();
    throw;
  }
  // The groups stay open until the next generation or the end of the process: a peer may still be
  // reading what this worker sent last.
  held_.Leave();
}

HeldLayers::Layers Trainer::Assemble(Preparation& preparation, const Generation& generation,
                                     int step, std::map<int, LayerState> fetched) const {
  HeldLayers::Layers layers;
  if (!generation.member()) return layers;
  const auto held = held_.layers();
  for (const auto& source : preparation.order().sources()) {
    const int index = source.layer();
    if (index < generation.stage().first_layer() || index >= generation.stage().end_layer()) {
      continue;
    }
    if (const auto found = fetched.find(index); found != fetched.end()) {
      layers[index] = std::make_shared<OwnedLayer>(job_, index, &found->second);
    } else if (source.source_case() == v1alpha1::LayerSource::kInitial) {
      layers[index] = std::make_shared<OwnedLayer>(job_, index, nullptr);
    } else if (const auto own = held.find(index); own != held.end() && held_.step() == step) {
      layers[index] = own->second;
    } else {
      const auto copy = held_.Copy(index, step);
      layers[index] = std::make_shared<OwnedLayer>(job_, index, &copy);
    }
  }
  return layers;
}

void Trainer::Enter(std::shared_ptr<Generation> generation, HeldLayers::Layers layers, int step) {
  std::vector<std::shared_ptr<OwnedLayer>> stage;
  for (const auto& [index, layer] : layers) stage.push_back(layer);
  held_.Replace(std::move(layers), step);
  pipeline_.reset();
  stage_.reset();
  step_ = step;
  settled_ = false;
  const bool member = generation->member();
  {
    const std::lock_guard lock(mutex_);
    generation_ = std::move(generation);
    highest_generation_ = generation_->number();
    plan_ = generation_->plan();
    left_ = false;
  }
  if (!member) return;
  stage_ = std::make_unique<Stage>(job_, std::move(stage), cache_.get());
  pipeline_ = std::make_unique<Pipeline>(job_, *generation_, *stage_);
  reporter_.Begin();
  step_end_ = std::chrono::steady_clock::now();
}

void Trainer::Leave() {
  held_.Leave();
  pipeline_.reset();
  stage_.reset();
  const std::lock_guard lock(mutex_);
  if (generation_ != nullptr) generation_->Abort();
  generation_.reset();
  left_ = true;
}

void Trainer::Loop() {
  while (true) {
    const StepHeader header = NextHeader();
    if (header.generation > generation_->number()) {
      Switch(static_cast<int>(header.generation));
      if (!generation_->member()) return;
    } else if (header.evaluate != 0) {
      Evaluate();
    } else if (header.stop != 0 || step_ == job_.total_steps()) {
      break;
    } else {
      Step();
    }
  }
  Finish();
}

StepHeader Trainer::NextHeader() {
  if (abort_requested_)
    throw TransportError("aborted");  // a lone worker has no group to learn it from
  if (generation_->lead()) {
    const StepHeader header = ComposeHeader();
    pipeline_->IssueHeader(header);
    if (header.generation > generation_->number()) {
      WorkerMessage message;
      message.mutable_switch_scheduled()->set_generation(static_cast<int>(header.generation));
      message.mutable_switch_scheduled()->set_step(step_);
      say_(std::move(message));
    }
  }
  const StepHeader header = pipeline_->AwaitHeader();
  Expect(header.step == step_,
         "header of step " + std::to_string(header.step) + " before step " + std::to_string(step_));
  Expect(header.boundary == BoundaryAt(log_, step_),
         "frozen boundary differs between stages at step " + std::to_string(step_));
  if (header.new_boundary > 0) {
    FreezeLog log = log_;
    log.push_back(NewEntry(header));
    SetLog(std::move(log));
    if (generation_->lead()) SayFreezeScheduled(log_.back());
  }
  return header;
}

StepHeader Trainer::ComposeHeader() {
  StepHeader header{.step = step_,
                    .term = generation_->plan().term(),
                    .generation = generation_->number(),
                    .boundary = BoundaryAt(log_, step_)};
  if (OwesEvaluation()) {
    header.evaluate = 1;
  } else if (step_ < job_.total_steps()) {
    orders_.PutInto(&header);
    if (header.new_boundary > 0) CheckFreeze(&header);
  }
  return header;
}

void Trainer::CheckFreeze(StepHeader* header) {
  for (const auto& entry : log_) {
    if (entry.boundary() != header->new_boundary) continue;
    SayFreezeScheduled(entry);
    header->new_boundary = 0;
    return;
  }
  if (header->frozen_at < job_.total_steps()) return;
  WorkerMessage message;
  auto& late = *message.mutable_freeze_too_late();
  *late.mutable_entry() = NewEntry(*header);
  late.set_step(step_);
  say_(std::move(message));
  header->new_boundary = 0;
}

void Trainer::SayFreezeScheduled(const v1alpha1::FreezeLogEntry& entry) {
  WorkerMessage message;
  *message.mutable_freeze_scheduled()->mutable_entry() = entry;
  say_(std::move(message));
}

// The switch to generation g+1 before step S, the same on every worker of both generations:
// 1. every step up to S-1 is done and every message of g was taken: nothing of g is in flight;
// 2. the active layers that change hands go peer to peer (the frozen ones went ahead, in the
// preparation);
// 3. a barrier over all: from here on every layer of S is where g+1 wants it, and also still where
// g had it;
// 4. g's groups are closed and training goes on in g+1, or ends here.
void Trainer::Switch(int number) {
  const auto preparation = take_preparation_(number);
  Expect(preparation != nullptr && preparation->ready(),
         "switch to generation " + std::to_string(number) + ", which is not prepared");
  const auto next = preparation->TakeGeneration();
  auto fetched = std::move(preparation->fetched());
  const auto moves = preparation->Moves(*next, false);
  const int rank = next->RankOf(worker_);
  std::map<int, LayerState> leaving;
  for (const auto& move : moves) {
    if (move.from == rank) leaving[move.layer] = held_.Copy(move.layer, step_);
  }
  int64_t bytes = 0;
  fetched.merge(MoveLayers(next->transfer(), moves, leaving, &bytes));
  next->transfer().Barrier();
  auto layers = Assemble(*preparation, *next, step_, std::move(fetched));

  WorkerMessage message;
  auto& switched = *message.mutable_switched();
  switched.set_generation(number);
  switched.set_step(step_);
  switched.set_stall_seconds(SecondsSince(step_end_));
  longest_step_seconds_ = std::max(longest_step_seconds_, switched.stall_seconds());
  switched.set_bytes_received(bytes + preparation->bytes_fetched());
  switched.set_bytes_received_early(preparation->bytes_fetched());
  Enter(next, std::move(layers), step_);
  say_(std::move(message));
}

void Trainer::Step() {
  const StepOutcome outcome = pipeline_->Train(step_, log_);
  const int boundary = BoundaryAt(log_, step_);
  ++step_;
  held_.Advance(step_, boundary);
  const double seconds = SecondsSince(step_end_);
  longest_step_seconds_ = std::max(longest_step_seconds_, seconds);
  reporter_.OnStep(*generation_, *stage_, step_, outcome, seconds);
  step_end_ = std::chrono::steady_clock::now();
  if (!settled_) {
    settled_ = true;
    WorkerMessage message;
    message.mutable_settled()->set_generation(generation_->number());
    message.mutable_settled()->set_step(step_ - 1);
    say_(std::move(message));
  }
  if (cache_ != nullptr) SayTooSlow();
  if (!EndsEpoch()) CheckpointIfDue();  // else once the epoch is evaluated
}

bool Trainer::EndsEpoch() const { return step_ % job_.sampler().steps_per_epoch() == 0; }

bool Trainer::OwesEvaluation() const {
  return EndsEpoch() && stage_->layers().back()->loss_sums().epoch_steps > 0;
}

void Trainer::Evaluate() {
  const auto evaluation = pipeline_->Evaluate();
  reporter_.OnEvaluation(*generation_, *stage_, step_, evaluation, SecondsSince(step_end_));
  step_end_ = std::chrono::steady_clock::now();
  CheckpointIfDue();
}

void Trainer::SayTooSlow() {
  const auto found = cache_->TakeTooSlow();
  if (!found) return;
  WorkerMessage message;
  auto& slow = *message.mutable_cache_too_slow();
  slow.set_level(found->level);
  slow.set_read_seconds(found->seconds.read);
  slow.set_computed_seconds(found->seconds.computed);
  say_(std::move(message));
}

void Trainer::CheckpointIfDue() {
  const int interval = job_.spec().checkpoint().interval_steps();
  if (interval > 0 && step_ % interval == 0) Checkpoint();
}

void Trainer::Checkpoint() {
  if (!writes_checkpoints_) return;
  written_ = step_;
  if (generation_->position().replica != 0) return;
  WorkerMessage message;
  auto& report = *message.mutable_checkpoint_written();
  report.set_step(step_);
  *report.mutable_freeze_log() = {log_.begin(), log_.end()};
  std::vector<CheckpointWriter::Item> items;
  for (const auto& layer : stage_->layers()) {
    report.add_layers(layer->index());
    items.push_back({.layer = layer->index(), .state = layer->Save(step_)});
  }
  AwaitWriter();
  writer_.Write(step_, std::move(items),
                [say = say_, message](int64_t bytes, const std::string& error) mutable {
                  if (error.empty()) {
                    message.mutable_checkpoint_written()->set_bytes(bytes);
                  } else {
                    message.Clear();
                    message.mutable_failure()->set_reason("CheckpointError");
                    message.mutable_failure()->set_message(error);
                  }
                  say(std::move(message));
                });
}

void Trainer::AwaitWriter() const {
  constexpr std::chrono::milliseconds kGlance{50};
  while (!writer_.WaitFor(kGlance)) {
    if (abort_requested_) throw TransportError("aborted while a checkpoint is being written");
  }
}

void Trainer::Finish() {
  generation_->world().Barrier();  // a worker lost until here is replaced, and the end comes again
  if (written_ != step_) Checkpoint();
  AwaitWriter();
  WorkerMessage message;
  message.mutable_finished()->set_step(step_);
  say_(std::move(message));
}

}  // namespace freezepipe::worker
