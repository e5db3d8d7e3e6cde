#pragma once

#include <optional>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/report.pb.h"

namespace freezepipe::cli {

/// What a job's view shows that never changes.
struct JobFacts {
  std::string job;
  std::vector<std::string> layer_names;
  int epochs = 0;
  int steps_per_epoch = 0;
  int total_steps = 0;
};

struct StageView {
  v1alpha1::StageLayout layout;
  /// Share of the last window in which it computed; none yet after a repartition.
  std::optional<double> busy;
};

/// What is known of a job from its events so far.
struct JobView {
  JobFacts facts;
  v1alpha1::JobState::Type state = v1alpha1::JobState::Pending;
  int generation = 0;
  int step = 0;
  /// Newest Progress.
  v1alpha1::Progress progress;
  std::optional<double> accuracy;
  std::vector<v1alpha1::FreezeLogEntry> frozen;
  std::vector<StageView> stages;
  std::vector<int> released;

  /// Layers [0, boundary) are frozen.
  int Boundary() const;
  /// Epoch under way, counted from 1.
  int Epoch() const;
  /// "conv3", or its number where there is no such layer.
  std::string LayerName(int layer) const;

  void Apply(const v1alpha1::JobEvent& event);
};

}  // namespace freezepipe::cli
