#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "operator/cluster/cluster.h"

namespace freezepipe::cluster {

struct LocalClusterOptions {
  /// What to execute for a worker: the program's path, then its arguments.
  std::function<std::vector<std::string>(int worker)> command;
  /// Existing folder; worker N appends to worker-N.log in it.
  std::string log_directory;
  /// Cores that each worker is pinned to, and its OMP_NUM_THREADS.
  int threads = 1;
};

/// Workers as child processes of this one, which the kernel kills when this process dies, however
/// it dies. Thread-safe. All children belong to one thread, which starts them, waits for their
/// exits and calls back.
class LocalCluster : public Cluster {
 public:
  LocalCluster(LocalClusterOptions options, ExitCallback on_exit);
  ~LocalCluster() override;

  /// A worker that is being killed is started once it is gone; one that runs is left alone.
  void Launch(int worker) override;
  void Kill(int worker) override;

  /// Waits until no worker runs; false when the time is over first.
  bool WaitUntilEmpty(std::chrono::milliseconds timeout);

  /// Kills and reaps every worker. From its return on nothing is started or called back. The
  /// destructor does it too.
  void Stop();

 private:
  struct Command {
    enum class Kind { kLaunch, kKill, kShutDown };
    Kind kind;
    int worker = 0;
  };
  struct Child {
    pid_t pid = 0;
    int pid_fd = -1;
    /// Size of its log when it started, bytes.
    size_t log_start = 0;
    bool killed = false;
    bool launch_again = false;
  };

  void Post(Command command);
  void Loop();
  /// False once the cluster shuts down.
  bool CarryOutCommands();
  void Start(int worker);
  void Signal(int worker);
  void Reap(int worker);
  void ShutDown();
  std::string LogPath(int worker) const;

  const LocalClusterOptions options_;
  const ExitCallback on_exit_;
  const std::vector<int> usable_cores_;
  /// An eventfd that says commands_ has grown.
  const int wake_fd_;

  /// Of the thread alone.
  std::map<int, Child> children_;

  /// Guards commands_ and empty_.
  std::mutex mutex_;
  std::deque<Command> commands_;
  bool empty_ = true;
  std::condition_variable emptied_;

  /// Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace freezepipe::cluster
