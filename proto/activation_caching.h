#pragma once

#include <cstdint>
#include <string>

#include "freezepipe/v1alpha1/job.pb.h"

namespace freezepipe {

/// A freeze.cache.memoryLimit or diskLimit in bytes.
int64_t CacheBytes(const std::string& limit);

/// Images that the data set makes of a training sample once layers are frozen, so that what these
/// put out is a function of sample and view; 0 where there is no end of them.
int Views(const v1alpha1::FreezePipeJobSpec& spec);

/// The epoch whose random augmentation a training sample gets, with layers [0, boundary) frozen.
int AugmentationEpoch(const v1alpha1::FreezePipeJobSpec& spec, int boundary, int epoch);

}  // namespace freezepipe
