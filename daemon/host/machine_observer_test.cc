#include "daemon/host/machine_observer.h"

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "daemon/host/command/posix_command_runner.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/host/logged_command_runner.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kTool[] = "/usr/local/Ascend/driver/tools/hccn_tool";

// The tool answers every query for any device.
constexpr char kGoodTool[] = R"sh(#!/bin/sh
[ "$1" = -i ] || exit 1
case "$3" in
  -ip) printf 'ipaddr:10.20.0.1%s\nnetmask:255.255.255.0\n' "$2";;
  -gateway) printf 'default gateway:10.20.0.1, Iface:eth%s\n' "$2";;
  -netdetect) echo 'netdetect address: 10.20.0.1';;
  -net_health) echo 'net health status: Success';;
  -link) echo 'link status: UP';;
  -lldp) echo;;
  -mtu) echo 'mtu:1500';;
  -cfg) [ "$4" = status ] && echo 'config status:SUCCESS';;
  -tls)  # Waits for the lock; stores the switch if it is not stored.
    conf="${0%/usr/local/*}/etc/hccn.conf"
    flock "$conf" true
    grep -q "^tls_enable_$2=" "$conf" || echo "tls_enable_$2=1" >>"$conf"
    echo "dev_id:$2, tls switch[1](0:disable, 1:enable)";;
  *) echo 'Get invalid major cmd.' >&2; exit 3;;
esac
)sh";

// A host of `devices` NPUs below a folder, with the machine's own processes and
// clock.
class SimulatedHost {
 public:
  explicit SimulatedHost(int devices, const std::string& tool = kGoodTool,
                         CommandRunner* runner = nullptr)
      : observer_(root_.paths(), runner == nullptr ? &posix_ : runner,
                  &clock_) {
    for (int id = 0; id < devices; ++id) {
      root_.Write(absl::StrCat("/dev/davinci", id), "");
    }
    root_.WriteProgram(kTool, tool);
    root_.Write("/etc/hccn.conf", "tls_enable_0=0\n");
  }
  SimulatedHost(int devices, CommandRunner* runner)
      : SimulatedHost(devices, kGoodTool, runner) {}

  ScratchRoot& root() { return root_; }
  std::string conf() const { return root_.path() + "/etc/hccn.conf"; }
  HostFacts Observe(const ObserveRequest& request) {
    return observer_.Observe("server0", request);
  }
  HostFacts Observe();

 private:
  ScratchRoot root_;
  PosixCommandRunner posix_;
  SystemClock clock_;
  MachineObserver observer_;
};

ObserveRequest Request(absl::Duration command = kPatience,
                       absl::Duration host = kPatience) {
  ObserveRequest request;
  request.set_command_ms(absl::ToInt64Milliseconds(command));
  request.set_host_ms(absl::ToInt64Milliseconds(host));
  ObserveRequest::PortRange* range = request.add_socket_ports();
  range->set_first(60000);
  range->set_last(60031);
  return request;
}

ObserveRequest Expecting(NpuToolFacts::Generation generation) {
  ObserveRequest request = Request();
  request.set_generation(generation);
  return request;
}

ObserveRequest AskingForTls() {
  ObserveRequest request = Request();
  request.set_ask_tls(true);
  return request;
}

HostFacts SimulatedHost::Observe() { return Observe(Request()); }

// kGoodTool with `first` before all else.
std::string GoodToolAfter(const std::string& first) {
  return absl::StrCat("#!/bin/sh\n", first, kGoodTool + sizeof("#!/bin/sh"));
}

