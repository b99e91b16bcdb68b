#include "daemon/host/change/host_reader.h"

#include <memory>
#include <optional>
#include <string>

#include "daemon/host/machine_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

constexpr char kTool[] = "/usr/local/Ascend/driver/tools/hccn_tool";
constexpr char kTlsOn[] =
    "dev_id:3, tls switch[1](0:disable, 1:enable), tls preconfigured[1]"
    "(0:non-preset, 1:preset), tls alarm time threshold[60]days\n";

class HostReaderTest : public ::testing::Test {
 protected:
  HostReaderTest() {
    root_.WriteProgram(kTool, "");
    root_.Write("/dev/davinci3", "");
    root_.Write("/etc/hccn.conf", "address_3=10.20.0.17\ntls_enable_3=0\n");
    runner_.Answers("hccn_tool -i 3 -ip -g",
                    "ipaddr:10.20.0.17\nnetmask:255.255.255.0\n");
    runner_.Answers("hccn_tool -i 3 -gateway -g",
                    "default gateway:10.20.0.1, Iface:eth3\n");
    runner_.Answers("hccn_tool -i 3 -netdetect -g",
                    "netdetect addr: 10.20.0.1\n");
    runner_.Answers("hccn_tool -i 3 -tls -g", kTlsOn);
  }

  ScratchRoot root_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  MachineObserver observer_{root_.paths(), &runner_, &clock_};
  const std::unique_ptr<HostReader> reader_ = MakeHostReader(
      {&observer_, observer_.locks(), root_.paths(), &runner_, &clock_});
};

TEST_F(HostReaderTest, AsksOneDeviceOnlyWhatAChangeCanSet) {
  const DeviceFacts facts = reader_->ReadDevice(3);
  EXPECT_EQ(facts.id(), 3u);
  EXPECT_EQ(facts.address().value().settings(0).address(), "10.20.0.17");
  EXPECT_EQ(facts.gateway().value(), "10.20.0.1");
  EXPECT_EQ(facts.detect_address().value(), "10.20.0.1");
  EXPECT_THAT(
      runner_.commands(),
      ElementsAre("hccn_tool -i 3 -ip -g", "hccn_tool -i 3 -gateway -g",
                  "hccn_tool -i 3 -netdetect -g", "hccn_tool -i 3 -mtu -g",
                  "hccn_tool -i 3 -tls -g", "hccn_tool -i 3 -pfc -g",
                  "hccn_tool -i 3 -udp -g", "hccn_tool -i 3 -dscp_to_tc -g"));
}

TEST_F(HostReaderTest, BelievesTheDeviceAndNotTheFileAboutTls) {
  const DeviceFacts facts = reader_->ReadDevice(3);
  EXPECT_TRUE(facts.tls().value().enabled());
  EXPECT_EQ(facts.tls().value().source(), "hccn_tool -tls -g");
}

TEST_F(HostReaderTest, AsksForTlsOverACopyWhereTheFileHasNoKey) {
  for (const char* conf : {"address_3=10.20.0.17\n", "tls_enable_2=1\n", ""}) {
    root_.Write("/etc/hccn.conf", conf);
    EXPECT_TRUE(reader_->ReadDevice(3).tls().value().enabled());
    ASSERT_FALSE(runner_.copies().empty());
    EXPECT_EQ(runner_.copies().back().text, conf);
    EXPECT_EQ(runner_.copies().back().path, root_.path() + "/etc/hccn.conf");
  }
  EXPECT_EQ(runner_.copies().size(), 3u);
}

TEST_F(HostReaderTest, NeverAsksForTlsWithoutAFileToCopy) {
  root_.Remove("/etc/hccn.conf");
  EXPECT_EQ(reader_->ReadDevice(3).tls().missing().reason(),
            Missing::NOT_QUERIED);
  reader_->ReadHost();
  EXPECT_THAT(runner_.commands(), Not(Contains(HasSubstr("-tls"))));
}

TEST_F(HostReaderTest, TakesTurnsWithTheObserverAtADevice) {
  const auto impatient =
      MakeHostReader({&observer_, observer_.locks(), root_.paths(), &runner_,
                      &clock_, absl::Milliseconds(1), absl::Milliseconds(1)});
  std::optional<DeviceLocks::Lock> lock =
      *observer_.locks()->Take(3, absl::ZeroDuration());
  EXPECT_EQ(impatient->ReadDevice(3).address().missing().reason(),
            Missing::TIMED_OUT);
  EXPECT_THAT(runner_.commands(), IsEmpty());
  lock.reset();
  EXPECT_TRUE(impatient->ReadDevice(3).address().has_value());
}

TEST_F(HostReaderTest, ReadsTheWholeHostAsAnObservationDoes) {
  root_.Write("/proc/sys/net/core/somaxconn", "4096\n");
  const HostFacts facts = reader_->ReadHost();
  ASSERT_EQ(facts.devices_size(), 1);
  EXPECT_EQ(facts.devices(0).address().value().settings(0).address(),
            "10.20.0.17");
  EXPECT_TRUE(facts.devices(0).tls().value().enabled());
  EXPECT_EQ(facts.kernel().somaxconn().value(), 4096u);
  EXPECT_EQ(facts.hccn_conf().value().entries_size(), 2);
  // Users determine how long that takes, and plans do not use it.
  EXPECT_EQ(facts.npu_processes().missing().reason(), Missing::NOT_QUERIED);
}

TEST_F(HostReaderTest, SpeaksTheCommandLineOfTheToolThatIsThere) {
  runner_.NowFails("hccn_tool -i 3 -ip -g", 2,
                   "Please specify a valid mode.\n");
  const HostFacts facts = reader_->ReadHost();
  EXPECT_EQ(facts.hccn_tool().generation(), NpuToolFacts::ASCEND_950);
  EXPECT_THAT(runner_.commands(), Contains(HasSubstr("hccn_tool -g ")));
}

TEST_F(HostReaderTest, ReadsOneFirewall) {
  root_.WriteProgram("/usr/sbin/ufw", "");
  root_.Write("/etc/ufw/ufw.conf", "ENABLED=yes\n");
  runner_.Answers("ufw status verbose", "Status: inactive\n");
  const FirewallFacts ufw = reader_->ReadFirewall(UFW);
  EXPECT_TRUE(ufw.installed().value());
  EXPECT_FALSE(ufw.active().value());
  EXPECT_TRUE(ufw.enabled_at_boot().value());
  EXPECT_FALSE(reader_->ReadFirewall(FIREWALLD).installed().value());
  EXPECT_THAT(runner_.commands(), ElementsAre("ufw status verbose"));
}

}  // namespace
}  // namespace clusterd
