#include "operator/manifest/manifest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace freezepipe {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kManifests = FREEZEPIPE_SOURCE_DIR "/tests/manifests/";

std::string ReadFile(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

std::vector<std::string> Lines(const std::vector<ManifestFault>& faults) {
  std::vector<std::string> lines;
  for (const auto& fault : faults) lines.push_back(ToString(fault));
  return lines;
}

std::vector<std::string> Names(const std::string& folder) {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kManifests + folder)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem());
  }
  std::sort(names.begin(), names.end());
  return names;
}

std::string CaseName(const testing::TestParamInfo<std::string>& info) {
  std::string name = info.param;
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

// bad/NAME.yaml has the faults that bad/NAME.faults lists, one a line.
class BadManifestTest : public testing::TestWithParam<std::string> {};

TEST_P(BadManifestTest, HasExactlyTheseFaults) {
  const std::string stem = kManifests + "bad/" + GetParam();
  std::vector<std::string> expected;
  std::istringstream lines(ReadFile(stem + ".faults"));
  for (std::string line; std::getline(lines, line);) expected.push_back(line);
  ASSERT_FALSE(expected.empty()) << stem << ".faults is missing or empty";
  EXPECT_EQ(Lines(ReadManifest(stem + ".yaml").faults), expected);
}

INSTANTIATE_TEST_SUITE_P(All, BadManifestTest, testing::ValuesIn(Names("bad")), CaseName);

class GoodManifestTest : public testing::TestWithParam<std::string> {};

TEST_P(GoodManifestTest, HasNoFault) {
  EXPECT_THAT(Lines(ReadManifest(kManifests + "good/" + GetParam() + ".yaml").faults), IsEmpty());
}

INSTANTIATE_TEST_SUITE_P(All, GoodManifestTest, testing::ValuesIn(Names("good")), CaseName);

std::string Minimal() { return ReadFile(kManifests + "good/minimal.yaml"); }

TEST(ManifestTest, AppliesDefaults) {
  const auto job = LoadManifest(Minimal()).job;
  EXPECT_EQ(job.spec().training().batch_size(), 128);
  EXPECT_EQ(job.spec().freeze().gradient_change().patience(), 2);
  EXPECT_FALSE(job.spec().freeze().gradient_change().has_threshold())
      << "presets are the planner's";
  EXPECT_EQ(job.spec().dataset().path(), "data");
}

TEST(ManifestTest, KeepsEveryGivenValue) {
  const auto job = ReadManifest(kManifests + "good/everything.yaml").job;
  EXPECT_EQ(job.metadata().fields().at("namespace").string_value(), "vision");
  EXPECT_EQ(job.spec().model().zoo().name(), v1alpha1::ZooModel::mlp);
  EXPECT_THAT(job.spec().model().zoo().hidden_sizes(), ElementsAre(64, 32));
  EXPECT_DOUBLE_EQ(job.spec().training().optimizer().weight_decay(), 5e-4);
  EXPECT_EQ(job.spec().pipeline().recompute(), v1alpha1::Recompute::ExceptLast);
  EXPECT_TRUE(job.spec().freeze().gradient_change().has_brake());
  EXPECT_EQ(job.spec().freeze().manual(1).frozen_at(), 30);
  EXPECT_EQ(job.spec().release().min_gain(), 0);
  EXPECT_EQ(job.status().start_time().seconds(), 1896087600);
  EXPECT_THAT(job.spec().worker().template_().DebugString(), HasSubstr("nvidia.com/gpu"));
}

TEST(ManifestTest, ReadsYamlScalarsByYaml12) {
  const auto job = ReadManifest(kManifests + "good/yaml-scalars.yaml").job;
  EXPECT_EQ(job.spec().training().epochs(), 16);
  EXPECT_EQ(job.spec().training().seed(), 7);
  EXPECT_EQ(job.spec().dataset().path(), "10");
  EXPECT_DOUBLE_EQ(job.spec().training().optimizer().weight_decay(), 0.5);
}

TEST(ManifestTest, TakesTheReferencePagesExample) {
  const std::string page = ReadFile(FREEZEPIPE_SOURCE_DIR "/docs/manifest.md");
  const std::string fence = "```yaml\n";
  const size_t begin = page.find(fence) + fence.size();
  const auto manifest = LoadManifest(page.substr(begin, page.find("```", begin) - begin));
  EXPECT_THAT(Lines(manifest.faults), IsEmpty());
  EXPECT_EQ(manifest.job.spec().worker().count(), 4);
}

TEST(ManifestTest, NamesAFileThatCannotBeRead) {
  EXPECT_THAT(Lines(ReadManifest("no-such-file.yaml").faults),
              ElementsAre("cannot read no-such-file.yaml: No such file or directory"));
  EXPECT_THAT(Lines(ReadManifest(kManifests).faults),
              ElementsAre("cannot read " + kManifests + ": it is a folder"));
}

TEST(ManifestTest, RefusesWhatIsNotUtf8) {
  EXPECT_THAT(Lines(LoadManifest(Minimal() + "status: {message: \"\xff\xfe\"}\n").faults),
              ElementsAre("the manifest is not UTF-8"));
}

TEST(ManifestTest, RefusesAliasesThatGrowWithoutBound) {
  std::string yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int i = 1; i < 10; ++i) {
    const std::string previous = "*a" + std::to_string(i - 1);
    yaml += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + previous;
    for (int j = 0; j < 9; ++j) yaml += ", " + previous;
    yaml += "]\n";
  }
  EXPECT_THAT(Lines(LoadManifest(yaml).faults),
              testing::Contains("the manifest is too large or too deeply nested"));
}

