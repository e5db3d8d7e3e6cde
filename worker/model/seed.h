#pragma once

#include <cstdint>
#include <initializer_list>

namespace freezepipe::worker {

/// What random numbers are drawn for; keeps draws for different purposes apart.
enum class SeedUse : uint64_t { kWeights = 1, kOrder = 2, kAugmentation = 3, kForward = 4 };

/// A well mixed seed from what a draw depends on, such as (seed, epoch, sample): a function of its
/// arguments alone, the same on every machine.
uint64_t MixSeed(SeedUse use, std::initializer_list<uint64_t> parts);

}  // namespace freezepipe::worker
