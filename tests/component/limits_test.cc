// One user at full effort, and what others notice of it: an operator's rollback
// goes through while a viewer holds everything that it can get.
#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/identity/grpc_status.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/scripted_host.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/history_testing.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// Streams that are opened and never read, over as many connections as it takes.
template <typename Request, typename Event>
class UnreadStreams {
 public:
  using Call = std::unique_ptr<grpc::ClientReader<Event>> (Controller::Stub::*)(
      grpc::ClientContext*, const Request&);

  UnreadStreams(TestController* controller, TlsFiles tls, Call call)
      : controller_(controller), tls_(std::move(tls)), call_(call) {}
  ~UnreadStreams() { Drop(); }

  void Open(const Request& request) {
    if (contexts_.size() == 16 * clients_.size()) {
      clients_.push_back(controller_->ClientAs(tls_));
    }
    contexts_.push_back(NewStreamContext());
    streams_.push_back(
        ((*clients_.back()).*call_)(contexts_.back().get(), request));
  }
  void Drop() {
    for (const auto& context : contexts_) context->TryCancel();
    for (const auto& stream : streams_) stream->Finish();
    streams_.clear();
    contexts_.clear();
    clients_.clear();
  }
  // Opens one that stays: it is told one event, and never read again. Else why
  // it is refused.
  absl::Status Hold(const Request& request) {
    Open(request);
    Event event;
    if (streams_.back()->Read(&event)) return absl::OkStatus();
    const absl::Status refused = ToAbslStatus(streams_.back()->Finish());
    streams_.pop_back();
    contexts_.pop_back();
    return refused;
  }
  // As many as there can be: what was dropped may leave a moment later.
  void HoldAll(size_t count, const std::function<Request(int)>& request) {
    EXPECT_TRUE(WaitUntil([&] {
      while (streams_.size() < count &&
             Hold(request(static_cast<int>(streams_.size()))).ok()) {
      }
      return streams_.size() == count;
    }));
  }

 private:
  TestController* const controller_;
  const TlsFiles tls_;
  const Call call_;
  std::vector<std::unique_ptr<Controller::Stub>> clients_;
  std::vector<std::unique_ptr<grpc::ClientContext>> contexts_;
  std::vector<std::unique_ptr<grpc::ClientReader<Event>>> streams_;
};

class LimitsTest : public testing::Test {
 protected:
  static constexpr int kServers = 3;

  LimitsTest() : controller_(&certificates_, kServers, &scheduler_) {
    controller_.Start();
    for (int server = 0; server < kServers - 1; ++server) {
      const auto spec = controller_.spec().spec();
      ScriptedHost::Options options;
      options.controller = controller_.address();
      options.tls = certificates_.Host(absl::StrCat("server", server));
      options.facts = MakeHealthyHost(*spec, spec->servers(server));
      options.facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
      hosts_.push_back(std::make_unique<ScriptedHost>(options));
    }
    silent_ = std::make_unique<RawHost>(controller_.address(),
                                        certificates_.Host("server2"));
    EXPECT_TRUE(silent_->Attach());
  }

  TlsFiles User(const std::string& role) {
    return certificates_.Issue(
        role, {absl::StrCat("spiffe://test/user/", role, "/role/", role)});
  }

  template <typename Request>
  static Request Of(const std::vector<std::string>& hosts) {
    Request request;
    for (const std::string& host : hosts) request.add_hosts(host);
    return request;
  }
  // One that equals none with another number, and that is never answered.
  template <typename Request>
  static Request Silent(int number) {
    return Of<Request>(
        std::vector<std::string>(static_cast<size_t>(number) + 1, "server2"));
  }

  ApplyReport LastOf(grpc::ClientReader<ApplyEvent>* stream) {
    ApplyEvent event;
    ApplyReport report;
    while (stream->Read(&event)) {
      if (event.has_report()) report = event.report();
    }
    const grpc::Status status = stream->Finish();
    EXPECT_TRUE(status.ok()) << status.error_message();
    return report;
  }

  // The id of an apply on the hosts that answer.
  std::string Applied(Controller::Stub* client) {
    const auto context = NewContext();
    const auto stream =
        client->Plan(context.get(), Of<PlanRequest>({"server0", "server1"}));
    PlanEvent event;
    ApplyPlanRequest request;
    while (stream->Read(&event)) {
      request.set_plan_id(event.plan().plan_id());
      request.set_digest(event.plan().digest());
    }
    EXPECT_TRUE(stream->Finish().ok());
    const auto apply = NewContext();
    const ApplyReport report =
        LastOf(client->ApplyPlan(apply.get(), request).get());
    EXPECT_EQ(report.outcome(), ApplyReport::SUCCEEDED);
    return report.run_id();
  }

  static grpc::Status Read(Controller::Stub* client, const std::string& id) {
    GetHistoryRequest request;
    request.set_id(id);
    HistoryRecord record;
    return client->GetHistory(NewContext().get(), request, &record);
  }

  ApplyReport RollBack(Controller::Stub* client, const std::string& id) {
    const grpc::Status seen = Read(client, id);
    EXPECT_TRUE(seen.ok()) << seen.error_message();
    RollBackRequest request;
    request.set_apply_id(id);
    const auto context = NewContext();
    return LastOf(client->RollBack(context.get(), request).get());
  }

