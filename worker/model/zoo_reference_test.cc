#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/randn.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "worker/checkpoint/layer_state.h"
#include "worker/data/test_files.h"
#include "worker/model/layer_tensors.h"

namespace freezepipe::worker {
namespace {

using v1alpha1::ZooModel;

struct Network {
  ZooModel::Name name;
  int channels, extent;
};

constexpr Network kNetworks[] = {{ZooModel::vgg11_bn, 3, 32}, {ZooModel::vgg11_bn, 1, 28},
                                 {ZooModel::resnet18, 3, 32}, {ZooModel::resnet50, 3, 32},
                                 {ZooModel::resnet20, 3, 32}, {ZooModel::vit_tiny, 3, 32}};

std::string NameOf(const Network& network) {
  return ZooModel::Name_Name(network.name) + "_" + std::to_string(network.extent);
}

/// One training forward and backward pass in float64; the file has weights, input, output and input
/// gradient.
void RunAndSave(const Network& network, const std::filesystem::path& folder) {
  v1alpha1::ModelSpec spec;
  spec.mutable_zoo()->set_name(network.name);
  spec.mutable_zoo()->set_width_multiplier(network.name == ZooModel::vit_tiny ? 1 : 0.25);
  const auto model = MakeModel(spec, {.channels = network.channels,
                                      .height = network.extent,
                                      .width = network.extent,
                                      .classes = 10});
  const at::Tensor input = at::randn({4, network.channels, network.extent, network.extent},
                                     at::detail::createCPUGenerator(5), at::kDouble)
                               .requires_grad_();
  std::vector<std::pair<std::string, at::Tensor>> tensors;
  at::Tensor output = input;
  std::vector<std::shared_ptr<Layer>> layers;
  for (int i = 0; i < model->size(); ++i) {
    layers.push_back(model->MakeLayer(i, 3));
    layers.back()->to(at::kDouble);
    for (const auto& [name, tensor] : LayerTensors(*layers.back())) {
      tensors.emplace_back(ExportName(*model, i, name), tensor);
    }
    output = layers.back()->Forward(output, {});
  }
  output.square().sum().backward();
  tensors.emplace_back("input", input);
  tensors.emplace_back("output", output);
  tensors.emplace_back("input_grad", input.grad());

  WriteSafetensors(folder / (NameOf(network) + ".safetensors"), tensors);
}

TEST(ZooReferenceTest, ComputesWhatPlainPyTorchDoes) {
  const TestFolder folder;
  for (const Network& network : kNetworks) RunAndSave(network, folder.path());
  const std::string command = std::string("'") + FREEZEPIPE_PYTHON + "' '" + FREEZEPIPE_SOURCE_DIR +
                              "/worker/model/zoo_reference.py' '" + folder.path().string() + "'";
  EXPECT_EQ(std::system(command.c_str()), 0);
}

}  // namespace
}  // namespace freezepipe::worker
