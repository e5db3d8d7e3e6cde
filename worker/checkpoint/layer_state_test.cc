#include "worker/checkpoint/layer_state.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <fstream>
#include <nlohmann/json.hpp>

#include "worker/data/test_files.h"

namespace freezepipe::worker {
namespace {

using namespace std::string_literals;
using testing::AllOf;
using testing::HasSubstr;
using NamedTensors = std::vector<std::pair<std::string, at::Tensor>>;

at::Tensor Random(at::IntArrayRef shape, uint64_t seed) {
  return at::randn(shape, at::detail::createCPUGenerator(seed), at::kFloat);
}

/// Every type, also a scalar, an empty tensor, and one with strides of its own.
NamedTensors EveryKind() {
  return {{"flags", Random({5}, 1).gt(0)},
          {"conv.weight", Random({4, 3, 2, 2}, 2).contiguous(at::MemoryFormat::ChannelsLast)},
          {"bytes", at::arange(7, at::kByte)},
          {"half", Random({3}, 3).to(at::kHalf)},
          {"brain", Random({3, 1}, 4).to(at::kBFloat16)},
          {"double", Random({2, 2}, 5).to(at::kDouble)},
          {"long", at::arange(-3, 3, at::kLong)},
          {"int", at::arange(4, at::kInt)},
          {"optimizer/conv.weight/step", at::full({}, 12.5, at::kFloat)},
          {"nothing", at::empty({0, 3}, at::kFloat)},
          {"transposed", Random({3, 5}, 6).t()}};
}

LayerState State() { return {.layer = "block2.1", .step = 1234, .tensors = EveryKind()}; }

void ExpectEqual(const NamedTensors& actual, const NamedTensors& expected) {
  ASSERT_EQ(actual.size(), expected.size());
  for (size_t i = 0; i < actual.size(); ++i) {
    EXPECT_EQ(actual[i].first, expected[i].first);
    EXPECT_EQ(actual[i].second.scalar_type(), expected[i].second.scalar_type());
    EXPECT_TRUE(actual[i].second.is_contiguous());
    EXPECT_TRUE(at::equal(actual[i].second, expected[i].second)) << expected[i].first;
  }
}

std::string ReadBytes(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

template <typename Action>
std::string ErrorOf(Action action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "";
}

TEST(LayerStateTest, EncodeAndDecodeGiveTheSameBack) {
  const at::Tensor bytes = Encode(State());
  EXPECT_EQ(bytes.scalar_type(), at::kByte);
  const LayerState state = Decode(bytes);
  EXPECT_EQ(state.layer, "block2.1");
  EXPECT_EQ(state.step, 1234);
  ExpectEqual(state.tensors, EveryKind());
  EXPECT_EQ(Hash(state), Hash(State()));
}

TEST(LayerStateTest, FilesHoldTheBytesOfEncode) {
  const TestFolder folder;
  const auto path = folder.path() / "layer-0003.safetensors";
  WriteLayerState(path, State());
  const at::Tensor bytes = Encode(State());
  EXPECT_EQ(ReadBytes(path),
            std::string(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()));
  ExpectEqual(ReadLayerState(path).tensors, EveryKind());
  ExpectEqual(ReadSafetensors(path), EveryKind());
}

TEST(LayerStateTest, HeaderIsAlignedAndSoIsEveryTensor) {
  const at::Tensor bytes = Encode(State());
  uint64_t length = 0;
  std::memcpy(&length, bytes.const_data_ptr(), 8);
  EXPECT_EQ(length % 8, 0);
  const auto header =
      nlohmann::json::parse(static_cast<const char*>(bytes.const_data_ptr()) + 8,
                            static_cast<const char*>(bytes.const_data_ptr()) + 8 + length);
  for (const auto& [name, tensor] : EveryKind()) {
    EXPECT_EQ(header[name]["data_offsets"][0].get<int64_t>() % tensor.element_size(), 0) << name;
  }
}

TEST(LayerStateTest, HashSeesNamesTypesShapesAndValues) {
  const auto hash = [](NamedTensors tensors) { return Hash({"l", 0, std::move(tensors)}); };
  const at::Tensor t = at::arange(6, at::kFloat);
  const uint64_t base = hash({{"a", t}});
  EXPECT_EQ(base, hash({{"a", t.clone()}}));
  EXPECT_NE(base, hash({{"b", t}}));
  EXPECT_NE(base, hash({{"a", t.view({2, 3})}}));
  EXPECT_NE(base, hash({{"a", t.view(at::kInt)}}));
  EXPECT_NE(base, hash({{"a", t.add(1)}}));
  EXPECT_NE(base, hash({{"a", t}, {"c", at::empty({0})}}));
  const at::Tensor images = Random({2, 3, 4, 4}, 1);
  EXPECT_EQ(hash({{"a", images}}),
            hash({{"a", images.contiguous(at::MemoryFormat::ChannelsLast)}}));
}

TEST(LayerStateTest, EveryFlippedByteIsNoticed) {
  const LayerState small{.layer = "a", .step = 3, .tensors = {{"w", at::arange(3, at::kFloat)}}};
  const at::Tensor good = Encode(small);
  ASSERT_EQ(ErrorOf([&] { Decode(good); }), "");
  const int64_t header_end = 8 + good[0].item<int64_t>() + 256 * good[1].item<int64_t>();
  for (int64_t i = 0; i < good.size(0); ++i) {
    at::Tensor bad = good.clone();
    bad[i] = bad[i].bitwise_xor(0x04);
    try {
      const LayerState state = Decode(bad);
      // Layer, step and padding are not covered by the hash of the tensors; those must be.
      EXPECT_LT(i, header_end);
      EXPECT_EQ(Hash(state), Hash(small)) << "byte " << i;
    } catch (const std::runtime_error&) {
    }
  }
}

TEST(LayerStateTest, EveryTruncationIsNoticed) {
  const at::Tensor good = Encode(State());
  for (int64_t size = 0; size < good.size(0); size += 7) {
    EXPECT_THROW(Decode(good.narrow(0, 0, size)), std::runtime_error) << size;
  }
  EXPECT_THROW(Decode(at::empty({0}, at::kByte)), std::runtime_error);
}

struct BadHeader {
  const char* name;
  const char* json;
  const char* expected;
};

class BadHeaders : public testing::TestWithParam<BadHeader> {};

INSTANTIATE_TEST_SUITE_P(
    Safetensors, BadHeaders,
    testing::Values(
        BadHeader{"NotJson", R"({"a":)", "not a JSON object"},
        BadHeader{"Array", R"([1])", "not a JSON object"},
        BadHeader{"NotUtf8", "{\"\xff\":1}", "not a JSON object"},
        BadHeader{"Number", R"({"a":1})", "tensor \"a\""},
        BadHeader{"NoType", R"({"a":{"shape":[2],"data_offsets":[0,8]}})", "tensor \"a\""},
        BadHeader{"UnknownType", R"({"a":{"dtype":"F8","shape":[2],"data_offsets":[0,8]}})", "F8"},
        BadHeader{"NegativeExtent", R"({"a":{"dtype":"F32","shape":[-2],"data_offsets":[0,8]}})",
                  "negative"},
        BadHeader{"HugeShape",
                  R"({"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,8]}})",
                  "too large"},
        BadHeader{"HugeEmptyShape",
                  R"({"a":{"dtype":"F32","shape":[0,4611686018427387904,4],"data_offsets":[0,0]}})",
                  "too large"},
        BadHeader{"OffsetsBackwards", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[8,0]}})",
                  "offsets"},
        BadHeader{"OffsetsOfAnotherSize",
                  R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", "offsets"},
        BadHeader{"Outside", R"({"a":{"dtype":"F32","shape":[3],"data_offsets":[0,12]}})",
                  "truncated"},
        BadHeader{"FarOutside", R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[1000,1008]}})",
                  "gap"},
        BadHeader{"Overlap",
                  R"({"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},)"
                  R"("b":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})",
                  "gap"},
        BadHeader{"Leftover", R"({"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]}})",
                  "longer"},
        BadHeader{
            "MetadataNotText",
            R"({"__metadata__":{"k":1},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})",
            "metadata \"k\""}),
    [](const auto& info) { return info.param.name; });

