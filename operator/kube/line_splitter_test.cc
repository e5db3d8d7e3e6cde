#include "operator/kube/line_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace freezepipe::kube {
namespace {

TEST(LineSplitter, SameLinesHoweverTheBytesArrive) {
  const std::string text = "first\nsecond line\n\nthird\nunfinished";
  for (size_t size = 1; size <= text.size(); ++size) {
    LineSplitter splitter;
    std::vector<std::string> lines;
    for (size_t start = 0; start < text.size(); start += size) {
      splitter.Add(std::string_view(text).substr(start, size),
                   [&](std::string_view line) { lines.emplace_back(line); });
    }
    EXPECT_THAT(lines, testing::ElementsAre("first", "second line", "third")) << size;
  }
}

}  // namespace
}  // namespace freezepipe::kube
