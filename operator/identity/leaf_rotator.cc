#include "operator/identity/leaf_rotator.h"

#include <absl/cleanup/cleanup.h>
#include <absl/status/status.h>
#include <absl/strings/str_cat.h>
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <string_view>
#include <utility>

namespace freezepipe::identity {
namespace {

/// The clock is looked at so often, by the wall: a machine may sleep.
constexpr std::chrono::milliseconds kCheckPeriod(60'000);
/// Or so many times in a lifetime, if that is more often.
constexpr int kChecksInALifetime = 20;

absl::Status ErrnoOf(const char* what, const std::string& path) {
  return absl::ErrnoToStatus(errno, absl::StrCat(what, " ", path));
}

absl::Status WriteForThisUser(const std::string& path, std::string_view content) {
  const int descriptor = open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  if (descriptor < 0) return ErrnoOf("cannot create", path);
  const absl::Cleanup closer = [descriptor] { close(descriptor); };
  while (!content.empty()) {
    const ssize_t written = write(descriptor, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return ErrnoOf("cannot write", path);
    content.remove_prefix(static_cast<size_t>(written));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<LeafRotator>> LeafRotator::Start(LeafOptions options,
                                                                ErrorHandler on_error) {
  std::unique_ptr<LeafRotator> rotator(new LeafRotator(std::move(options), std::move(on_error)));
  if (absl::Status status = rotator->Renew(); !status.ok()) return status;
  rotator->thread_ =
      std::jthread([rotator = rotator.get()](const std::stop_token& stop) { rotator->Run(stop); });
  return rotator;
}

absl::Status LeafRotator::Renew() {
  const kube::WallTime now = std::chrono::system_clock::now();
  const auto leaf = IssueLeaf(options_.authority, options_.dns_names, now, options_.lifetime);
  if (!leaf.ok()) return leaf.status();
  const std::string file = options_.file.string();
  const std::string fresh = file + ".tmp";
  // In one file, so that nobody reads a key and a certificate that don't belong together.
  absl::Status written = WriteForThisUser(fresh, leaf->key + leaf->certificate);
  if (!written.ok()) return written;
  if (std::rename(fresh.c_str(), file.c_str()) != 0) return ErrnoOf("cannot rename to", file);
  renew_at_ = now + options_.lifetime - options_.lifetime / 3;
  return absl::OkStatus();
}

void LeafRotator::Run(const std::stop_token& stop) {
  using std::chrono::milliseconds;
  const milliseconds period =
      std::min(kCheckPeriod, milliseconds(options_.lifetime) / kChecksInALifetime);
  while (kube::SleepFor(period, stop)) {
    if (std::chrono::system_clock::now() < renew_at_) continue;
    if (const absl::Status status = Renew(); !status.ok()) on_error_(status);
  }
}

}  // namespace freezepipe::identity