TEST(MachineObserverTest, ObservesAHostThroughARealTool) {
  SimulatedHost host(8);
  const HostFacts facts = host.Observe();
  EXPECT_EQ(facts.host(), "server0");
  EXPECT_EQ(facts.hccn_tool().path().value(), host.root().path() + kTool);
  EXPECT_EQ(facts.hccn_tool().generation(), NpuToolFacts::CLASSIC);
  ASSERT_EQ(facts.devices_size(), 8);
  for (int i = 0; i < 8; ++i) {
    const DeviceFacts& device = facts.devices(i);
    EXPECT_EQ(device.id(), static_cast<uint32_t>(i));
    ASSERT_TRUE(device.address().has_value()) << device.ShortDebugString();
    EXPECT_EQ(device.address().value().settings(0).address(),
              absl::StrCat("10.20.0.1", i));
    EXPECT_EQ(device.link().value(), LinkFact::UP);
    EXPECT_EQ(device.mtu().value(), 1500u);
    EXPECT_EQ(device.health().missing().reason(), Missing::ABSENT);
  }
  EXPECT_TRUE(facts.devices(0).tls().has_value());
  EXPECT_EQ(facts.hccn_conf().value().entries_size(), 1);
  EXPECT_GT(facts.observed_at_ms(), 0);
}

TEST(MachineObserverTest, AsksNpuSmiAboutTheSameDevices) {
  SimulatedHost host(2);
  host.root().WriteProgram("/usr/local/sbin/npu-smi", R"sh(#!/bin/sh
case "$*" in
  "info -m") printf '\tNPU ID  Chip ID  Chip Logic ID  Chip Name\n'
    printf '\t%s  0  %s  Ascend 910B\n' 5 0 6 1;;
  "info -t health -i 6 -c 0")
    printf '\tHealth Status : Alarm\n\tError Code : 80E18402\n';;
  "info -t health -i 5 -c 0") echo 'Health Status : OK';;
  *) echo "This device does not support querying $3.";;
esac
)sh");
  const HostFacts facts = host.Observe();
  // hccn_tool's answers stay beside it.
  EXPECT_THAT(facts, HasFields(R"(
      devices { health { value { health: OK } } }
      devices { health { value { health: ALARM } }
                hccs { missing { reason: NOT_SUPPORTED } }
                id: 1 link { value: UP } })"));
}

TEST(MachineObserverTest, GivesReasonsForAnEmptyMachine) {
  ScratchRoot root;
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  MachineObserver observer(root.paths(), &runner, &clock);
  const HostFacts facts = observer.Observe("server0", Request());
  for (const Missing& missing :
       {facts.device_ids().missing(), facts.hccn_tool().path().missing(),
        facts.hccn_conf().missing(), facts.kernel().somaxconn().missing(),
        facts.sockets().missing(), facts.versions().driver().missing(),
        facts.identity().hostname().missing()}) {
    EXPECT_EQ(missing.reason(), Missing::ABSENT) << missing.DebugString();
  }
  EXPECT_EQ(facts.devices_size(), 0);
  EXPECT_FALSE(facts.ufw().installed().value());
  EXPECT_FALSE(facts.firewalld().installed().value());
  EXPECT_THAT(runner.commands(), IsEmpty());
}

TEST(MachineObserverTest, RunsNothingWhereThereAreDevicesAndNoTool) {
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  SimulatedHost host(8, &runner);
  host.root().Remove(kTool);
  const HostFacts facts = host.Observe();
  ASSERT_EQ(facts.devices_size(), 8);
  EXPECT_EQ(facts.devices(7).address().missing().reason(), Missing::ABSENT);
  EXPECT_EQ(facts.devices(7).mtu().missing().reason(), Missing::ABSENT);
  EXPECT_THAT(runner.commands(), IsEmpty());
}

TEST(MachineObserverTest, DoesNotRunAToolThatAnybodyCouldReplace) {
  SimulatedHost host(1, "#!/bin/sh\necho ran > \"$0.ran\"\n");
  host.root().SetMode("/usr/local/Ascend", 0777);
  const HostFacts facts = host.Observe();
  EXPECT_EQ(facts.hccn_tool().path().missing().reason(),
            Missing::NOT_PERMITTED);
  EXPECT_EQ(facts.devices(0).link().missing().reason(), Missing::NOT_PERMITTED);
  const std::string trace = host.root().path() + kTool + ".ran";
  EXPECT_NE(access(trace.c_str(), F_OK), 0);
}

// Gives device 1 a short deadline, reported as the regular one.
class HastyRunner final : public CommandRunner {
 public:
  absl::StatusOr<CommandResult> Run(const Command& command) override {
    if (command.argv[2] != "1") return posix_.Run(command);
    Command hasty = command;
    hasty.deadline = absl::Milliseconds(100);
    absl::StatusOr<CommandResult> result = posix_.Run(hasty);
    if (result.ok()) result->elapsed = command.deadline;
    return result;
  }

