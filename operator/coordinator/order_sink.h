#pragma once

#include "freezepipe/v1alpha1/coordinator.pb.h"

namespace freezepipe::coordinator {

/// Where orders go: the workers' streams. Called on the session's strand; never blocks.
class OrderSink {
 public:
  virtual ~OrderSink() = default;
  /// Dropped when the worker has no stream: the session sends it again when it reattaches.
  virtual void Send(int worker, v1alpha1::Order order) = 0;
};

}  // namespace freezepipe::coordinator
