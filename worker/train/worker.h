#pragma once

#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "worker/train/checkpoint_keeper.h"
#include "worker/train/coordinator_client.h"
#include "worker/train/trainer.h"

namespace freezepipe::worker {

struct WorkerOptions {
  CoordinatorAddress coordinator;
  /// The coordinator's name of the job.
  std::string job;
  int worker = 0;
  /// Host or IP that other workers reach this one by.
  std::string host;
  /// Name of the machine; empty: its host name.
  std::string node;
  at::Device device = at::kCPU;
  /// Of the device.
  int64_t memory_bytes = 0;
  CacheFolders cache;
};

/// One device's process: carries out the coordinator's orders until it is released or the job is
/// over. Orders arrive on the client's thread; what trains or blocks is done by the thread in Run.
class Worker {
 public:
  /// `device_backend`: null on the CPU.
  Worker(WorkerOptions options, std::unique_ptr<BackendFactory> device_backend);
  ~Worker();

  /// Returns when ordered to leave; throws std::runtime_error when no coordinator ever answered, or
  /// none knows the job of a worker that terminates.
  void Run();

  /// Somebody else wants this process to end: what it holds goes to other workers, after which Run
  /// returns. False if it holds nothing that anybody misses. From any thread.
  bool Terminate();

  /// The longest step that it trained, a switch counted as one; 0 if it trained none. After Run.
  double longest_step_seconds() const;

 private:
  v1alpha1::Hello MakeHello();
  void OnOrder(const v1alpha1::Order& order);
  v1alpha1::Order NextOrder();
  /// False when the worker is to leave.
  bool Carry(const v1alpha1::Order& order);

  /// What others count on is on disk.
  void FinishFiles();
  void Welcome(const v1alpha1::Welcome& welcome);
  void Describe();
  void SayDescribed(const v1alpha1::JobDescription& description);
  void Profile();
  void Prepare(const v1alpha1::Prepare& order);
  void Train(const v1alpha1::Start& start);
  void SayAborted(int generation, const std::string& reason);
  void Fail(const std::string& reason, const std::string& message);
  void Remember(const v1alpha1::Remember& order);
  std::shared_ptr<Preparation> TakePreparation(int generation);
  void AbandonPreparation(int generation);
  void Say(v1alpha1::WorkerMessage message);

  const WorkerOptions options_;
  const std::string incarnation_;
  StoreServer store_;
  const std::unique_ptr<BackendFactory> control_backend_, device_backend_;
  HeldLayers held_;
  LeadOrders lead_orders_;

  std::mutex mutex_;  // guards all below
  std::condition_variable changed_;
  std::deque<v1alpha1::Order> orders_;
  int term_ = 0;
  /// Highest generation that it was told of.
  int generation_ = 0;
  /// What it was told to prepare last; not in force if the trainer has not entered it.
  std::optional<v1alpha1::Plan> next_;
  v1alpha1::Memory memory_;
  std::string checkpoints_;
  bool leaving_ = false;
  bool terminating_ = false;
  /// Why there will be no order, if so.
  std::optional<std::string> alone_;
  std::shared_ptr<Preparation> preparation_;
  v1alpha1::FreezePipeJobSpec spec_;
  std::unique_ptr<JobContext> job_;
  std::unique_ptr<Trainer> trainer_;
  std::unique_ptr<CoordinatorClient> client_;
  /// Last: it says what it has done.
  CheckpointKeeper keeper_{[this](v1alpha1::WorkerMessage message) { Say(std::move(message)); }};
};

}  // namespace freezepipe::worker
