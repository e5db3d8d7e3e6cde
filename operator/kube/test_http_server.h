#pragma once

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "operator/kube/test_certificates.h"

namespace freezepipe::kube {

/// An HTTP/1.1 server on a port of its own, in the process of the test, with or without TLS. Each
/// connection has a thread, on which the handler answers its requests one after the other.
class TestHttpServer {
 public:
  struct Request {
    std::string method;
    std::string target;
    std::string authorization;
    std::string content_type;
    std::string body;
  };

  /// How the handler answers: Whole, or Begin, Chunk and End. Drop instead of any cuts the
  /// connection.
  class Reply {
   public:
    using Headers = std::vector<std::pair<std::string, std::string>>;

    virtual ~Reply() = default;
    virtual void Whole(int code, const std::string& body, const Headers& headers = {}) = 0;
    virtual void Begin() = 0;
    virtual void Chunk(const std::string& bytes) = 0;
    virtual void End() = 0;
    virtual void Drop() = 0;
    /// Waits until the client has gone, or the server ends.
    virtual void Hold() = 0;
  };

  using Handler = std::function<void(const Request& request, Reply& reply)>;

  struct Tls {
    TestIdentity identity;
    /// If not empty: clients have to show a certificate of this authority.
    std::string client_ca_pem{};
  };

  explicit TestHttpServer(Handler handler, std::optional<Tls> tls = std::nullopt);
  ~TestHttpServer();

  /// "http://127.0.0.1:PORT"; with TLS "https".
  std::string url() const { return url_; }

 private:
  void Accept();
  void Serve(boost::asio::ip::tcp::socket socket);

  const Handler handler_;
  boost::asio::io_context io_;
  std::optional<boost::asio::ssl::context> tls_;
  boost::asio::ip::tcp::acceptor acceptor_;
  const std::string url_;
  /// Guards all below.
  std::mutex mutex_;
  bool ending_ = false;
  std::set<int> open_;
  std::vector<std::jthread> connections_;
  /// Last: it uses all of the above.
  std::jthread acceptor_thread_;
};

}  // namespace freezepipe::kube