 private:
  PosixCommandRunner posix_;
};

TEST(MachineObserverTest, KeepsOtherDevicesWhenOneHangs) {
  HastyRunner runner;
  SimulatedHost host(3, GoodToolAfter("[ \"$2\" = 1 ] && sleep 1000\n"),
                     &runner);
  const HostFacts facts = host.Observe(Request(absl::Minutes(1)));
  EXPECT_EQ(facts.devices(0).mtu().value(), 1500u);
  EXPECT_THAT(
      facts.devices(1).address(),
      IsMissing(Missing::TIMED_OUT, HasSubstr("1m (deadlines.command)")));
  EXPECT_EQ(facts.devices(1).mtu().missing().reason(), Missing::TIMED_OUT);
  EXPECT_EQ(facts.devices(2).mtu().value(), 1500u);
}

TEST(MachineObserverTest, EndsAtTheHostsDeadline) {
  SimulatedHost host(2, "#!/bin/sh\nsleep 1000\n");
  // Otherwise the command's own deadline would end it.
  const HostFacts facts =
      host.Observe(Request(kPatience, absl::Milliseconds(300)));
  EXPECT_THAT(facts.devices(0).address(),
              IsMissing(Missing::TIMED_OUT, HasSubstr("deadlines.host")));
}

TEST(MachineObserverTest, TakesRubbishForNoValue) {
  SimulatedHost host(1, "#!/bin/sh\nhead -c 2000 /dev/urandom\n");
  const HostFacts facts = host.Observe();
  EXPECT_FALSE(facts.devices(0).address().has_value());
  EXPECT_FALSE(facts.devices(0).lldp().has_value());
  EXPECT_FALSE(facts.devices(0).net_health().has_value());
  EXPECT_TRUE(HostFacts().ParseFromString(facts.SerializeAsString()));
}

TEST(MachineObserverTest, NoticesAToolOfAnotherGenerationThanExpected) {
  const struct {
    NpuToolFacts::Generation expected;
    NpuToolFacts::Generation is;
    const char* says;
    const char* name;
  } kCases[] = {{NpuToolFacts::ASCEND_950, NpuToolFacts::CLASSIC,
                 "Get invalid major cmd type. The valid major cmd type should "
                 "be \"-a\" or \"-i\".",
                 "classic"},
                {NpuToolFacts::CLASSIC, NpuToolFacts::ASCEND_950,
                 "Please specify a valid mode.", "Ascend 950"}};
  for (const auto& [expected, is, says, name] : kCases) {
    SimulatedHost host(
        2, absl::StrCat("#!/bin/sh\necho '", says, "' >&2\nexit 2\n"));
    const HostFacts facts = host.Observe(Expecting(expected));
    EXPECT_EQ(facts.hccn_tool().generation(), is);
    for (const DeviceFacts& device : facts.devices()) {
      EXPECT_THAT(device.link().missing().detail(),
                  Tells("fact-other-tool", kAny, name));
    }
  }
}

TEST(MachineObserverTest, BelievesTheRequestAboutAToolThatSaysNothing) {
  SimulatedHost host(1, "#!/bin/sh\nexit 1\n");
  for (const auto generation :
       {NpuToolFacts::CLASSIC, NpuToolFacts::ASCEND_950}) {
    EXPECT_EQ(host.Observe(Expecting(generation)).hccn_tool().generation(),
              generation);
  }
}

TEST(MachineObserverTest, ReadsTheSimulationMarkAndNoSocketsWithoutPorts) {
  SimulatedHost host(0);
  host.root().Write("/etc/clusterd/simulation", "side by side\n");
  const HostFacts facts = host.Observe(ObserveRequest());
  EXPECT_EQ(facts.simulation(), "side by side");
  EXPECT_EQ(facts.sockets().state_case(), SocketsFact::STATE_NOT_SET);
}

