#include "daemon/controller/stream/event_stream.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/server.h"
#include "grpcpp/server_builder.h"
#include "gtest/gtest.h"
#include "proto/controller.grpc.pb.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using Stream = EventStream<CheckEvent>;

CheckEvent Progress(uint32_t answered) {
  CheckEvent event;
  event.mutable_progress()->set_answered(answered);
  return event;
}

CheckEvent Last(const std::string& run_id) {
  CheckEvent event;
  event.mutable_report()->set_run_id(run_id);
  return event;
}

// A service whose only call is the stream under test.
class StreamService final : public Controller::CallbackService {
 public:
  explicit StreamService(Scheduler* scheduler) : scheduler_(scheduler) {}

  grpc::ServerWriteReactor<CheckEvent>* Check(
      grpc::CallbackServerContext* context, const CheckRequest*) override {
    stream_ = Stream::Create(context, scheduler_);
    EventStreamOptions options;
    options.on_leave = [this] { left_.Notify(); };
    options.on_end = [this] { ended_.Notify(); };
    options.max_queued = max_queued_;
    options.max_queued_bytes = max_queued_bytes_;
    options.budget = budget_;
    options.who = "ann";
    stream_->Begin(std::move(options));
    stream_->Show(
        [this](CheckEvent* event) { *event = Progress(++progress_); });
    stream_->NoteProgress();
    Stream* const reactor = stream_.get();
    begun_.Notify();
    return reactor;
  }

  Scheduler* const scheduler_;
  size_t max_queued_ = 1024;
  size_t max_queued_bytes_ = 32 << 20;
  SendBudget* budget_ = nullptr;
  uint32_t progress_ = 0;  // Only the thread that writes an event writes it.
  std::shared_ptr<Stream> stream_;
  absl::Notification begun_;
  absl::Notification left_;
  absl::Notification ended_;
};

class EventStreamTest : public testing::Test {
 protected:
  void Call() {
    grpc::ServerBuilder builder;
    int port = 0;
    builder.AddListeningPort("127.0.0.1:0", grpc::InsecureServerCredentials(),
                             &port);
    builder.RegisterService(&service_);
    server_ = builder.BuildAndStart();
    stub_ = Controller::NewStub(grpc::CreateChannel(
        absl::StrCat("127.0.0.1:", port), grpc::InsecureChannelCredentials()));
    reader_ = stub_->Check(&context_, CheckRequest());
    ASSERT_TRUE(service_.begun_.WaitForNotificationWithTimeout(kPatience));
  }

  // Reads all events; "3" is progress, "last" the report.
  std::vector<std::string> ReadToEnd() {
    std::vector<std::string> all;
    CheckEvent event;
    while (reader_->Read(&event)) {
      all.push_back(event.has_report()
                        ? event.report().run_id()
                        : absl::StrCat(event.progress().answered()));
    }
    status_ = reader_->Finish();
    EXPECT_TRUE(service_.ended_.WaitForNotificationWithTimeout(kPatience));
    return all;
  }

  // Blocks until the first progress has been read and no write is pending.
  void ReadFirst() {
    CheckEvent event;
    ASSERT_TRUE(reader_->Read(&event));
    EXPECT_EQ(event.progress().answered(), 1u);
  }

  ManualScheduler scheduler_;
  StreamService service_{&scheduler_};
  std::unique_ptr<grpc::Server> server_;
  std::unique_ptr<Controller::Stub> stub_;
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<CheckEvent>> reader_;
  grpc::Status status_;
};

TEST_F(EventStreamTest, TellsProgressAtOnceThenInIntervalsThenTheLast) {
  Call();
  ReadFirst();
  for (int i = 0; i < 100; ++i) service_.stream_->NoteProgress();
  scheduler_.Advance(Stream::kProgressInterval);
  CheckEvent event;
  ASSERT_TRUE(reader_->Read(&event));
  EXPECT_EQ(event.progress().answered(), 2u);
  service_.stream_->End(Last("last"));
  service_.stream_->End(Last("one more"));
  EXPECT_THAT(ReadToEnd(), ElementsAre("3", "last"));
  EXPECT_TRUE(status_.ok()) << status_.error_message();
  EXPECT_FALSE(service_.left_.HasBeenNotified());
  EXPECT_EQ(scheduler_.pending(), 0);
}

TEST_F(EventStreamTest, EndsWithTheStatusOfWhatCouldNotBeDone) {
  Call();
  ReadFirst();
  service_.stream_->End(absl::AbortedError("plan again"));
  EXPECT_THAT(ReadToEnd(), ElementsAre());
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::ABORTED);
  EXPECT_EQ(status_.error_message(), "plan again");
}

