#pragma once

#include <chrono>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"
#include "operator/coordinator/authenticator.h"
#include "operator/coordinator/job_streams.h"

namespace freezepipe::coordinator {

class WorkerStream;

/// The one service of all jobs: a stream's Hello names its job, whose streams it joins. A job that
/// isn't here is answered NOT_FOUND; its workers try again, so that it may come. Thread-safe; no
/// call blocks.
class AttachService : public v1alpha1::Coordinator::CallbackService {
 public:
  /// With an authenticator (which outlives it) a Hello takes effect once that accepted it; nothing
  /// more of the stream is read before. `standby`: streams are refused until Lead is called.
  explicit AttachService(Authenticator* authenticator = nullptr, bool standby = false)
      : authenticator_(authenticator), standby_(standby) {}

  /// Workers are let in from now on. Of a job that isn't known they are told to come again, until
  /// the new leader has had time for all its jobs.
  void Lead();

  /// Lets workers of the job attach from now on; false if there is one of this name.
  bool Add(const std::string& job, std::shared_ptr<JobStreams> streams);
  /// Lets no more attach; JobStreams::Close ends the streams that are open.
  void Remove(const std::string& job);

  grpc::ServerBidiReactor<v1alpha1::WorkerMessage, v1alpha1::Order>* Attach(
      grpc::CallbackServerContext* context) override;

  /// Closes streams that have not said who they are in time; to be called about once a second.
  void CloseSilent();
  /// Closes every stream, also those that open from now on.
  void CloseAll();

 private:
  friend class WorkerStream;

  /// The stream's first message; the stream goes on, or is closed, once it is admitted or not.
  void OnFirstMessage(WorkerStream* stream, v1alpha1::WorkerMessage message);
  /// Not OK: the stream is to be closed so.
  grpc::Status Admit(WorkerStream* stream, v1alpha1::Hello hello);
  void OnClosed(WorkerStream* stream);

  Authenticator* const authenticator_;
  /// Guards everything below. Taken before the mutexes of JobStreams and WorkerStream.
  std::mutex mutex_;
  bool standby_;
  /// When Lead was called, if it was.
  std::optional<std::chrono::steady_clock::time_point> leads_since_;
  bool closing_ = false;
  /// Without a Hello yet.
  std::set<WorkerStream*> silent_;
  /// Whose Hello is with the authenticator.
  std::set<WorkerStream*> pending_;
  std::map<std::string, std::shared_ptr<JobStreams>> jobs_;
};

}  // namespace freezepipe::coordinator
