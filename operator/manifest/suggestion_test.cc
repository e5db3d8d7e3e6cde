#include "operator/manifest/suggestion.h"

#include <gtest/gtest.h>

namespace freezepipe {
namespace {

const std::vector<std::string> kFields = {"batchSize", "epochs", "seed",
                                          "optimizer", "beta1",  "beta2"};

TEST(SuggestionTest, SeesThroughCaseAndSeparators) {
  EXPECT_EQ(NearestTo("batch_size", kFields), "batchSize");
  EXPECT_EQ(NearestTo("BATCH-SIZE", kFields), "batchSize");
}

TEST(SuggestionTest, FindsMisspellings) {
  EXPECT_EQ(NearestTo("epoch", kFields), "epochs");
  EXPECT_EQ(NearestTo("optimiser", kFields), "optimizer");
}

TEST(SuggestionTest, PrefersTheNearest) { EXPECT_EQ(NearestTo("beta2x", kFields), "beta2"); }

TEST(SuggestionTest, StaysSilentWhereNothingIsNear) {
  EXPECT_EQ(NearestTo("colour", kFields), std::nullopt);
  EXPECT_EQ(NearestTo("x", kFields), std::nullopt);
  EXPECT_EQ(NearestTo("", kFields), std::nullopt);
}

}  // namespace
}  // namespace freezepipe
