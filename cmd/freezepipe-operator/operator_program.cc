#include "cmd/freezepipe-operator/operator_program.h"

#include <absl/strings/str_cat.h>
#include <pplx/threadpool.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <future>
#include <map>
#include <memory>
#include <optional>
#include <stdexcept>
#include <utility>

#include "cmd/freezepipe-operator/await_authority.h"
#include "cmd/freezepipe-operator/controller.h"
#include "cmd/freezepipe-operator/coordinator_endpoint.h"
#include "cmd/freezepipe-operator/http_server.h"
#include "cmd/freezepipe-operator/log.h"
#include "cmd/freezepipe-operator/metrics.h"
#include "cmd/freezepipe-operator/namespace_watch.h"
#include "operator/identity/leaf_rotator.h"
#include "operator/identity/token_review_authenticator.h"
#include "operator/kube/cluster_config.h"
#include "operator/kube/event_recorder.h"
#include "operator/kube/fenced_transport.h"
#include "operator/kube/http_transport.h"
#include "operator/kube/leader_elector.h"
#include "operator/kube/observed_transport.h"
#include "operator/reconciler/served_schema.h"

namespace freezepipe::operator_program {
namespace {

/// As events name who reports them.
constexpr char kController[] = "freezepipe.io/operator";
/// cpprestsdk's threads do input and output alone.
constexpr int kIoThreads = 8;
/// A replica that waits to be elected looks so often whether it is to stop.
constexpr std::chrono::milliseconds kStopCheckPeriod{200};

absl::StatusOr<std::shared_ptr<kube::Transport>> Connect(const Options& options) {
  auto config = options.kubeconfig.empty()
                    ? kube::InClusterConfig(kube::PodEnvironment::FromProcess())
                    : kube::ReadKubeconfig(options.kubeconfig);
  if (!config.ok()) return config.status();
  auto transport = kube::HttpTransport::Create(*std::move(config));
  if (!transport.ok()) return transport.status();
  return std::shared_ptr<kube::Transport>(*std::move(transport));
}

/// Throws std::runtime_error: without it a replica can't start.
template <typename T>
T Checked(absl::StatusOr<T> value) {
  if (!value.ok()) throw std::runtime_error(std::string(value.status().message()));
  return *std::move(value);
}

std::string CertificateFile(const Options& options) {
  return absl::StrCat(options.certificates, "/coordinator.pem");
}

/// What workers may dial the coordinator by.
std::vector<std::string> CoordinatorNames(const Options& options) {
  const std::string& address = options.coordinator_address;
  return {address.substr(0, address.rfind(':'))};
}

/// One replica. What it does as the leader begins with Lead.
class Replica {
 public:
  Replica(const Options& options, std::shared_ptr<kube::Transport> transport,
          identity::PemIdentity authority)
      : options_(options),
        client_(
            std::make_shared<kube::FencedTransport>(
                std::make_shared<kube::ObservedTransport>(
                    transport,
                    [this](kube::Method method, int code, kube::Duration took) {
                      metrics_.CountRequest(method, code);
                      RequestTimeOfThisThread() += took;
                    }),
                [this] { return elector_ && elector_->Term().has_value(); }),
            {.requests_per_second = options.requests_per_second,
             .on_throttled =
                 [this](kube::Duration wait) {
                   metrics_.throttled_seconds.Observe(std::chrono::duration<double>(wait).count());
                 },
             .stop = stop_.get_token()}),
        events_(client_, kController, options.pod_name,
                [](const absl::Status& error) {
                  LogWarning(absl::StrCat("event lost: ", std::string(error.message())));
                }),
        own_client_(transport, {}),
        review_client_(transport, {.requests_per_second = options.requests_per_second,
                                   .stop = stop_.get_token()}),
        authority_(std::move(authority)),
        rotator_(Checked(identity::LeafRotator::Start(
            {.authority = authority_,
             .dns_names = CoordinatorNames(options),
             .file = CertificateFile(options)},
            [](const absl::Status& error) { LogWarning(std::string(error.message())); }))),
        authenticator_(std::make_unique<identity::TokenReviewAuthenticator>(
            review_client_, [this](const std::string& uid) { return FindPod(uid); })),
        coordinator_(coordinator::MakeCoordinatorServer(
            {.listen_address = absl::StrCat("[::]:", options.coordinator_port),
             .tls = coordinator::ServerTls{.identity_file = CertificateFile(options)},
             .authenticator = authenticator_.get(),
             .standby = true})),
        http_(options.http_port, {.health = [] { return std::string(); },
                                  .readiness = [this] { return WhyNotReady(); },
                                  .metrics = [this] { return metrics_.Text(); }}) {
    const absl::Status schema = reconciler::CheckServedSchema(own_client_);
    if (!schema.ok()) throw std::runtime_error(std::string(schema.message()));
    const auto on_error = [this](const absl::Status& error) {
      metrics_.watch_errors.Increment();
      LogWarning(std::string(error.message()));
    };
    auto namespaces = options.watch_namespaces;
    if (namespaces.empty()) namespaces.emplace_back();
    for (const std::string& ns : namespaces) {
      watches_[ns] = std::make_unique<NamespaceWatch>(client_, ns, on_error);
    }
  }

