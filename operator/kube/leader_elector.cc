#include "operator/kube/leader_elector.h"

#include <absl/strings/str_cat.h>
#include <limits.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <random>

namespace freezepipe::kube {
namespace {

constexpr Resource kLeases{"coordination.k8s.io", "v1", "leases"};
constexpr double kJitter = 1.2;
constexpr std::chrono::seconds kShortestTimeout(1);

}  // namespace

std::string UniqueIdentity() {
  std::array<char, HOST_NAME_MAX + 1> host{};
  gethostname(host.data(), HOST_NAME_MAX);
  std::random_device random;
  return absl::StrCat(host.data(), "_", absl::Hex(random(), absl::kZeroPad8),
                      absl::Hex(random(), absl::kZeroPad8));
}

LeaderElector::LeaderElector(std::shared_ptr<Transport> transport, LeaderElectorOptions options,
                             ElectedHandler on_elected, LostHandler on_lost, ErrorHandler on_error,
                             Random random)
    : transport_(std::move(transport)),
      options_(std::move(options)),
      on_elected_(std::move(on_elected)),
      on_lost_(std::move(on_lost)),
      on_error_(std::move(on_error)),
      random_(std::move(random)),
      election_(options_.identity, options_.lease_duration, options_.renew_deadline) {
  assert(options_.lease_duration > options_.renew_deadline);
  assert(options_.renew_deadline > kJitter * options_.retry_period);
  thread_ = std::jthread([this](const std::stop_token& stop) { Run(stop); });
}

std::optional<int64_t> LeaderElector::Term() const {
  std::lock_guard lock(mutex_);
  return election_.Term(SteadyClock::now());
}

void LeaderElector::RaiseTerm(int64_t term) {
  std::lock_guard lock(mutex_);
  election_.Raise(term);
}

void LeaderElector::Run(const std::stop_token& stop) {
  while (!stop.stop_requested()) {
    const absl::Status status = Try(stop);
    if (stop.stop_requested()) return;
    if (!status.ok()) on_error_(status);
    if (!Announce(status)) return;
    SleepFor(Pause(), stop);
  }
}

bool LeaderElector::Announce(const absl::Status& last_try) {
  std::optional<int64_t> term;
  bool lost = false;
  std::string holder;
  {
    std::lock_guard lock(mutex_);
    const TimePoint now = SteadyClock::now();
    term = election_.Term(now);
    lost = election_.Lost(now);
    holder = election_.holder();
  }
  if (term && !announced_) {
    announced_ = true;
    on_elected_(*term);
  }
  if (lost) {
    on_lost_(holder.empty() || holder == options_.identity
                 ? absl::StrCat("not renewed in time: ", last_try.message())
                 : absl::StrCat("taken over by ", holder));
  }
  return !lost;
}

absl::Status LeaderElector::Try(const std::stop_token& stop) {
  absl::StatusOr<Json> lease = Client(transport_, CallOptions(stop)).Get(kLeases, options_.lease);
  if (!lease.ok() && !absl::IsNotFound(lease.status())) return lease.status();
  const Json* existing = lease.ok() ? &*lease : nullptr;
  const TimePoint sent = SteadyClock::now();
  std::optional<LeaseSpec> claim;
  {
    std::lock_guard lock(mutex_);
    election_.Observe(existing, sent);
    claim = election_.Claim(sent, std::chrono::system_clock::now());
  }
  if (!claim) return absl::OkStatus();
  Client client(transport_, CallOptions(stop));
  if (auto status = Write(client, existing, *claim); !status.ok()) return status;
  std::lock_guard lock(mutex_);
  election_.Won(*claim, sent);
  return absl::OkStatus();
}

absl::Status LeaderElector::Write(Client& client, const Json* lease, const LeaseSpec& spec) {
  Json body = {{"spec", LeaseSpecJson(spec)}};
  if (lease) {
    // Fails if another candidate was quicker.
    body["metadata"] = {{"resourceVersion", ResourceVersion(*lease)}};
    return client.Patch(kLeases, options_.lease, body).status();
  }
  body["apiVersion"] = ApiVersion(kLeases);
  body["kind"] = "Lease";
  body["metadata"] = {{"namespace", options_.lease.ns}, {"name", options_.lease.name}};
  return client.Create(kLeases, body).status();
}

ClientOptions LeaderElector::CallOptions(const std::stop_token& stop) const {
  Duration timeout = std::max<Duration>(options_.renew_deadline / 2, kShortestTimeout);
  std::lock_guard lock(mutex_);
  const TimePoint now = SteadyClock::now();
  // A loss is told when it happens, not when a request that hangs comes back.
  if (election_.Term(now)) timeout = std::min(timeout, election_.HeldUntil() - now);
  return {.timeout = timeout, .on_throttled = {}, .stop = stop};
}

Duration LeaderElector::Pause() const {
  std::lock_guard lock(mutex_);
  const TimePoint now = SteadyClock::now();
  if (election_.Term(now)) return std::min(options_.retry_period, election_.HeldUntil() - now);
  return options_.retry_period +
         std::chrono::duration_cast<Duration>(options_.retry_period * kJitter * random_());
}

absl::Status LeaderElector::Release() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  if (!Term()) return absl::OkStatus();
  Client client(transport_, CallOptions({}));
  const auto lease = client.Get(kLeases, options_.lease);
  if (!lease.ok()) return lease.status();
  std::optional<LeaseSpec> released;
  {
    std::lock_guard lock(mutex_);
    const TimePoint now = SteadyClock::now();
    election_.Observe(&*lease, now);
    released = election_.Release(now, std::chrono::system_clock::now());
  }
  if (!released) return absl::OkStatus();
  return Write(client, &*lease, *released);
}

}  // namespace freezepipe::kube
