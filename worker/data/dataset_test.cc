#include "worker/data/dataset.h"

#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <numeric>

#include "worker/data/test_files.h"
#include "worker/model/spec_error.h"

namespace freezepipe::worker {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using v1alpha1::DatasetFormat;
using v1alpha1::DatasetSpec;

DatasetSpec Spec(DatasetFormat::Type format, const TestFolder& folder) {
  DatasetSpec spec;
  spec.set_format(format);
  spec.set_path(folder.path().string());
  return spec;
}

/// As Spec, with pixels as they are: in [0, 1].
DatasetSpec PlainSpec(DatasetFormat::Type format, const TestFolder& folder, int channels) {
  DatasetSpec spec = Spec(format, folder);
  for (int c = 0; c < channels; ++c) {
    spec.add_mean(0);
    spec.add_std(1);
  }
  return spec;
}

/// What OpenDataset throws; empty if nothing.
std::string ErrorOf(const DatasetSpec& spec) {
  try {
    OpenDataset(spec);
  } catch (const std::exception& error) {
    return error.what();
  }
  return "";
}

std::vector<int64_t> All(int64_t count) {
  std::vector<int64_t> samples(count);
  std::iota(samples.begin(), samples.end(), 0);
  return samples;
}

TEST(DatasetTest, Cifar10ReadsAllFilesInOrder) {
  const TestFolder folder;
  WriteCifar10(folder.path(), 12);
  const auto data = OpenDataset(PlainSpec(DatasetFormat::Cifar10, folder, 3));
  EXPECT_EQ(data->train_size(), 60);
  EXPECT_EQ(data->test_size(), 12);
  EXPECT_EQ(data->shape().channels, 3);
  EXPECT_EQ(data->shape().height, 32);
  EXPECT_EQ(data->shape().classes, 10);
  const at::Tensor images = data->TrainImages({13, 59}, 1, 0);
  EXPECT_EQ(images.sizes(), at::IntArrayRef({2, 3, 32, 32}));
  EXPECT_FLOAT_EQ(images[0][1][2][3].item<float>(), TestPixel(13, 1024 + 2 * 32 + 3) / 255.0F);
  EXPECT_FLOAT_EQ(images[1][2][31][31].item<float>(), TestPixel(59, 3071) / 255.0F);
  EXPECT_TRUE(at::equal(data->TrainLabels({13, 59}), at::tensor({1, 1}, at::kLong)));
  EXPECT_FLOAT_EQ(data->TestImages(3, 5)[1][0][0][1].item<float>(), TestPixel(1004, 1) / 255.0F);
  EXPECT_TRUE(at::equal(data->TestLabels(9, 12), at::tensor({9, 0, 1}, at::kLong)));
}

TEST(DatasetTest, Cifar100UsesFineLabels) {
  const TestFolder folder;
  WriteFile(folder.path() / "train.bin", CifarRecords({7, 99}, 0, /*coarse_label=*/true));
  WriteFile(folder.path() / "test.bin", CifarRecords({42}, 2, /*coarse_label=*/true));
  const auto data = OpenDataset(PlainSpec(DatasetFormat::Cifar100, folder, 3));
  EXPECT_EQ(data->shape().classes, 100);
  EXPECT_TRUE(at::equal(data->TrainLabels({0, 1}), at::tensor({7, 99}, at::kLong)));
  EXPECT_FLOAT_EQ(data->TrainImages({1}, 1, 0)[0][0][0][5].item<float>(), TestPixel(1, 5) / 255.0F);
}

TEST(DatasetTest, MnistReadsPlainAndGzipAlikeUnderBothNames) {
  const TestFolder plain, gzip, dotted;
  WriteMnist(plain.path(), 15, /*gzip=*/false);
  WriteMnist(gzip.path(), 15, /*gzip=*/true);
  for (const std::string part : {"train", "t10k"}) {
    for (const auto& [kind, idx] : {std::pair{"images", "idx3"}, {"labels", "idx1"}}) {
      std::filesystem::copy_file(plain.path() / (part + "-" + kind + "-" + idx + "-ubyte"),
                                 dotted.path() / (part + "-" + kind + "." + idx + "-ubyte"));
    }
  }
  const auto data = OpenDataset(PlainSpec(DatasetFormat::Mnist, plain, 1));
  EXPECT_EQ(data->train_size(), 15);
  EXPECT_EQ(data->shape().channels, 1);
  EXPECT_EQ(data->shape().width, 28);
  const at::Tensor images = data->TrainImages(All(15), 1, 0);
  EXPECT_FLOAT_EQ(images[4][0][1][2].item<float>(), TestPixel(4, 30) / 255.0F);
  for (const TestFolder* other : {&gzip, &dotted}) {
    const auto same = OpenDataset(PlainSpec(DatasetFormat::Mnist, *other, 1));
    EXPECT_TRUE(at::equal(same->TrainImages(All(15), 1, 0), images));
    EXPECT_TRUE(at::equal(same->TestLabels(0, 15), data->TestLabels(0, 15)));
  }
}

TEST(DatasetTest, NormalisesByTheTrainingSetInUse) {
  const TestFolder folder;
  WriteCifar10(folder.path(), 12);
  DatasetSpec spec = Spec(DatasetFormat::Cifar10, folder);
  spec.mutable_limit()->set_train(20);
  const auto data = OpenDataset(spec);
  const at::Tensor images = data->TrainImages(All(20), 1, 0).to(at::kDouble);
  EXPECT_LT(images.mean({0, 2, 3}).abs().max().item<double>(), 1e-6);
  EXPECT_LT((images.var({0, 2, 3}, false) - 1).abs().max().item<double>(), 1e-6);
}

TEST(DatasetTest, NormalisesByTheManifest) {
  const TestFolder folder;
  WriteMnist(folder.path(), 3, false);
  DatasetSpec spec = Spec(DatasetFormat::Mnist, folder);
  spec.add_mean(0.25);
  spec.add_std(0.5);
  const auto data = OpenDataset(spec);
  EXPECT_FLOAT_EQ(data->TestImages(2, 3)[0][0][0][3].item<float>(),
                  (TestPixel(2, 3) / 255.0F - 0.25F) / 0.5F);
}

TEST(DatasetTest, ClassesAreNumberedAnewAndLimitsCountWhatIsKept) {
  const TestFolder folder;
  WriteCifar10(folder.path(), 20);
  DatasetSpec spec = PlainSpec(DatasetFormat::Cifar10, folder, 3);
  spec.add_classes(7);
  spec.add_classes(2);
  spec.mutable_limit()->set_train(3);
  const auto data = OpenDataset(spec);
  EXPECT_EQ(data->shape().classes, 2);
  EXPECT_EQ(data->train_size(), 3);
  EXPECT_EQ(data->test_size(), 4);
  EXPECT_TRUE(at::equal(data->TrainLabels({0, 1, 2}), at::tensor({1, 0, 1}, at::kLong)));
  EXPECT_FLOAT_EQ(data->TrainImages({1}, 1, 0)[0][0][0][0].item<float>(), TestPixel(7, 0) / 255.0F);
  EXPECT_FLOAT_EQ(data->TrainImages({2}, 1, 0)[0][0][0][0].item<float>(),
                  TestPixel(12, 0) / 255.0F);
}

/// The image padded by zeros, mirrored or not, cut at every place: one of these is what
/// augmentation must give.
bool IsCropOf(const at::Tensor& crop, const at::Tensor& image, int padding, bool flip) {
  const int64_t size = image.size(1);
  for (const at::Tensor& candidate :
       flip ? std::vector{image, image.flip(2)} : std::vector{image}) {
    const at::Tensor padded =
        candidate.new_zeros({image.size(0), size + 2 * padding, size + 2 * padding});
    padded.narrow(1, padding, size).narrow(2, padding, size).copy_(candidate);
    for (int y = 0; y <= 2 * padding; ++y) {
      for (int x = 0; x <= 2 * padding; ++x) {
        if (at::equal(padded.narrow(1, y, size).narrow(2, x, size), crop)) return true;
      }
    }
  }
  return false;
}

TEST(DatasetTest, AugmentationCropsAndMirrorsBySeedEpochAndSample) {
  const TestFolder folder;
  WriteCifar10(folder.path(), 12);
  DatasetSpec spec = Spec(DatasetFormat::Cifar10, folder);
  const auto plain = OpenDataset(spec);
  spec.mutable_augmentation()->set_random_crop_padding(3);
  spec.mutable_augmentation()->set_random_horizontal_flip(true);
  const auto data = OpenDataset(spec);
  const at::Tensor originals = plain->TrainImages(All(60), 1, 0);
  const at::Tensor images = data->TrainImages(All(60), 1, 0);
  for (int i = 0; i < 60; ++i) EXPECT_TRUE(IsCropOf(images[i], originals[i], 3, true)) << i;
  EXPECT_TRUE(at::equal(data->TrainImages({17}, 1, 0)[0], images[17]));
  EXPECT_FALSE(at::equal(data->TrainImages(All(60), 1, 1), images));
  EXPECT_FALSE(at::equal(data->TrainImages(All(60), 2, 0), images));
  EXPECT_TRUE(at::equal(data->TestImages(0, 12), plain->TestImages(0, 12)));
}

TEST(DatasetTest, FlipsHalfAndShiftsEvenly) {
  const TestFolder folder;
  WriteMnist(folder.path(), 1, false);
  DatasetSpec spec = PlainSpec(DatasetFormat::Mnist, folder, 1);
  spec.mutable_augmentation()->set_random_horizontal_flip(true);
  const auto data = OpenDataset(spec);
  const at::Tensor original = data->TestImages(0, 1);
  int flipped = 0;
  for (int epoch = 0; epoch < 2000; ++epoch) {
    const at::Tensor image = data->TrainImages({0}, 5, epoch);
    const bool mirrored = at::equal(image, original.flip(3));
    EXPECT_TRUE(mirrored || at::equal(image, original));
    flipped += mirrored;
  }
  // Six standard deviations of a fair coin.
  EXPECT_NEAR(flipped, 1000, 6 * 22.4);

  // With padding 1 the first row is the padding's in a third of the draws.
  spec.mutable_augmentation()->set_random_horizontal_flip(false);
  spec.mutable_augmentation()->set_random_crop_padding(1);
  const auto shifted = OpenDataset(spec);
  int up = 0, left = 0;
  for (int epoch = 0; epoch < 3000; ++epoch) {
    const at::Tensor image = shifted->TrainImages({0}, 5, epoch)[0][0];
    up += image[0].abs().sum().item<float>() == 0;
    left += image.select(1, 0).abs().sum().item<float>() == 0;
  }
  EXPECT_NEAR(up, 1000, 6 * 25.8);
  EXPECT_NEAR(left, 1000, 6 * 25.8);
}

TEST(DatasetErrorTest, CifarNamesTheFile) {
  const TestFolder folder;
  EXPECT_THAT(ErrorOf(Spec(DatasetFormat::Cifar10, folder)),
              AllOf(HasSubstr("data_batch_1.bin"), HasSubstr("missing")));
  WriteCifar10(folder.path(), 2);
  EXPECT_EQ(ErrorOf(Spec(DatasetFormat::Cifar10, folder)), "");
  const auto third = folder.path() / "data_batch_3.bin";
  const std::string good = CifarRecords({1, 2});
  WriteFile(third, good.substr(0, good.size() - 1));
  EXPECT_THAT(ErrorOf(Spec(DatasetFormat::Cifar10, folder)),
              AllOf(HasSubstr("data_batch_3.bin"), HasSubstr("truncated")));
  WriteFile(third, CifarRecords({1, 10}));
  EXPECT_THAT(ErrorOf(Spec(DatasetFormat::Cifar10, folder)),
              AllOf(HasSubstr("data_batch_3.bin"), HasSubstr("label 10 of image 1")));
  WriteFile(third, "");
  EXPECT_THAT(ErrorOf(Spec(DatasetFormat::Cifar10, folder)),
              AllOf(HasSubstr("data_batch_3.bin"), HasSubstr("empty")));
}

TEST(DatasetErrorTest, MissingFolder) {
  const TestFolder folder;
  DatasetSpec spec = Spec(DatasetFormat::Mnist, folder);
  spec.set_path((folder.path() / "nowhere").string());
  EXPECT_THAT(ErrorOf(spec), AllOf(HasSubstr("nowhere"), HasSubstr("no such folder")));
}

struct IdxFault {
  const char* name;
  /// Which of the good files to replace, and by what.
  const char* file;
  std::function<std::string(std::string good)> change;
  const char* expected;
};

class IdxFaults : public testing::TestWithParam<IdxFault> {};

INSTANTIATE_TEST_SUITE_P(
    Dataset, IdxFaults,
    testing::Values(
        IdxFault{"TruncatedImages", "train-images-idx3-ubyte",
                 [](std::string s) { return s.substr(0, s.size() - 1); }, "truncated"},
        IdxFault{"TruncatedHeader", "train-images-idx3-ubyte",
                 [](std::string s) { return s.substr(0, 7); }, "truncated"},
        IdxFault{"Empty", "t10k-labels-idx1-ubyte", [](std::string) { return ""; }, "empty"},
        IdxFault{"NoSamples", "train-images-idx3-ubyte",
                 [](std::string) { return IdxImages(0, 28, 28); }, "no samples"},
        IdxFault{"WrongMagic", "train-images-idx3-ubyte",
                 [](std::string s) { return "\1" + s.substr(1); }, "magic"},
        IdxFault{"LabelsForImages", "train-images-idx3-ubyte",
                 [](std::string) {
                   return IdxLabels({1, 2, 3, 4, 5});
                 },
                 "magic"},
        IdxFault{"HugeSizes", "train-images-idx3-ubyte",
                 [](std::string s) { return s.replace(4, 12, 12, '\xff'); }, "out of range"},
        IdxFault{"HugeCount", "train-images-idx3-ubyte",
                 [](std::string s) { return s.replace(4, 4, 4, '\xff'); }, "truncated"},
        IdxFault{"LongerThanSaid", "train-labels-idx1-ubyte",
                 [](std::string s) { return s + '\0'; }, "longer"},
        IdxFault{"LabelOutOfRange", "t10k-labels-idx1-ubyte",
                 [](std::string) {
                   return IdxLabels({0, 1, 10});
                 },
                 "label 10 of image 2"},
        IdxFault{"OtherCount", "train-labels-idx1-ubyte",
                 [](std::string) {
                   return IdxLabels({0, 1});
                 },
                 "2 labels for the 3 images"}),
    [](const auto& info) { return info.param.name; });

TEST_P(IdxFaults, NamesTheFile) {
  for (const bool gzip : {false, true}) {
    const TestFolder folder;
    WriteMnist(folder.path(), 3, /*gzip=*/false);
    const TestFolder source;
    WriteMnist(source.path(), 3, /*gzip=*/false);
    const auto path = folder.path() / GetParam().file;
    std::ifstream in(source.path() / GetParam().file, std::ios::binary);
    const std::string good{std::istreambuf_iterator<char>(in), {}};
    std::filesystem::remove(path);
    const std::string bad = GetParam().change(good);
    gzip ? WriteGzip(path.string() + ".gz", bad) : WriteFile(path, bad);
    EXPECT_THAT(ErrorOf(Spec(DatasetFormat::Mnist, folder)),
                AllOf(HasSubstr(GetParam().file), HasSubstr(GetParam().expected)));
  }
}

TEST(DatasetErrorTest, DamagedGzip) {
  const TestFolder folder;
  WriteMnist(folder.path(), 3, /*gzip=*/true);
  const auto path = folder.path() / "train-images-idx3-ubyte.gz";
  const auto size = std::filesystem::file_size(path);
  std::filesystem::resize_file(path, size / 2);
  EXPECT_THAT(ErrorOf(Spec(DatasetFormat::Mnist, folder)),
              AllOf(HasSubstr("train-images-idx3-ubyte.gz"), HasSubstr("truncated")));
  std::filesystem::remove(path);
  EXPECT_THAT(ErrorOf(Spec(DatasetFormat::Mnist, folder)),
              AllOf(HasSubstr("train-images-idx3-ubyte"), HasSubstr("missing")));
}

TEST(DatasetErrorTest, ManifestFaultsHaveTheirPath) {
  const TestFolder folder;
  WriteCifar10(folder.path(), 2);
  const DatasetSpec good = Spec(DatasetFormat::Cifar10, folder);
  DatasetSpec spec = good;
  spec.add_classes(1);
  spec.add_classes(10);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("spec.dataset.classes[1]: 10"));
  spec.set_classes(1, 1);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("spec.dataset.classes[1]: 1 is given twice"));
  spec = good;
  spec.add_mean(0.5);
  spec.add_std(0.5);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("spec.dataset.mean: expected one number for each of the 3"));
  spec = good;
  spec.add_classes(9);
  EXPECT_THAT(ErrorOf(spec), HasSubstr("no sample of the classes in use"));
}

TEST(DatasetTest, RefusesSamplesThatAreNotThere) {
  const TestFolder folder;
  WriteMnist(folder.path(), 3, false);
  const auto data = OpenDataset(Spec(DatasetFormat::Mnist, folder));
  EXPECT_THROW(data->TrainImages({3}, 1, 0), std::out_of_range);
  EXPECT_THROW(data->TrainLabels({-1}), std::out_of_range);
  EXPECT_THROW(data->TestImages(2, 4), std::out_of_range);
}

}  // namespace
}  // namespace freezepipe::worker
