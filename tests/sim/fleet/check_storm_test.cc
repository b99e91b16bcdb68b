// A thousand schedulers that ask for the same check at once.
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::Pair;

constexpr int kCalls = 1000;
constexpr int kPerConnection = 16;
constexpr int kHosts = 3;

// Hosts that answer when the test releases them.
class HeldHosts {
 public:
  HeldHosts(TestCertificates* certificates, TestController* controller) {
    const auto spec = controller->spec().spec();
    for (const ServerSpec& server : spec->servers()) {
      observers_.push_back(
          std::make_unique<MemoryObserver>(MakeHealthyHost(*spec, server)));
      observers_.back()->HoldUntil(&gate_);
      TestHost::Options options;
      options.name = server.host();
      options.controller = controller->address();
      options.tls = certificates->Host(options.name);
      hosts_.push_back(
          std::make_unique<TestHost>(options, observers_.back().get()));
      EXPECT_TRUE(hosts_.back()->WaitAttached());
    }
  }
  ~HeldHosts() { LetGo(); }

  bool WaitUntilAllAreAsked() {
    bool asked = true;
    for (const auto& observer : observers_) {
      asked = asked && observer->WaitForBegun(1);
    }
    return asked;
  }
  void LetGo() {
    if (!gate_.HasBeenNotified()) gate_.Notify();
  }

 private:
  absl::Notification gate_;
  std::vector<std::unique_ptr<MemoryObserver>> observers_;
  std::vector<std::unique_ptr<TestHost>> hosts_;
};

// One call, which the controller has when the constructor returns.
struct Call {
  explicit Call(Controller::Stub* client)
      : context(NewStreamContext()),
        stream(client->Check(context.get(), CheckRequest())) {
    CheckEvent event;
    has_come = stream->Read(&event);
  }
  // The end of the check: the id of its run, or the error.
  std::string Finish() {
    std::string id;
    CheckEvent event;
    while (stream->Read(&event)) {
      if (event.has_report()) id = event.report().run_id();
    }
    const grpc::Status status = stream->Finish();
    return status.ok() ? id : status.error_message();
  }

  std::unique_ptr<grpc::ClientContext> context;
  std::unique_ptr<grpc::ClientReader<CheckEvent>> stream;
  bool has_come = false;
};

class CheckStormTest : public testing::TestWithParam<int> {};

TEST_P(CheckStormTest, IsTwoRunsAndEveryCallIsAnswered) {
  const int users = GetParam();
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, kHosts, &scheduler);
  controller.Start();
  HeldHosts hosts(&certificates, &controller);
  std::vector<std::unique_ptr<Controller::Stub>> clients;
  std::vector<std::unique_ptr<Call>> calls;
  for (int i = 0; i < kCalls; ++i) {
    if (i % kPerConnection == 0) {
      const int user = i / kPerConnection % users;
      clients.push_back(controller.ClientAs(
          certificates.User(absl::StrCat("scheduler", user))));
    }
    calls.push_back(std::make_unique<Call>(clients.back().get()));
    ASSERT_TRUE(calls.back()->has_come) << i << calls.back()->Finish();
    // A later check may not get the first one's answer.
    if (i == 0) {
      ASSERT_TRUE(hosts.WaitUntilAllAreAsked());
    }
  }
  hosts.LetGo();

  const std::string first = calls.front()->Finish();
  std::map<std::string, int> later;
  for (int i = 1; i < kCalls; ++i) ++later[calls[i]->Finish()];
  const auto runs = controller.history().List({}).value();
  ASSERT_EQ(runs.entries_size(), 2);
  EXPECT_EQ(runs.entries(1).id(), first);
  EXPECT_THAT(later, ElementsAre(Pair(runs.entries(0).id(), kCalls - 1)));
}

// A call of one user takes none of the places of its runs.
INSTANTIATE_TEST_SUITE_P(Users, CheckStormTest, testing::Values(1, 4),
                         testing::PrintToStringParamName());

}  // namespace
}  // namespace clusterd
