#pragma once

#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "operator/coordinator/checkpoint_ledger.h"
#include "operator/coordinator/job_session.h"
#include "operator/coordinator/restore_point.h"
#include "operator/coordinator/window_collector.h"
#include "operator/planner/freeze_policy.h"
#include "operator/planner/release_objective.h"

namespace freezepipe::coordinator {

/// Where the session waits; see the diagram above JobSession.
enum class Phase {
  kPending,
  kTakingOver,
  kAttaching,
  kProfiling,
  kPreparing,
  kRecording,
  kRunning,
  kPreparingLive,
  kSwitching,
  kSettling,
  kGathering,
  kConcluding,
  kExiting,
  kOver,
};

/// What the session knows of one worker.
struct Worker {
  /// Launched, and not yet said to be gone.
  bool alive = false;
  /// Its stream is open.
  bool attached = false;
  /// KillWorker was sent; it is not gone yet.
  bool killed = false;
  /// Somebody else wants it to end; see hand_over.h.
  bool terminating = false;
  /// Exit was sent because it terminates.
  bool dismissed = false;
  /// Its process may have been there before this coordinator.
  bool taken_over = false;
  /// Last words of the living process.
  v1alpha1::Hello hello = {};
  /// Highest generation that this process was asked to prepare.
  int generation = 0;
  std::optional<Seconds> detached_since = {};
  /// When Release was sent: it holds nothing any more.
  std::optional<Seconds> released_at = {};
  bool release_noticed = false;
  /// In recovery: Abort was sent to this process and it has not answered.
  bool owes_aborted = false;
  Holdings holdings = {};
};

/// A generation on its way to being in force.
struct Preparation {
  v1alpha1::Plan plan;
  bool live = false;
  int step = 0;
  std::vector<v1alpha1::LayerSource> sources;
  /// Everyone who was sent Prepare.
  std::set<int> members;
  std::set<int> prepared;
  Seconds since = 0;
  std::string why;

  // Restart alone: where the state comes from, and the step it was lost at.
  std::string origin;
  int lost_at = 0;

  // Live alone.
  std::optional<int> switch_step;
  std::set<int> switched;
  std::set<int> settled;
  /// Windows of this generation that came before every Switched: another stream may still bring
  /// windows of the generation before, which come first.
  std::vector<v1alpha1::WindowReport> early_windows;
  double stall_seconds = 0;
  double bytes_moved = 0;
  double bytes_moved_early = 0;
};

/// An entry that the lead has not confirmed yet; it is the last of the freeze log.
struct OutstandingFreeze {
  v1alpha1::FreezeLogEntry entry;
  bool recorded = false;
  /// Who was told; nobody while it is held back.
  std::optional<int> sent_to = {};
};

/// A checkpoint that a worker was told to complete.
struct Completion {
  v1alpha1::CompleteCheckpoint order;
  int worker = 0;
  double bytes = 0;
  Seconds since = 0;
};

/// How a worker was lost.
struct Loss {
  std::string why;
  /// Not by its own fault.
  bool disrupted = false;
};

/// What a durable record was written for.
struct PendingRecord {
  enum class Purpose { kStart, kSettled, kFreeze, kEnd, kNote };
  Purpose purpose = Purpose::kNote;
  int generation = 0;
};

/// All that a session knows, and the few things that every part of it does. The parts (start_up,
/// running, repartition, recovery, finishing) are functions over it.
struct SessionState {
  explicit SessionState(JobSetup setup);

  /// What is known once the job is described: layers, steps, and what is sized by them.
  void Describe(const v1alpha1::JobDescription& description);
  bool described() const { return !setup.layer_names.empty(); }

  // ---- fixed, once the job is described ----
  JobSetup setup;
  std::unique_ptr<planner::FreezePolicy> policy;

  // ---- now ----
  Seconds now = 0;
  Seconds started_at = 0;
  Phase phase = Phase::kPending;
  v1alpha1::FreezePipeJobStatus status;
  std::vector<Action> actions;

  // ---- workers and plans ----
  std::map<int, Worker> workers;
  /// Who was asked what the spec amounts to, and when; nobody once that is known.
  std::optional<int> describing_worker;
  Seconds describing_since = 0;
  /// Not given if the setup had it all.
  std::optional<v1alpha1::JobDescription> description;
  std::optional<v1alpha1::ModelProfile> profile;
  Seconds profiling_since = 0;
  planner::Baseline baseline;
  /// The plan in force; none before the first Start.
  std::optional<v1alpha1::Plan> current;
  std::optional<Preparation> next;
  /// Highest generation number given out.
  int last_generation = 0;

