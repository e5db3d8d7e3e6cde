#include "operator/kube/http_transport.h"

#include <absl/strings/str_cat.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <fstream>
#include <future>

#include "operator/kube/api_error.h"
#include "operator/kube/client.h"
#include "operator/kube/eventually.h"
#include "operator/kube/fake_api_server.h"
#include "operator/kube/reflector.h"
#include "operator/kube/test_http_server.h"
#include "operator/kube/test_objects.h"

namespace freezepipe::kube {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using testing::ElementsAre;
using testing::HasSubstr;
using Request = TestHttpServer::Request;
using Reply = TestHttpServer::Reply;

std::shared_ptr<HttpTransport> Connect(ClusterConfig config) {
  auto transport = HttpTransport::Create(std::move(config));
  EXPECT_TRUE(transport.ok()) << transport.status();
  return transport.ok() ? *std::move(transport) : nullptr;
}

std::shared_ptr<HttpTransport> Connect(const TestHttpServer& server) {
  ClusterConfig config;
  config.server = server.url();
  return Connect(std::move(config));
}

std::string EventLine(const std::string& name) {
  return Json{{"type", "ADDED"}, {"object", Pod(name, "1")}}.dump() + "\n";
}

constexpr char kExpired[] =
    R"({"kind": "Status", "code": 410, "reason": "Expired", "message": "too old"})";

TEST(HttpTransport, CarriesARequestAndItsAnswer) {
  Request seen;
  TestHttpServer server([&](const Request& request, Reply& reply) {
    seen = request;
    reply.Whole(409, "{\"reason\": \"Conflict\"}", {{"Retry-After", "3"}});
  });
  const auto transport = Connect(server);
  const std::string body(300'000, 'x');
  const auto response = transport->Send({.method = Method::kPatch,
                                         .target = "/api/v1/pods?labelSelector=a%3Db",
                                         .content_type = "application/merge-patch+json",
                                         .body = body},
                                        {});
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 409);
  EXPECT_EQ(response->body, "{\"reason\": \"Conflict\"}");
  EXPECT_EQ(response->retry_after, seconds(3));
  EXPECT_EQ(seen.method, "PATCH");
  EXPECT_EQ(seen.target, "/api/v1/pods?labelSelector=a%3Db");
  EXPECT_EQ(seen.content_type, "application/merge-patch+json");
  EXPECT_EQ(seen.body, body);
  EXPECT_EQ(seen.authorization, "");
}

TEST(HttpTransport, FollowsNoRedirect) {
  std::atomic<int> requests = 0;
  TestHttpServer server([&](const Request&, Reply& reply) {
    ++requests;
    reply.Whole(307, "", {{"Location", "/elsewhere"}});
  });
  EXPECT_EQ(Connect(server)->Send({.target = "/"}, {})->code, 307);
  EXPECT_EQ(requests, 1);
}

TEST(HttpTransport, NobodyThereIsUnavailable) {
  std::string url;
  {
    TestHttpServer server([](const Request&, Reply&) {});
    url = server.url();
  }
  ClusterConfig config;
  config.server = url;
  const auto status = Connect(config)->Send({.target = "/"}, {}).status();
  EXPECT_TRUE(absl::IsUnavailable(status)) << status;
  EXPECT_THAT(std::string(status.message()), HasSubstr(url));
}

TEST(HttpTransport, NoAnswerInTimeIsDeadlineExceededAndClosesTheConnection) {
  std::promise<void> closed;
  TestHttpServer server([&](const Request&, Reply& reply) {
    reply.Hold();
    closed.set_value();
  });
  const auto status = Connect(server)->Send({.target = "/", .timeout = seconds(2)}, {}).status();
  EXPECT_TRUE(absl::IsDeadlineExceeded(status)) << status;
  EXPECT_EQ(closed.get_future().wait_for(seconds(30)), std::future_status::ready);
}

TEST(HttpTransport, StopEndsARequestUnderWay) {
  std::stop_source stop;
  std::promise<void> closed;
  TestHttpServer server([&](const Request&, Reply& reply) {
    stop.request_stop();
    reply.Hold();
    closed.set_value();
  });
  EXPECT_TRUE(absl::IsCancelled(Connect(server)->Send({.target = "/"}, stop.get_token()).status()));
  EXPECT_EQ(closed.get_future().wait_for(seconds(30)), std::future_status::ready);
}

TEST(HttpTransport, AConnectionThatTheServerClosedIsReplaced) {
  TestHttpServer server([](const Request&, Reply& reply) {
    reply.Whole(200, "{}");
    reply.Drop();
  });
  const auto transport = Connect(server);
  for (int i = 0; i < 5; ++i) {
    const auto response = transport->Send({.target = "/"}, {});
    ASSERT_TRUE(response.ok()) << response.status();
    EXPECT_EQ(response->code, 200);
  }
}

TEST(HttpTransport, ManyThreadsShareIt) {
  TestHttpServer server(
      [](const Request& request, Reply& reply) { reply.Whole(200, request.target); });
  const auto transport = Connect(server);
  std::vector<std::jthread> threads;
  for (int thread = 0; thread < 8; ++thread) {
    threads.emplace_back([&, thread] {
      for (int i = 0; i < 50; ++i) {
        const std::string target = absl::StrCat("/", thread, "/", i);
        const auto response = transport->Send({.target = target}, {});
        ASSERT_TRUE(response.ok()) << response.status();
        EXPECT_EQ(response->body, target);
      }
    });
  }
}

TEST(HttpTransportStream, LinesComeWhileTheStreamIsOpen) {
  std::promise<void> first_arrived;
  TestHttpServer server([&](const Request&, Reply& reply) {
    reply.Begin();
    reply.Chunk("first\nsec");
    first_arrived.get_future().wait();
    reply.Chunk("ond\n");
    reply.End();
  });
  std::vector<std::string> lines;
  const auto response = Connect(server)->Stream({.target = "/"}, {}, [&](std::string_view line) {
    lines.emplace_back(line);
    if (lines.size() == 1) first_arrived.set_value();
  });
  ASSERT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(response->code, 200);
  EXPECT_THAT(lines, ElementsAre("first", "second"));
}

TEST(HttpTransportStream, NothingIsLostInALongOne) {
  constexpr int kLines = 20'000;
  TestHttpServer server([&](const Request&, Reply& reply) {
    reply.Begin();
    std::string chunk;
    for (int i = 0; i < kLines; ++i) {
      absl::StrAppend(&chunk, i, std::string(i % 300, '.'), "\n");
      if (chunk.size() > 5000) reply.Chunk(std::exchange(chunk, ""));
    }
    reply.Chunk(chunk);
    reply.End();
  });
  int next = 0;
  const auto response = Connect(server)->Stream({.target = "/"}, {}, [&](std::string_view line) {
    ASSERT_EQ(line, absl::StrCat(next, std::string(next % 300, '.')));
    ++next;
  });
  EXPECT_TRUE(response.ok()) << response.status();
  EXPECT_EQ(next, kLines);
}

TEST(HttpTransportStream, AConnectionLostInTheMiddleIsUnavailable) {
  TestHttpServer server([&](const Request&, Reply& reply) {
    reply.Begin();
    reply.Chunk("line\n");
    reply.Drop();
  });
  int lines = 0;
  const auto response =
      Connect(server)->Stream({.target = "/"}, {}, [&](std::string_view) { ++lines; });
  EXPECT_TRUE(absl::IsUnavailable(response.status())) << response.status();
  EXPECT_EQ(lines, 1);
}

TEST(HttpTransportStream, SilenceEndsItButNotItsLength) {
  TestHttpServer server([&](const Request&, Reply& reply) {
    reply.Begin();
    for (int i = 0; i < 12; ++i) {
      reply.Chunk("line\n");
      std::this_thread::sleep_for(milliseconds(200));
    }
    reply.Hold();
  });
  int lines = 0;
  const auto response = Connect(server)->Stream({.target = "/", .timeout = seconds(2)}, {},
                                                [&](std::string_view) { ++lines; });
  EXPECT_TRUE(absl::IsDeadlineExceeded(response.status())) << response.status();
  EXPECT_EQ(lines, 12);
}

TEST(HttpTransportStream, StopEndsItAndClosesTheConnection) {
  std::stop_source stop;
  std::promise<void> closed;
  TestHttpServer server([&](const Request&, Reply& reply) {
    reply.Begin();
    reply.Chunk("line\n");
    reply.Hold();
    closed.set_value();
  });
  const auto response = Connect(server)->Stream({.target = "/"}, stop.get_token(),
                                                [&](std::string_view) { stop.request_stop(); });
  EXPECT_TRUE(absl::IsCancelled(response.status())) << response.status();
  EXPECT_EQ(closed.get_future().wait_for(seconds(30)), std::future_status::ready);
}

TEST(HttpWatch, GoneAsAnHttpAnswerAndInTheStreamAreTheSame) {
  TestHttpServer server([&](const Request& request, Reply& reply) {
    if (request.target.find("resourceVersion=1&") != std::string::npos) {
      reply.Whole(410, kExpired);
      return;
    }
    reply.Begin();
    reply.Chunk(EventLine("a"));
    reply.Chunk("{\"type\": \"ERROR\", \"object\": " + std::string(kExpired) + "}\n");
    reply.End();
  });
  Client client(Connect(server), {});
  int events = 0;
  const auto watch = [&](const std::string& version) {
    return client.Watch(kPods, {.selection = {}, .resource_version = version}, {},
                        [&](WatchEvent) { ++events; });
  };
  const absl::Status as_answer = watch("1");
  EXPECT_TRUE(IsGone(as_answer)) << as_answer;
  EXPECT_EQ(events, 0);
  EXPECT_EQ(watch("2"), as_answer);
  EXPECT_EQ(events, 1);
}

TEST(HttpWatch, AnEarlyEmptyEndIsNoError) {
  TestHttpServer server([&](const Request&, Reply& reply) {
    reply.Begin();
    reply.End();
  });
  Client client(Connect(server), {});
  EXPECT_TRUE(client.Watch(kPods, {}, {}, [](WatchEvent) { FAIL(); }).ok());
}

class HttpToken : public testing::Test {
 protected:
  void Write(const std::string& token) { std::ofstream(path_) << token; }