/// A file of that header and 8 bytes of data.
std::string FileOf(const std::string& json) {
  const uint64_t length = json.size();
  return std::string(reinterpret_cast<const char*>(&length), 8) + json + "\0\0\0\0\0\0\0\0"s;
}

TEST_P(BadHeaders, AreRefusedNamingTheFile) {
  const TestFolder folder;
  const auto path = folder.path() / "bad.safetensors";
  WriteFile(path, FileOf(GetParam().json));
  EXPECT_THAT(ErrorOf([&] { ReadSafetensors(path); }),
              AllOf(HasSubstr(path.string()), HasSubstr(GetParam().expected)));
}

TEST(SafetensorsTest, ReadsAHeaderThatIsNotPadded) {
  const TestFolder folder;
  const auto path = folder.path() / "odd.safetensors";
  WriteFile(path, FileOf(R"({"a":{"dtype":"F64","shape":[],"data_offsets":[0,8]}} )"));
  const auto tensors = ReadSafetensors(path);
  ASSERT_EQ(tensors.size(), 1);
  EXPECT_EQ(tensors[0].second.dim(), 0);
  EXPECT_EQ(tensors[0].second.item<double>(), 0);
}

TEST(SafetensorsTest, HeaderLengthsOutsideTheFile) {
  const TestFolder folder;
  const auto path = folder.path() / "bad.safetensors";
  for (const uint64_t length : {uint64_t{1000}, uint64_t{1} << 40, ~uint64_t{0}, ~uint64_t{7}}) {
    WriteFile(path, std::string(reinterpret_cast<const char*>(&length), 8) + "{}");
    EXPECT_THAT(ErrorOf([&] { ReadSafetensors(path); }), HasSubstr(path.string())) << length;
  }
  WriteFile(path, "abc");
  EXPECT_THAT(ErrorOf([&] { ReadSafetensors(path); }), HasSubstr("truncated"));
  EXPECT_THAT(ErrorOf([&] { ReadSafetensors(folder.path() / "none"); }), HasSubstr("missing"));
}

