#pragma once

#include <deque>
#include <map>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "operator/coordinator/job_session.h"

namespace freezepipe::coordinator {

bool OwnsLayer(const v1alpha1::Plan& plan, int worker, int layer);

/// A job whose workers, streams, cluster and disk are simulated: workers keep to the protocol of
/// coordinator.proto, train in lockstep, die, hang, lose streams and fail to prepare at random;
/// every message and event is delayed at random. The weight of a layer is a number that depends on
/// every step and on what the freeze log made of it. Breaches of what a session promises are
/// collected.
class SimulatedJob {
 public:
  struct Options {
    unsigned seed = 0;
    int workers = 3;
    int replicas = 1;
    /// Freed devices widen the job.
    bool replicate = false;
    int layers = 6;
    int total_steps = 120;
    int checkpoint_interval = 15;
    /// Kills, hangs, broken streams and failed preparations that may happen.
    int disturbances = 6;
    /// Workers that somebody else ends, with so much time left that they can hand over.
    int terminations = 0;
    /// Times that another coordinator takes over, with the last durable record and what the workers
    /// say.
    int take_overs = 0;
    bool stop_midway = false;
  };

  explicit SimulatedJob(const Options& options);

  /// Runs to the end, or until nothing more can come of it.
  void Run();

  /// The last durable one, once the job is over.
  const v1alpha1::FreezePipeJobStatus& status() const {
    return over_ ? durable_ : session_.status();
  }
  bool over() const { return over_; }
  const std::vector<std::string>& breaches() const { return breaches_; }
  int repartitions() const { return repartitions_; }
  int restores() const { return restores_; }
  int terminations() const { return terminated_; }
  /// In all restores.
  int steps_lost() const { return steps_lost_; }
  const std::set<int>& released() const { return released_; }
  int take_overs() const { return term_ - kFirstTerm; }
  /// Processes that were started.
  int launches() const { return launches_; }

  /// Weight of each layer in the newest complete checkpoint.
  std::vector<unsigned long long> FinalWeights() const;
  /// The same of an undisturbed run to this step that follows the log.
  std::vector<unsigned long long> Replay(const std::vector<v1alpha1::FreezeLogEntry>& log,
                                         int step) const;

 private:
  using Weight = unsigned long long;
  using Log = std::vector<v1alpha1::FreezeLogEntry>;

  struct Process {
    bool alive = false;
    bool hung = false;
    bool terminating = false;
    Seconds killed_at = 0;
    bool attached = false;
    /// The session was told of its end, or never of its start.
    bool end_known = true;
    int incarnation = 0;
    int term_generation = 0;
    std::deque<v1alpha1::WorkerMessage> outbox;
    std::deque<v1alpha1::Order> inbox;
    /// layer -> step -> weight.
    std::map<int, std::map<int, Weight>> copies;
    std::map<int, v1alpha1::Plan> prepared;
    std::optional<v1alpha1::Plan> running;
    int step = 0;
    int last_started = 0;
    bool first_step_of_switch = false;
    bool finished = false;
    Log log;

    // What it tells another coordinator.
    std::optional<v1alpha1::Plan> entered;
    bool stands_still = false;
    std::optional<v1alpha1::Plan> next;
    int switching_to = 0;
    v1alpha1::Memory memory;
    /// Said again on every stream: by kind, and the windows that nobody remembers.
    std::map<int, v1alpha1::WorkerMessage> standing;
    std::deque<v1alpha1::WorkerMessage> windows;
    /// It lived when another coordinator took over, which has not launched it yet.
    bool adopted = false;

    std::optional<int> switch_to;
    std::optional<v1alpha1::FreezeLogEntry> freeze;
    bool stop = false;
  };

  void Tell(const Event& event);
  void CarryOut(const Action& action);
  void DeliverMessage();
  void DeliverOrder();
  void DeliverClusterEvent();
  void Disturb();
  void TerminateSome();
  /// It has so much time left.
  void Terminate(int worker, Seconds grace_period);
  /// Those whose time is over.
  void KillTerminated();
  void TakeOver();
  /// The record is safe.
  void MakeDurable(const v1alpha1::FreezePipeJobStatus& record);
  void Attach(int worker);
  void End(int worker, bool clean);
  void Obey(int worker, const v1alpha1::Order& order);
  void Prepare(int worker, const v1alpha1::Prepare& order);
  void Remember(int worker, const v1alpha1::Remember& order);
  void Complete(int worker, const v1alpha1::CompleteCheckpoint& order);
  void Find(int worker);
  /// A whole generation trains, and nothing but coordinators was disturbed.
  bool NeedNotStop(int worker) const;
  /// False when a source is gone.
  bool Fetch(int worker, const v1alpha1::Prepare& order);
  void SayAborted(int worker, int generation, const std::string& reason);
  /// One step of whatever group can take one.
  void Train();
  void TakeStep(int lead);
  void TrySwitch(int lead);
  void Report(const v1alpha1::Plan& plan, int step, const Log& log);
  void Finish(const v1alpha1::Plan& plan);
  void Write(int worker, const v1alpha1::Plan& plan, int step);
  void Say(int worker, v1alpha1::WorkerMessage message);
  Weight Next(Weight weight, int layer, int step, const Log& log) const;
  Weight Initial(int layer) const { return 1000003ULL * (layer + 1); }
  void Breach(const std::string& what) { breaches_.push_back(what); }
  bool Chance(double probability);
  int Pick(int count);
  std::vector<int> Living() const;

  Options options_;
  std::mt19937 random_;
  JobSession session_;
  Seconds now_ = 0;
  std::map<int, Process> processes_;
  std::deque<Event> cluster_events_;
  std::map<int, std::map<int, Weight>> written_;
  struct Checkpoint {
    v1alpha1::CheckpointIndex index;
    std::map<int, Weight> weights;
  };
  std::map<int, Checkpoint> complete_;
  v1alpha1::FreezePipeJobStatus durable_;
  /// Not known to the session to be safe.
  std::map<int, v1alpha1::FreezePipeJobStatus> records_;
  std::vector<std::string> breaches_;
  std::set<int> settled_generations_;
  std::set<int> released_;
  static constexpr int kFirstTerm = 7;
  int term_ = kFirstTerm;
  int launches_ = 0;
  int disturbed_ = 0;
  int terminated_ = 0;
  int steps_lost_ = 0;
  int repartitions_ = 0;
  int restores_ = 0;
  bool stopped_ = false;
  bool over_ = false;
};

}  // namespace freezepipe::coordinator