  /// In good order: what only a leader may do ends before the lease is given up.
  ~Replica() {
    stop_.request_stop();
    leading_ = {};
    controller_.reset();
    for (const auto& [ns, watch] : watches_) watch->Stop();
    coordinator_.reset();
    // It may ask for a pod until it is gone.
    authenticator_.reset();
    watches_.clear();
    if (elector_) {
      const absl::Status released = elector_->Release();
      if (!released.ok()) LogWarning(std::string(released.message()));
    }
  }

  void Elect(const std::shared_ptr<kube::Transport>& transport) {
    const kube::LeaderElectorOptions election = {
        .lease = {.ns = options_.pod_namespace, .name = options_.lease},
        .identity = kube::UniqueIdentity()};
    elector_ = std::make_unique<kube::LeaderElector>(
        transport, election, [this](int64_t term) { elected_.set_value(static_cast<int>(term)); },
        [](const std::string& why) {
          LogWarning(absl::StrCat("the lease is lost: ", why));
          // Nothing that this process still does may count.
          std::_Exit(EXIT_FAILURE);
        },
        [](const absl::Status& error) { LogWarning(std::string(error.message())); });
    // Not on the elector's thread, which has a lease to renew.
    leading_ = std::jthread([this](const std::stop_token& stop) { Lead(stop); });
  }

 private:
  kube::Object FindPod(const std::string& uid) const {
    for (const auto& [ns, watch] : watches_) {
      if (const auto pod = watch->FindPod(uid)) return pod;
    }
    return nullptr;
  }

  std::string WhyNotReady() const {
    for (const auto& [ns, watch] : watches_) {
      std::stop_source now;
      now.request_stop();
      if (!watch->WaitUntilSynced(now.get_token())) return "the first list isn't there yet";
    }
    return "";
  }

  void Lead(const std::stop_token& stop) {
    auto elected = elected_.get_future();
    while (elected.wait_for(kStopCheckPeriod) != std::future_status::ready) {
      if (stop.stop_requested()) return;
    }
    for (const auto& [ns, watch] : watches_) {
      if (!watch->WaitUntilSynced(stop)) return;
    }
    const auto agreed = AgreeOnTerm(elected.get(), stop);
    if (!agreed) return;
    const int term = *agreed;
    LogInfo(absl::StrCat("leading, term ", term));
    metrics_.leader.Set(1);
    if (!PointServiceHere(stop)) return;
    coordinator_->Lead();
    surroundings_ = {
        .client = &client_,
        .events = &events_,
        .coordinator = coordinator_.get(),
        .pods = {.coordinator = options_.coordinator_address,
                 .image = options_.worker_image,
                 .coordinator_ca = authority_.certificate,
                 .token_audience = identity::kTokenAudience},
        .term = term,
        .look_at = [this](const kube::ObjectKey& job, kube::Duration delay) { LookAt(job, delay); },
        .on_error =
            [](const kube::ObjectKey& job, const absl::Status& error) {
              LogWarning(
                  absl::StrCat("job ", kube::KeyText(job), ": ", std::string(error.message())));
            }};
    for (const auto& [ns, watch] : watches_) watch->Lead(surroundings_);
    controller_.emplace(
        options_.threads, queue_,
        [this](const std::string& ns) -> reconciler::Reconciler& {
          const auto own = watches_.find(ns);
          return (own != watches_.end() ? own : watches_.begin())->second->reconciler();
        },
        metrics_);
  }

