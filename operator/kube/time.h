#pragma once

#include <chrono>
#include <stop_token>
#include <string>

namespace freezepipe::kube {

/// What durations are measured with; it never jumps.
using SteadyClock = std::chrono::steady_clock;
using TimePoint = SteadyClock::time_point;
using Duration = SteadyClock::duration;

/// What the API server is told.
using WallTime = std::chrono::system_clock::time_point;

/// Kubernetes' MicroTime: "2024-05-01T12:00:00.000000Z".
std::string MicroTime(WallTime time);

/// False when `stop` came first.
bool SleepFor(Duration duration, const std::stop_token& stop);

}  // namespace freezepipe::kube
