#include "cmd/freezepipe/device_choice.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::cli {
namespace {

using testing::ElementsAre;

TEST(DeviceChoiceTest, AutoTakesCudaWhereThereIsOneForEachWorker) {
  EXPECT_THAT(*ChooseDevices("auto", {"cpu", "cuda:0", "cuda:1"}, 2),
              ElementsAre("cuda:0", "cuda:1"));
  EXPECT_THAT(*ChooseDevices("auto", {"cpu", "cuda:0"}, 2), ElementsAre("cpu", "cpu"));
  EXPECT_THAT(*ChooseDevices("auto", {"cpu"}, 2), ElementsAre("cpu", "cpu"));
}

TEST(DeviceChoiceTest, CpuStaysCpu) {
  EXPECT_THAT(*ChooseDevices("cpu", {"cpu", "cuda:0"}, 1), ElementsAre("cpu"));
}

TEST(DeviceChoiceTest, CudaWithoutOneIsAnError) {
  EXPECT_EQ(ChooseDevices("cuda", {"cpu"}, 1).status().message(), "no CUDA device found");
  EXPECT_EQ(ChooseDevices("cuda", {"cpu", "cuda:0"}, 2).status().message(),
            "spec.worker.count: 2 workers want a CUDA device each, found 1");
}

}  // namespace
}  // namespace freezepipe::cli
