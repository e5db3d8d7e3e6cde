#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "operator/cluster/cluster.h"
#include "operator/coordinator/authenticator.h"
#include "operator/coordinator/job_session.h"

namespace freezepipe::coordinator {

/// Another coordinator leads the job by now, or will: this one's session falls silent. Its workers
/// are told nothing any more, since they are the other's.
struct Deposed : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Where durable records go. Called on the session's strand.
class RecordStore {
 public:
  virtual ~RecordStore() = default;
  /// Makes it durable (returns after fsync and rename); throws Deposed, or std::runtime_error
  /// naming the file: the job fails then.
  virtual void Write(const v1alpha1::FreezePipeJobStatus& status) = 0;
};

/// Hears what happens. Called on the session's strand, in order.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnEvent(const v1alpha1::JobEvent& event) = 0;
  virtual void OnOver(const v1alpha1::FreezePipeJobStatus& status) = 0;
};

/// What a session needs around it.
struct Collaborators {
  cluster::Cluster* cluster = nullptr;
  RecordStore* records = nullptr;
  Listener* listener = nullptr;
};

/// Runs one JobSession on a strand of its own: feeds it events (streams, cluster, a one-second
/// tick), carries out its actions. Thread-safe.
class SessionRunner {
 public:
  virtual ~SessionRunner() = default;
  virtual void Start() = 0;
  virtual void Post(Event event) = 0;
  /// As it is after the last event; its record may be on its way still.
  virtual v1alpha1::FreezePipeJobStatus Status() const = 0;
  /// Connects as ExitCallback of the cluster.
  virtual void OnWorkerExit(int worker, cluster::WorkerEnd end) = 0;
};

/// How the server shows who it is.
struct ServerTls {
  /// PEM: its private key and its certificate, in one file so that the two always belong together.
  /// Replaced as a whole; streams that open later see the new one, none is broken.
  std::string identity_file;
  /// The file is looked at so often.
  std::chrono::seconds refresh{10};
};

struct CoordinatorOptions {
  /// "127.0.0.1:0" for any free port.
  std::string listen_address;
  /// Without it everything goes in the clear.
  std::optional<ServerTls> tls{};
  /// Says whose a stream is; outlives the server. Null: whoever it says it is.
  Authenticator* authenticator = nullptr;
  /// Streams are refused (UNAVAILABLE) until Lead is called.
  bool standby = false;
};

/// A gRPC server that the workers of any number of jobs attach to, each with a session behind it.
/// Thread-safe.
class CoordinatorServer {
 public:
  /// Closes streams that are still open; the sessions end before it.
  virtual ~CoordinatorServer() = default;
  /// Port in use.
  virtual int port() const = 0;
  /// Ends standby.
  virtual void Lead() = 0;
  /// A session for the job, which its workers name in their Hello; null if there is one already.
  /// When it is destroyed its workers' streams are closed, and the job is unknown again. The
  /// collaborators outlive it.
  virtual std::unique_ptr<SessionRunner> AddJob(const std::string& job, JobSetup setup,
                                                const Collaborators& collaborators) = 0;
};

/// Throws std::runtime_error when the address can't be listened on (port in use).
std::unique_ptr<CoordinatorServer> MakeCoordinatorServer(const CoordinatorOptions& options);

}  // namespace freezepipe::coordinator
