#include "tests/sim/fleet/fleet.h"

#include "daemon/process/scheduler.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

TEST(FleetTest, EveryHostAttachesAndACheckOfAllPasses) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 16, &scheduler);
  controller.Start();
  CapturedLog log;
  Fleet fleet(controller.address(), "test",
              MakeHealthyFacts(*controller.spec().spec()),
              certificates.authority(), &log);
  ASSERT_TRUE(fleet.WaitAllAttached(kPatience)) << log.Lines();

  Report report;
  ASSERT_TRUE(controller.Check(CheckRequest(), &report).ok());

  EXPECT_EQ(report.verdict(), PASS) << report.DebugString();
  ASSERT_EQ(report.hosts_size(), 16);
  EXPECT_EQ(report.hosts(0).simulation(), "in memory");
}

TEST(FleetObserverTest, HasReasonForHostsItDoesNotKnow) {
  FleetObserver observer({}, "");
  EXPECT_EQ(observer.Observe("nobody", {}).missing().reason(), Missing::ABSENT);
}

}  // namespace
}  // namespace clusterd