TEST_F(EventStreamTest, DropsSingleEventsThatDoNotFitAndKeepsTheLast) {
  service_.max_queued_ = 2;
  Call();
  // The client reads nothing; gRPC's buffer is smaller than all of this.
  std::string much(1 << 20, 'x');
  for (int i = 0; i < 64; ++i) {
    CheckEvent event;
    event.mutable_progress()->set_answered(100);
    event.mutable_progress()->add_awaited(much);
    service_.stream_->Add(std::move(event));
  }
  service_.stream_->End(Last("last"));
  const std::vector<std::string> all = ReadToEnd();
  EXPECT_LT(all.size(), 60u);
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.back(), "last");
  EXPECT_TRUE(status_.ok());
}

TEST_F(EventStreamTest, TellsWhoWorksThatTheClientHasLeft) {
  Call();
  ReadFirst();
  context_.TryCancel();
  EXPECT_TRUE(service_.left_.WaitForNotificationWithTimeout(kPatience));
  ReadToEnd();
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::CANCELLED);
  // None of this is sent, and nothing breaks.
  service_.stream_->Add(Progress(9));
  service_.stream_->NoteProgress();
  service_.stream_->End(Last("last"));
  scheduler_.Advance(absl::Hours(1));
}

TEST_F(EventStreamTest, DisconnectsClientThatStopsReading) {
  Call();
  CheckEvent huge = Last("last");
  huge.mutable_report()->add_notes(std::string(3 << 20, 'x'));
  // More than gRPC buffers for a client that does not read.
  for (int i = 0; i < 8; ++i) service_.stream_->Add(huge);
  // A finished write has no timer left, so advance again.
  while (
      !service_.ended_.WaitForNotificationWithTimeout(absl::Milliseconds(5))) {
    scheduler_.Advance(WriteTimeFor(huge.ByteSizeLong()));
  }
  EXPECT_TRUE(service_.left_.HasBeenNotified());
  ReadToEnd();
  EXPECT_EQ(status_.error_code(), grpc::StatusCode::CANCELLED);
}

// EndForGood does not wait for a client that does not read.
TEST_F(EventStreamTest, DisconnectsClientThatDoesNotReadTheEndOfItsCall) {
  Call();
  CheckEvent huge = Last("last");
  huge.mutable_report()->add_notes(std::string(3 << 20, 'x'));
  service_.stream_->Add(std::move(huge));
  service_.stream_->EndForGood(absl::PermissionDeniedError("is locked"));
  scheduler_.Advance(kFlushTimeout);
  EXPECT_TRUE(service_.ended_.WaitForNotificationWithTimeout(kPatience));
}

TEST_F(EventStreamTest, KeepsOnlySoManyBytesForAClientThatDoesNotRead) {
  service_.max_queued_bytes_ = 4 << 20;
  Call();
  CheckEvent large = Last("large");
  large.mutable_report()->add_notes(std::string(1 << 20, 'x'));
  for (int i = 0; i < 64; ++i) service_.stream_->Add(large);
  EXPECT_LE(service_.stream_->queued(), 4u);
  service_.stream_->End(Last("last"));
  EXPECT_EQ(ReadToEnd().back(), "last");
}

TEST_F(EventStreamTest, LargeLastEventWaitsForBudget) {
  SendBudget budget(1 << 20);
  service_.budget_ = &budget;
  ASSERT_TRUE(budget.Take("ann", 1 << 20, nullptr));
  Call();
  ReadFirst();
  CheckEvent large = Last("last");
  large.mutable_report()->add_notes(std::string(1 << 18, 'x'));
  service_.stream_->End(std::move(large));
  EXPECT_FALSE(service_.ended_.HasBeenNotified());
  budget.Give("ann", 1 << 20);
  EXPECT_EQ(ReadToEnd().back(), "last");
  EXPECT_TRUE(status_.ok());
  EXPECT_TRUE(budget.Take("ann", 1 << 20, nullptr)) << "it was given back";
}

TEST_F(EventStreamTest, CallThatIsOverBeforeItsTurnTakesNoBudget) {
  SendBudget budget(1 << 20);
  service_.budget_ = &budget;
  ASSERT_TRUE(budget.Take("ann", 1 << 20, nullptr));
  Call();
  ReadFirst();
  CheckEvent large = Last("last");
  large.mutable_report()->add_notes(std::string(1 << 18, 'x'));
  service_.stream_->End(std::move(large));
  context_.TryCancel();
  ASSERT_TRUE(service_.ended_.WaitForNotificationWithTimeout(kPatience));
  budget.Give("ann", 1 << 20);
  EXPECT_TRUE(budget.Take("ann", 1 << 20, nullptr));
}

}  // namespace
}  // namespace clusterd
