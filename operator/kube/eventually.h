#pragma once

#include <chrono>
#include <functional>
#include <thread>

namespace freezepipe::kube {

/// For tests: waits until the condition holds; false if it doesn't within half a minute.
inline bool Eventually(const std::function<bool()>& condition) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!condition()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(2));
  }
  return true;
}

}  // namespace freezepipe::kube
