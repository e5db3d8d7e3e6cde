#include "operator/planner/freeze_policy.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "proto/defaults.h"

namespace freezepipe::planner {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// Ten layers; ten epochs of 100 steps, four windows each.
constexpr RunShape kShape = {
    .layers = 10, .total_steps = 1000, .steps_per_epoch = 100, .classes = 10};
constexpr int kWindow = 25;
constexpr int kWindows = 40;

/// Loss whose quotient by ln(10) is q.
double LossOf(double q) { return q * std::log(10); }

/// A window every 25 steps in which every layer has the same statistic.
std::vector<WindowStatistics> Windows(int count, double value, double q = 0) {
  std::vector<WindowStatistics> windows;
  for (int w = 0; w < count; ++w) {
    windows.push_back(
        {(w + 1) * kWindow, LossOf(q), 0.05, std::vector<double>(kShape.layers, value)});
  }
  return windows;
}

v1alpha1::FreezeSpec Spec() {
  v1alpha1::FreezeSpec spec;
  ApplyDefaults(&spec);
  return spec;
}

v1alpha1::FreezeSpec SpecWithoutBrake() {
  auto spec = Spec();
  spec.mutable_gradient_change()->set_brake(false);
  return spec;
}

struct Chosen {
  int window;
  int boundary;
  bool operator==(const Chosen&) const = default;
};

void PrintTo(const Chosen& chosen, std::ostream* out) {
  *out << "{window " << chosen.window << ", boundary " << chosen.boundary << "}";
}

/// Asks the policy at the end of each window, as a session does, and logs what it chooses at once.
std::vector<Chosen> Replay(const v1alpha1::FreezeSpec& spec,
                           const std::vector<WindowStatistics>& windows,
                           std::vector<std::string>* why = nullptr) {
  const auto policy = MakeFreezePolicy(spec, kShape);
  std::vector<Chosen> choices;
  std::vector<v1alpha1::FreezeLogEntry> log;
  for (size_t count = 1; count <= windows.size(); ++count) {
    const std::vector<WindowStatistics> so_far(windows.begin(), windows.begin() + count);
    const auto choice = policy->Decide(so_far, log);
    if (!choice) continue;
    choices.push_back({static_cast<int>(count), choice->boundary});
    if (why != nullptr) why->push_back(choice->why);
    v1alpha1::FreezeLogEntry entry;
    entry.set_chosen_at(so_far.back().step);
    entry.set_frozen_at(so_far.back().step + 50);
    entry.set_boundary(choice->boundary);
    log.push_back(entry);
  }
  return choices;
}

TEST(GradientChangeTest, OneLayerAWindowFromTwoWindowsAfterTheFirstEpoch) {
  // Windows 5 and 6 are the first two after the first epoch. Eight of ten layers may freeze.
  EXPECT_THAT(Replay(SpecWithoutBrake(), Windows(kWindows, 0.3)),
              ElementsAre(Chosen{6, 1}, Chosen{7, 2}, Chosen{8, 3}, Chosen{9, 4}, Chosen{10, 5},
                          Chosen{11, 6}, Chosen{12, 7}, Chosen{13, 8}));
}

TEST(GradientChangeTest, TheThresholdItselfIsLow) {
  EXPECT_THAT(Replay(SpecWithoutBrake(), Windows(6, 0.35)), ElementsAre(Chosen{6, 1}));
  EXPECT_THAT(Replay(SpecWithoutBrake(), Windows(kWindows, 0.351)), IsEmpty());
}

TEST(GradientChangeTest, NoStatisticIsNotLow) {
  EXPECT_THAT(Replay(SpecWithoutBrake(), Windows(kWindows, kNone)), IsEmpty());
}

TEST(GradientChangeTest, PatienceStartsAnewAfterAHighWindow) {
  auto windows = Windows(12, 0.3);
  windows[5].values[0] = 0.5;
  windows[7].values[0] = 0.5;
  EXPECT_THAT(Replay(SpecWithoutBrake(), windows),
              ElementsAre(Chosen{10, 1}, Chosen{11, 2}, Chosen{12, 3}));
  auto patient = SpecWithoutBrake();
  patient.mutable_gradient_change()->set_patience(4);
  EXPECT_THAT(Replay(patient, windows), ElementsAre(Chosen{12, 1}));
}

TEST(GradientChangeTest, ALayerThatStillLearnsHoldsBackThoseBehindIt) {
  auto windows = Windows(kWindows, 0.1);
  for (auto& window : windows) window.values[2] = 0.8;
  EXPECT_THAT(Replay(SpecWithoutBrake(), windows), ElementsAre(Chosen{6, 1}, Chosen{7, 2}));
}

TEST(GradientChangeTest, BrakeByProgress) {
  // maxFrozen = 8, nothing before 0.3 of the run (window 12), then one more each 0.6 / 8 = 0.075 of
  // it: 3 windows.
  EXPECT_THAT(Replay(Spec(), Windows(kWindows, 0.3)),
              ElementsAre(Chosen{12, 1}, Chosen{15, 2}, Chosen{18, 3}, Chosen{21, 4}, Chosen{24, 5},
                          Chosen{27, 6}, Chosen{30, 7}, Chosen{33, 8}));
}

TEST(GradientChangeTest, BrakeByLoss) {
  EXPECT_THAT(Replay(Spec(), Windows(kWindows, 0.3, 0.451)), IsEmpty());
  // 1 + floor(8 (0.45 - 0.41) / 0.27) = 2.
  EXPECT_THAT(Replay(Spec(), Windows(kWindows, 0.3, 0.41)),
              ElementsAre(Chosen{12, 1}, Chosen{15, 2}));
  // 1 + floor(8 (0.45 - 0.35) / 0.27) = 3.
  EXPECT_THAT(Replay(Spec(), Windows(kWindows, 0.3, 0.35)),
              ElementsAre(Chosen{12, 1}, Chosen{15, 2}, Chosen{18, 3}));
}

TEST(GradientChangeTest, BrakeLooksAtTheLastEpochsMeanLoss) {
  // At window 20 the last four windows' mean is (0.55 + 0.55 + 0.35 + 0.31) / 4 = 0.44 of
  // ln 10.
  auto windows = Windows(20, 0.3, 0.55);
  windows[18].loss = LossOf(0.35);
  windows[19].loss = LossOf(0.31);
  EXPECT_THAT(Replay(Spec(), windows), ElementsAre(Chosen{20, 1}));
  windows[19].loss = LossOf(0.36);
  EXPECT_THAT(Replay(Spec(), windows), IsEmpty());
}

TEST(GradientChangeTest, BrakeFieldsOfTheManifest) {
  auto spec = Spec();
  auto* rule = spec.mutable_gradient_change();
  rule->set_brake_start(0.5);
  rule->set_brake_span(0.2);
  rule->set_brake_loss(0.8);
  rule->set_brake_loss_span(0.4);
  // By progress from window 20 on one more a window; by loss 1 + floor(8 x 0.1 / 0.4) = 3.
  EXPECT_THAT(Replay(spec, Windows(kWindows, 0.3, 0.7)),
              ElementsAre(Chosen{20, 1}, Chosen{21, 2}, Chosen{22, 3}));
}

TEST(GradientChangeTest, MaxFrozen) {
  auto spec = SpecWithoutBrake();
  spec.set_max_frozen(2);
  EXPECT_THAT(Replay(spec, Windows(kWindows, 0.3)), ElementsAre(Chosen{6, 1}, Chosen{7, 2}));
  // The last layer never freezes, whatever the manifest says.
  spec.set_max_frozen(10);
  EXPECT_EQ(Replay(spec, Windows(kWindows, 0.3)).back().boundary, 9);
}

TEST(GradientChangeTest, MinimumOfWindowsBetweenChoices) {
  auto spec = SpecWithoutBrake();
  spec.mutable_gradient_change()->set_min_windows_between_choices(3);
  EXPECT_THAT(Replay(spec, Windows(14, 0.3)),
              ElementsAre(Chosen{6, 1}, Chosen{9, 2}, Chosen{12, 3}));
}

TEST(GradientChangeTest, AChoiceInForceLaterStillCountsFromThere) {
  // Chosen at window 6 (step 150) but in a header only at step 180: window 7 (step 175) is too
  // early.
  const auto policy = MakeFreezePolicy(SpecWithoutBrake(), kShape);
  v1alpha1::FreezeLogEntry entry;
  entry.set_chosen_at(180);
  entry.set_frozen_at(240);
  entry.set_boundary(1);
  EXPECT_FALSE(policy->Decide(Windows(7, 0.3), {entry}).has_value());
  const auto choice = policy->Decide(Windows(8, 0.3), {entry});
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->boundary, 2);
}

