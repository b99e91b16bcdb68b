// SIGHUP: the controller reloads the spec, unless it is bad, and starts its
// schedule.
#include <fstream>
#include <sstream>
#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "config/spec/spec_loader.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/running_controller.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::StartsWith;

GetSpecResponse GetSpec(TestController& controller) {
  GetSpecResponse response;
  const grpc::Status status =
      controller.Client()->GetSpec(NewContext().get(), {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return Rendered(response);
}

TEST(SpecReloadTest, GoodSpecTakesOver) {
  RunningController controller(1);
  const GetSpecResponse before = GetSpec(controller);
  EXPECT_EQ(before.spec().servers_size(), 1);
  EXPECT_EQ(before.path(), controller.spec_path());
  EXPECT_EQ(before.controller_version(), kClusterdVersion);
  std::ofstream(controller.spec_path())
      << SpecToYaml(MakeSpec("atlas-training", "", 4));

  ASSERT_TRUE(controller.spec().Reload().ok());

  const GetSpecResponse after = GetSpec(controller);
  EXPECT_EQ(after.spec().servers_size(), 4);
  EXPECT_GE(after.loaded_at_ms(), before.loaded_at_ms());
  EXPECT_EQ(after.refused(), "");
  EXPECT_EQ(controller.ListHosts().hosts_size(), 4);
}

TEST(SpecReloadTest, BadSpecIsRefusedWithEveryMistakeAndTheOldOneStays) {
  RunningController controller(1);
  std::ofstream(controller.spec_path()) << "version: 1\nnmae: test\n"
                                           "product: abacus\n";

  const absl::Status refused = controller.spec().Reload();

  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  const GetSpecResponse response = GetSpec(controller);
  EXPECT_EQ(response.spec().servers_size(), 1);
  EXPECT_THAT(response.refused(), StartsWith(controller.spec_path() + ":"));
  EXPECT_THAT(response.refused(), HasSubstr("nmae"));
  EXPECT_THAT(response.refused(), HasSubstr("abacus"));
  EXPECT_EQ(controller.ListHosts().spec_refused(), response.refused());
}

TEST(SpecReloadTest, SpecThatIsGoneIsRefusedAndGoodOneEndsTheRefusal) {
  RunningController controller(1);
  const std::string text = SpecToYaml(*controller.spec().spec());
  ASSERT_EQ(std::remove(controller.spec_path().c_str()), 0);
  EXPECT_EQ(controller.spec().Reload().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(GetSpec(controller).refused(), HasSubstr("No such file"));
  std::ofstream(controller.spec_path()) << text;
  EXPECT_TRUE(controller.spec().Reload().ok());
  EXPECT_EQ(GetSpec(controller).refused(), "");
}

// A schedule and a notifier, whose program writes its input to a file.
std::string ScheduleTo(const std::string& file) {
  ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  // The test advances the time, but the host runs in real time.
  MergeText(R"(deadlines {host_ms: 1800000 run_ms: 7200000}
               schedule {name: 'backlogs' every_s: 3600
                         selection {only: 'listen-backlog'}}
               notify {command: ['/bin/sh', '-c'] deadline_ms: 300000})",
            &spec);
  spec.mutable_notify(0)->add_command(
      "cat > " + file + "; grep -c '\"verdict\":\"fail\"' " + file);
  return SpecToYaml(spec);
}

TEST(SpecReloadTest, ScheduleLeadsToEntriesOfTheHistoryAndTellsANotifier) {
  ManualController controller(1);
  const std::string file = controller.certificates.folder() + "/news.json";
  std::ofstream(controller.spec_path()) << ScheduleTo(file);
  controller.ReadSpecAgain();
  const auto spec = controller.spec().spec();
  HostFacts facts = MakeHealthyHost(*spec, spec->servers(0));
  facts.mutable_kernel()->mutable_somaxconn()->set_value(4);
  MemoryObserver observer(facts);
  TestHost host(controller.HostAt("server0"), &observer);
  ASSERT_TRUE(host.WaitAttached());
  // The test's time runs so fast that a message may seem too late and the host
  // reconnects; the next check finds it. While a check's deadlines run, time
  // moves in rare steps: other timers look the same, and only time ends them.
  int idle = controller.scheduler.pending();
  int rounds = 0;
  ASSERT_TRUE(WaitUntil([&] {
    const bool is_idle = controller.scheduler.pending() <= idle;
    if (is_idle) idle = controller.scheduler.pending();
    if (is_idle || ++rounds % 200 == 0) {
      controller.scheduler.Advance(absl::Seconds(10));
      controller.pool().Drain();
    }
    return absl::StrContains(controller.log().Lines(), "backlogs: fail");
  })) << controller.log().Lines();
  ASSERT_TRUE(controller.log().WaitFor("notified /bin/sh: 1"));

  ListHistoryResponse history;
  ASSERT_TRUE(
      controller.Client()->ListHistory(NewContext().get(), {}, &history).ok());
  std::ostringstream news;
  news << std::ifstream(file).rdbuf();
  EXPECT_THAT(news.str(), HasSubstr("\"schedule\":\"backlogs\""));
  // Another failing check does not notify.
  const auto notified =
      absl::c_find_if(history.entries(), [&news](const HistoryEntry& entry) {
        return absl::StrContains(news.str(),
                                 "\"run_id\":\"" + entry.id() + "\"");
      });
  ASSERT_NE(notified, history.entries().end()) << news.str();
  EXPECT_EQ(notified->schedule(), "backlogs");
  EXPECT_EQ(notified->outcome(), "fail");
  EXPECT_EQ(notified->actor(), "spiffe://test/controller");
  EXPECT_THAT(news.str(), HasSubstr("net.core.somaxconn"));
}

TEST(SpecReloadTest, RuleOfAScheduleThatDoesNotExistIsRefusedAtItsPlace) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler);
  std::ofstream(controller.spec_path())
      << SpecToYaml(MakeSpec("atlas-training", "", 1))
      << "schedule:\n  - name: a\n    every: 1m\n    only: lnk\n";
  const absl::Status refused = controller.spec().Reload();
  EXPECT_EQ(refused.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(refused.message(),
              Tells("msg-spec-no-such-rule", "schedule[0].only", "\"lnk\"",
                    Worded("did-you-mean", "link")));
}

}  // namespace
}  // namespace clusterd
