#include <ATen/ops/arange.h>
#include <ATen/ops/equal.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>

#include "worker/checkpoint/layer_state.h"
#include "worker/data/test_files.h"

namespace freezepipe::worker {
namespace {

/// The tensors that safetensors_reference.py expects and writes.
std::map<std::string, at::Tensor> Tensors() {
  const std::pair<const char*, at::ScalarType> types[] = {
      {"f64", at::kDouble}, {"f32", at::kFloat}, {"f16", at::kHalf}, {"bf16", at::kBFloat16},
      {"i64", at::kLong},   {"i32", at::kInt},   {"u8", at::kByte},  {"bool", at::kBool}};
  const std::pair<const char*, std::vector<int64_t>> shapes[] = {
      {"scalar", {}}, {"vector", {5}}, {"empty", {0, 3}}, {"matrix", {3, 7}}};
  std::map<std::string, at::Tensor> tensors;
  for (const auto& [type_name, type] : types) {
    for (const auto& [shape_name, shape] : shapes) {
      int64_t count = 1;
      for (const int64_t extent : shape) count *= extent;
      tensors[std::string(type_name) + "." + shape_name] =
          at::arange(count, at::kLong).to(type).view(shape);
    }
  }
  return tensors;
}

int Python(const std::string& action, const std::filesystem::path& file) {
  const std::string command = std::string("'") + FREEZEPIPE_PYTHON + "' '" + FREEZEPIPE_SOURCE_DIR +
                              "/worker/checkpoint/safetensors_reference.py' " + action + " '" +
                              file.string() + "'";
  return std::system(command.c_str());
}

TEST(SafetensorsReferenceTest, PythonReadsWhatWeWrite) {
  const TestFolder folder;
  const auto file = folder.path() / "ours.safetensors";
  const auto tensors = Tensors();
  WriteSafetensors(file, {tensors.begin(), tensors.end()}, {{"format", "pt"}});
  EXPECT_EQ(Python("read", file), 0);
}

TEST(SafetensorsReferenceTest, WeReadWhatPythonWrites) {
  const TestFolder folder;
  const auto file = folder.path() / "theirs.safetensors";
  ASSERT_EQ(Python("write", file), 0);
  const auto expected = Tensors();
  const auto tensors = ReadSafetensors(file);
  EXPECT_EQ(tensors.size(), expected.size());
  for (const auto& [name, tensor] : tensors) {
    ASSERT_TRUE(expected.contains(name)) << name;
    EXPECT_EQ(tensor.scalar_type(), expected.at(name).scalar_type());
    EXPECT_TRUE(at::equal(tensor, expected.at(name))) << name;
  }
}

}  // namespace
}  // namespace freezepipe::worker
