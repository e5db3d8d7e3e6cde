#pragma once

#include <absl/status/statusor.h>

#include <memory>
#include <mutex>
#include <string>

#include "operator/kube/time.h"

namespace freezepipe::kube {

/// The bearer token to send: given once, or in a file that is read again every minute, since the
/// kubelet writes a new one there before the old expires. Thread-safe.
class TokenSource {
 public:
  static std::shared_ptr<TokenSource> Fixed(std::string token);
  static std::shared_ptr<TokenSource> File(std::string path);

  /// A file that can't be read leaves the token that was read before in use.
  absl::StatusOr<std::string> Get(TimePoint now);

  /// The server refused `token`: the file is read at the next Get.
  void Refused(const std::string& token);

 private:
  TokenSource(std::string path, std::string token);

  /// Empty if the token is fixed.
  const std::string path_;
  /// Guards token_ and read_again_.
  std::mutex mutex_;
  std::string token_;
  TimePoint read_again_ = TimePoint::min();
};

}  // namespace freezepipe::kube
