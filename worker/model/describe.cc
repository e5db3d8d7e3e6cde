#include "worker/model/describe.h"

#include <ATen/core/grad_mode.h>
#include <ATen/ops/zeros.h>
#include <c10/util/Exception.h>

#include <algorithm>
#include <exception>
#include <iterator>
#include <limits>
#include <memory>
#include <string>

#include "worker/checkpoint/initial_weights.h"
#include "worker/data/dataset.h"
#include "worker/data/sampler.h"
#include "worker/model/layer.h"
#include "worker/model/spec_error.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::FreezePipeJobSpec;
using v1alpha1::JobDescription;

class Describer {
 public:
  explicit Describer(const FreezePipeJobSpec& spec) : spec_(spec) {}

  JobDescription Run() {
    Try("spec.dataset.path", [this] { DescribeData(); });
    if (dataset_ == nullptr) return description_;
    Try("spec.model", [this] { DescribeModel(); });
    if (model_ == nullptr) return description_;
    CheckLayerNumbers();
    CheckSteps();
    CheckManualFreezes();
    return description_;
  }

 private:
  void Fault(const std::string& path, const std::string& message) {
    auto* fault = description_.add_faults();
    fault->set_path(path);
    fault->set_message(message);
  }

  void Warning(const std::string& path, const std::string& message) {
    auto* warning = description_.add_warnings();
    warning->set_path(path);
    warning->set_message(message);
  }

  /// Turns exceptions into faults: at their own path if they have one, else at `path`.
  template <typename Action>
  void Try(const char* path, Action action) {
    try {
      action();
    } catch (const SpecError& error) {
      Fault(error.path(), error.message());
    } catch (const c10::Error& error) {
      Fault(path, error.what_without_backtrace());
    } catch (const std::exception& error) {
      Fault(path, error.what());
    }
  }

  void DescribeData() {
    dataset_ = OpenDataset(spec_.dataset());
    description_.set_classes(dataset_->shape().classes);
    description_.set_train_samples(dataset_->train_size());
    description_.set_test_samples(dataset_->test_size());
    const Sampler sampler(dataset_->train_size(), spec_.training().batch_size(), /*seed=*/0);
    description_.set_steps_per_epoch(sampler.steps_per_epoch());
    const auto& limit = spec_.dataset().limit();
    CheckLimit("train", limit.train(), dataset_->train_size());
    CheckLimit("test", limit.test(), dataset_->test_size());
  }

  void CheckLimit(const std::string& part, int limit, int64_t samples) {
    if (limit <= samples) return;
    Warning("spec.dataset.limit." + part, std::to_string(limit) + " is more than the " +
                                              std::to_string(samples) +
                                              " samples that there are: all are used");
  }

  /// Makes one layer after the other, for a large model's weights at once may not fit here.
  void DescribeModel() {
    const SampleShape& shape = dataset_->shape();
    model_ = MakeModel(spec_.model(), shape);
    const at::NoGradGuard no_grad;
    at::Tensor sample = at::zeros({1, shape.channels, shape.height, shape.width});
    bool weights_readable = spec_.model().has_initial_weights();
    WeightsFit fit;
    for (int i = 0; i < model_->size(); ++i) {
      const std::shared_ptr<Layer> layer = model_->MakeLayer(i, spec_.training().seed());
      sample = layer->Forward(sample, {.training = false});
      auto* described = description_.add_layers();
      described->set_name(model_->name(i));
      int64_t parameters = 0;
      for (const at::Tensor& parameter : layer->parameters()) parameters += parameter.numel();
      described->set_parameters(parameters);
      for (const int64_t extent : sample.sizes().slice(1)) described->add_output_shape(extent);
      if (weights_readable) weights_readable = CheckWeights(i, *layer, &fit);
    }
    if (weights_readable) JudgeWeights(fit);
  }

