#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
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
};
/// The durable record with this number is safe.
struct Recorded {
  int number = 0;
};
/// The person wants the job to stop at the next step, with a checkpoint.
struct StopRequested {};
/// Time passes; sent about once a second.
struct Tick {};

using Event = std::variant<JobStarted, WorkerAttached, WorkerSaid, StreamLost, WorkerGone, Recorded,
                           StopRequested, Tick>;

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
/// All layers of this checkpoint are written: complete it (see checkpoint_index.h).
struct CompleteCheckpoint {
  int step = 0;
  std::vector<v1alpha1::FreezeLogEntry> freeze_log;
  std::vector<planner::WindowStatistics> windows;
};
/// Something a person or a log wants to know; its time is seconds since JobStarted.
struct Notice {
  v1alpha1::JobEvent event;
};
/// The job is over; the session's status says how. Every worker has been told to exit.
struct JobOver {};

using Action = std::variant<SendOrder, LaunchWorker, KillWorker, Record, CompleteCheckpoint, Notice,
                            JobOver>;

/// What is fixed for a session's life.
struct JobSetup {
  /// Defaults applied.
  v1alpha1::FreezePipeJobSpec spec;
  std::vector<std::string> layer_names;
  planner::RunShape shape;
  /// Fences this coordinator from deposed ones.
  int term = 1;
  std::string checkpoint_directory;
  /// Set to go on from a checkpoint (`run --resume`): its step, freeze log and windows.
  struct Resume {
    int step = 0;
    std::vector<v1alpha1::FreezeLogEntry> freeze_log;
    std::vector<planner::WindowStatistics> windows;
  };
  std::optional<Resume> resume;
};

/// See the diagram in job_session.cc's first lines... (the owner of this file draws it here)
class JobSession {
 public:
  explicit JobSession(JobSetup setup);

  /// What to do about the event. Not thread-safe: one strand a job.
  std::vector<Action> Handle(const Event& event, Seconds now);

  const v1alpha1::FreezePipeJobStatus& status() const;
};

}  // namespace freezepipe::coordinator
