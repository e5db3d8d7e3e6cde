#include "worker/train/coordinator_client.h"

#include <gmock/gmock.h>
#include <grpcpp/server.h>
#include <grpcpp/server_builder.h>
#include <gtest/gtest.h>

#include <future>
#include <vector>

#include "freezepipe/v1alpha1/coordinator.grpc.pb.h"

namespace freezepipe::worker {
namespace {

using testing::ElementsAre;
using v1alpha1::WorkerMessage;
using Stream = grpc::ServerReaderWriter<v1alpha1::Order, WorkerMessage>;

/// Ends its first stream after so many messages, and gives what the second one brought.
class ForgetfulCoordinator : public v1alpha1::Coordinator::Service {
 public:
  explicit ForgetfulCoordinator(size_t messages) : messages_(messages) {}

  grpc::Status Attach(grpc::ServerContext*, Stream* stream) override {
    std::vector<WorkerMessage::KindCase> kinds;
    WorkerMessage message;
    while (kinds.size() < messages_ && stream->Read(&message)) kinds.push_back(message.kind_case());
    if (std::exchange(first_, false)) {
      messages_ = 3;
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
        "127.0.0.1:" + std::to_string(port), [] { return v1alpha1::Hello(); },
        [](const v1alpha1::Order&) {});
    client.Send(Of([](WorkerMessage* message) { message->mutable_window(); }));
    client.Send(Of([](WorkerMessage* message) { message->mutable_step(); }));
    client.Send(Of([](WorkerMessage* message) { message->mutable_finished(); }));
    client.Send(Of([](WorkerMessage* message) { message->mutable_checkpoint_written(); }));
    client.Start();
    coordinator.lost_.get_future().wait();
    EXPECT_THAT(second.get(), ElementsAre(WorkerMessage::kHello, WorkerMessage::kCheckpointWritten,
                                          WorkerMessage::kFinished));
  }
  server->Shutdown();
}

}  // namespace
}  // namespace freezepipe::worker
