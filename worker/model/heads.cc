#include "worker/model/heads.h"

#include <ATen/ops/adaptive_avg_pool2d.h>
#include <ATen/ops/dropout.h>

#include "worker/model/modules.h"

namespace freezepipe::worker {
namespace {

class Head : public Layer {
 public:
  Head(WeightInit& init, int64_t inputs, int64_t classes, bool pool, double dropout)
      : linear_(register_module("linear", std::make_shared<Linear>(init, inputs, classes))),
        pool_(pool),
        dropout_(dropout) {}

  at::Tensor Forward(const at::Tensor& input, const ForwardContext& context) override {
    at::Tensor features = (pool_ ? at::adaptive_avg_pool2d(input, {1, 1}) : input).flatten(1);
    if (dropout_ > 0) features = at::dropout(features, dropout_, context.training);
    return linear_->Forward(features);
  }

 private:
  std::shared_ptr<Linear> linear_;
  bool pool_;
  double dropout_;
};

}  // namespace

LayerRecipe LinearHead(int64_t inputs, int classes) {
  return {"head", [=](WeightInit& init) {
            return std::make_shared<Head>(init, inputs, classes, /*pool=*/false, /*dropout=*/0);
          }};
}

LayerRecipe PoolingHead(int64_t channels, const ZooOptions& options) {
  return {"head",
          [channels, classes = options.shape.classes, dropout = options.dropout](WeightInit& init) {
            return std::make_shared<Head>(init, channels, classes, /*pool=*/true, dropout);
          }};
}

}  // namespace freezepipe::worker