  std::shared_ptr<HttpTransport> ConnectWithToken() {
    ClusterConfig config;
    config.server = server_.url();
    config.token = TokenSource::File(path_);
    return Connect(std::move(config));
  }

  const std::string path_ =
      testing::TempDir() + testing::UnitTest::GetInstance()->current_test_info()->name() + ".token";
  std::atomic<int> requests_ = 0;
  /// Accepts the token "new" alone.
  TestHttpServer server_{[this](const Request& request, Reply& reply) {
    ++requests_;
    if (request.authorization != "Bearer new") {
      reply.Whole(401, R"({"kind": "Status", "code": 401, "reason": "Unauthorized"})");
    } else if (request.target.find("watch") != std::string::npos) {
      reply.Begin();
      reply.Chunk(EventLine("a"));
      reply.End();
    } else {
      reply.Whole(200, "{}");
    }
  }};
};

TEST_F(HttpToken, RefusedIsReadAnewAndSentOnceMore) {
  Write("old");
  Client client(ConnectWithToken(), {});
  EXPECT_EQ(client.Get(kPods, {"train", "a"}).status().code(), absl::StatusCode::kUnauthenticated);
  EXPECT_EQ(requests_, 1);
  Write("new");
  EXPECT_TRUE(client.Get(kPods, {"train", "a"}).ok());
  EXPECT_EQ(requests_, 3);
}

TEST_F(HttpToken, ReplacedWhileInUse) {
  Write("old");
  const auto transport = ConnectWithToken();
  ASSERT_EQ(transport->Send({.target = "/"}, {})->code, 401);
  Write("new");
  ASSERT_EQ(transport->Send({.target = "/"}, {})->code, 200);
  Write("old");
  // Not refused and not a minute old: not read.
  ASSERT_EQ(transport->Send({.target = "/"}, {})->code, 200);
}

TEST_F(HttpToken, OfAWatchToo) {
  Write("old");
  Client client(ConnectWithToken(), {});
  int events = 0;
  const auto watch = [&] { return client.Watch(kPods, {}, {}, [&](WatchEvent) { ++events; }); };
  EXPECT_EQ(Reason(watch()), "Unauthorized");
  Write("new");
  EXPECT_TRUE(watch().ok());
  EXPECT_EQ(events, 1);
}

class HttpTls : public testing::Test {
 protected:
  static void Answer(const Request&, Reply& reply) { reply.Whole(200, "{}"); }

