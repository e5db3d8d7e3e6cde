#include "worker/train/coordinator_client.h"

#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdlib>
#include <deque>
#include <filesystem>
#include <fstream>
#include <future>
#include <mutex>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"

namespace freezepipe::worker {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using v1alpha1::WorkerMessage;
using Stream = grpc::ServerReaderWriter<v1alpha1::Order, WorkerMessage>;

/// Ends its first stream after so many messages, and gives what the second one brought.
class ForgetfulCoordinator : public v1alpha1::Coordinator::Service {
 public:
  explicit ForgetfulCoordinator(size_t messages) : messages_(messages) {}

  grpc::Status Attach(grpc::ServerContext*, Stream* stream) override {
    std::vector<WorkerMessage::KindCase> kinds;
    WorkerMessage message;
    while (kinds.size() < messages_ && stream->Read(&message)) {
      kinds.push_back(message.kind_case());
      v1alpha1::Order welcome;
      welcome.mutable_welcome();
      if (message.has_hello()) stream->Write(welcome);
    }
    if (std::exchange(first_, false)) {
      messages_ = 4;
      lost_.set_value();
    } else {
      second_.set_value(kinds);
      while (stream->Read(&message)) {
      }
    }
    return grpc::Status::OK;
  }

  /// The first stream's messages have come.
  std::promise<void> lost_;
  std::promise<std::vector<WorkerMessage::KindCase>> second_;

 private:
  size_t messages_;
  bool first_ = true;
};

WorkerMessage Of(void (*fill)(WorkerMessage*)) {
  WorkerMessage message;
  fill(&message);
  return message;
}

TEST(CoordinatorClient, SaysAgainOnANewStreamWhereTheWorkerStands) {
  ForgetfulCoordinator coordinator(5);
  int port = 0;
  grpc::ServerBuilder builder;
  builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
  builder.RegisterService(&coordinator);
  const auto server = builder.BuildAndStart();
  ASSERT_NE(server, nullptr);
  auto second = coordinator.second_.get_future();
  {
    CoordinatorClient client(
        {.target = "127.0.0.1:" + std::to_string(port)}, [] { return v1alpha1::Hello(); },
        [](const v1alpha1::Order&) {}, [](const std::string&) {});
    client.Send(Of([](WorkerMessage* message) { message->mutable_window(); }));
    client.Send(Of([](WorkerMessage* message) { message->mutable_step(); }));
    client.Send(Of([](WorkerMessage* message) { message->mutable_finished(); }));
    client.Send(Of([](WorkerMessage* message) { message->mutable_checkpoint_written(); }));
    client.Start();
    coordinator.lost_.get_future().wait();
    EXPECT_THAT(second.get(),
                ElementsAre(WorkerMessage::kHello, WorkerMessage::kWindow,
                            WorkerMessage::kCheckpointWritten, WorkerMessage::kFinished));
  }
  server->Shutdown();
}

/// Refuses so many streams, then welcomes; says what each one's token was.
class RefusingCoordinator : public v1alpha1::Coordinator::Service {
 public:
  explicit RefusingCoordinator(std::deque<grpc::Status> refusals)
      : refusals_(std::move(refusals)) {}

  grpc::Status Attach(grpc::ServerContext* context, Stream* stream) override {
    WorkerMessage message;
    stream->Read(&message);
    {
      const std::lock_guard lock(mutex_);
      const auto token = context->client_metadata().find("authorization");
      tokens_.push_back(token == context->client_metadata().end()
                            ? ""
                            : std::string(token->second.data(), token->second.size()));
      if (!refusals_.empty()) {
        const grpc::Status refusal = refusals_.front();
        if (refusals_.size() > 1 || !forever_) refusals_.pop_front();
        return refusal;
      }
    }
    v1alpha1::Order order;
    order.mutable_welcome();
    stream->Write(order);
    while (stream->Read(&message)) {
    }
    return grpc::Status::OK;
  }

  void RefuseForever() { forever_ = true; }
  std::vector<std::string> tokens() {
    const std::lock_guard lock(mutex_);
    return tokens_;
  }

 private:
  std::mutex mutex_;  // guards all below
  std::deque<grpc::Status> refusals_;
  bool forever_ = false;
  std::vector<std::string> tokens_;
};

/// The coordinator of a test, on a port of its own.
struct Serving {
  explicit Serving(
      v1alpha1::Coordinator::Service* coordinator,
      std::shared_ptr<grpc::ServerCredentials> credentials = grpc::InsecureServerCredentials()) {
    grpc::ServerBuilder builder;
    builder.AddListeningPort("localhost:0", std::move(credentials), &port);
    builder.RegisterService(coordinator);
    server = builder.BuildAndStart();
  }
  ~Serving() { server->Shutdown(std::chrono::system_clock::now()); }

  std::string target() const { return "localhost:" + std::to_string(port); }

