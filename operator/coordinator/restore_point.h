#pragma once

#include <google/protobuf/repeated_ptr_field.h>

#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::coordinator {

/// Steps at which one worker holds each layer.
using Holdings = std::map<int, std::set<int>>;

Holdings MakeHoldings(const google::protobuf::RepeatedPtrField<v1alpha1::LayerCopy>& copies);

/// Where training can go on from.
struct RestorePoint {
  int step = 0;
  /// One a layer.
  std::vector<v1alpha1::LayerSource> sources;
  /// Checkpoint, PeerMemory or Initial: the least of what the layers come from.
  std::string origin;
};

/// The greatest step for which every layer has a copy with a living worker or in the checkpoint;
/// without any, step 0 with fresh layers. `memory_limit`: copies of later steps are not to be used.
RestorePoint ChooseRestorePoint(int layers, const std::map<int, Holdings>& holdings,
                                std::optional<int> checkpoint_step,
                                std::optional<int> memory_limit);

}  // namespace freezepipe::coordinator
