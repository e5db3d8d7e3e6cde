#pragma once

#include <absl/status/statusor.h>

#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "operator/identity/certificates.h"

namespace freezepipe::identity {

struct LeafOptions {
  PemIdentity authority;
  /// The names that the server is dialled by.
  std::vector<std::string> dns_names;
  /// Gets key and certificate, readable by this user alone.
  std::filesystem::path file;
  std::chrono::seconds lifetime = std::chrono::hours(30 * 24);
};

/// Keeps a file with a valid certificate and its key, written anew, as a whole, when a third of its
/// lifetime is left.
class LeafRotator {
 public:
  using ErrorHandler = std::function<void(const absl::Status&)>;

  /// Once the first one is written. `on_error`: a later one couldn't be; it is tried again.
  static absl::StatusOr<std::unique_ptr<LeafRotator>> Start(LeafOptions options,
                                                            ErrorHandler on_error);

 private:
  LeafRotator(LeafOptions options, ErrorHandler on_error)
      : options_(std::move(options)), on_error_(std::move(on_error)) {}

  absl::Status Renew();
  void Run(const std::stop_token& stop);

  const LeafOptions options_;
  const ErrorHandler on_error_;
  /// Touched by the thread alone, once it runs.
  kube::WallTime renew_at_;
  /// Last: it uses all of the above.
  std::jthread thread_;
};

}  // namespace freezepipe::identity
