#include "cmd/freezepipe-operator/http_server.h"

#include <absl/strings/str_cat.h>
#include <cpprest/http_listener.h>

#include <stdexcept>
#include <utility>

namespace freezepipe::operator_program {
namespace {

using web::http::http_request;
using web::http::status_codes;

constexpr char kPlainText[] = "text/plain; version=0.0.4";

void Reply(const http_request& request, web::http::status_code code, const std::string& text) {
  // A reader that went away is none of ours.
  request.reply(code, text, kPlainText).then([](pplx::task<void> sent) {
    try {
      sent.get();
    } catch (const std::exception&) {
    }
  });
}

void ReplyIfWell(const http_request& request, const std::string& trouble) {
  if (trouble.empty()) return Reply(request, status_codes::OK, "ok\n");
  Reply(request, status_codes::ServiceUnavailable, absl::StrCat(trouble, "\n"));
}

}  // namespace

class HttpServer::Listener {
 public:
  Listener(int port, Answers answers)
      : answers_(std::move(answers)), listener_(absl::StrCat("http://0.0.0.0:", port)) {
    listener_.support(web::http::methods::GET,
                      [this](const http_request& request) { Handle(request); });
    try {
      listener_.open().wait();
    } catch (const std::exception& error) {
      throw std::runtime_error(absl::StrCat("cannot listen on port ", port, ": ", error.what()));
    }
  }

  ~Listener() { listener_.close().wait(); }

 private:
  void Handle(const http_request& request) const {
    const std::string path = request.relative_uri().path();
    if (path == "/healthz") return ReplyIfWell(request, answers_.health());
    if (path == "/readyz") return ReplyIfWell(request, answers_.readiness());
    if (path == "/metrics") return Reply(request, status_codes::OK, answers_.metrics());
    Reply(request, status_codes::NotFound, "there are /healthz, /readyz and /metrics\n");
  }

  const Answers answers_;
  web::http::experimental::listener::http_listener listener_;
};

HttpServer::HttpServer(int port, Answers answers)
    : listener_(std::make_unique<Listener>(port, std::move(answers))) {}
HttpServer::~HttpServer() = default;

}  // namespace freezepipe::operator_program
