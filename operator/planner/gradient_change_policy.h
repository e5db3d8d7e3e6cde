#pragma once

#include "operator/planner/freeze_policy.h"

namespace freezepipe::planner {

/// The default rule. At a window's end after the first epoch the first layer not yet chosen is
/// chosen, if
///   - its statistic was low for `patience` windows in a row, all after the first epoch,
///   - the learning rate neither rose nor fell by half or more in any of them,
///   - the last choice is at least `minWindowsBetweenChoices` windows ago, and
///   - the brake allows one more layer by now.
/// Low means: EffectivePerturbation at most `threshold`; NormChange (AutoFreeze's rule with a
/// floor) a relative change since the window before of at most both the percentile `threshold` over
/// the layers not yet chosen and `normChangeFloor`.
class GradientChangePolicy : public FreezePolicy {
 public:
  GradientChangePolicy(const v1alpha1::FreezeSpec& spec, const RunShape& shape);

  std::optional<FreezeChoice> Decide(
      const std::vector<WindowStatistics>& windows,
      const std::vector<v1alpha1::FreezeLogEntry>& log) const override;

 private:
  using Windows = std::vector<WindowStatistics>;

  /// A window's verdict on a layer: its statistic and the limit it is held against; NaN never
  /// counts as low.
  struct Verdict {
    double value;
    double limit;
    bool low() const { return value <= limit; }
  };

  Verdict Judge(const Windows& windows, int window, int layer) const;
  bool Counts(const Windows& windows, int window) const;
  bool WaitedSinceLastChoice(const Windows& windows,
                             const std::vector<v1alpha1::FreezeLogEntry>& log) const;
  double LossQuotient(const Windows& windows) const;
  int LayersAllowed(const Windows& windows) const;

  const v1alpha1::GradientChangeSpec rule_;
  const RunShape shape_;
  const int max_frozen_;
  const int windows_per_epoch_;
};

}  // namespace freezepipe::planner