  int port = 0;
  std::unique_ptr<grpc::Server> server;
};

TEST(CoordinatorClient, ComesAgainHoweverItsStreamEnded) {
  RefusingCoordinator coordinator({{grpc::StatusCode::NOT_FOUND, "no job"},
                                   {grpc::StatusCode::UNAVAILABLE, "doesn't lead"},
                                   {grpc::StatusCode::UNAUTHENTICATED, "expired"},
                                   {grpc::StatusCode::PERMISSION_DENIED, "not you"}});
  const Serving serving(&coordinator);
  std::promise<void> welcomed;
  CoordinatorClient client(
      {.target = serving.target()}, [] { return v1alpha1::Hello(); },
      [&](const v1alpha1::Order&) { welcomed.set_value(); },
      [](const std::string& why) { ADD_FAILURE() << why; });
  client.Start();
  welcomed.get_future().wait();
  EXPECT_EQ(coordinator.tokens().size(), 5u);
}

TEST(CoordinatorClient, GivesUpWhenNoCoordinatorEverAnswered) {
  RefusingCoordinator coordinator({{grpc::StatusCode::NOT_FOUND, "no such job"}});
  coordinator.RefuseForever();
  const Serving serving(&coordinator);
  std::promise<std::string> why;
  CoordinatorClient client(
      {.target = serving.target()}, [] { return v1alpha1::Hello(); }, [](const v1alpha1::Order&) {},
      [&](const std::string& text) { why.set_value(text); }, std::chrono::milliseconds(50));
  client.Start();
  EXPECT_THAT(why.get_future().get(), HasSubstr("no such job"));
}

class TlsTest : public testing::Test {
 protected:
  TlsTest() {
    NewIdentity();
    WriteToken("first");
  }
  ~TlsTest() override {
    for (const char* name : {"key", "pem", "token"}) std::filesystem::remove(File(name));
  }

  /// A certificate that is its own authority.
  static void NewIdentity() {
    const std::string command =
        "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 2 -subj /CN=t "
        "-addext subjectAltName=DNS:localhost -keyout '" +
        File("key") + "' -out '" + File("pem") + "' 2>/dev/null";
    EXPECT_EQ(std::system(command.c_str()), 0);
  }
  static std::string File(const std::string& name) {
    return testing::TempDir() + "/coordinator_client-" + std::to_string(getpid()) + "." + name;
  }
  static std::string Text(const std::string& name) {
    std::ifstream file(File(name));
    return {std::istreambuf_iterator<char>(file), {}};
  }
  static void WriteToken(const std::string& token) {
    std::ofstream(File("token")) << token << "\n";
  }

  static std::shared_ptr<grpc::ServerCredentials> Credentials() {
    grpc::SslServerCredentialsOptions options;
    options.pem_key_cert_pairs.push_back({Text("key"), Text("pem")});
    return grpc::SslServerCredentials(options);
  }
};

TEST_F(TlsTest, EveryStreamShowsTheTokenThatIsInItsFileThen) {
  RefusingCoordinator coordinator({{grpc::StatusCode::UNAUTHENTICATED, "expired"}});
  const Serving serving(&coordinator, Credentials());
  std::promise<void> welcomed;
  CoordinatorClient client(
      {.target = serving.target(), .authority = Text("pem"), .token_file = File("token")},
      [] {
        // The next stream's: this one's was read already.
        WriteToken("second");
        return v1alpha1::Hello();
      },
      [&](const v1alpha1::Order&) { welcomed.set_value(); }, [](const std::string&) {});
  client.Start();
  welcomed.get_future().wait();
  EXPECT_THAT(coordinator.tokens(), ElementsAre("Bearer first", "Bearer second"));
}

TEST_F(TlsTest, ACoordinatorOfAnotherAuthorityHearsNothing) {
  RefusingCoordinator coordinator({});
  const Serving serving(&coordinator, Credentials());
  const std::string own = Text("pem");
  NewIdentity();
  ASSERT_NE(Text("pem"), own);
  std::promise<std::string> why;
  CoordinatorClient client(
      {.target = serving.target(), .authority = Text("pem"), .token_file = File("token")},
      [] { return v1alpha1::Hello(); }, [](const v1alpha1::Order&) {},
      [&](const std::string& text) { why.set_value(text); }, std::chrono::milliseconds(1));
  client.Start();
  why.get_future().wait();
  EXPECT_TRUE(coordinator.tokens().empty());
}

TEST_F(TlsTest, ATokenNeverGoesInTheClear) {
  RefusingCoordinator coordinator({});
  const Serving serving(&coordinator);
  std::promise<std::string> why;
  CoordinatorClient client(
      {.target = serving.target(), .token_file = File("token")}, [] { return v1alpha1::Hello(); },
      [](const v1alpha1::Order&) {}, [&](const std::string& text) { why.set_value(text); },
      std::chrono::milliseconds(1));
  client.Start();
  why.get_future().wait();
  EXPECT_TRUE(coordinator.tokens().empty());

  setenv("FREEZEPIPE_TOKEN_FILE", File("token").c_str(), 1);
  EXPECT_THROW(AddressFromEnvironment("localhost:1"), std::runtime_error);
  setenv("FREEZEPIPE_COORDINATOR_CA", "PEM", 1);
  const CoordinatorAddress address = AddressFromEnvironment("localhost:1");
  EXPECT_EQ(address.target, "localhost:1");
  EXPECT_EQ(address.authority, "PEM");
  EXPECT_EQ(address.token_file, File("token"));
  unsetenv("FREEZEPIPE_TOKEN_FILE");
  unsetenv("FREEZEPIPE_COORDINATOR_CA");
}

}  // namespace
}  // namespace freezepipe::worker