  absl::StatusOr<HttpResponse> Ask(const TestHttpServer& server, const std::string& ca_pem,
                                   const TestIdentity& client = {}) {
    ClusterConfig config;
    config.server = server.url();
    config.ca_pem = ca_pem;
    config.client_certificate_pem = client.certificate_pem;
    config.client_key_pem = client.key_pem;
    return Connect(std::move(config))->Send({.target = "/"}, {});
  }

  const TestAuthority authority_{"authority"};
  const TestAuthority another_{"another authority"};
};

TEST_F(HttpTls, AServerThatTheAuthorityVouchesFor) {
  TestHttpServer server(Answer, TestHttpServer::Tls{authority_.Issue("s", "IP:127.0.0.1")});
  const auto response = Ask(server, authority_.pem());
  ASSERT_TRUE(response.ok()) << response.status();
  // One of several in the bundle is enough.
  EXPECT_TRUE(Ask(server, another_.pem() + authority_.pem()).ok());
}

TEST_F(HttpTls, AServerOfAnotherAuthorityIsRefused) {
  std::atomic<int> requests = 0;
  TestHttpServer server([&](const Request&, Reply&) { ++requests; },
                        TestHttpServer::Tls{another_.Issue("s", "IP:127.0.0.1")});
  const auto response = Ask(server, authority_.pem());
  EXPECT_TRUE(absl::IsUnavailable(response.status())) << response.status();
  EXPECT_THAT(std::string(response.status().message()), HasSubstr("SSL"));
  // No authority given: the system's, which don't know it either.
  EXPECT_TRUE(absl::IsUnavailable(Ask(server, "").status()));
  EXPECT_EQ(requests, 0);
}

TEST_F(HttpTls, ACertificateForAnotherNameIsRefused) {
  TestHttpServer server(Answer, TestHttpServer::Tls{authority_.Issue("s", "IP:127.0.0.2")});
  EXPECT_TRUE(absl::IsUnavailable(Ask(server, authority_.pem()).status()));
}

TEST_F(HttpTls, ShowsTheClientsCertificate) {
  TestHttpServer server(
      Answer, TestHttpServer::Tls{authority_.Issue("s", "IP:127.0.0.1"), authority_.pem()});
  EXPECT_TRUE(Ask(server, authority_.pem(), authority_.Issue("c", "DNS:c")).ok());
  EXPECT_TRUE(absl::IsUnavailable(Ask(server, authority_.pem()).status()));
  EXPECT_TRUE(
      absl::IsUnavailable(Ask(server, authority_.pem(), another_.Issue("c", "DNS:c")).status()));
}

TEST_F(HttpTls, DamagedCertificatesAndAddressesAreFoundAtOnce) {
  ClusterConfig config;
  config.server = "https://127.0.0.1:1";
  config.ca_pem = "-----BEGIN CERTIFICATE-----\nno\n-----END CERTIFICATE-----\n";
  EXPECT_TRUE(absl::IsInvalidArgument(HttpTransport::Create(config).status()));
  config.ca_pem = authority_.pem();
  config.client_certificate_pem = authority_.pem();
  config.client_key_pem = "no key";
  EXPECT_TRUE(absl::IsInvalidArgument(HttpTransport::Create(config).status()));
  config = {};
  config.server = "no address";
  EXPECT_TRUE(absl::IsInvalidArgument(HttpTransport::Create(config).status()));
}

TEST_F(HttpTls, AReflectorFollowsThroughIt) {
  FakeApiServer api;
  std::stop_source ended;
  const auto method = [](const std::string& name) {
    if (name == "POST") return Method::kPost;
    if (name == "PATCH") return Method::kPatch;
    return name == "DELETE" ? Method::kDelete : Method::kGet;
  };
  TestHttpServer server(
      [&](const Request& request, Reply& reply) {
        const HttpRequest forwarded = {.method = method(request.method),
                                       .target = request.target,
                                       .content_type = request.content_type,
                                       .body = request.body};
        if (request.target.find("watch=true") == std::string::npos) {
          const auto response = api.Send(forwarded, {});
          reply.Whole(response->code, response->body);
          return;
        }
        reply.Begin();
        auto response = api.Stream(forwarded, ended.get_token(), [&](std::string_view line) {
          reply.Chunk(std::string(line) + "\n");
        });
        if (response.ok() && response->code == 410) {
          reply.Chunk("{\"type\": \"ERROR\", \"object\": " + response->body + "}\n");
        }
        reply.End();
      },
      TestHttpServer::Tls{authority_.Issue("s", "IP:127.0.0.1")});
  ClusterConfig config;
  config.server = server.url();
  config.ca_pem = authority_.pem();
  Client client(Connect(config), {});
  Cache cache;
  ASSERT_TRUE(client.Create(kPods, Pod("a")).ok());
  Reflector reflector(client, kPods, {.ns = "train"}, cache, [](const absl::Status&) {});
  ASSERT_TRUE(cache.WaitUntilSynced({}));
  EXPECT_EQ(cache.size(), 1u);
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(client.Create(kPods, Pod(absl::StrCat("p", i))).ok());
  EXPECT_TRUE(Eventually([&] { return cache.size() == 101; }));
  api.Compact();
  ASSERT_TRUE(client.Delete(kPods, {"train", "a"}).ok());
  EXPECT_TRUE(Eventually([&] { return cache.size() == 100; }));
  ended.request_stop();
}

}  // namespace
}  // namespace freezepipe::kube
