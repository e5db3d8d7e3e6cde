#pragma once

#include <stdexcept>
#include <string>

namespace freezepipe::worker {

/// A field of the manifest that cannot be used; what() is "path: message".
class SpecError : public std::invalid_argument {
 public:
  SpecError(std::string path, std::string message)
      : std::invalid_argument(path + ": " + message),
        path_(std::move(path)),
        message_(std::move(message)) {}

  /// Manifest path: "spec.model.zoo.stem".
  const std::string& path() const { return path_; }
  const std::string& message() const { return message_; }

 private:
  std::string path_, message_;
};

}  // namespace freezepipe::worker