  TestCertificates certificates_;
  ThreadScheduler scheduler_;
  TestController controller_;
  std::vector<std::unique_ptr<ScriptedHost>> hosts_;
  std::unique_ptr<RawHost> silent_;
};

// Threads that call over and over until they are stopped.
class Callers {
 public:
  ~Callers() {
    stop_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  void Start(std::function<void()> call) {
    threads_.emplace_back([this, call = std::move(call)] {
      while (!stop_) {
        call();
        ++calls_;
      }
    });
  }
  int calls() const { return calls_; }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<int> calls_{0};
  std::vector<std::thread> threads_;
};

TEST_F(LimitsTest, ViewerAtFullEffortHoldsUpNoRollback) {
  const auto operators = controller_.ClientAs(User("operator"));
  const std::string quiet_id = Applied(operators.get());
  EXPECT_EQ(RollBack(operators.get(), quiet_id).outcome(),
            ApplyReport::SUCCEEDED);
  const std::string id = Applied(operators.get());
  ASSERT_TRUE(controller_.history().Add(TestCheck(TestId(1), 4 << 20)).ok());
  // Larger than any window.
  ASSERT_TRUE(controller_.history().Add(TestCheck(TestId(2), 32 << 20)).ok());

  const TlsFiles viewer = User("viewer");
  UnreadStreams<CheckRequest, CheckEvent> dropped(&controller_, viewer,
                                                  &Controller::Stub::Check);
  for (int i = 0; i < 18; ++i) dropped.Open(Silent<CheckRequest>(100 + i));
  dropped.Drop();
  UnreadStreams<CheckRequest, CheckEvent> checks(&controller_, viewer,
                                                 &Controller::Stub::Check);
  UnreadStreams<LearnRequest, LearnEvent> learns(&controller_, viewer,
                                                 &Controller::Stub::Learn);
  // Its half of the runs at once, and its quarter of those that wait.
  checks.HoldAll(4 + 16, &Silent<CheckRequest>);
  learns.HoldAll(2 + 16, &Silent<LearnRequest>);
  const absl::Status full = checks.Hold(Silent<CheckRequest>(2000));
  EXPECT_EQ(full.code(), absl::StatusCode::kResourceExhausted) << full;
  EXPECT_THAT(std::string(full.message()),
              HasSubstr("a quarter of them for spiffe://test/user/viewer)"));
  const auto unread = controller_.ClientAs(viewer);
  std::vector<std::unique_ptr<UnreadRecord>> stalled;
  for (int i = 0; i < 4; ++i) {
    stalled.push_back(std::make_unique<UnreadRecord>(unread.get(), TestId(2)));
  }
  // Their windows are shut: they leave no place.
  EXPECT_EQ(Read(unread.get(), TestId(1)).error_code(),
            grpc::StatusCode::RESOURCE_EXHAUSTED);
  // One, for what is read at full effort.
  stalled.pop_back();
  const auto viewers = controller_.ClientAs(viewer);
  const auto others = controller_.ClientAs(viewer);
  Callers callers;
  for (Controller::Stub* client : {viewers.get(), others.get()}) {
    callers.Start([client] {
      ListHostsResponse hosts;
      client->ListHosts(NewContext().get(), {}, &hosts);
      ListHistoryRequest all;
      all.set_limit(1000);
      ListHistoryResponse history;
      client->ListHistory(NewContext().get(), all, &history);
    });
    callers.Start([client] {
      Read(client, TestId(1));
      GetSpecResponse spec;
      client->GetSpec(NewContext().get(), {}, &spec);
    });
  }
  ASSERT_TRUE(WaitUntil([&callers] { return callers.calls() >= 20; }));

  EXPECT_EQ(RollBack(operators.get(), id).outcome(), ApplyReport::SUCCEEDED);
  // Nor an operator's check, which has a turn of its own.
  const auto context = NewContext();
  const auto check =
      operators->Check(context.get(), Of<CheckRequest>({"server0"}));
  CheckEvent event;
  bool judged = false;
  while (check->Read(&event)) judged |= event.has_report();
  EXPECT_TRUE(judged);
  EXPECT_TRUE(check->Finish().ok());
  // The viewer has given up nothing meanwhile: neither waited for it.
  EXPECT_EQ(checks.Hold(Silent<CheckRequest>(2001)).code(),
            absl::StatusCode::kResourceExhausted);
}

TEST_F(LimitsTest, NobodyEndsARunByAnIdThatItKnows) {
  const auto operators = controller_.ClientAs(User("operator"));
  const std::string id = Applied(operators.get());
  AbortApplyRequest abort;
  abort.set_id(id);
  AbortApplyResponse aborted;
  for (const char* role : {"viewer", "operator"}) {
    const auto client = controller_.ClientAs(User(role));
    EXPECT_EQ(
        client->AbortApply(NewContext().get(), abort, &aborted).error_code(),
        grpc::StatusCode::PERMISSION_DENIED)
        << role;
  }
  // Nor by one that it guesses: it is told that there is none.
  const auto admins = controller_.ClientAs(User("admin"));
  abort.set_id("0000000000000000");
  EXPECT_EQ(
      admins->AbortApply(NewContext().get(), abort, &aborted).error_code(),
      grpc::StatusCode::NOT_FOUND);
}

}  // namespace
}  // namespace clusterd