TEST(GradientChangeTest, PresetCautious) {
  auto spec = Spec();
  spec.set_preset(v1alpha1::FreezePreset::Cautious);
  EXPECT_THAT(Replay(spec, Windows(kWindows, 0.31)), IsEmpty());
  EXPECT_EQ(Replay(spec, Windows(kWindows, 0.30)).front(), (Chosen{12, 1}));
  spec.mutable_gradient_change()->set_brake(false);
  EXPECT_THAT(Replay(spec, Windows(10, 0.30)),
              ElementsAre(Chosen{6, 1}, Chosen{8, 2}, Chosen{10, 3}));
}

TEST(GradientChangeTest, PresetEager) {
  auto spec = Spec();
  spec.set_preset(v1alpha1::FreezePreset::Eager);
  EXPECT_THAT(Replay(spec, Windows(7, 0.40, 2.0)), ElementsAre(Chosen{6, 1}, Chosen{7, 2}));
  EXPECT_THAT(Replay(spec, Windows(kWindows, 0.41)), IsEmpty());
}

TEST(GradientChangeTest, FieldsOverrideThePreset) {
  auto spec = Spec();
  spec.set_preset(v1alpha1::FreezePreset::Eager);
  spec.mutable_gradient_change()->set_threshold(0.2);
  spec.mutable_gradient_change()->set_brake(true);
  EXPECT_THAT(Replay(spec, Windows(kWindows, 0.3)), IsEmpty());
  EXPECT_EQ(Replay(spec, Windows(kWindows, 0.2)).front(), (Chosen{12, 1}));
}