  /// Adds the layer to `fit`. False if the file cannot be read, which is to be said once.
  bool CheckWeights(int index, const Layer& layer, WeightsFit* fit) {
    bool readable = false;
    Try(kWeightsPath, [&] {
      WeightsFit of_layer =
          CheckInitialWeights(spec_.model().initial_weights(), *model_, index, layer);
      fit->fitting += of_layer.fitting;
      std::move(of_layer.mismatches.begin(), of_layer.mismatches.end(),
                std::back_inserter(fit->mismatches));
      readable = true;
    });
    return readable;
  }

  void JudgeWeights(const WeightsFit& fit) {
    if (fit.mismatches.empty()) return;
    const auto& weights = spec_.model().initial_weights();
    if (!weights.ignore_mismatched()) {
      for (const std::string& mismatch : fit.mismatches) {
        Fault(kWeightsPath, weights.path() + ": " + mismatch);
      }
      return;
    }
    if (fit.fitting == 0) {
      Fault(kWeightsPath, weights.path() + ": none of the model's tensors fits, the first: " +
                              fit.mismatches.front());
      return;
    }
    const size_t all = fit.fitting + fit.mismatches.size();
    std::string message = weights.path() + ": " + std::to_string(fit.fitting) + " of the model's " +
                          std::to_string(all) + " tensors are loaded; drawn from the seed instead";
    for (const std::string& mismatch : fit.mismatches) {
      message += (&mismatch == &fit.mismatches.front() ? ": " : "; ") + mismatch;
    }
    Warning(kWeightsPath, message);
  }

  void CheckLayerNumbers() {
    const int layers = model_->size();
    const std::string has = "the model has " + std::to_string(layers) + " layers";
    if (spec_.pipeline().stages() > layers) {
      Fault("spec.pipeline.stages", has + ": expected at most so many stages, got " +
                                        std::to_string(spec_.pipeline().stages()));
    }
    const std::string last = has + ", the last of which never freezes: expected at most " +
                             std::to_string(layers - 1) + ", got ";
    if (spec_.freeze().max_frozen() >= layers) {
      Fault("spec.freeze.maxFrozen", last + std::to_string(spec_.freeze().max_frozen()));
    }
    for (int i = 0; i < spec_.freeze().manual_size(); ++i) {
      const int boundary = spec_.freeze().manual(i).boundary();
      if (boundary < layers) continue;
      Fault("spec.freeze.manual[" + std::to_string(i) + "].boundary",
            last + std::to_string(boundary));
    }
  }

  int64_t Steps() const {
    return int64_t{description_.steps_per_epoch()} * spec_.training().epochs();
  }

  void CheckSteps() {
    constexpr int kMost = std::numeric_limits<int>::max();
    if (Steps() <= kMost) return;
    const int per_epoch = description_.steps_per_epoch();
    Fault("spec.training.epochs", "an epoch has " + std::to_string(per_epoch) +
                                      " steps, and a run at most " + std::to_string(kMost) +
                                      ": expected at most " + std::to_string(kMost / per_epoch) +
                                      ", got " + std::to_string(spec_.training().epochs()));
  }

  /// Each has to freeze at least one step.
  void CheckManualFreezes() {
    const int64_t steps = Steps();
    for (int i = 0; i < spec_.freeze().manual_size(); ++i) {
      const int frozen_at = spec_.freeze().manual(i).frozen_at();
      if (frozen_at < steps) continue;
      Fault("spec.freeze.manual[" + std::to_string(i) + "].frozenAt",
            "the run has " + std::to_string(steps) + " steps, counted from 0: expected at most " +
                std::to_string(steps - 1) + ", got " + std::to_string(frozen_at));
    }
  }

  static constexpr char kWeightsPath[] = "spec.model.initialWeights.path";

  const FreezePipeJobSpec& spec_;
  JobDescription description_;
  std::unique_ptr<Dataset> dataset_;
  std::unique_ptr<Model> model_;
};

}  // namespace

JobDescription Describe(const FreezePipeJobSpec& spec) { return Describer(spec).Run(); }

}  // namespace freezepipe::worker
