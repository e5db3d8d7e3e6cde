#include "operator/cluster/local/worker_cores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace freezepipe::cluster {
namespace {

using testing::ElementsAre;

TEST(WorkerCoresTest, DealsUsableCoresInTurn) {
  const std::vector<int> usable = {0, 2, 4, 6};
  EXPECT_THAT(CoresOfWorker(0, 1, usable), ElementsAre(0));
  EXPECT_THAT(CoresOfWorker(3, 1, usable), ElementsAre(6));
  EXPECT_THAT(CoresOfWorker(1, 2, usable), ElementsAre(4, 6));
}

TEST(WorkerCoresTest, StartsAgainWhenCoresRunOut) {
  const std::vector<int> usable = {1, 3, 5};
  EXPECT_THAT(CoresOfWorker(3, 1, usable), ElementsAre(1));
  EXPECT_THAT(CoresOfWorker(1, 2, usable), ElementsAre(5, 1));
}

TEST(WorkerCoresTest, TakesAllWhenAWorkerWantsMoreThanThereAre) {
  EXPECT_THAT(CoresOfWorker(1, 8, {0, 1}), ElementsAre(0, 1));
}

TEST(WorkerCoresTest, ThisProcessMayUseAtLeastOneCore) { EXPECT_FALSE(UsableCores().empty()); }

}  // namespace
}  // namespace freezepipe::cluster