  // ---- training ----
  /// Steps done, as far as is known.
  int step = 0;
  /// When and where the generation in force began.
  int generation_step = 0;
  /// It began with Start, not with a switch.
  bool began_with_start = false;
  /// From when and where on the pace of training is measured.
  Seconds pace_since = 0;
  int pace_step = 0;
  /// When training was heard of last.
  Seconds heard_at = 0;
  std::vector<v1alpha1::FreezeLogEntry> freeze_log;
  std::optional<OutstandingFreeze> outstanding;
  /// Boundaries that a notice was sent for.
  std::set<int> chosen_noticed;
  std::set<int> frozen_noticed;
  /// Layers froze, or their times drifted, since the partition was last thought over.
  bool consider_repartition = false;
  /// Why, if for drift.
  std::string drift_why;
  /// Of whole windows of one generation and boundary, see drift.h.
  std::vector<planner::StageTimes> drift_windows;
  std::pair<int, int> drift_windows_of;
  /// Boundaries whose outputs the workers turned out not to keep, see drift.h.
  std::set<int> not_cached;
  /// How much more of a step's work each layer has than the profile says; empty: as it says.
  std::vector<double> layer_factors;
  std::vector<planner::WindowStatistics> windows;
  WindowCollector collector;
  CheckpointLedger checkpoints;
  /// By step.
  std::map<int, Completion> completions;

  // ---- taking over ----
  /// Said by workers before it was known how training stands.
  std::vector<std::pair<int, v1alpha1::WorkerMessage>> unheard;
  /// The ledger above has what is on disk, not only what the record names.
  bool checkpoints_known = false;
  /// Who was asked for that, and when.
  std::optional<int> finder;
  Seconds finding_since = 0;

  // ---- recovery ----
  Seconds gathering_since = 0;
  /// Everything the reason for the recovery says.
  std::string recovery_why;
  /// Lost since this recovery began.
  std::set<int> lost_in_recovery;
  /// The lead's process ended before the outstanding freeze was confirmed.
  bool lead_was_lost = false;
  int restarts_without_progress = 0;
  /// The greatest step known when the last restart was counted.
  int progress_mark = 0;

  // ---- the end ----
  bool stop_requested = false;
  /// The lead was told to stop so that the workers that terminate leave a checkpoint, or those that
  /// are back get layers.
  bool stopping_for_hand_over = false;
  std::map<int, int> finished;
  Seconds exiting_since = 0;

  // ---- durable records ----
  int last_record = 0;
  std::map<int, PendingRecord> pending_records;

  // ---- what every part does ----

  /// Sizes by the layers what is.
  void FitToLayers();

  /// An empty order of this session's term.
  v1alpha1::Order NewOrder() const;
  /// Does nothing while the worker's stream is away.
  void Send(int worker, v1alpha1::Order order);
  void Kill(int worker);
  void Launch(int worker);
  /// An event of now, for the caller to fill.
  v1alpha1::JobEvent NewEvent() const;
  void Say(v1alpha1::JobEvent event);
  void SetState(v1alpha1::JobState::Type state, const std::string& message);
  /// Brings the status up to what is known.
  void RefreshStatus();
  void WriteRecord(PendingRecord::Purpose purpose, int generation);

  /// The freeze log without an entry that the lead has not confirmed: what training follows.
  std::vector<v1alpha1::FreezeLogEntry> ConfirmedFreezes() const;
  /// Layers [0, boundary) are frozen at the step.
  int BoundaryAt(int step) const;

  /// Takes over what another coordinator recorded.
  void TakeRecord(const v1alpha1::FreezePipeJobStatus& record);

  int layers() const { return static_cast<int>(setup.layer_names.size()); }
  /// Members of the plan in force; of the one in preparation before the first Start.
  std::set<int> Members() const;
  /// Every worker that training stops for if it is lost.
  std::set<int> Needed() const;
  /// Workers that the plan in force awaits.
  std::set<int> Awaited() const;
  /// A plan is in force, and nobody was told to stand still.
  bool Trains() const;
  bool AllAttached(const std::set<int>& needed) const;
};

std::set<int> MembersOf(const v1alpha1::Plan& plan);
/// Replica 0 of the last stage.
int LeadOf(const v1alpha1::Plan& plan);
std::vector<int> LayerCounts(const v1alpha1::Plan& plan);

}  // namespace freezepipe::coordinator