TEST(MachineObserverTest, RejectsPortsThatAreNoRange) {
  SimulatedHost host(0);
  for (const auto& [first, last] :
       std::map<uint32_t, uint32_t>{{7, 6}, {60000, 65536}}) {
    ObserveRequest request;
    ObserveRequest::PortRange* range = request.add_socket_ports();
    range->set_first(first);
    range->set_last(last);
    EXPECT_EQ(host.Observe(request).sockets().missing().reason(),
              Missing::NOT_QUERIED);
  }
}

TEST(MachineObserverTest, ReportsTheRiseOfErrorCountersSinceTheLastRead) {
  SimulatedHost host(1, R"sh(#!/bin/sh
[ "$3" = -stat ] || { echo 'Get invalid major cmd.' >&2; exit 3; }
echo 'packet statistics:'
echo "roce_rx_err_pkt_num:$(cat "${0%/usr/local/*}/count")"
)sh");
  const auto rises = [&](const std::string& count) {
    host.root().Write("/count", count);
    return host.Observe().devices(0).counter_rises();
  };
  const CounterRisesFact first = rises("100");
  EXPECT_TRUE(first.has_value()) << first.ShortDebugString();
  EXPECT_FALSE(first.value().has_seconds());
  const CounterRisesFact second = rises("112");
  EXPECT_TRUE(second.value().has_seconds());
  EXPECT_THAT(second, HasFields("value { rises { name: 'roce_rx_err_pkt_num' "
                                "rise: 12 } }"));
  // A restarted clusterd has nothing to compare with.
  PosixCommandRunner runner;
  SystemClock clock;
  MachineObserver another(host.root().paths(), &runner, &clock);
  EXPECT_FALSE(another.Observe("server0", Request())
                   .devices(0)
                   .counter_rises()
                   .value()
                   .has_seconds());
}

// Without the device's word about TLS.
const std::vector<std::string> kQueries = {
    "-ip",      "-gateway", "-netdetect", "-net_health", "-link", "-lldp",
    "-mtu",     "-cfg",     "-speed",     "-pfc",        "-udp",  "-dscp_to_tc",
    "-prio_tc", "-optical", "-link_stat", "-stat"};

TEST(MachineObserverTest, AsksEveryDeviceForEveryFactInOrder) {
  PosixCommandRunner posix;
  LoggedCommandRunner runner(&posix);
  SimulatedHost host(1, &runner);
  host.Observe();
  std::vector<std::string> queries;
  for (const LoggedCommand& recorded : runner.commands()) {
    queries.push_back(recorded.command.argv[3]);
    EXPECT_EQ(recorded.command.argv[0], host.root().path() + kTool);
    EXPECT_EQ(recorded.command.argv[4],
              queries.back() == "-cfg" ? "status" : "-g");
  }
  EXPECT_EQ(queries, kQueries);
}

TEST(MachineObserverTest, AsksForTlsIfTheRequestWantsTheDevicesWord) {
  PosixCommandRunner posix;
  LoggedCommandRunner runner(&posix);
  SimulatedHost host(2, &runner);
  EXPECT_THAT(host.Observe(AskingForTls()).devices(0).tls(),
              HasFields("value { enabled: true in_file: '0' }"));
  std::vector<std::string> queries;
  for (const LoggedCommand& recorded : runner.commands()) {
    if (recorded.command.argv[2] == "0") {
      queries.push_back(recorded.command.argv[3]);
    }
  }
  // Queried again where no copy is possible.
  queries.erase(std::unique(queries.begin(), queries.end()), queries.end());
  const auto tls = std::find(queries.begin(), queries.end(), "-tls");
  ASSERT_NE(tls, queries.end());
  EXPECT_EQ(*(tls - 1), "-speed");
  queries.erase(tls);
  EXPECT_EQ(queries, kQueries);
}

// The tool writes to the file that replaces an untouched /etc/hccn.conf.
TEST(MachineObserverTest, AsksForTlsWithoutAKeyAndTheHostsFileStaysAsItIs) {
  SimulatedHost host(2);
  struct stat before;
  ASSERT_EQ(stat(host.conf().c_str(), &before), 0);
  const HostFacts facts = host.Observe();
  struct stat after;
  ASSERT_EQ(stat(host.conf().c_str(), &after), 0);
  EXPECT_EQ(after.st_ino, before.st_ino);
  EXPECT_EQ(after.st_size, before.st_size);
  EXPECT_EQ(absl::TimeFromTimespec(after.st_mtim),
            absl::TimeFromTimespec(before.st_mtim));
  EXPECT_EQ(absl::TimeFromTimespec(after.st_ctim),
            absl::TimeFromTimespec(before.st_ctim));
  EXPECT_EQ(TextOfFile(host.conf()), "tls_enable_0=0\n");
  EXPECT_EQ(facts.hccn_conf().value().entries_size(), 1);
  EXPECT_FALSE(facts.devices(0).tls().value().enabled());
  const TlsFact& asked = facts.devices(1).tls();
  if (asked.missing().reason() == Missing::NOT_QUERIED) {
    GTEST_SKIP() << asked.missing().detail();
  }
  EXPECT_TRUE(asked.value().enabled());
  EXPECT_EQ(asked.value().source(), "hccn_tool -tls -g");
}

// A user who may read the file holds the lock, for which the tool would wait.
TEST(MachineObserverTest, KnowsTheTlsSwitchWhileTheLockOfTheFileIsHeld) {
  SimulatedHost host(2);
  // The device without a key shows whether a copy is possible.
  const TlsFact first = host.Observe().devices(1).tls();
  if (first.missing().reason() == Missing::NOT_QUERIED) {
    GTEST_SKIP() << first.missing().detail();
  }
  const int held = open(host.conf().c_str(), O_RDONLY | O_CLOEXEC);
  ASSERT_EQ(flock(held, LOCK_EX | LOCK_NB), 0);
  const TlsFact fact = host.Observe(AskingForTls()).devices(0).tls();
  close(held);
  EXPECT_TRUE(fact.value().enabled()) << fact.ShortDebugString();
  EXPECT_EQ(fact.value().in_file(), "0");
}

// Counts concurrent commands, in total and per device, and holds the first
// `gather` of them until all of these have come.
class CountingRunner final : public CommandRunner {
 public:
  explicit CountingRunner(int gather) : gather_(gather) {}

  absl::StatusOr<CommandResult> Run(const Command& command) override
      ABSL_LOCKS_EXCLUDED(mutex_) {
    const std::string& device = command.argv[2];
    {
      absl::MutexLock lock(&mutex_);
      ++arrived_;
      most_per_device_ = std::max(most_per_device_, ++running_[device]);
      const auto complete = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
        return arrived_ >= gather_;
      };
      gathered_ =
          mutex_.AwaitWithTimeout(absl::Condition(&complete), kPatience) &&
          gathered_;
    }
    std::this_thread::yield();
    absl::MutexLock lock(&mutex_);
    --running_[device];
    CommandResult result;
    result.standard_output = "link status: UP\n";
    return result;
  }

  int most_per_device() const {
    absl::MutexLock lock(&mutex_);
    return most_per_device_;
  }
  bool gathered() const {
    absl::MutexLock lock(&mutex_);
    return gathered_;
  }

 private:
  const int gather_;
  mutable absl::Mutex mutex_;
  int arrived_ ABSL_GUARDED_BY(mutex_) = 0;
  bool gathered_ ABSL_GUARDED_BY(mutex_) = true;
  std::map<std::string, int> running_ ABSL_GUARDED_BY(mutex_);
  int most_per_device_ ABSL_GUARDED_BY(mutex_) = 0;
};

TEST(MachineObserverTest, AsksAllDevicesAtTheSameTime) {
  CountingRunner runner(16);
  SimulatedHost(16, &runner).Observe();
  EXPECT_TRUE(runner.gathered());
  EXPECT_EQ(runner.most_per_device(), 1);
}

TEST(MachineObserverTest, TakesTurnsBetweenTwoObservations) {
  CountingRunner runner(4);
  SimulatedHost host(4, &runner);
  std::thread other([&] { host.Observe(); });
  host.Observe();
  other.join();
  EXPECT_EQ(runner.most_per_device(), 1);
}

}  // namespace
}  // namespace clusterd
