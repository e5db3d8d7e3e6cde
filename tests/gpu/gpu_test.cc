#include <ATen/TensorOperators.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <string>

#include "tests/training/job_run.h"
#include "tests/training/plain_loop.h"
#include "worker/data/test_files.h"

namespace freezepipe::training {
namespace {

/// CUDA devices that the worker finds.
int CudaDevices() {
  FILE* pipe = popen(FREEZEPIPE_BIN_DIR "/freezepipe-worker devices", "r");
  if (pipe == nullptr) return 0;
  int count = 0;
  char line[64];
  while (std::fgets(line, sizeof(line), pipe) != nullptr) {
    count += std::string(line).starts_with("cuda");
  }
  pclose(pipe);
  return count;
}

class Gpu : public testing::Test {
 protected:
  void SetUp() override {
    devices_ = CudaDevices();
    if (devices_ == 0) GTEST_SKIP() << "no CUDA device found";
    spec_ = SmallJob(folder_.path() / "data", 165);
    spec_.mutable_model()->mutable_zoo()->set_dropout(0);  // a GPU draws other numbers
  }

  /// The job on CUDA stays near the plain loop on the CPU.
  void ExpectClose(int workers) {
    spec_.mutable_worker()->set_count(workers);
    const auto run = RunJob(folder_.path() / std::to_string(workers), spec_, {"--device", "cuda"});
    ASSERT_EQ(run.exit_code, 0) << run.output;
    const auto plain = TrainPlainly(spec_);
    for (const auto& [step, loss] : plain.losses) {
      EXPECT_NEAR(run.losses.at(step), loss, 1e-6 * std::abs(loss)) << "step " << step;
    }
  }

  worker::TestFolder folder_;
  v1alpha1::FreezePipeJobSpec spec_;
  int devices_ = 0;
};

TEST_F(Gpu, OneStageEqualsThePlainLoopOnTheCpu) {
  spec_.mutable_training()->set_precision(v1alpha1::Precision::Float64);
  ExpectClose(1);
}

TEST_F(Gpu, StagesOverNcclEqualThePlainLoopOnTheCpu) {
  if (devices_ < 2) GTEST_SKIP() << "needs two CUDA devices";
  spec_.mutable_training()->set_precision(v1alpha1::Precision::Float64);
  ExpectClose(2);
}

TEST_F(Gpu, AReplicaEachOverNcclEqualsThePlainLoopOnTheCpu) {
  if (devices_ < 2) GTEST_SKIP() << "needs two CUDA devices";
  spec_.mutable_training()->set_precision(v1alpha1::Precision::Float64);
  spec_.mutable_pipeline()->set_replicas(2);
  ExpectClose(2);
}

}  // namespace
}  // namespace freezepipe::training
