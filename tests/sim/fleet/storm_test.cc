// A thousand hosts come at once, and again when the controller has restarted.
#include "absl/time/clock.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/fleet/fleet.h"
#include "tests/support/process/captured_log.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

TEST(StormTest, OfAThousandHostsIsServedAsFastAsMayBeAndNoneIsLost) {
  RaiseDescriptorLimit();
  TestCertificates certificates;
  ThreadScheduler scheduler;
  ControllerServerOptions options;
  // Handshakes are slowed down: many wait for long, as on a slow machine.
  options.admission.handshakes = 16;
  options.admission.handshakes_of_address = 8;
  options.admission.most_rate = 250;
  TestController controller(&certificates, 1000, &scheduler, options);
  controller.Start();
  CapturedLog log;
  const absl::Time start = absl::Now();
  Fleet fleet(controller.address(), "test",
              MakeHealthyFacts(*controller.spec().spec()),
              certificates.authority(), &log);
  ASSERT_TRUE(fleet.WaitAllAttached(absl::Minutes(4))) << fleet.attached();
  EXPECT_GE(absl::Now() - start, absl::Seconds(3));
  EXPECT_EQ(fleet.lost(), 0) << log.Lines();

  controller.Stop();
  controller.Start();

  ASSERT_TRUE(fleet.WaitLost(1000, absl::Minutes(1)));
  ASSERT_TRUE(fleet.WaitAllAttached(absl::Minutes(4))) << fleet.attached();
  EXPECT_EQ(fleet.lost(), 1000);
  EXPECT_THAT(controller.log().Lines(), Not(HasSubstr("cut off")));
}

}  // namespace
}  // namespace clusterd
