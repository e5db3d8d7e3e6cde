#include "operator/kube/token_source.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include "operator/kube/read_file.h"

namespace freezepipe::kube {
namespace {

constexpr std::chrono::minutes kReadPeriod(1);

}  // namespace

std::shared_ptr<TokenSource> TokenSource::Fixed(std::string token) {
  return std::shared_ptr<TokenSource>(new TokenSource("", std::move(token)));
}

std::shared_ptr<TokenSource> TokenSource::File(std::string path) {
  return std::shared_ptr<TokenSource>(new TokenSource(std::move(path), ""));
}

TokenSource::TokenSource(std::string path, std::string token)
    : path_(std::move(path)), token_(std::move(token)) {}

absl::StatusOr<std::string> TokenSource::Get(TimePoint now) {
  std::lock_guard lock(mutex_);
  if (path_.empty() || (now < read_again_ && !token_.empty())) return token_;
  absl::StatusOr<std::string> text = ReadFile(path_);
  const std::string token = text.ok() ? std::string(absl::StripAsciiWhitespace(*text)) : "";
  if (!token.empty()) {
    token_ = token;
    read_again_ = now + kReadPeriod;
  } else if (token_.empty()) {
    return text.ok() ? absl::UnauthenticatedError(absl::StrCat(path_, ": no token in it"))
                     : text.status();
  }
  return token_;
}

void TokenSource::Refused(const std::string& token) {
  std::lock_guard lock(mutex_);
  if (token == token_) read_again_ = TimePoint::min();
}

}  // namespace freezepipe::kube
