#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "worker/checkpoint/checkpoint_files.h"
#include "worker/pipeline/pipeline.h"
#include "worker/train/held_layers.h"
#include "worker/train/lead_orders.h"
#include "worker/train/preparation.h"
#include "worker/train/reporter.h"

namespace freezepipe::worker {

/// Where the activation cache's files are, the same for all the job's workers on this machine;
/// empty: none.
struct CacheFolders {
  std::string memory;
  std::string disk;
};

/// Trains from step to step, from one generation to the next, until the run ends, a stop is
/// ordered, this worker is left without a stage, or a step fails.
class Trainer {
 public:
  /// Gives the preparation of a generation that a header switches to.
  using TakePreparation = std::function<std::shared_ptr<Preparation>(int generation)>;

  /// `checkpoints`: empty if none are to be written.
  Trainer(const JobContext& job, int worker, const std::string& checkpoints,
          const CacheFolders& cache, HeldLayers& held, LeadOrders& orders,
          TakePreparation take_preparation, Reporter::Say say);

  /// Returns when there is nothing left to do here. Throws TransportError when a step can't be
  /// finished: the layers held are then as before that step.
  void Run(std::shared_ptr<Preparation> preparation, const v1alpha1::Start& start);

  /// Makes the Run under way, or the next one if `Arm` isn't called before, throw TransportError.
  /// From any thread.
  void Abort();
  void Arm() { abort_requested_ = false; }

  /// The highest entered so far, 0 for none. From any thread.
  int generation() const { return highest_generation_; }

  /// Of all steps so far, a switch between two of them counted as one: how long training ever
  /// paused. From the thread that trains.
  double longest_step_seconds() const { return longest_step_seconds_; }

  /// Returns when no layers are being written to a checkpoint.
  void FinishWriting() const { writer_.Wait(); }

  /// The plan entered last, whether it stands still, and the freeze log. From any thread.
  void Describe(v1alpha1::Hello* hello) const;

 private:
  /// Layers for the stage in the new generation: those held, those fetched, fresh ones.
  HeldLayers::Layers Assemble(Preparation& preparation, const Generation& generation, int step,
                              std::map<int, LayerState> fetched) const;
  void Enter(std::shared_ptr<Generation> generation, HeldLayers::Layers layers, int step);
  void Leave();
  /// A header comes before each step and each evaluation, and at the end of the run.
  void Loop();
  StepHeader NextHeader();
  /// The lead's wishes for the next step. A freeze that is in the log already is said again, not
  /// done again.
  StepHeader ComposeHeader();
  /// Takes a freeze out of the header that is in the log already, or that comes too late.
  void CheckFreeze(StepHeader* header);
  void SayFreezeScheduled(const v1alpha1::FreezeLogEntry& entry);
  void Switch(int generation);
  void Step();
  bool EndsEpoch() const;
  /// Of the lead: an epoch has ended that isn't evaluated, perhaps before a restart.
  bool OwesEvaluation() const;
  void Evaluate();
  void SayTooSlow();
  void CheckpointIfDue();
  void Checkpoint();
  /// Throws TransportError when it is to abort: disks may be slow, and peers wait elsewhere.
  void AwaitWriter() const;
  void Finish();
  void SetLog(FreezeLog log);

  const JobContext& job_;
  const int worker_;
  HeldLayers& held_;
  LeadOrders& orders_;
  const TakePreparation take_preparation_;
  const Reporter::Say say_;
  Reporter reporter_;
  const bool writes_checkpoints_;
  CheckpointWriter writer_;
  /// Null where there is none.
  std::unique_ptr<ActivationCache> cache_;

  std::atomic<bool> abort_requested_ = false;
  std::atomic<int> highest_generation_ = 0;
  // Guards generation_ against Abort; plan_, left_ and log_, which the training thread alone
  // changes, against Describe.
  mutable std::mutex mutex_;
  std::shared_ptr<Generation> generation_;
  std::optional<v1alpha1::Plan> plan_;
  bool left_ = false;
  std::unique_ptr<Stage> stage_;
  std::unique_ptr<Pipeline> pipeline_;
  FreezeLog log_;
  int step_ = 0;  // steps done
  int written_ = -1;
  bool settled_ = false;
  std::chrono::steady_clock::time_point step_end_;
  double longest_step_seconds_ = 0;
};

}  // namespace freezepipe::worker
