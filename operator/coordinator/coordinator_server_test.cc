// The gRPC adapter with real clients over loopback.
#include <gmock/gmock.h>
#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <thread>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"
#include "operator/coordinator/session_runner.h"
#include "operator/coordinator/test_collaborators.h"
#include "operator/coordinator/worker_stream.h"

namespace freezepipe::coordinator {
namespace {

/// One stream of a worker.
class Client {
 public:
  Client(int port, int worker, const std::string& incarnation, const std::string& job = "job")
      : stub_(v1alpha1::Coordinator::NewStub(grpc::CreateChannel(
            "127.0.0.1:" + std::to_string(port), grpc::InsecureChannelCredentials()))) {
    context_.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(60));
    stream_ = stub_->Attach(&context_);
    v1alpha1::WorkerMessage message;
    message.mutable_hello()->set_job(job);
    message.mutable_hello()->set_worker(worker);
    message.mutable_hello()->set_incarnation(incarnation);
    stream_->Write(message);
  }

  bool Read(v1alpha1::Order* order) { return stream_->Read(order); }
  bool Write(const v1alpha1::WorkerMessage& message) { return stream_->Write(message); }
  void Break() { context_.TryCancel(); }
  grpc::Status Finish() {
    stream_->WritesDone();
    v1alpha1::Order ignored;
    while (stream_->Read(&ignored)) {
    }
    return stream_->Finish();
  }

 private:
  std::unique_ptr<v1alpha1::Coordinator::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReaderWriter<v1alpha1::WorkerMessage, v1alpha1::Order>> stream_;
};

class CoordinatorServerTest : public testing::Test {
 protected:
  CoordinatorServerTest()
      : server_(MakeCoordinatorServer({.listen_address = "127.0.0.1:0"})),
        session_(AddJob("job", &collaborators_)) {
    session_->Start();
    collaborators_.WaitForLaunches(2);
  }

  std::unique_ptr<SessionRunner> AddJob(const std::string& name, TestCollaborators* around) {
    return server_->AddJob(name, TwoWorkerSetup("unused"), around->All());
  }

  /// What a well-behaved worker does, to its end.
  void Work(int worker, const std::string& job, SessionRunner* session) {
    Client client(server_->port(), worker, "first", job);
    v1alpha1::Order order;
    while (client.Read(&order)) {
      for (const auto& answer : Answers(worker, order)) client.Write(answer);
      if (order.has_exit()) break;
    }
    EXPECT_TRUE(client.Finish().ok());
    session->OnWorkerExit(worker, {.clean = true, .why = "exited"});
  }

  void WaitForWorker(int worker) {
    collaborators_.WaitForEvent([worker](const auto& event) {
      return event.has_worker_started() && event.worker_started().worker() == worker;
    });
  }

  TestCollaborators collaborators_;
  std::unique_ptr<CoordinatorServer> server_;
  std::unique_ptr<SessionRunner> session_;
};

/// With that status, or cancelled where the server hadn't heard yet that its last write was done.
auto EndedWith(grpc::StatusCode code) { return testing::AnyOf(code, grpc::StatusCode::CANCELLED); }

TEST_F(CoordinatorServerTest, RunsAJobToItsEnd) {
  {
    std::jthread first([this] { Work(0, "job", session_.get()); });
    std::jthread second([this] { Work(1, "job", session_.get()); });
  }
  EXPECT_EQ(collaborators_.WaitForEnd().state(), v1alpha1::JobState::Succeeded);
}

// Workers of the same number, on one port: each hears its own job's session alone.
TEST_F(CoordinatorServerTest, JobsDontHearEachOther) {
  TestCollaborators around_other;
  const auto other = AddJob("other", &around_other);
  other->Start();
  Client standing_still(server_->port(), 0, "first");
  WaitForWorker(0);
  {
    std::jthread first([&] { Work(0, "other", other.get()); });
    std::jthread second([&] { Work(1, "other", other.get()); });
  }
  EXPECT_EQ(around_other.WaitForEnd().state(), v1alpha1::JobState::Succeeded);
  // The first job still waits for its second worker.
  Client last(server_->port(), 1, "first");
  v1alpha1::Order order;
  ASSERT_TRUE(standing_still.Read(&order));
  EXPECT_TRUE(order.has_welcome());
  ASSERT_TRUE(standing_still.Read(&order));
  EXPECT_TRUE(order.has_profile());
}

TEST_F(CoordinatorServerTest, AnUnknownJobIsNotFound) {
  Client stranger(server_->port(), 0, "first", "nobody's");
  const grpc::Status end = stranger.Finish();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::NOT_FOUND);
  EXPECT_NE(end.error_message().find("nobody's"), std::string::npos) << end.error_message();
}

