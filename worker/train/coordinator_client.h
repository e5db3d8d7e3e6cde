#pragma once

#include <grpcpp/client_context.h>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <mutex>
#include <string>
#include <thread>

#include "freezepipe/v1alpha1/coordinator.pb.h"
#include "worker/train/coordinator_channel.h"

namespace freezepipe::worker {

/// A worker that no coordinator has ever answered gives up after this.
inline constexpr std::chrono::seconds kFirstOrderLimit{600};

/// A worker's stream to its coordinator: opened anew with back-off whenever it breaks, however it
/// ended, for as long as the worker lives; messages are kept meanwhile (bounded). Thread-safe.
class CoordinatorClient {
 public:
  using MakeHello = std::function<v1alpha1::Hello()>;
  using OnOrder = std::function<void(const v1alpha1::Order&)>;
  using OnGivenUp = std::function<void(const std::string& why)>;

  /// `on_order` is called from the client's thread, one order at a time. `on_given_up`, from there
  /// too: there was no order within the limit, or GiveUpIfUnknown had its case, and there will be
  /// none.
  CoordinatorClient(CoordinatorAddress address, MakeHello make_hello, OnOrder on_order,
                    OnGivenUp on_given_up, std::chrono::milliseconds limit = kFirstOrderLimit);
  ~CoordinatorClient();

  /// Opens the stream; called once.
  void Start();

  /// Returns at once. What says where the worker stands (Prepared, Switched, Settled, the newest
  /// CheckpointWritten, Finished, Failure) is said again on every new stream, in this order, since
  /// the old one may have lost it; before it the window reports that nobody remembers yet.
  void Send(v1alpha1::WorkerMessage message);

  /// Windows up to this step are remembered.
  void Remembered(int step);

  /// From now on a coordinator that doesn't know the job (NOT_FOUND) is not asked again.
  void GiveUpIfUnknown();

  /// Waits until everything was handed to the network, or the time is up.
  void Flush(std::chrono::seconds limit);

 private:
  void Run(std::stop_token stop);
  /// Until the stream ends; returns how.
  grpc::Status Attach(std::stop_token stop);
  void Write(std::stop_token stop,
             const std::function<bool(const v1alpha1::WorkerMessage&)>& write);

  const CoordinatorAddress address_;
  const MakeHello make_hello_;
  const OnOrder on_order_;
  const OnGivenUp on_given_up_;
  const std::chrono::milliseconds limit_;
  /// Touched by the thread alone.
  bool heard_ = false;
  std::mutex mutex_;  // guards all below
  std::condition_variable_any changed_;
  std::deque<v1alpha1::WorkerMessage> queue_;
  std::map<int, v1alpha1::WorkerMessage> standing_;  // by kind, the order they are said in
  std::deque<v1alpha1::WorkerMessage> windows_;      // not remembered yet
  bool writing_ = false;
  bool gives_up_if_unknown_ = false;
  grpc::ClientContext* context_ = nullptr;
  std::jthread thread_;
};

}  // namespace freezepipe::worker
