#include "operator/kube/test_http_server.h"

#include <sys/socket.h>

#include <boost/asio/buffer.hpp>
#include <boost/asio/read.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

namespace freezepipe::kube {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using asio::ip::tcp;
using boost::system::error_code;

constexpr unsigned kHttp11 = 11;

template <typename Stream>
class StreamReply : public TestHttpServer::Reply {
 public:
  StreamReply(Stream& stream, tcp::socket& socket) : stream_(stream), socket_(socket) {}

  void Whole(int code, const std::string& body, const Headers& headers) override {
    http::response<http::string_body> response(http::int_to_status(code), kHttp11, body);
    for (const auto& [name, value] : headers) response.set(name, value);
    response.prepare_payload();
    http::write(stream_, response, error_);
  }

  void Begin() override {
    http::response<http::empty_body> response(http::status::ok, kHttp11);
    response.chunked(true);
    http::response_serializer<http::empty_body> serializer(response);
    http::write_header(stream_, serializer, error_);
  }

  void Chunk(const std::string& bytes) override {
    asio::write(stream_, http::make_chunk(asio::buffer(bytes)), error_);
  }

  void End() override { asio::write(stream_, http::make_chunk_last(), error_); }

  void Drop() override {
    error_ = asio::error::connection_aborted;
    socket_.shutdown(tcp::socket::shutdown_both, ignored_);
  }

  void Hold() override {
    char byte = 0;
    asio::read(stream_, asio::buffer(&byte, 1), error_);
  }

  bool broken() const { return static_cast<bool>(error_); }

 private:
  Stream& stream_;
  tcp::socket& socket_;
  error_code error_;
  error_code ignored_;
};

template <typename Stream>
void Answer(Stream& stream, tcp::socket& socket, const TestHttpServer::Handler& handler) {
  boost::beast::flat_buffer buffer;
  while (true) {
    http::request<http::string_body> request;
    error_code error;
    http::read(stream, buffer, request, error);
    if (error) return;
    const auto field = [&](http::field name) { return std::string(request[name]); };
    StreamReply<Stream> reply(stream, socket);
    handler({.method = std::string(request.method_string()),
             .target = std::string(request.target()),
             .authorization = field(http::field::authorization),
             .content_type = field(http::field::content_type),
             .body = request.body()},
            reply);
    if (reply.broken()) return;
  }
}

}  // namespace

TestHttpServer::TestHttpServer(Handler handler, std::optional<Tls> tls)
    : handler_(std::move(handler)),
      acceptor_(io_, tcp::endpoint(asio::ip::address_v4::loopback(), 0)),
      url_((tls ? "https://127.0.0.1:" : "http://127.0.0.1:") +
           std::to_string(acceptor_.local_endpoint().port())) {
  if (tls) {
    tls_.emplace(asio::ssl::context::tls_server);
    tls_->use_certificate_chain(asio::buffer(tls->identity.certificate_pem));
    tls_->use_private_key(asio::buffer(tls->identity.key_pem), asio::ssl::context::pem);
    if (!tls->client_ca_pem.empty()) {
      tls_->add_certificate_authority(asio::buffer(tls->client_ca_pem));
      tls_->set_verify_mode(asio::ssl::verify_peer | asio::ssl::verify_fail_if_no_peer_cert);
    }
  }
  acceptor_thread_ = std::jthread([this] { Accept(); });
}

TestHttpServer::~TestHttpServer() {
  {
    std::lock_guard lock(mutex_);
    ending_ = true;
    for (const int socket : open_) shutdown(socket, SHUT_RDWR);
    shutdown(acceptor_.native_handle(), SHUT_RDWR);
  }
  acceptor_thread_.join();
  connections_.clear();
}

void TestHttpServer::Accept() {
  while (true) {
    error_code error;
    tcp::socket socket(io_);
    acceptor_.accept(socket, error);
    std::lock_guard lock(mutex_);
    if (error || ending_) return;
    open_.insert(socket.native_handle());
    connections_.emplace_back(
        [this, socket = std::move(socket)]() mutable { Serve(std::move(socket)); });
  }
}

void TestHttpServer::Serve(tcp::socket socket) {
  socket.set_option(tcp::no_delay(true));
  if (tls_) {
    boost::beast::ssl_stream<tcp::socket&> stream(socket, *tls_);
    error_code error;
    stream.handshake(asio::ssl::stream_base::server, error);
    if (!error) Answer(stream, socket, handler_);
  } else {
    Answer(socket, socket, handler_);
  }
  std::lock_guard lock(mutex_);
  open_.erase(socket.native_handle());
  socket.close();
}

}  // namespace freezepipe::kube
