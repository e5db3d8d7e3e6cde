#pragma once

#include <functional>
#include <string>

namespace freezepipe::cluster {

/// A place that runs workers. Calls return at once; what becomes of a worker is said through the
/// callback given to the implementation, from a thread of its own.
class Cluster {
 public:
  virtual ~Cluster() = default;
  /// Starts the worker's process or pod, again if it had one that ended.
  virtual void Launch(int worker) = 0;
  /// Ends it by force; nothing happens if there is none.
  virtual void Kill(int worker) = 0;
};

/// How a worker's process or pod ended.
struct WorkerEnd {
  /// It exited by itself, with status 0.
  bool clean = false;
  /// Not its own fault: its machine was lost, or somebody needed the room.
  bool disrupted = false;
  /// In words.
  std::string why;
};
using ExitCallback = std::function<void(int worker, WorkerEnd end)>;

}  // namespace freezepipe::cluster
