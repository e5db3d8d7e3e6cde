#include "worker/freeze/layer_statistics.h"

#include <ATen/TensorOperators.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/scalar_tensor.h>
#include <ATen/ops/zeros_like.h>

#include <cmath>
#include <stdexcept>

namespace freezepipe::worker {
namespace {

constexpr double kDecay = 0.8;

template <typename Select>
at::Tensor Flatten(const std::vector<at::Tensor>& parameters, Select select) {
  std::vector<at::Tensor> parts;
  for (const auto& parameter : parameters)
    parts.push_back(select(parameter).detach().reshape({-1}));
  return at::cat(parts);
}

/// P of a random walk without end, sqrt((1 - decay) / (1 + decay)).
constexpr double kRandomWalk = 1.0 / 3;

/// P of a random walk of so many updates.
double RandomWalk(int64_t updates) {
  const double rest = std::pow(kDecay, updates);
  return std::sqrt((1 - kDecay) * (1 + rest) / ((1 + kDecay) * (1 - rest)));
}

double Sum(const at::Tensor& values) { return values.sum(at::kDouble).item<double>(); }

}  // namespace

LayerStatistics::LayerStatistics(v1alpha1::FreezeMetric::Type metric,
                                 std::vector<at::Tensor> parameters)
    : metric_(metric), parameters_(std::move(parameters)) {}

void LayerStatistics::ObserveGradients() {
  if (metric_ != v1alpha1::FreezeMetric::NormChange || parameters_.empty()) return;
  const at::NoGradGuard no_grad;
  const auto now = Flatten(parameters_, [](const at::Tensor& parameter) {
    return parameter.grad().defined() ? parameter.grad() : at::zeros_like(parameter);
  });
  gradient_ = gradient_.defined() ? gradient_.add_(now) : now;
}

std::optional<double> LayerStatistics::EndWindow() {
  if (parameters_.empty()) return std::nullopt;
  const at::NoGradGuard no_grad;
  if (metric_ == v1alpha1::FreezeMetric::NormChange) {
    if (!gradient_.defined()) return std::nullopt;
    const double norm = Sum(gradient_.abs());
    gradient_.reset();
    return norm;
  }
  auto weights = Flatten(parameters_, [](const at::Tensor& parameter) { return parameter; });
  if (!previous_.defined()) {
    previous_ = std::move(weights);
    mean_ = at::zeros_like(previous_);
    magnitude_ = at::zeros_like(previous_);
    return std::nullopt;
  }
  const auto update = weights - previous_;
  mean_.mul_(kDecay).add_(update, 1 - kDecay);
  magnitude_.mul_(kDecay).add_(update.abs(), 1 - kDecay);
  previous_ = std::move(weights);
  if (++updates_ < 2) return std::nullopt;  // one update agrees with itself
  const double magnitude = Sum(magnitude_);
  if (magnitude == 0) return 0;
  return Sum(mean_.abs()) / magnitude * kRandomWalk / RandomWalk(updates_);
}

std::vector<std::pair<std::string, at::Tensor>> LayerStatistics::State() const {
  std::vector<std::pair<std::string, at::Tensor>> state;
  const auto add = [&](const char* name, const at::Tensor& value) {
    if (value.defined()) state.emplace_back(name, value);
  };
  add("previous", previous_);
  add("mean", mean_);
  add("magnitude", magnitude_);
  if (previous_.defined()) add("updates", at::scalar_tensor(updates_, at::kLong));
  add("gradient", gradient_);
  return state;
}

void LayerStatistics::SetState(const std::string& name, const at::Tensor& value) {
  if (name == "updates") {
    updates_ = value.item<int64_t>();
    return;
  }
  const auto copy =
      parameters_.empty() ? value.clone() : value.to(parameters_.front().device(), false, true);
  if (name == "previous") {
    previous_ = copy;
  } else if (name == "mean") {
    mean_ = copy;
  } else if (name == "magnitude") {
    magnitude_ = copy;
  } else if (name == "gradient") {
    gradient_ = copy;
  } else {
    throw std::runtime_error("unknown freeze statistic '" + name + "'");
  }
}

}  // namespace freezepipe::worker
