#include <grpc/support/log.h>
#include <grpcpp/grpcpp.h>
#include <grpcpp/security/tls_certificate_provider.h>
#include <grpcpp/security/tls_credentials_options.h>

#include <chrono>
#include <cstdlib>
#include <stdexcept>
#include <utility>

#include "operator/coordinator/attach_service.h"
#include "operator/coordinator/session_runner.h"
#include "operator/coordinator/strand_session_runner.h"

namespace freezepipe::coordinator {
namespace {

/// A worker's machine that says nothing for so long is asked, milliseconds.
constexpr int kKeepAliveTime = 10'000;
/// And given up without an answer after so long, milliseconds.
constexpr int kKeepAliveTimeout = 10'000;
/// Workers may ask as often, milliseconds.
constexpr int kLeastPingInterval = 5'000;
/// A Hello that tells all windows of a long job can be large, bytes.
constexpr int kLargestMessage = 1 << 28;
/// Streams that have said nothing are looked for so often.
constexpr std::chrono::seconds kSilenceCheckPeriod{1};
/// Streams get so long to end when the server goes.
constexpr std::chrono::seconds kShutdownLimit{2};

/// gRPC's own lines on stderr would come between those meant for people, which say the same in
/// words. GRPC_VERBOSITY brings them back.
void QuietenGrpc() {
  if (std::getenv("GRPC_VERBOSITY") != nullptr) return;
  gpr_set_log_verbosity(static_cast<gpr_log_severity>(GPR_LOG_SEVERITY_ERROR + 1));
}

std::shared_ptr<grpc::ServerCredentials> MakeCredentials(const std::optional<ServerTls>& tls) {
  if (!tls) return grpc::InsecureServerCredentials();
  grpc::experimental::TlsServerCredentialsOptions options(
      std::make_shared<grpc::experimental::FileWatcherCertificateProvider>(
          tls->identity_file, tls->identity_file, tls->refresh.count()));
  options.watch_identity_key_cert_pairs();
  // Workers show a token instead.
  options.set_cert_request_type(GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return grpc::experimental::TlsServerCredentials(options);
}

/// A session that workers can attach to for as long as it lives.
class AttachedSession : public SessionRunner {
 public:
  AttachedSession(AttachService* service, std::string job, JobSetup setup,
                  const Collaborators& collaborators)
      : service_(service),
        job_(std::move(job)),
        streams_(std::make_shared<JobStreams>([this](Event event) { Post(std::move(event)); })),
        runner_(std::move(setup), streams_.get(), collaborators),
        added_(service_->Add(job_, streams_)) {}

  ~AttachedSession() override {
    if (!added_) return;
    service_->Remove(job_);
    streams_->Close();
  }

  /// False: the service has a job of this name.
  bool added() const { return added_; }

  void Start() override { runner_.Start(); }
  void Post(Event event) override { runner_.Post(std::move(event)); }
  v1alpha1::FreezePipeJobStatus Status() const override { return runner_.Status(); }
  void OnWorkerExit(int worker, cluster::WorkerEnd end) override {
    runner_.OnWorkerExit(worker, std::move(end));
  }

 private:
  AttachService* const service_;
  const std::string job_;
  const std::shared_ptr<JobStreams> streams_;
  StrandSessionRunner runner_;
  const bool added_;
};

class GrpcCoordinatorServer : public CoordinatorServer {
 public:
  explicit GrpcCoordinatorServer(const CoordinatorOptions& options)
      : service_(options.authenticator, options.standby) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort(options.listen_address, MakeCredentials(options.tls), &port_);
    builder.RegisterService(&service_);
    builder.SetMaxReceiveMessageSize(kLargestMessage);
    // Without this a second server would share the port unnoticed.
    builder.AddChannelArgument(GRPC_ARG_ALLOW_REUSEPORT, 0);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepAliveTime);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepAliveTimeout);
    builder.AddChannelArgument(GRPC_ARG_KEEPALIVE_PERMIT_WITHOUT_CALLS, 1);
    builder.AddChannelArgument(GRPC_ARG_HTTP2_MIN_RECV_PING_INTERVAL_WITHOUT_DATA_MS,
                               kLeastPingInterval);
    server_ = builder.BuildAndStart();
    if (!server_ || port_ == 0) {
      throw std::runtime_error("cannot listen on " + options.listen_address +
                               ": the port is in use or the address is not this machine's");
    }
  }

  ~GrpcCoordinatorServer() override {
    if (!server_) return;
    service_.CloseAll();
    server_->Shutdown(std::chrono::system_clock::now() + kShutdownLimit);
    server_->Wait();
  }

  int port() const override { return port_; }
  void Lead() override { service_.Lead(); }

  std::unique_ptr<SessionRunner> AddJob(const std::string& job, JobSetup setup,
                                        const Collaborators& collaborators) override {
    auto session =
        std::make_unique<AttachedSession>(&service_, job, std::move(setup), collaborators);
    if (!session->added()) return nullptr;
    return session;
  }

 private:
  int port_ = 0;
  AttachService service_;
  std::unique_ptr<grpc::Server> server_;
  /// Last: it uses the service.
  Strand silence_watch_{kSilenceCheckPeriod, [this] { service_.CloseSilent(); }};
};

}  // namespace

std::unique_ptr<CoordinatorServer> MakeCoordinatorServer(const CoordinatorOptions& options) {
  QuietenGrpc();
  return std::make_unique<GrpcCoordinatorServer>(options);
}

}  // namespace freezepipe::coordinator
