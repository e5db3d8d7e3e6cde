// The coordinator's server with certificates of this folder, and clients over loopback.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <memory>
#include <string>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"
#include "operator/coordinator/session_runner.h"
#include "operator/coordinator/test_collaborators.h"
#include "operator/identity/leaf_rotator.h"
#include "operator/kube/eventually.h"

namespace freezepipe::identity {
namespace {

namespace fs = std::filesystem;
using coordinator::TestCollaborators;

/// Accepts one token.
class OneToken : public coordinator::Authenticator {
 public:
  void Authenticate(const std::string& token, const v1alpha1::Hello&,
                    std::function<void(absl::Status)> done) override {
    done(token == "good" ? absl::OkStatus() : absl::PermissionDeniedError("not you"));
  }
};

/// A worker's stream, over TLS verified by an authority, with a token.
class Client {
 public:
  Client(int port, const std::string& authority, int worker, const std::string& token = "good") {
    // By its address, so that no resolver has a part in the test; by its name in the handshake.
    grpc::ChannelArguments arguments;
    arguments.SetSslTargetNameOverride("localhost");
    const auto channel = grpc::CreateCustomChannel(
        "127.0.0.1:" + std::to_string(port),
        grpc::SslCredentials(
            {.pem_root_certs = authority, .pem_private_key = "", .pem_cert_chain = ""}),
        arguments);
    stub_ = v1alpha1::Coordinator::NewStub(channel);
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    context_.set_credentials(grpc::AccessTokenCredentials(token));
    stream_ = stub_->Attach(&context_);
    v1alpha1::WorkerMessage message;
    message.mutable_hello()->set_job("job");
    message.mutable_hello()->set_worker(worker);
    message.mutable_hello()->set_incarnation("first");
    stream_->Write(message);
  }
  ~Client() {
    if (stream_) Finish();
  }

  bool Read(v1alpha1::Order* order) { return stream_->Read(order); }
  /// The certificate that the server showed.
  std::string Leaf() const {
    const auto found = context_.auth_context()->FindPropertyValues("x509_pem_cert");
    return found.empty() ? "" : std::string(found[0].data(), found[0].size());
  }
  grpc::Status Finish() {
    context_.TryCancel();
    return End();
  }
  /// Once the server ends it.
  grpc::Status End() {
    v1alpha1::Order ignored;
    while (stream_->Read(&ignored)) {
    }
    const grpc::Status status = stream_->Finish();
    stream_.reset();
    return status;
  }

 private:
  std::unique_ptr<v1alpha1::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1alpha1::WorkerMessage, v1alpha1::Order>> stream_;
};

class CoordinatorTlsTest : public testing::Test {
 protected:
  CoordinatorTlsTest() {
    fs::create_directories(folder_);
    NewLeaf();
    server_ = coordinator::MakeCoordinatorServer(
        {.listen_address = "127.0.0.1:0",
         .tls = {{.identity_file = folder_ / "server.pem", .refresh = std::chrono::seconds(1)}},
         .authenticator = &authenticator_});
    session_ = server_->AddJob("job", coordinator::TwoWorkerSetup("unused"), collaborators_.All());
    session_->Start();
    collaborators_.WaitForLaunches(2);
  }
  ~CoordinatorTlsTest() override { fs::remove_all(folder_); }

  void NewLeaf() {
    const auto rotator = LeafRotator::Start({.authority = authority_,
                                             .dns_names = {"freezepipe.system.svc", "localhost"},
                                             .file = folder_ / "server.pem"},
                                            [](const absl::Status&) {});
    ASSERT_TRUE(rotator.ok()) << rotator.status();
  }

  const fs::path folder_ = fs::path(testing::TempDir()) / ("tls-" + std::to_string(getpid()));
  const PemIdentity authority_ = MakeAuthority(std::chrono::system_clock::now()).value();
  OneToken authenticator_;
  TestCollaborators collaborators_;
  std::unique_ptr<coordinator::CoordinatorServer> server_;
  std::unique_ptr<coordinator::SessionRunner> session_;
};

TEST_F(CoordinatorTlsTest, AWorkerThatKnowsTheAuthorityAttaches) {
  Client client(server_->port(), authority_.certificate, 0);
  v1alpha1::Order order;
  ASSERT_TRUE(client.Read(&order));
  EXPECT_TRUE(order.has_welcome());
}

TEST_F(CoordinatorTlsTest, AnotherAuthoritysWorkerWontSpeakToIt) {
  const PemIdentity other = MakeAuthority(std::chrono::system_clock::now()).value();
  Client client(server_->port(), other.certificate, 0);
  v1alpha1::Order order;
  EXPECT_FALSE(client.Read(&order));
  EXPECT_EQ(client.End().error_code(), grpc::StatusCode::UNAVAILABLE);
}

TEST_F(CoordinatorTlsTest, TheTokenIsTheOneThatTheWorkerShowed) {
  Client client(server_->port(), authority_.certificate, 0, "bad");
  EXPECT_EQ(client.End().error_code(), grpc::StatusCode::PERMISSION_DENIED);
}

TEST_F(CoordinatorTlsTest, ALeafIsReplacedWithAStreamOpen) {
  Client open(server_->port(), authority_.certificate, 0);
  v1alpha1::Order order;
  ASSERT_TRUE(open.Read(&order));
  EXPECT_TRUE(order.has_welcome());
  const std::string first = open.Leaf();
  ASSERT_FALSE(first.empty());
  NewLeaf();
  EXPECT_TRUE(kube::Eventually([&] {
    Client later(server_->port(), authority_.certificate, 1);
    v1alpha1::Order welcome;
    return later.Read(&welcome) && later.Leaf() != first;
  }));
  // What the first one hears next is of the second worker's coming.
  ASSERT_TRUE(open.Read(&order));
  EXPECT_TRUE(order.has_profile());
}

}  // namespace
}  // namespace freezepipe::identity