  /// Workers count terms from 1, leases their changes of holder from 0. Jobs that outlived their
  /// lease have had later terms. None: `stop` came first.
  std::optional<int> AgreeOnTerm(int elected, const std::stop_token& stop) {
    int highest = 0;
    for (const auto& [ns, watch] : watches_) highest = std::max(highest, watch->HighestTerm());
    if (highest <= elected) return elected + 1;
    elector_->RaiseTerm(highest);
    while (elector_->Term() != highest) {
      if (!kube::SleepFor(kStopCheckPeriod, stop)) return std::nullopt;
    }
    return highest + 1;
  }

  /// Tries until it is done; false: `stop` came first.
  bool PointServiceHere(const std::stop_token& stop) {
    if (options_.coordinator_service.empty()) return true;
    kube::Backoff backoff(kube::SystemRandom());
    while (true) {
      const absl::Status pointed = PointServiceAt(
          client_, {.ns = options_.pod_namespace, .name = options_.coordinator_service},
          options_.pod_ip, options_.coordinator_port);
      if (pointed.ok()) return true;
      LogWarning(std::string(pointed.message()));
      if (!kube::SleepFor(backoff.Next(kube::SteadyClock::now()), stop)) return false;
    }
  }

  void LookAt(const kube::ObjectKey& job, kube::Duration delay) {
    if (delay <= kube::Duration::zero()) {
      queue_.Add(kube::KeyText(job));
    } else {
      queue_.AddAfter(kube::KeyText(job), delay);
    }
  }

  const Options options_;
  std::stop_source stop_;
  Metrics metrics_;
  std::unique_ptr<kube::LeaderElector> elector_;
  std::promise<int> elected_;
  kube::Client client_;
  kube::EventRecorder events_;
  /// For what a replica does also while it doesn't lead.
  kube::Client own_client_;
  /// Of its own, so that workers that come back all at once hold nothing else up.
  kube::Client review_client_;
  const identity::PemIdentity authority_;
  std::unique_ptr<identity::LeafRotator> rotator_;
  std::unique_ptr<identity::TokenReviewAuthenticator> authenticator_;
  std::unique_ptr<coordinator::CoordinatorServer> coordinator_;
  reconciler::Surroundings surroundings_;
  kube::WorkQueue queue_;
  /// By namespace; "" for all.
  std::map<std::string, std::unique_ptr<NamespaceWatch>> watches_;
  std::optional<Controller> controller_;
  HttpServer http_;
  std::jthread leading_;
};

/// To end while the API server is away would be to be started again later and later; so the replica
/// is healthy meanwhile, but not ready. kCancelled: one of `signals` came first.
absl::StatusOr<identity::PemIdentity> Authority(const Options& options,
                                                const std::shared_ptr<kube::Transport>& transport,
                                                const sigset_t& signals) {
  std::optional<HttpServer> http;
  return AwaitAuthority(
      transport, {.ns = options.pod_namespace, .name = options.ca_secret},
      [&](kube::Duration pause) {
        if (!http) {
          http.emplace(
              options.http_port,
              HttpServer::Answers{.health = [] { return std::string(); },
                                  .readiness = [] { return "the API server doesn't answer"; },
                                  .metrics = [] { return std::string(); }});
        }
        const timespec limit = {.tv_sec = std::chrono::floor<std::chrono::seconds>(pause).count(),
                                .tv_nsec = 0};
        return sigtimedwait(&signals, nullptr, &limit) < 0;
      });
}

int RunReplica(const Options& options) {
  // Blocked before any thread is made, so that all inherit it.
  sigset_t signals;
  sigemptyset(&signals);
  sigaddset(&signals, SIGTERM);
  sigaddset(&signals, SIGINT);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);
  crossplat::threadpool::initialize_with_threads(kIoThreads);

  const auto transport = Connect(options);
  if (!transport.ok()) {
    LogWarning(std::string(transport.status().message()));
    return EXIT_FAILURE;
  }
  const auto authority = Authority(options, *transport, signals);
  if (absl::IsCancelled(authority.status())) return EXIT_SUCCESS;
  Replica replica(options, *transport, Checked(authority));
  replica.Elect(*transport);
  int signal = 0;
  sigwait(&signals, &signal);
  LogInfo("stopping");
  return EXIT_SUCCESS;
}

}  // namespace

int Run(const Options& options) {
  try {
    return RunReplica(options);
  } catch (const std::exception& error) {
    LogWarning(error.what());
    return EXIT_FAILURE;
  }
}

}  // namespace freezepipe::operator_program
