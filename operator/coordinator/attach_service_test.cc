#include "operator/coordinator/attach_service.h"

#include <grpcpp/grpcpp.h>
#include <gtest/gtest.h>

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <string>

#include "operator/coordinator/worker_stream.h"

namespace freezepipe::coordinator {
namespace {

/// Asks the test.
class HeldAuthenticator : public Authenticator {
 public:
  struct Question {
    std::string token;
    v1alpha1::Hello hello;
    std::function<void(absl::Status)> done;
  };

  void Authenticate(const std::string& token, const v1alpha1::Hello& hello,
                    std::function<void(absl::Status)> done) override {
    std::lock_guard lock(mutex_);
    questions_.push_back({token, hello, std::move(done)});
    changed_.notify_all();
  }

  Question Next() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(
        changed_.wait_for(lock, std::chrono::seconds(60), [this] { return !questions_.empty(); }));
    Question question = std::move(questions_.front());
    questions_.pop_front();
    return question;
  }

 private:
  std::mutex mutex_;  // Guards questions_.
  std::condition_variable changed_;
  std::deque<Question> questions_;
};

class AttachServiceTest : public testing::Test {
 protected:
  explicit AttachServiceTest(Authenticator* authenticator = nullptr, bool standby = false)
      : service_(authenticator, standby) {
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

  bool NoEvent() {
    std::lock_guard lock(mutex_);
    return events_.empty();
  }

  static v1alpha1::WorkerMessage Prepared(int generation) {
    v1alpha1::WorkerMessage message;
    message.mutable_prepared()->set_generation(generation);
    return message;
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
    stream->Write(Prepared(i));
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

class StandbyTest : public AttachServiceTest {
 protected:
  StandbyTest() : AttachServiceTest(nullptr, /*standby=*/true) {}

  grpc::Status EndOfNewStream() {
    grpc::ClientContext context;
    auto stream = stub_->Attach(&context);
    stream->Write(Hello(3));
    v1alpha1::Order order;
    while (stream->Read(&order)) {
    }
    return stream->Finish();
  }
};

TEST_F(StandbyTest, RefusesStreamsUntilItLeads) {
  const grpc::Status end = EndOfNewStream();
  EXPECT_EQ(end.error_code(), grpc::StatusCode::UNAVAILABLE);
  EXPECT_NE(end.error_message().find("lead"), std::string::npos) << end.error_message();
  EXPECT_TRUE(NoEvent());
  service_.Lead();
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  stream->Write(Hello(3));
  EXPECT_TRUE(std::holds_alternative<WorkerAttached>(NextEvent()));
}

TEST_F(StandbyTest, AJobThatANewLeaderDoesntKnowYet_ComesAgain) {
  service_.Lead();
  service_.Remove("job");
  EXPECT_EQ(EndOfNewStream().error_code(), grpc::StatusCode::UNAVAILABLE);
}

class AuthenticationTest : public AttachServiceTest {
 protected:
  AuthenticationTest() : AttachServiceTest(&authenticator_) {}

  /// One call with a token.
  struct Call {
    explicit Call(v1alpha1::Coordinator::Stub* stub, const std::string& token = "t") {
      context.AddMetadata("authorization", "Bearer " + token);
      stream = stub->Attach(&context);
    }
    grpc::Status End() {
      v1alpha1::Order order;
      while (stream->Read(&order)) {
      }
      return stream->Finish();
    }

    grpc::ClientContext context;
    std::unique_ptr<grpc::ClientReaderWriter<v1alpha1::WorkerMessage, v1alpha1::Order>> stream;
  };

  HeldAuthenticator authenticator_;
};

TEST_F(AuthenticationTest, AHelloTakesEffectOnceAccepted_AndWhatCameMeanwhileFollowsInOrder) {
  Call call(stub_.get(), "of-3");
  call.stream->Write(Hello(3));
  for (int i = 0; i < 20; ++i) call.stream->Write(Prepared(i));
  const auto question = authenticator_.Next();
  EXPECT_EQ(question.token, "of-3");
  EXPECT_EQ(question.hello.job(), "job");
  EXPECT_EQ(question.hello.worker(), 3);
  EXPECT_TRUE(NoEvent());
  question.done(absl::OkStatus());
  const Event attached = NextEvent();
  ASSERT_TRUE(std::holds_alternative<WorkerAttached>(attached));
  EXPECT_EQ(std::get<WorkerAttached>(attached).hello.worker(), 3);
  for (int i = 0; i < 20; ++i) {
    const Event event = NextEvent();
    ASSERT_TRUE(std::holds_alternative<WorkerSaid>(event));
    EXPECT_EQ(std::get<WorkerSaid>(event).message.prepared().generation(), i);
  }
}

TEST_F(AuthenticationTest, ARefusalClosesTheStreamInItsOwnWords) {
  for (const absl::Status& refusal :
       {absl::UnauthenticatedError("who?"), absl::PermissionDeniedError("another's"),
        absl::UnavailableError("can't tell")}) {
    Call call(stub_.get());
    call.stream->Write(Hello(3));
    authenticator_.Next().done(refusal);
    const grpc::Status end = call.End();
    EXPECT_EQ(static_cast<int>(end.error_code()), refusal.raw_code());
    EXPECT_EQ(end.error_message(), refusal.message());
  }
  EXPECT_TRUE(NoEvent());
}

TEST_F(AuthenticationTest, WithoutATokenNobodyIsAsked) {
  grpc::ClientContext context;
  auto stream = stub_->Attach(&context);
  stream->Write(Hello(3));
  v1alpha1::Order order;
  EXPECT_FALSE(stream->Read(&order));
  EXPECT_EQ(stream->Finish().error_code(), grpc::StatusCode::UNAUTHENTICATED);
}

TEST_F(AuthenticationTest, AStreamThatEndedMeanwhileTakesNobodysPlace) {
  Call gone(stub_.get(), "old");
  gone.stream->Write(Hello(3));
  const auto old_question = authenticator_.Next();
  gone.context.TryCancel();
  EXPECT_EQ(gone.End().error_code(), grpc::StatusCode::CANCELLED);

  Call call(stub_.get(), "new");
  call.stream->Write(Hello(3));
  authenticator_.Next().done(absl::OkStatus());
  ASSERT_TRUE(std::holds_alternative<WorkerAttached>(NextEvent()));
  old_question.done(absl::OkStatus());
  call.stream->Write(Prepared(1));
  EXPECT_TRUE(std::holds_alternative<WorkerSaid>(NextEvent()));
}

// The server can't know yet that the older one's machine is gone.
TEST_F(AuthenticationTest, AnOlderStreamThatIsAcceptedLateIsReplacedAllTheSame) {
  Call older(stub_.get());
  older.stream->Write(Hello(3));
  const auto old_question = authenticator_.Next();
  Call newer(stub_.get());
  newer.stream->Write(Hello(3));
  authenticator_.Next().done(absl::OkStatus());
  ASSERT_TRUE(std::holds_alternative<WorkerAttached>(NextEvent()));
  old_question.done(absl::OkStatus());
  EXPECT_EQ(older.End().error_code(), grpc::StatusCode::ABORTED);
  newer.stream->Write(Prepared(1));
  EXPECT_TRUE(std::holds_alternative<WorkerSaid>(NextEvent()));
}

TEST_F(AuthenticationTest, TheServiceEndsWithAHelloStillHeld) {
  Call call(stub_.get());
  call.stream->Write(Hello(3));
  const auto question = authenticator_.Next();
  service_.CloseAll();
  EXPECT_EQ(call.End().error_code(), grpc::StatusCode::UNAVAILABLE);
  question.done(absl::OkStatus());
  EXPECT_TRUE(NoEvent());
}

}  // namespace
}  // namespace freezepipe::coordinator
