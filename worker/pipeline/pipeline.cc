#include "worker/pipeline/pipeline.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/cross_entropy_loss.h>
#include <ATen/ops/full.h>
#include <ATen/ops/linalg_vector_norm.h>
#include <ATen/ops/zeros.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <numeric>
#include <string>

#include "proto/activation_caching.h"
#include "proto/freeze_timing.h"
#include "proto/learning_rate.h"

namespace freezepipe::worker {
namespace {

constexpr int kHeaderTag = 10;
constexpr int kActivationTag = 20;
constexpr int kGradientTag = 30;

/// Adds the seconds of a scope, less those waited in it, to a counter.
class Stopwatch {
 public:
  Stopwatch(double* seconds, const double* waited = nullptr)
      : seconds_(seconds), waited_(waited), waited_before_(waited ? *waited : 0) {}
  ~Stopwatch() {
    const std::chrono::duration<double> passed = std::chrono::steady_clock::now() - begin_;
    *seconds_ += passed.count() - (waited_ ? *waited_ - waited_before_ : 0);
  }

 private:
  double* seconds_;
  const double* waited_;
  const double waited_before_;
  const std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

}  // namespace

void StageSeconds::Add(const StageSeconds& other) {
  forward += other.forward;
  backward += other.backward;
  optimizer += other.optimizer;
  wait += other.wait;
}

Pipeline::Pipeline(const JobContext& job, Generation& generation, Stage& stage)
    : job_(job), generation_(generation), stage_(stage) {
  Group& world = generation_.world();
  const int rank = generation_.RankAt(generation_.position());
  const size_t capacity = job_.micro_batches() + 2;
  if (!generation_.last_stage()) {
    downstream_.emplace(world, generation_.forward(), rank + 1, kActivationTag,
                        generation_.shares_memory_with(rank + 1));
    gradients_ = std::make_unique<Inbox>(world, generation_.backward(), rank + 1, kGradientTag,
                                         job_.device(), capacity);
  }
  if (!generation_.first_stage()) {
    upstream_.emplace(world, generation_.backward(), rank - 1, kGradientTag,
                      generation_.shares_memory_with(rank - 1));
    activations_ = std::make_unique<Inbox>(world, generation_.forward(), rank - 1, kActivationTag,
                                           job_.device(), capacity);
  } else if (!generation_.lead()) {
    header_inbox_ = std::make_unique<Inbox>(world, world, generation_.lead_rank(), kHeaderTag,
                                            at::Device(at::kCPU), capacity);
  }
  if (generation_.lead()) {
    for (int replica = 0; replica < generation_.replicas(); ++replica) {
      const int first = generation_.RankAt({0, replica});
      if (first != rank) header_outboxes_.emplace_back(world, world, first, kHeaderTag);
    }
  }
}

Pipeline::~Pipeline() {
  generation_.Abort();  // the inboxes' threads wait in its groups
}

void Pipeline::IssueHeader(const StepHeader& header) {
  for (auto& outbox : header_outboxes_) outbox.Send(header);
  own_header_ = header;
}

StepHeader Pipeline::AwaitHeader() {
  StepHeader header;
  double waited = 0;
  if (activations_ != nullptr) {
    header = Take(*activations_, Message::Kind::kHeader, 0, &waited).header;
  } else if (header_inbox_ != nullptr) {
    header = Take(*header_inbox_, Message::Kind::kHeader, 0, &waited).header;
  } else {
    header = *own_header_;
  }
  if (downstream_) downstream_->Send(header);
  return header;
}

Message Pipeline::Take(Inbox& inbox, Message::Kind kind, int micro_batch, double* waited) {
  Message message = inbox.Take(waited);
  if (message.kind != kind || message.micro_batch != micro_batch) {
    throw std::logic_error(
        "stages are out of step: got message " + std::to_string(static_cast<int>(message.kind)) +
        " of micro-batch " + std::to_string(message.micro_batch) + ", expected " +
        std::to_string(static_cast<int>(kind)) + " of " + std::to_string(micro_batch));
  }
  return message;
}

Pipeline::Batch Pipeline::MakeBatch(int step) const {
  Batch batch;
  batch.samples = job_.sampler().Batch(step);
  const auto sizes =
      MicroBatchSizes(static_cast<int64_t>(batch.samples.size()), job_.micro_batches());
  batch.offsets.assign(sizes.size() + 1, 0);
  std::partial_sum(sizes.begin(), sizes.end(), batch.offsets.begin() + 1);
  const int share = job_.micro_batches() / generation_.replicas();
  const int first = generation_.position().replica * share;
  for (int i = first; i < first + share; ++i) {
    if (sizes[i] > 0) batch.micro_batches.push_back(i);
  }
  return batch;
}

std::vector<int64_t> Pipeline::SamplesOf(const Batch& batch, int micro_batch) const {
  return {batch.samples.begin() + batch.offsets[micro_batch],
          batch.samples.begin() + batch.offsets[micro_batch + 1]};
}

StepOutcome Pipeline::Train(int step, const FreezeLog& log) {
  StepOutcome outcome;
  const Batch batch = MakeBatch(step);
  outcome.samples = static_cast<int64_t>(batch.samples.size());
  const int boundary = BoundaryAt(log, step);
  const bool any = !batch.micro_batches.empty();
  stage_.BeginStep(step, boundary, any ? batch.micro_batches.back() : -1);
  if (generation_.stage_replicas() != nullptr && boundary != boundary_) {
    std::vector<at::Tensor> parameters;
    for (auto layer = stage_.layers().rbegin(); layer != stage_.layers().rend(); ++layer) {
      if ((*layer)->frozen()) continue;
      parameters.insert(parameters.end(), (*layer)->parameters().rbegin(),
                        (*layer)->parameters().rend());
    }
    reducer_ = std::make_unique<GradientReducer>(*generation_.stage_replicas(), parameters,
                                                 generation_.replicas_share_memory());
  }

  boundary_ = boundary;
  if (stage_.cache() != nullptr) {
    const int first = stage_.layers().front()->index();
    const int end = stage_.layers().back()->index() + 1;
    stage_.cache()->BeginStep(log, boundary, first, std::clamp(boundary, first, end));
    ReadAhead(step + 1);
  }

  // 1. Forward and backward passes in the schedule's order.
  loss_ = at::zeros({}, at::TensorOptions().dtype(at::kDouble).device(job_.device()));
  loss_gradients_.clear();
  const auto schedule =
      MakeSchedule(job_.spec().pipeline().schedule(), generation_.position().stage,
                   generation_.stages(), batch.micro_batches, stage_.trains());
  for (const auto& action : schedule) {
    if (action.kind == PipelineAction::Kind::kForward) {
      Forward(step, batch, action.micro_batch, &outcome);
    } else {
      if (reducer_ && action.micro_batch == batch.micro_batches.back()) reducer_->Arm();
      Backward(action.micro_batch, &outcome);
    }
  }

  outcome.cache = stage_.TakeCacheUse();

  // 2. What other workers must add: the last point where the step can fail.
  double clip_factor = 1;
  std::vector<std::vector<BatchMoments>> moments;
  {
    const Stopwatch watch(&outcome.seconds.wait);
    if (reducer_) reducer_->Finish();
    moments = SumLossAndMoments();
    if (generation_.last_stage()) {
      outcome.loss = loss_.item<double>();
      if (!std::isfinite(outcome.loss)) {
        throw NotFiniteError("loss is not finite at step " + std::to_string(step));
      }
    }
    if (job_.spec().training().clip_grad_norm() > 0) clip_factor = ClipFactor();
  }

  // 3. Local from here on, so that a step is done whole or not at all.
  const Stopwatch watch(&outcome.seconds.optimizer);
  const double rate = LearningRateAt(job_.spec().training(), step, job_.total_steps());
  size_t norm_index = 0;
  for (const auto& layer : stage_.layers()) {
    if (layer->frozen()) continue;
    if (layer->statistics() != nullptr) layer->statistics()->ObserveGradients();
    if (clip_factor < 1) {
      for (const auto& parameter : layer->parameters()) {
        if (parameter.grad().defined()) parameter.mutable_grad().mul_(clip_factor);
      }
    }
    layer->Update(rate * CoolDownFactor(log, layer->index(), step));
    for (BatchNorm* norm : layer->batch_norms()) norm->Commit(moments[norm_index++]);
  }
  return outcome;
}

std::vector<int64_t> Pipeline::CacheKeys(const std::vector<int64_t>& samples, int epoch) const {
  const int64_t regular = job_.spec().training().batch_size() / job_.micro_batches();
  // What a short micro-batch makes of a sample may differ in the last bit.
  const bool short_one = static_cast<int64_t>(samples.size()) < regular;
  if (stage_.cache() == nullptr || job_.views() == 0 || short_one) return {};
  std::vector<int64_t> keys = samples;
  const int64_t view = job_.views() == 1 ? 0 : epoch;
  for (int64_t& key : keys) key += view * job_.dataset().train_size();
  return keys;
}

void Pipeline::ReadAhead(int step) const {
  if (step >= job_.total_steps()) return;
  const Batch batch = MakeBatch(step);
  for (const int micro_batch : batch.micro_batches) {
    stage_.cache()->WillNeed(CacheKeys(SamplesOf(batch, micro_batch), EpochOfImages(step)));
  }
}

int Pipeline::EpochOfImages(int step) const {
  return AugmentationEpoch(job_.spec(), boundary_, step / job_.sampler().steps_per_epoch());
}

void Pipeline::Forward(int step, const Batch& batch, int micro_batch, StepOutcome* outcome) {
  double& waited = outcome->seconds.wait;
  const Stopwatch watch(&outcome->seconds.forward, &waited);
  const auto samples = SamplesOf(batch, micro_batch);
  const int epoch = EpochOfImages(step);
  StageInput input{.load = {}, .cache_keys = CacheKeys(samples, epoch)};
  if (activations_ != nullptr) {
    input.load = [tensor =
                      Take(*activations_, Message::Kind::kTraining, micro_batch, &waited).tensor] {
      return tensor;
    };
  } else {
    input.load = [&] {
      return job_.ToInput(job_.dataset().TrainImages(samples, job_.seed(), epoch));
    };
  }
  const auto output = stage_.Forward(micro_batch, input);
  if (downstream_) {
    downstream_->Send(Message::Kind::kTraining, micro_batch, output);
  } else {
    loss_gradients_[micro_batch] = LossGradient(batch, micro_batch, output);
  }
}

at::Tensor Pipeline::LossGradient(const Batch& batch, int micro_batch, const at::Tensor& logits) {
  // The loss is the mean over the global batch: a micro-batch adds its sum / batch size. In its own
  // graph, so that backward through the stage begins with a gradient on every stage alike.
  const auto leaf = logits.detach().set_requires_grad(true);
  const auto labels = job_.dataset().TrainLabels(SamplesOf(batch, micro_batch)).to(job_.device());
  const auto loss = at::cross_entropy_loss(leaf.to(job_.weight_type()), labels, /*weight=*/{},
                                           at::Reduction::Sum) /
                    static_cast<double>(batch.samples.size());
  torch::autograd::backward({loss});
  loss_.add_(loss.detach());
  return leaf.grad();
}

void Pipeline::Backward(int micro_batch, StepOutcome* outcome) {
  double& waited = outcome->seconds.wait;
  const Stopwatch watch(&outcome->seconds.backward, &waited);
  at::Tensor gradient;
  if (gradients_ != nullptr) {
    gradient = Take(*gradients_, Message::Kind::kTraining, micro_batch, &waited).tensor;
  } else {
    gradient = std::move(loss_gradients_.at(micro_batch));
  }
  const auto input_gradient = stage_.Backward(micro_batch, gradient);
  if (stage_.sends_gradient()) {
    upstream_->Send(Message::Kind::kTraining, micro_batch, input_gradient);
  }
}

double Pipeline::ClipFactor() {
  // One sum of squares a layer, added in layer order: the same norm for every number of stages.
  // Every stage joins, also one with nothing to train; of the replicas, whose gradients are equal,
  // the first.
  const at::NoGradGuard no_grad;
  auto squares = at::zeros({job_.model().size()}, at::kDouble);
  for (const auto& layer : stage_.layers()) {
    if (layer->frozen() || generation_.position().replica != 0) continue;
    for (const auto& parameter : layer->parameters()) {
      if (!parameter.grad().defined()) continue;
      const double norm =
          at::linalg_vector_norm(parameter.grad(), 2, std::nullopt, false, at::kDouble)
              .item<double>();
      squares[layer->index()] += norm * norm;
    }
  }
  generation_.world().AllReduce(squares).Wait();
  double total = 0;
  for (int i = 0; i < squares.numel(); ++i) total += squares.data_ptr<double>()[i];
  // As torch.nn.utils.clip_grad_norm_.
  return std::min(1.0, job_.spec().training().clip_grad_norm() / (std::sqrt(total) + 1e-6));
}

std::vector<std::vector<BatchMoments>> Pipeline::SumLossAndMoments() {
  std::vector<std::vector<BatchMoments>> moments;
  std::vector<int64_t> channels;
  int64_t values = 0;
  for (const auto& layer : stage_.layers()) {
    if (layer->frozen()) continue;
    for (BatchNorm* norm : layer->batch_norms()) {
      moments.push_back(norm->TakeMoments());
      channels.push_back(norm->channels());
      values += 1 + 2 * norm->channels();
    }
  }
  if (generation_.stage_replicas() == nullptr) return moments;

  // The loss, then a row of all norms' values for each micro-batch of the global batch: each
  // replica fills its own, the sum is the whole.
  const auto options = at::TensorOptions().dtype(at::kDouble).device(job_.device());
  std::map<int, std::vector<at::Tensor>> rows;
  for (const auto& norm : moments) {
    for (const auto& one : norm) {
      auto& row = rows[one.micro_batch];
      row.push_back(at::full({1}, static_cast<double>(one.count), options));
      row.push_back(one.mean);
      row.push_back(one.variance);
    }
  }
  std::vector<at::Tensor> parts = {loss_.reshape({1})};
  for (int m = 0; m < job_.micro_batches(); ++m) {
    const auto& row = rows[m];
    if (row.empty()) parts.push_back(at::zeros({values}, options));
    parts.insert(parts.end(), row.begin(), row.end());
  }
  auto sum = at::cat(parts);
  SumOverReplicas(sum);
  loss_ = sum[0];
  const auto table = sum.narrow(0, 1, job_.micro_batches() * values);
  const auto counts = table.cpu();
  int64_t column = 0;
  for (size_t i = 0; i < channels.size(); ++i) {
    moments[i].clear();
    for (int m = 0; m < job_.micro_batches(); ++m) {
      const int64_t at = m * values + column;
      const auto count = static_cast<int64_t>(counts.const_data_ptr<double>()[at]);
      if (count == 0) continue;
      moments[i].push_back({.micro_batch = m,
                            .count = count,
                            .mean = table.narrow(0, at + 1, channels[i]),
                            .variance = table.narrow(0, at + 1 + channels[i], channels[i])});
    }
    column += 1 + 2 * channels[i];
  }
  return moments;
}

void Pipeline::SumOverReplicas(at::Tensor& values) {
  if (generation_.stage_replicas() != nullptr)
    generation_.stage_replicas()->AllReduce(values).Wait();
}

EvaluationOutcome Pipeline::Evaluate() {
  const at::NoGradGuard no_grad;
  const int64_t size = job_.spec().training().batch_size();
  const int64_t total = job_.dataset().test_size();
  double waited = 0;
  auto sums = at::zeros({2}, at::TensorOptions().dtype(at::kDouble).device(job_.device()));
  for (int64_t begin = 0, chunk = 0; begin < total; begin += size, ++chunk) {
    if (chunk % generation_.replicas() != generation_.position().replica) continue;
    const int64_t end = std::min(total, begin + size);
    StageInput input;
    if (activations_ != nullptr) {
      input.load = [tensor = Take(*activations_, Message::Kind::kEvaluation,
                                  static_cast<int>(chunk), &waited)
                                 .tensor] { return tensor; };
    } else {
      input.load = [&] { return job_.ToInput(job_.dataset().TestImages(begin, end)); };
    }
    if (stage_.cache() != nullptr) {
      // A chunk holds the same samples in every epoch, whatever its size.
      input.cache_keys.resize(end - begin);
      std::iota(input.cache_keys.begin(), input.cache_keys.end(),
                job_.views() * job_.dataset().train_size() + begin);
    }
    const auto output = stage_.Evaluate(input);
    if (downstream_) {
      downstream_->Send(Message::Kind::kEvaluation, static_cast<int>(chunk), output);
      continue;
    }
    const auto labels = job_.dataset().TestLabels(begin, end).to(job_.device());
    const auto logits = output.to(job_.weight_type());
    sums[0] += logits.argmax(1).eq(labels).sum();
    sums[1] += at::cross_entropy_loss(logits, labels, /*weight=*/{}, at::Reduction::Sum);
  }
  stage_.TakeCacheUse();  // it is told of training alone
  if (!generation_.last_stage()) return {};
  SumOverReplicas(sums);
  return {.accuracy = sums[0].item<double>() / static_cast<double>(total),
          .loss = sums[1].item<double>() / static_cast<double>(total)};
}

}  // namespace freezepipe::worker
