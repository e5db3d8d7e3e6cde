#pragma once

#include <list>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "freezepipe/v1alpha1/job.pb.h"
#include "worker/pipeline/gradient_reducer.h"
#include "worker/pipeline/job_context.h"
#include "worker/pipeline/schedule.h"
#include "worker/pipeline/stage.h"
#include "worker/transport/channel.h"
#include "worker/transport/generation.h"

namespace freezepipe::worker {

using FreezeLog = std::vector<v1alpha1::FreezeLogEntry>;

/// Seconds a stage spent, by kind.
struct StageSeconds {
  double forward = 0;
  double backward = 0;
  double optimizer = 0;
  /// For another stage or replica.
  double wait = 0;

  void Add(const StageSeconds& other);
};

struct StepOutcome {
  /// Mean training loss over the global batch; on the last stage only, the same on every replica.
  double loss = 0;
  int64_t samples = 0;
  StageSeconds seconds;
  CacheUse cache;
};

struct EvaluationOutcome {
  double accuracy = 0;
  double loss = 0;
};

/// One worker's part of the training of one generation: a stage, its neighbours, and the step
/// between them.
class Pipeline {
 public:
  Pipeline(const JobContext& job, Generation& generation, Stage& stage);
  /// The generation's groups are of no use afterwards.
  ~Pipeline();

  /// Lead only: gives every replica's first stage the header of the next step.
  void IssueHeader(const StepHeader& header);
  /// Waits for the next step's header and passes it downstream.
  StepHeader AwaitHeader();

  /// One step: forward and backward of every micro-batch of this replica, gradients and batch-norm
  /// moments over replicas, clipping, update. Nothing of the stage changes before all communication
  /// is done. Throws TransportError, NotFiniteError.
  StepOutcome Train(int step, const FreezeLog& log);

  /// The whole test set, in evaluation mode, forward only; outcome on the last stage, the same on
  /// every replica.
  EvaluationOutcome Evaluate();

 private:
  struct Batch {
    std::vector<int64_t> samples;
    /// First sample of each micro-batch of the global batch, and the end.
    std::vector<int64_t> offsets;
    /// This replica's, not the empty ones.
    std::vector<int> micro_batches;
  };
  Batch MakeBatch(int step) const;
  std::vector<int64_t> SamplesOf(const Batch& batch, int micro_batch) const;

  /// Names of training samples in the activation cache; none where their outputs aren't kept.
  std::vector<int64_t> CacheKeys(const std::vector<int64_t>& samples, int epoch) const;
  /// Of the images that training samples get in this step.
  int EpochOfImages(int step) const;
  /// Has the cache read ahead what this step will need.
  void ReadAhead(int step) const;
  void Forward(int step, const Batch& batch, int micro_batch, StepOutcome* outcome);
  void Backward(int micro_batch, StepOutcome* outcome);
  /// Gradient of the loss by the stage's output; adds to the step's loss.
  at::Tensor LossGradient(const Batch& batch, int micro_batch, const at::Tensor& logits);
  /// Over replicas: the step's loss, and each norm's moments of all micro-batches.
  std::vector<std::vector<BatchMoments>> SumLossAndMoments();
  /// What the gradients must be multiplied by to keep to clipGradNorm.
  double ClipFactor();
  void SumOverReplicas(at::Tensor& values);
  Message Take(Inbox& inbox, Message::Kind kind, int micro_batch, double* waited);

  const JobContext& job_;
  Generation& generation_;
  Stage& stage_;
  std::optional<Outbox> downstream_, upstream_;
  std::list<Outbox> header_outboxes_;    // lead only
  std::unique_ptr<Inbox> header_inbox_;  // first stage only, unless it is the lead itself
  std::unique_ptr<Inbox> activations_, gradients_;
  std::optional<StepHeader> own_header_;
  std::unique_ptr<GradientReducer> reducer_;
  /// Of the step before; -1 before the first.
  int boundary_ = -1;
  std::map<int, at::Tensor> loss_gradients_;
  at::Tensor loss_;
};

}  // namespace freezepipe::worker