TEST(ManifestSetTest, OverridesBeforeChecking) {
  const auto manifest = LoadManifest(
      Minimal(), {"spec.training.epochs=7", "worker.count=4", "pipeline={stages: 2}",
                  "metadata.name=other", "dataset.path=\"12\"", "dataset.classes=[1, 2]"});
  EXPECT_THAT(Lines(manifest.faults), IsEmpty());
  const auto& spec = manifest.job.spec();
  EXPECT_EQ(spec.training().epochs(), 7);
  EXPECT_EQ(spec.worker().count(), 4);
  EXPECT_EQ(spec.pipeline().stages(), 2);
  EXPECT_EQ(manifest.job.metadata().fields().at("name").string_value(), "other");
  EXPECT_EQ(spec.dataset().path(), "12");
  EXPECT_THAT(spec.dataset().classes(), ElementsAre(1, 2));
}

TEST(ManifestSetTest, ReachesIntoListsAndAppends) {
  const auto manifest =
      LoadManifest(Minimal(), {"freeze.policy=Manual",
                               "freeze.manual[0]={chosenAt: 10, frozenAt: 20, boundary: 1}",
                               "spec.freeze.manual[1]={chosenAt: 30, frozenAt: 40, boundary: 2}",
                               "spec.freeze.manual[0].frozenAt=15"});
  EXPECT_THAT(Lines(manifest.faults), IsEmpty());
  EXPECT_EQ(manifest.job.spec().freeze().manual(0).frozen_at(), 15);
  EXPECT_EQ(manifest.job.spec().freeze().manual(1).boundary(), 2);
}

TEST(ManifestSetTest, NothingMeansTheDefault) {
  const auto manifest = LoadManifest(Minimal(), {"training.batchSize=16", "training.batchSize="});
  EXPECT_THAT(Lines(manifest.faults), IsEmpty());
  EXPECT_EQ(manifest.job.spec().training().batch_size(), 128);
}

TEST(ManifestSetTest, ReportsValuesLikeAnyOther) {
  EXPECT_THAT(Lines(LoadManifest(Minimal(), {"training.epochs=0", "training.epoch=3"}).faults),
              ElementsAre("spec.training.epoch: unknown field; did you mean epochs?",
                          "spec.training.epochs: expected an integer from 1 to 100000; got 0"));
}

TEST(ManifestSetTest, ReportsWhatCannotBeSet) {
  EXPECT_THAT(
      Lines(LoadManifest(Minimal(), {"training.epochs", "a..b=1", "freeze.manual[x].boundary=1",
                                     "freeze.manual[2].boundary=1", "training.epochs.count=1",
                                     "training[0]=1", "worker={count: 1"})
                .faults),
      ElementsAre(
          "cannot be set by \"a..b=1\": expected a path such as spec.freeze.manual[0].boundary",
          "cannot be set by \"freeze.manual[x].boundary=1\": expected a path such as "
          "spec.freeze.manual[0].boundary",
          "cannot be set by \"training.epochs\": expected path=value",
          "spec.freeze.manual[2].boundary: cannot be set: the list has 0 items",
          "spec.training.epochs.count: cannot be set: count would be a field of something that is "
          "not a mapping",
          "spec.training[0]: cannot be set: [0] would be an item of something that is not a list",
          "spec.worker: cannot be set: the value is not YAML: line 1, column 1: end of map flow "
          "not found"));
}

}  // namespace
}  // namespace freezepipe