TEST_F(CoordinatorServerTest, AJobIsUnknownOnceItsSessionIsGone_AndCanComeAgain) {
  EXPECT_EQ(AddJob("job", &collaborators_), nullptr);
  Client open(server_->port(), 0, "first");
  v1alpha1::Order order;
  ASSERT_TRUE(open.Read(&order));
  session_.reset();
  EXPECT_THAT(open.Finish().error_code(), EndedWith(grpc::StatusCode::UNAVAILABLE));
  Client late(server_->port(), 0, "first");
  EXPECT_EQ(late.Finish().error_code(), grpc::StatusCode::NOT_FOUND);
  session_ = AddJob("job", &collaborators_);
  session_->Start();
  Client again(server_->port(), 0, "first");
  ASSERT_TRUE(again.Read(&order));
  EXPECT_TRUE(order.has_welcome());
}

TEST_F(CoordinatorServerTest, AWorkerReattachesAndGetsItsOrdersAgain) {
  v1alpha1::Order order;
  Client other(server_->port(), 1, "first");
  {
    Client broken(server_->port(), 0, "first");
    ASSERT_TRUE(broken.Read(&order));
    EXPECT_TRUE(order.has_welcome());
    ASSERT_TRUE(broken.Read(&order));
    EXPECT_TRUE(order.has_profile());
    broken.Break();
    broken.Finish();
  }
  Client back(server_->port(), 0, "first");
  ASSERT_TRUE(back.Read(&order));
  EXPECT_TRUE(order.has_welcome());
  ASSERT_TRUE(back.Read(&order));
  EXPECT_TRUE(order.has_profile());
}

TEST_F(CoordinatorServerTest, ANewerStreamReplacesTheOlder) {
  v1alpha1::Order order;
  Client older(server_->port(), 0, "first");
  ASSERT_TRUE(older.Read(&order));
  Client newer(server_->port(), 0, "first");
  ASSERT_TRUE(newer.Read(&order));
  EXPECT_TRUE(order.has_welcome());
  EXPECT_THAT(older.Finish().error_code(), EndedWith(grpc::StatusCode::ABORTED));
  // The older one's end is not the worker's: its orders go to the newer.
  Client other(server_->port(), 1, "first");
  ASSERT_TRUE(newer.Read(&order));
  EXPECT_TRUE(order.has_profile());
}

TEST_F(CoordinatorServerTest, AStreamWithoutHelloIsClosed) {
  auto stub = v1alpha1::Coordinator::NewStub(grpc::CreateChannel(
      "127.0.0.1:" + std::to_string(server_->port()), grpc::InsecureChannelCredentials()));
  grpc::ClientContext context;
  auto stream = stub->Attach(&context);
  v1alpha1::WorkerMessage message;
  message.mutable_prepared()->set_generation(1);
  stream->Write(message);
  v1alpha1::Order order;
  EXPECT_FALSE(stream->Read(&order));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::ABORTED);
}

TEST_F(CoordinatorServerTest, APortInUseIsSaid) {
  const CoordinatorOptions options{.listen_address =
                                       "127.0.0.1:" + std::to_string(server_->port())};
  try {
    MakeCoordinatorServer(options);
    FAIL() << "two servers on one port";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("in use"), std::string::npos) << error.what();
    EXPECT_NE(std::string(error.what()).find(options.listen_address), std::string::npos);
  }
}

TEST_F(CoordinatorServerTest, EndsWithStreamsOpen) {
  Client client(server_->port(), 0, "first");
  v1alpha1::Order order;
  ASSERT_TRUE(client.Read(&order));
  session_.reset();
  server_.reset();
  EXPECT_THAT(client.Finish().error_code(), EndedWith(grpc::StatusCode::UNAVAILABLE));
}

}  // namespace
}  // namespace freezepipe::coordinator
