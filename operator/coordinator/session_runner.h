#pragma once

#include <functional>
#include <memory>
#include <string>

#include "operator/cluster/cluster.h"
#include "operator/coordinator/job_session.h"

namespace freezepipe::coordinator {

/// Where durable records go. Called on the session's strand.
class RecordStore {
 public:
  virtual ~RecordStore() = default;
  /// Makes it durable (returns after fsync and rename); throws std::runtime_error naming the file.
  virtual void Write(const v1alpha1::FreezePipeJobStatus& status) = 0;
};

/// Hears what happens. Called on the session's strand, in order.
class Listener {
 public:
  virtual ~Listener() = default;
  virtual void OnEvent(const v1alpha1::JobEvent& event) = 0;
  virtual void OnOver(const v1alpha1::FreezePipeJobStatus& status) = 0;
};

/// Runs one JobSession on a strand of its own: feeds it events (streams, cluster, a one-second
/// tick), carries out its actions. Thread-safe.
class SessionRunner {
 public:
  virtual ~SessionRunner() = default;
  virtual void Start() = 0;
  virtual void Post(Event event) = 0;
  /// Connects as ExitCallback of the cluster.
  virtual void OnWorkerExit(int worker, bool clean, std::string why) = 0;
};

/// A gRPC server that workers attach to, with the one session behind it.
struct CoordinatorOptions {
  /// "127.0.0.1:0" for any free port.
  std::string listen_address;
};

class CoordinatorServer {
 public:
  virtual ~CoordinatorServer() = default;
  /// Port in use.
  virtual int port() const = 0;
  virtual SessionRunner& session() = 0;
  /// The cluster must be set before session().Start().
  virtual void SetCluster(cluster::Cluster* cluster) = 0;
};

/// Throws std::runtime_error when the address can't be listened on (port in use).
std::unique_ptr<CoordinatorServer> MakeCoordinatorServer(const CoordinatorOptions& options,
                                                         JobSetup setup, RecordStore* records,
                                                         Listener* listener);

}  // namespace freezepipe::coordinator
