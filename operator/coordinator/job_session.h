#pragma once

#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "freezepipe/v1alpha1/job.pb.h"
#include "freezepipe/v1alpha1/report.pb.h"
#include "operator/planner/freeze_policy.h"
#include "operator/planner/release_objective.h"

namespace freezepipe::coordinator {

/// Seconds since an arbitrary start, handed in: the session has no clock.
using Seconds = double;

// ---- events ----

struct JobStarted {};
/// A worker's stream said Hello.
struct WorkerAttached {
  v1alpha1::Hello hello;
};
/// Anything else a worker says.
struct WorkerSaid {
  int worker = 0;
  v1alpha1::WorkerMessage message;
};
/// The stream broke; the process may still live and come back.
struct StreamLost {
  int worker = 0;
};
/// The place that runs workers says the process is gone.
struct WorkerGone {
  int worker = 0;
  std::string why;
  /// Not by its own fault: its node was lost, or somebody needed the room.
  bool disrupted = false;
};
/// The durable record with this number is safe.
struct Recorded {
  int number = 0;
};
/// The durable record with this number could not be written: the job fails.
struct RecordFailed {
  int number = 0;
  std::string why;
};
/// The person wants the job to stop at the next step, with a checkpoint.
struct StopRequested {};
/// The job is to fail, in good order: a deadline has passed, too many workers were lost.
struct GiveUp {
  /// "Reason: message".
  std::string why;
};
/// Time passes; sent about once a second.
struct Tick {};

using Event = std::variant<JobStarted, WorkerAttached, WorkerSaid, StreamLost, WorkerGone, Recorded,
                           RecordFailed, StopRequested, GiveUp, Tick>;

// ---- orders ----

struct SendOrder {
  int worker = 0;
  v1alpha1::Order order;
};
/// Start (again) the worker's process or pod.
struct LaunchWorker {
  int worker = 0;
};
/// End the worker's process or pod by force.
struct KillWorker {
  int worker = 0;
};
/// Make the record durable, then say Recorded{number}.
struct Record {
  int number = 0;
  v1alpha1::FreezePipeJobStatus status;
};
/// Something a person or a log wants to know; its time is seconds since JobStarted.
struct Notice {
  v1alpha1::JobEvent event;
};
/// The job is over; the session's status says how. Every worker has been told to exit.
struct JobOver {};

using Action = std::variant<SendOrder, LaunchWorker, KillWorker, Record, Notice, JobOver>;

/// What is fixed for a session's life.
struct JobSetup {
  /// Defaults applied.
  v1alpha1::FreezePipeJobSpec spec;
  /// Empty, as is the shape: the first worker that attaches is asked what the spec amounts to.
  std::vector<std::string> layer_names;
  planner::RunShape shape;
  /// Fences this coordinator from deposed ones.
  int term = 1;
  /// As the workers reach it; empty: no checkpoints are written.
  std::string checkpoint_directory;
  /// The last checkpoint's weights are wanted as one file, in the folder of checkpoints.
  bool export_weights = false;
  /// Set to go on from a checkpoint (`run --resume`): its step, freeze log and windows.
  struct Resume {
    int step = 0;
    std::vector<v1alpha1::FreezeLogEntry> freeze_log;
    std::vector<planner::WindowStatistics> windows;
    /// Steps of the complete checkpoints before it, ascending.
    std::vector<int> older_checkpoints;
  };
  std::optional<Resume> resume;
  /// The durable record that another coordinator of the job left, to go on from while its workers
  /// train, or after all of them were stopped or lost.
  std::optional<v1alpha1::FreezePipeJobStatus> record;
};

struct SessionState;

// clang-format off
/// One job from its first worker to its last. The states are JobState's; the phases in brackets are
/// where the session waits, each for the one thing named on its way out.
///
///   Pending
///     | 1. JobStarted: every worker is launched
///   Starting [attaching -> profiling -> preparing -> recording]
///     | 2. all attached; the first worker's profile; all Prepared; plan durable: Start
///   Running [running] <------------------------------------------------------.
///     | 3. layers froze and another partition is worth it: Prepare, live     |
///   Repartitioning [preparing live] ---- 4. failed or too slow: Drop --------|
///     | 5. all Prepared: Switch to the lead                                  |
///   Repartitioning [switching -> settling]                                   |
///     | 6. all Switched and Settled; generation durable: Retire, Release ----|
///                                                                            |
///   Starting, Running, Repartitioning                                        |
///     | 7. a worker was lost, or stands still unasked: Abort to the living   |
///   Recovering [gathering -> preparing -> recording] ------------------------'
///     |     8. all stand still, the lost ones attached again; then as 2, from the restore point
///     | 9. restarted too often without progress: Failed
///
///   Running -- a worker is to end: as 3 over the others, as 8 once its successor is there (hand_over.h)
///   Running -- 10. StopRequested: Stop to the lead --> Stopping [running]
///   Running, Stopping -- 11. Finished from every member --> Succeeded, Stopped [concluding]
///   any -- 12. Failure, GiveUp, or the durable record fails --> Failed [concluding]
///   Starting, Recovering -- 13. StopRequested --> Stopped [concluding]
///   [concluding -> exiting -> over]
///
///   Any state, as another coordinator recorded it [taking over]
///     | 14. every worker has attached: Running [running] or Repartitioning [switching] if they
///     |     train, else Recovering [gathering], after a suspension Starting [gathering]
///
/// Before a restart, and once alone, a session that took over asks a worker what checkpoints there
/// are [attaching, gathering]; it measures the layers [profiling] if nobody remembers that.
///
/// Orders to a worker whose stream is away are not sent. When it comes back, the orders whose
/// effect has not been seen are sent again: a worker that has carried one out answers it again and
/// does nothing else. Not thread-safe: one strand a job.
// clang-format on
class JobSession {
 public:
  explicit JobSession(JobSetup setup);
  JobSession(JobSession&&) noexcept;
  JobSession& operator=(JobSession&&) noexcept;
  ~JobSession();

  /// What to do about the event, in order. `now` never goes back.
  std::vector<Action> Handle(const Event& event, Seconds now);

  const v1alpha1::FreezePipeJobStatus& status() const;

  /// JobOver was said; further events do nothing.
  bool over() const;

 private:
  std::unique_ptr<SessionState> state_;
};

}  // namespace freezepipe::coordinator
