#pragma once

#include <memory>
#include <string>

namespace freezepipe::kube {

/// A certificate and its key, as PEM.
struct TestIdentity {
  std::string certificate_pem;
  std::string key_pem;
};

/// An authority made for a test; its certificates are valid for a day.
class TestAuthority {
 public:
  explicit TestAuthority(const std::string& name);
  ~TestAuthority();

  const std::string& pem() const { return pem_; }

  /// For a server or client called `name`; `alternative` like "IP:127.0.0.1,DNS:localhost".
  TestIdentity Issue(const std::string& name, const std::string& alternative) const;

 private:
  struct Keys;
  std::unique_ptr<Keys> keys_;
  std::string pem_;
};

}  // namespace freezepipe::kube