TEST(GradientChangeTest, NoDecisionJustAfterALearningRateDrop) {
  // A drop in window 8: it doesn't count, and patience begins behind it.
  auto windows = Windows(10, 0.3);
  for (size_t w = 7; w < windows.size(); ++w) windows[w].learning_rate = 0.005;
  EXPECT_THAT(Replay(SpecWithoutBrake(), windows),
              ElementsAre(Chosen{6, 1}, Chosen{7, 2}, Chosen{10, 3}));
}

TEST(GradientChangeTest, ASmoothlyFallingLearningRateIsNoDrop) {
  auto windows = Windows(8, 0.3);
  for (size_t w = 0; w < windows.size(); ++w) windows[w].learning_rate = 0.05 * std::pow(0.9, w);
  EXPECT_THAT(Replay(SpecWithoutBrake(), windows),
              ElementsAre(Chosen{6, 1}, Chosen{7, 2}, Chosen{8, 3}));
}

TEST(GradientChangeTest, NoDecisionDuringWarmUp) {
  auto windows = Windows(10, 0.3);
  for (int w = 0; w < 8; ++w) windows[w].learning_rate = 0.05 * (w + 1) / 8;
  EXPECT_THAT(Replay(SpecWithoutBrake(), windows), ElementsAre(Chosen{10, 1}));
}

TEST(GradientChangeTest, SaysWhy) {
  std::vector<std::string> why;
  Replay(Spec(), Windows(18, 0.314), &why);
  EXPECT_THAT(why, ElementsAre("P 0.31 <= 0.35 for 2 windows, brake allows 1",
                               "P 0.31 <= 0.35 for 2 windows, brake allows 2",
                               "P 0.31 <= 0.35 for 2 windows, brake allows 3"));
  why.clear();
  Replay(SpecWithoutBrake(), Windows(6, 0.314), &why);
  EXPECT_THAT(why, ElementsAre("P 0.31 <= 0.35 for 2 windows"));
}

TEST(GradientChangeTest, NothingToFreezeInATinyModel) {
  RunShape shape = kShape;
  shape.layers = 2;
  const auto policy = MakeFreezePolicy(SpecWithoutBrake(), shape);
  auto windows = Windows(10, 0.1);
  EXPECT_FALSE(policy->Decide(windows, {}).has_value());
  EXPECT_FALSE(policy->Decide({}, {}).has_value());
}

/// Norms that fall by `change[layer]` of themselves from window to window.
std::vector<WindowStatistics> NormWindows(int count, const std::vector<double>& change) {
  auto windows = Windows(count, 100);
  for (int w = 1; w < count; ++w) {
    for (int u = 0; u < kShape.layers; ++u) {
      windows[w].values[u] = windows[w - 1].values[u] * (1 - change[u]);
    }
  }
  return windows;
}

v1alpha1::FreezeSpec NormChangeSpec(double percentile) {
  auto spec = SpecWithoutBrake();
  spec.mutable_gradient_change()->set_metric(v1alpha1::FreezeMetric::NormChange);
  spec.mutable_gradient_change()->set_threshold(percentile);
  return spec;
}

TEST(NormChangeTest, LowIsBelowThePercentileOfTheLayersNotYetChosen) {
  // Median of ten: between 0.05 and 0.06. Of nine without the first: 0.06. Layer 1 is above both.
  const auto windows =
      NormWindows(kWindows, {0.01, 0.07, 0.02, 0.03, 0.04, 0.05, 0.06, 0.08, 0.09, 0.095});
  EXPECT_THAT(Replay(NormChangeSpec(0.5), windows), ElementsAre(Chosen{6, 1}));
  // 0.9 of the way through 2, 3, 4, 5, 6, 7, 8, 9, 9.5: layer 1 is low, and so on until the last
  // layers are left.
  EXPECT_EQ(Replay(NormChangeSpec(0.9), windows).size(), 8u);
}

