#include "operator/kube/http_transport.h"

#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <cpprest/http_client.h>

#include <boost/asio/ssl/context.hpp>
#include <vector>

#include "operator/kube/await.h"
#include "operator/kube/line_splitter.h"
#include "operator/kube/tls_context.h"

namespace freezepipe::kube {
namespace {

/// cpprestsdk's own limit on silence, above any of ours.
constexpr std::chrono::hours kNever(1);

web::http::method MethodName(Method method) {
  switch (method) {
    case Method::kGet:
      return web::http::methods::GET;
    case Method::kPost:
      return web::http::methods::POST;
    case Method::kPatch:
      return web::http::methods::PATCH;
    case Method::kDelete:
      return web::http::methods::DEL;
  }
  return "";
}

std::optional<std::chrono::seconds> RetryAfterHeader(const web::http::http_response& response) {
  const auto header = response.headers().find(web::http::header_names::retry_after);
  int seconds = 0;
  if (header == response.headers().end() || !absl::SimpleAtoi(header->second, &seconds)) {
    return std::nullopt;
  }
  return std::chrono::seconds(seconds);
}

}  // namespace

/// cpprestsdk's client, with waits that end.
class HttpTransport::Connection {
 public:
  Connection(const web::uri& server, const web::http::client::http_client_config& config)
      : server_(server.to_string()), client_(server, config) {}

  /// One request under way; leaving it early closes its connection.
  class Exchange {
   public:
    Exchange(Connection& connection, const HttpRequest& request, const std::string& token,
             std::stop_token stop)
        : connection_(connection), request_(request), stop_(std::move(stop)) {
      http_request_.set_method(MethodName(request.method));
      http_request_.set_request_uri(request.target);
      http_request_.headers().add("Accept", "application/json");
      http_request_.headers().add("User-Agent", "freezepipe");
      if (!token.empty()) http_request_.headers().add("Authorization", "Bearer " + token);
      if (!request.body.empty()) {
        // Bytes, not text: of text cpprestsdk makes a stream of another type than it then reads.
        http_request_.set_body(std::vector<uint8_t>(request.body.begin(), request.body.end()));
        http_request_.headers().set_content_type(request.content_type);
      }
    }
    ~Exchange() {
      if (!finished_) cancel_.cancel();
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    absl::Status Begin() {
      return Wait(connection_.client_.request(http_request_, cancel_.get_token()), &response_);
    }

    int code() const { return response_.status_code(); }

    absl::StatusOr<HttpResponse> Whole() {
      HttpResponse whole{.code = code(), .body = {}, .retry_after = RetryAfterHeader(response_)};
      if (auto status = Wait(response_.extract_utf8string(true), &whole.body); !status.ok()) {
        return status;
      }
      finished_ = true;
      return whole;
    }

    absl::StatusOr<HttpResponse> Lines(absl::FunctionRef<void(std::string_view line)> on_line) {
      Bytes body = response_.body().streambuf();
      LineSplitter splitter;
      while (true) {
        // Waits until there is a byte, then takes all there are.
        deadline_ = SteadyClock::now() + request_.timeout;
        Byte byte = 0;
        if (auto status = Wait(body.getc(), &byte); !status.ok()) return status;
        if (byte == Bytes::traits::eof()) break;
        uint8_t* bytes = nullptr;
        size_t count = 0;
        while (body.acquire(bytes, count) && count > 0 && !stop_.stop_requested()) {
          splitter.Add({reinterpret_cast<const char*>(bytes), count}, on_line);
          body.release(bytes, count);
        }
      }
      finished_ = true;
      return HttpResponse{.code = code(), .body = {}, .retry_after = {}};
    }

   private:
    using Bytes = concurrency::streams::streambuf<uint8_t>;
    using Byte = Bytes::int_type;

    template <typename T>
    absl::Status Wait(const pplx::task<T>& task, T* result) {
      absl::StatusOr<T> outcome = Await(task, deadline_, stop_);
      if (!outcome.ok()) {
        return absl::Status(outcome.status().code(),
                            absl::StrCat(connection_.server_, ": ", outcome.status().message()));
      }
      *result = *std::move(outcome);
      return absl::OkStatus();
    }

    Connection& connection_;
    const HttpRequest& request_;
    const std::stop_token stop_;
    TimePoint deadline_ = SteadyClock::now() + request_.timeout;
    web::http::http_request http_request_;
    pplx::cancellation_token_source cancel_;
    web::http::http_response response_;
    bool finished_ = false;
  };

 private:
  /// For messages.
  const std::string server_;
  web::http::client::http_client client_;
};

absl::StatusOr<std::unique_ptr<HttpTransport>> HttpTransport::Create(ClusterConfig config) {
  auto token = config.token;
  const std::string server = config.server;
  try {
    boost::asio::ssl::context trial(boost::asio::ssl::context::sslv23);
    ConfigureTls(config, trial);
    web::http::client::http_client_config client_config;
    client_config.set_timeout(kNever);
    // A redirect would take the token along, to wherever it points.
    client_config.set_max_redirects(0);
    client_config.set_ssl_context_callback(
        [config = std::move(config)](boost::asio::ssl::context& context) {
          ConfigureTls(config, context);
        });
    auto connection = std::make_unique<Connection>(web::uri(server), client_config);
    return std::unique_ptr<HttpTransport>(
        new HttpTransport(std::move(connection), std::move(token)));
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(
        absl::StrCat("cannot set up a connection to \"", server, "\": ", error.what()));
  }
}

HttpTransport::HttpTransport(std::unique_ptr<Connection> connection,
                             std::shared_ptr<TokenSource> token)
    : connection_(std::move(connection)), token_(std::move(token)) {}

HttpTransport::~HttpTransport() = default;

absl::StatusOr<HttpResponse> HttpTransport::WithToken(
    absl::FunctionRef<absl::StatusOr<HttpResponse>(const std::string&)> send) {
  if (!token_) return send("");
  const auto token = token_->Get(SteadyClock::now());
  if (!token.ok()) {
    return absl::UnauthenticatedError(absl::StrCat("no token to send: ", token.status().message()));
  }
  absl::StatusOr<HttpResponse> response = send(*token);
  if (!response.ok() || response->code != web::http::status_codes::Unauthorized) return response;
  token_->Refused(*token);
  const auto fresh = token_->Get(SteadyClock::now());
  return fresh.ok() && *fresh != *token ? send(*fresh) : response;
}

absl::StatusOr<HttpResponse> HttpTransport::Send(const HttpRequest& request, std::stop_token stop) {
  return WithToken([&](const std::string& token) -> absl::StatusOr<HttpResponse> {
    Connection::Exchange exchange(*connection_, request, token, stop);
    if (auto status = exchange.Begin(); !status.ok()) return status;
    return exchange.Whole();
  });
}

absl::StatusOr<HttpResponse> HttpTransport::Stream(
    const HttpRequest& request, std::stop_token stop,
    absl::FunctionRef<void(std::string_view line)> on_line) {
  return WithToken([&](const std::string& token) -> absl::StatusOr<HttpResponse> {
    Connection::Exchange exchange(*connection_, request, token, stop);
    if (auto status = exchange.Begin(); !status.ok()) return status;
    if (exchange.code() == web::http::status_codes::OK) return exchange.Lines(on_line);
    return exchange.Whole();
  });
}

}  // namespace freezepipe::kube
