#include "operator/coordinator/attach_service.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <memory>

#include "operator/coordinator/worker_stream.h"

namespace freezepipe::coordinator {
namespace {

class AttachServiceTest : public testing::Test {
 protected:
  AttachServiceTest() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(), &port);
    builder.RegisterService(&service_);
    EXPECT_TRUE(service_.Add("job", streams_));
    server_ = builder.BuildAndStart();
    stub_ = v1alpha1::Coordinator::NewStub(grpc::CreateChannel("127.0.0.1:" + std::to_string(port),
                                                               grpc::InsecureChannelCredentials()));
  }
  ~AttachServiceTest() override {
    service_.CloseAll();
    server_->Shutdown(std::chrono::system_clock::now() + std::chrono::seconds(5));
    server_->Wait();
  }

  Event NextEvent() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !events_.empty(); }));
    Event event = std::move(events_.front());
    events_.pop_front();
    return event;
  }

  static v1alpha1::WorkerMessage Hello(int worker) {
    v1alpha1::WorkerMessage message;
    message.mutable_hello()->set_job("job");
    message.mutable_hello()->set_worker(worker);
    return message;
  }

  std::mutex mutex_;  // Guards events_.
  std::condition_variable changed_;
  std::deque<Event> events_;
  const std::shared_ptr<JobStreams> streams_ = std::make_shared<JobStreams>([this](Event event) {
    std::lock_guard lock(mutex_);
    events_.push_back(std::move(event));
    changed_.notify_all();
  });
  AttachService service_;
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<v1alpha1::Coordinator::Stub> stub_;
};

// Nothing blocks while a reader is slow: its queue fills, then its stream is closed.
TEST_F(AttachServiceTest, ASlowReaderLosesItsStream) {
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  stream->Write(Hello(3));
  ASSERT_TRUE(std::holds_alternative<WorkerAttached>(NextEvent()));
  v1alpha1::Order big;
  big.mutable_welcome()->set_checkpoint_directory(std::string(1 << 20, 'x'));
  for (size_t i = 0; i < kMaxQueuedOrders + 64; ++i) streams_->Send(3, big);
  const Event event = NextEvent();
  ASSERT_TRUE(std::holds_alternative<StreamLost>(event));
  EXPECT_EQ(std::get<StreamLost>(event).worker, 3);
  v1alpha1::Order order;
  while (stream->Read(&order)) {
  }
  EXPECT_FALSE(stream->Finish().ok());
}

TEST_F(AttachServiceTest, OrdersComeInOrderAndMessagesGoInOrder) {
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  stream->Write(Hello(3));
  ASSERT_TRUE(std::holds_alternative<WorkerAttached>(NextEvent()));
  for (int i = 0; i < 200; ++i) {
    v1alpha1::Order order;
    order.mutable_retire()->set_generation(i);
    streams_->Send(3, order);
    streams_->Send(4, order);  // Nobody there: dropped.
    v1alpha1::WorkerMessage message;
    message.mutable_prepared()->set_generation(i);
    stream->Write(message);
  }
  for (int i = 0; i < 200; ++i) {
    v1alpha1::Order order;
    ASSERT_TRUE(stream->Read(&order));
    EXPECT_EQ(order.retire().generation(), i);
    const Event event = NextEvent();
    ASSERT_TRUE(std::holds_alternative<WorkerSaid>(event));
    EXPECT_EQ(std::get<WorkerSaid>(event).message.prepared().generation(), i);
  }
  stream->WritesDone();
  EXPECT_TRUE(std::holds_alternative<StreamLost>(NextEvent()));
  EXPECT_TRUE(stream->Finish().ok());
}

}  // namespace
}  // namespace freezepipe::coordinator