TEST(SafetensorsTest, ReadLayerStateNamesTheFileOnce) {
  const TestFolder folder;
  const auto path = folder.path() / "plain.safetensors";
  WriteSafetensors(path, EveryKind(), {{"format", "pt"}});
  const std::string error = ErrorOf([&] { ReadLayerState(path); });
  EXPECT_THAT(error, HasSubstr("not the state of a layer"));
  EXPECT_EQ(error.find(path.string()), error.rfind(path.string()));
}

TEST(SafetensorsTest, WritingReplacesWholeAndLeavesNothingBehind) {
  const TestFolder folder;
  const auto path = folder.path() / "w.safetensors";
  WriteSafetensors(path, {{"a", at::arange(1000, at::kFloat)}});
  WriteSafetensors(path, {{"b", at::arange(2, at::kFloat)}});
  EXPECT_EQ(ReadSafetensors(path)[0].first, "b");
  EXPECT_THROW(WriteSafetensors(path, {{"a", at::arange(2)}, {"a", at::arange(2)}}),
               std::runtime_error);
  EXPECT_EQ(ReadSafetensors(path)[0].first, "b");
  const auto nowhere = folder.path() / "no" / "w.safetensors";
  EXPECT_THAT(ErrorOf([&] {
                WriteSafetensors(nowhere, {{"a", at::arange(2)}});
              }),
              HasSubstr(nowhere.string()));
  const std::filesystem::directory_iterator files(folder.path());
  EXPECT_EQ(std::distance(begin(files), end(files)), 1);
}

}  // namespace
}  // namespace freezepipe::worker