TEST(NormChangeTest, NeverLowAboveTheFloor) {
  const auto windows = NormWindows(kWindows, {0.11, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3, 0.3});
  EXPECT_THAT(Replay(NormChangeSpec(0.5), windows), IsEmpty());
  auto spec = NormChangeSpec(0.5);
  spec.mutable_gradient_change()->set_norm_change_floor(0.12);
  EXPECT_THAT(Replay(spec, windows), ElementsAre(Chosen{6, 1}));
}

TEST(NormChangeTest, ZeroNormsAreGuarded) {
  // From 0 to something is infinite change, from 0 to 0 none.
  auto windows = Windows(8, 0);
  EXPECT_EQ(Replay(NormChangeSpec(0.5), windows).front(), (Chosen{6, 1}));
  windows[5].values[0] = 1;
  windows[6].values[0] = 0;
  EXPECT_THAT(Replay(NormChangeSpec(0.5), windows), IsEmpty());
}

TEST(NormChangeTest, LayersWithoutAStatisticAreLeftOut) {
  auto windows = NormWindows(6, {0.01, 0.02, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03, 0.03});
  for (auto& window : windows) {
    for (int u = 1; u < kShape.layers; ++u) window.values[u] = kNone;
  }
  EXPECT_EQ(Replay(NormChangeSpec(0.5), windows).size(), 1u);
  for (auto& window : windows) window.values[0] = kNone;
  EXPECT_THAT(Replay(NormChangeSpec(0.5), windows), IsEmpty());
}

TEST(ScheduleTest, LinearFromStartToEnd) {
  auto spec = Spec();
  spec.set_policy(v1alpha1::FreezePolicy::Schedule);
  spec.set_max_frozen(4);
  spec.mutable_schedule()->set_start(0.2);
  spec.mutable_schedule()->set_end(0.8);
  // Layer i at 0.2 + 0.15 i of forty windows: 8, 14, 20, 26.
  EXPECT_THAT(Replay(spec, Windows(kWindows, kNone)),
              ElementsAre(Chosen{8, 1}, Chosen{14, 2}, Chosen{20, 3}, Chosen{26, 4}));
}

TEST(ScheduleTest, CatchesUpInOneChoice) {
  auto spec = Spec();
  spec.set_policy(v1alpha1::FreezePolicy::Schedule);
  spec.mutable_schedule()->set_start(0.1);
  spec.mutable_schedule()->set_end(0.3);
  // Eight layers within eight windows: one a window.
  EXPECT_EQ(Replay(spec, Windows(kWindows, kNone)).size(), 8u);
  const auto choice = MakeFreezePolicy(spec, kShape)->Decide(Windows(8, kNone), {});
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->boundary, 5);
  EXPECT_EQ(choice->why, "schedule: 5 of 8 layers at 20 % of the run");
}

TEST(FreezePolicyTest, ManualAndNoneNeverPropose) {
  auto spec = Spec();
  spec.set_policy(v1alpha1::FreezePolicy::None);
  EXPECT_THAT(Replay(spec, Windows(kWindows, 0)), IsEmpty());
  spec.set_policy(v1alpha1::FreezePolicy::Manual);
  spec.add_manual()->set_boundary(1);
  EXPECT_THAT(Replay(spec, Windows(kWindows, 0)), IsEmpty());
}

TEST(FreezePolicyTest, CoolDownIsAFifteenthOfTheRun) {
  auto spec = Spec();
  EXPECT_EQ(CoolDownSteps(spec, 1170), 78);
  spec.set_cool_down(0);
  EXPECT_EQ(CoolDownSteps(spec, 1170), 0);
}

TEST(FreezePolicyTest, WindowIsAQuarterEpochAndAtLeastAStep) {
  EXPECT_EQ(WindowSteps(Spec(), 79), 19);
  EXPECT_EQ(WindowSteps(Spec(), 3), 1);
}

TEST(FreezePolicyTest, BoundaryFollowsTheLog) {
  std::vector<v1alpha1::FreezeLogEntry> log(2);
  log[0].set_frozen_at(100);
  log[0].set_boundary(1);
  log[1].set_frozen_at(200);
  log[1].set_boundary(4);
  EXPECT_EQ(BoundaryAt(log, 99), 0);
  EXPECT_EQ(BoundaryAt(log, 100), 1);
  EXPECT_EQ(BoundaryAt(log, 250), 4);
  EXPECT_EQ(BoundaryAt({}, 250), 0);
}

}  // namespace
}  // namespace freezepipe::planner
