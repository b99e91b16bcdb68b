#include "tests/sim/fleet/changing_host.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_replace.h"
#include "absl/synchronization/notification.h"
#include "config/plan/make_plan.h"
#include "config/rules/judge.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/test_audit.h"

namespace clusterd {
namespace {

using ::testing::IsEmpty;
using ::testing::Not;

class ChangingHostTest : public testing::TestWithParam<const char*> {
 protected:
  ChangingHostTest() : spec_(SpecOf(GetParam())) {
    for (int i = 0; i < spec_.servers_size(); ++i) {
      hosts_.push_back(
          std::make_unique<ChangingHost>(spec_, i, audit_.log(), &log_));
    }
  }

  // Without the gateways of an A1 server, which has one for four devices.
  static ClusterSpec SpecOf(const std::string& product) {
    ClusterSpec spec = MakeSpec(product, "", 2);
    if (product != "atlas-training") return spec;
    for (ServerSpec& server : *spec.mutable_servers()) {
      for (DeviceSpec& device : *server.mutable_devices()) {
        device.clear_gateway();
      }
    }
    return spec;
  }
  std::vector<HostFacts> Facts() {
    std::vector<HostFacts> facts;
    for (const auto& host : hosts_) {
      facts.push_back(host->observer()->Observe(host->name(), {}));
      facts.back().clear_observed_at_ms();
    }
    return facts;
  }
  Report Check() {
    const std::vector<HostFacts> facts = Facts();
    return BuildReport(spec_, Pointers(facts), {});
  }
  ClusterPlan Plan() {
    const std::vector<HostFacts> facts = Facts();
    return MakePlan(spec_, Pointers(facts));
  }
  ApplyResult Apply(ChangingHost* host, const HostPlan& plan) {
    ApplyTask task;
    task.set_apply_id("a1");
    *task.mutable_plan() = plan;
    ApplyResult result;
    absl::Notification done;
    host->applies()->Apply(
        task, [](const StepOutcome&) {},
        [&](ApplyResult ended) {
          result = std::move(ended);
          done.Notify();
        });
    done.WaitForNotification();
    return result;
  }
  ApplyResult RollBack(ChangingHost* host) {
    RollbackTask task;
    task.set_apply_id("a1");
    ApplyResult result;
    absl::Notification done;
    host->applies()->RollBack(task, [&](ApplyResult ended) {
      result = std::move(ended);
      done.Notify();
    });
    done.WaitForNotification();
    return result;
  }

  const ClusterSpec spec_;
  CapturedLog log_;
  TestAudit audit_;
  std::vector<std::unique_ptr<ChangingHost>> hosts_;
};

TEST_P(ChangingHostTest, PassesByItsPlanAndIsTakenBack) {
  const std::vector<HostFacts> before = Facts();
  EXPECT_EQ(Check().verdict(), FAIL);
  const ClusterPlan plan = Plan();
  for (size_t i = 0; i < hosts_.size(); ++i) {
    const HostPlan& host = plan.hosts(static_cast<int>(i));
    EXPECT_THAT(host.blocked(), IsEmpty()) << host.DebugString();
    ASSERT_THAT(host.steps(), Not(IsEmpty()));
    const ApplyResult applied = Apply(hosts_[i].get(), host);
    EXPECT_EQ(applied.outcome(), ApplyResult::APPLIED) << applied.error();
  }
  const Report passed = Check();
  EXPECT_NE(passed.verdict(), FAIL) << passed.DebugString();
  EXPECT_NE(passed.verdict(), UNKNOWN) << passed.DebugString();

  for (const auto& host : hosts_) {
    const ApplyResult back = RollBack(host.get());
    EXPECT_EQ(back.outcome(), ApplyResult::ROLLED_BACK) << back.error();
  }
  const std::vector<HostFacts> after = Facts();
  for (size_t i = 0; i < hosts_.size(); ++i) {
    EXPECT_EQ(after[i].DebugString(), before[i].DebugString());
  }
}

INSTANTIATE_TEST_SUITE_P(
    Products, ChangingHostTest,
    testing::Values("atlas-training", "atlas-a2", "atlas-a2-box16", "atlas-a3",
                    "atlas-a3-superpod", "atlas-300t"),
    [](const auto& product) {
      return absl::StrReplaceAll(product.param, {{"-", "_"}});
    });

TEST(ChangingHostOfAnAscend950Test, HasItsDevicesAsTheSpecHasThem) {
  const ClusterSpec spec = MakeSpec("ascend-950", "", 1);
  CapturedLog log;
  TestAudit audit;
  ChangingHost host(spec, 0, audit.log(), &log);
  const HostFacts seen = host.observer()->Observe(host.name(), {});
  const HostFacts healthy = MakeHealthyHost(spec, spec.servers(0));
  ASSERT_EQ(seen.devices_size(), healthy.devices_size());
  EXPECT_EQ(seen.devices(0).DebugString(), healthy.devices(0).DebugString());
  EXPECT_EQ(seen.hccn_conf().DebugString(), healthy.hccn_conf().DebugString());
  EXPECT_EQ(seen.kernel().somaxconn().value(), 4096u);
}

}  // namespace
}  // namespace clusterd
