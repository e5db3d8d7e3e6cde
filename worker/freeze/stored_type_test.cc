#include "worker/freeze/stored_type.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <gtest/gtest.h>

namespace freezepipe::worker {
namespace {

using v1alpha1::CacheType;

TEST(StoredTypeTest, IsNeverWiderThanTheOutput) {
  EXPECT_EQ(StoredType(CacheType::Full, at::kDouble), at::kDouble);
  EXPECT_EQ(StoredType(CacheType::Full, at::kBFloat16), at::kBFloat16);
  EXPECT_EQ(StoredType(CacheType::BFloat16, at::kDouble), at::kBFloat16);
  EXPECT_EQ(StoredType(CacheType::Float16, at::kFloat), at::kHalf);
  EXPECT_EQ(StoredType(CacheType::Float16, at::kBFloat16), at::kBFloat16);
}

TEST(StoredTypeTest, RoundsAndKeepsTypeAndMemoryOrder) {
  const auto output = at::full({1, 2, 2, 2}, 1.0 + 1.0 / 512, at::kFloat)
                          .contiguous(at::MemoryFormat::ChannelsLast);
  const auto rounded = RoundToStored(CacheType::BFloat16, output);
  EXPECT_EQ(rounded.scalar_type(), at::kFloat);
  EXPECT_EQ(rounded.strides(), output.strides());
  EXPECT_TRUE(at::equal(rounded, at::full({1, 2, 2, 2}, 1.0, at::kFloat)));
  EXPECT_TRUE(at::equal(RoundToStored(CacheType::Float16, output), output)) << "three bits finer";
  EXPECT_TRUE(at::equal(RoundToStored(CacheType::Full, output), output));
}

}  // namespace
}  // namespace freezepipe::worker
