#include "proto/activation_caching.h"

#include <gtest/gtest.h>

namespace freezepipe {
namespace {

TEST(ActivationCaching, LimitIsInBytesOrInPowersOf1024) {
  for (const auto& [text, bytes] :
       std::vector<std::pair<std::string, int64_t>>{{"0", 0},
                                                    {"1000", 1000},
                                                    {"3Ki", 3072},
                                                    {"512Mi", 512LL << 20},
                                                    {"4Gi", 4LL << 30},
                                                    {"2Ti", 2LL << 40}}) {
    EXPECT_EQ(CacheBytes(text), bytes) << text;
  }
}

TEST(ActivationCaching, RandomAugmentationHasAsManyViewsAsAreAskedFor) {
  v1alpha1::FreezePipeJobSpec spec;
  EXPECT_EQ(Views(spec), 1);
  spec.mutable_dataset()->mutable_augmentation()->set_random_horizontal_flip(true);
  EXPECT_EQ(Views(spec), 0);
  spec.mutable_freeze()->mutable_cache()->set_views(3);
  EXPECT_EQ(Views(spec), 3);
}

TEST(ActivationCaching, ViewsComeInTurnFromTheFirstFreezeOn) {
  v1alpha1::FreezePipeJobSpec spec;
  EXPECT_EQ(AugmentationEpoch(spec, 2, 7), 7);
  spec.mutable_freeze()->mutable_cache()->set_views(3);
  EXPECT_EQ(AugmentationEpoch(spec, 0, 7), 7);
  EXPECT_EQ(AugmentationEpoch(spec, 2, 7), 1);
}

}  // namespace
}  // namespace freezepipe
