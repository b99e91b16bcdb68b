#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/words/fact_text.h"
#include "config/words/words.h"
#include "daemon/host/machine_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::Each;
using ::testing::HasSubstr;
using ::testing::StartsWith;

constexpr char kIp[] = "hccn_tool -i 3 -ip -g";
constexpr char kGateway[] = "hccn_tool -i 3 -gateway -g";
constexpr char kHealth[] = "hccn_tool -i 3 -net_health -g";
constexpr char kRecovery[] = "hccn_tool -i 3 -cfg status";
constexpr char kSpeed[] = "hccn_tool -i 3 -speed -g";
constexpr char kTls[] = "hccn_tool -i 3 -tls -g";
constexpr char kNoIp[] = "Get ipconf failed, because no ip was preset there!\n";
constexpr char kFailed[] = "Command execute failed!\n";
constexpr char kPending[] = "net health status: Detect ip set\n";
constexpr char kTlsOn[] = "dev_id:3, tls switch[1](0:disable, 1:enable)\n";
constexpr char kTlsOn950[] = "device 3, tls switch[1](0:disable, 1:enable)\n";

// The query may write to the file.
TlsAsking OverCopy(bool live) {
  TlsAsking tls;
  tls.copy_conf = [] {
    return PrivateFile{"/etc/hccn.conf", "mtu_3=4200\n", 0640};
  };
  tls.live = live;
  return tls;
}

// Observes device 3 by scripted runs of one generation's tool.
class ObserverFixture : public ::testing::Test {
 protected:
  explicit ObserverFixture(NpuToolFacts::Generation generation)
      : generation_(generation) {
    conf_.mutable_value();
  }

  template <typename Reader>
  auto Ask(const Reader& read) {
    const TimeBudget budget(&clock_, absl::Seconds(10), absl::Seconds(30));
    HccnSession session(std::string("/x/hccn_tool"), generation_, 3, &runner_,
                        &clock_, &budget, &turns_);
    return read(&session);
  }
  DeviceFacts Observe(const TlsAsking& tls) {
    return Ask([&](HccnSession* session) {
      return ObserveDevice(3, conf_, tls, session);
    });
  }
  DeviceFacts Observe(bool live = false) { return Observe(OverCopy(live)); }

  void SetTlsKey(const std::string& value) {
    HccnConf::Entry* entry = conf_.mutable_value()->add_entries();
    entry->set_key("tls_enable");
    entry->set_device(3);
    entry->set_value(value);
  }

  const NpuToolFacts::Generation generation_;
  FakeClock clock_;
  FakeCommandRunner runner_{&clock_};
  DeviceLocks turns_;
  HccnConfFact conf_;
};

class DeviceObserverTest : public ObserverFixture {
 protected:
  DeviceObserverTest() : ObserverFixture(NpuToolFacts::CLASSIC) {
    runner_.Answers(kIp, "ipaddr:10.20.0.17\nnetmask:255.255.255.0\n");
    runner_.Answers(kGateway, "default gateway:10.20.0.1, Iface:eth3\n");
    runner_.Answers("hccn_tool -i 3 -netdetect -g",
                    "netdetect addr: 10.20.0.1\n");
    runner_.Answers(kHealth, "net health status: Success\n");
    runner_.Answers("hccn_tool -i 3 -link -g", "link status: UP\n");
    runner_.Answers("hccn_tool -i 3 -lldp -g", "\n");
    runner_.Answers("hccn_tool -i 3 -mtu -g", "mtu:4200\n");
    runner_.Answers(kRecovery, "config status:SUCCESS\n");
    runner_.Answers(kSpeed, "Speed: 200000 Mb/s\n");
  }
};

TEST_F(DeviceObserverTest, FillsEveryFact) {
  SetTlsKey("0");
  const DeviceFacts facts = Observe();
  EXPECT_THAT(facts, HasFields(R"(
      id: 3
      address { value { settings { address: "10.20.0.17"
                                   netmask: "255.255.255.0" } } }
      gateway { value: "10.20.0.1" } detect_address { value: "10.20.0.1" }
      net_health { value: NET_HEALTH_SUCCESS } link { value: UP }
      lldp { value { heard: false } } mtu { value: 4200 }
      speed_mbps { value: 200000 } recovery { value: SUCCESS }
      tls { value { enabled: false source: "/etc/hccn.conf" } })"));
  EXPECT_FALSE(facts.has_vnic());
  EXPECT_EQ(runner_.CountOf(kTls), 0);
}

TEST_F(DeviceObserverTest, AsksAboutTrafficModuleAndHistory) {
  runner_.Answers("hccn_tool -i 3 -pfc -g",
                  "PFC configuration:\npriority   0 1 2 3 4 5 6 7\n"
                  "enabled    0 0 0 0 1 0 0 0\n");
  runner_.Answers("hccn_tool -i 3 -optical -g",
                  "optical info:\npresent              : present\n");
  runner_.Answers("hccn_tool -i 3 -link_stat -g",
                  "[devid 3]current time        : Wed Aug  2 03:09:26 2022\n"
                  "[devid 3]link up count       : 2\n"
                  "[devid 3]link down count     : 1\n"
                  "[devid 3]link change records : NA\n");
  EXPECT_THAT(Observe(), HasFields("pfc { value: '0,0,0,0,1,0,0,0' } "
                                   "optical { value { present: true } } "
                                   "link_history { value { downs: 1 } }"));
}

TEST_F(DeviceObserverTest, TakesNothingSetForAValue) {
  runner_.NowFails(kIp, 13, kNoIp);
  runner_.NowFails(
      kGateway, 2,
      "Get gateway failed, because no gateway was preset there!\n");
  const DeviceFacts facts = Observe();
  EXPECT_EQ(facts.address().value().settings_size(), 0);
  EXPECT_THAT(facts, HasFields("address { value {} } gateway { value: '' }"));
}

TEST_F(DeviceObserverTest, AsksForAnIpv6AddressWhereNoIpv4OneIsSet) {
  constexpr char kIpv6[] = "hccn_tool -i 3 -ip -inet6 -g";
  EXPECT_FALSE(Observe().has_ipv6_address());
  EXPECT_EQ(runner_.CountOf(kIpv6), 0);
  runner_.NowFails(kIp, 13, kNoIp);
  runner_.Answers(kIpv6, "ipv6_address:fd00::17\nprefix_length:64\n");
  EXPECT_EQ(Observe().ipv6_address().value(), "fd00::17/64");
  runner_.NowAnswers(kIpv6, "This device does not support IPV6!\n");
  EXPECT_THAT(Observe().ipv6_address(), IsMissing(Missing::NOT_SUPPORTED));
  runner_.NowFails(kIpv6, 13, kNoIp);
  EXPECT_THAT(Observe().ipv6_address(), HasFields("value: ''"));
}

TEST_F(DeviceObserverTest, TellsThatAToolHasNoWordForTheRecovery) {
  runner_.NowFails(kRecovery, 3, "Get unknown option!\n");
  EXPECT_THAT(Observe().recovery().missing().detail(),
              HasSubstr("`hccn_tool -i 3 -cfg status`: Get unknown option!"));
}

TEST_F(DeviceObserverTest, TellsThatASpeedIsNotToBeHad) {
  runner_.NowAnswers(kSpeed, "Speed: Unknown!\n");
  EXPECT_THAT(Observe().speed_mbps(), IsMissing(Missing::NOT_SUPPORTED));
  runner_.NowFails(kSpeed, 3, "Get invalid major cmd.\n");
  EXPECT_THAT(
      Observe().speed_mbps(),
      IsMissing(Missing::NOT_SUPPORTED, HasSubstr("Get invalid major cmd.")));
  runner_.NowAnswers(kSpeed, "Speed: fast\n");
  EXPECT_THAT(Observe().speed_mbps(), IsMissing(Missing::UNREADABLE));
}

TEST_F(DeviceObserverTest, AsksForTheVirtualNic) {
  runner_.Answers("hccn_tool -i 3 -vnic -g",
                  "vnic link status: UP\nvnic ipaddr: 192.0.2.199\n"
                  "vnic netmask: 255.0.0.0\n");
  EXPECT_THAT(Ask(ObserveVnic),
              HasFields("value { up: true setting { address: '192.0.2.199' "
                        "netmask: '255.0.0.0' } }"));
}

TEST_F(DeviceObserverTest, TakesRubbishForNoValueAnywhere) {
  for (const char* query :
       {"-ip -g", "-gateway -g", "-netdetect -g", "-net_health -g", "-link -g",
        "-lldp -g", "-mtu -g", "-tls -g", "-cfg status"}) {
    runner_.NowAnswers(std::string("hccn_tool -i 3 ") + query,
                       "Segmentation fault\n");
  }
  const DeviceFacts facts = Observe(true);
  for (const Missing& missing :
       {facts.recovery().missing(), facts.address().missing(),
        facts.gateway().missing(), facts.detect_address().missing(),
        facts.net_health().missing(), facts.link().missing(),
        facts.lldp().missing(), facts.mtu().missing(), facts.tls().missing()}) {
    EXPECT_EQ(missing.reason(), Missing::UNREADABLE) << missing.DebugString();
  }
  EXPECT_THAT(facts.link().missing().detail(),
              HasSubstr("`hccn_tool -i 3 -link -g`: unexpected \"Segmentation "
                        "fault\""));
}

TEST_F(DeviceObserverTest, PollsAHealthThatIsPending) {
  runner_.NowAnswers(kHealth, kPending);
  runner_.Answers(kHealth, kPending);
  runner_.Answers(kHealth, "net health status: Success\n");
  EXPECT_EQ(Observe().net_health().value(), NET_HEALTH_SUCCESS);
  EXPECT_EQ(clock_.Monotonic(), absl::Seconds(2));
}

TEST_F(DeviceObserverTest, ReportsAHealthThatStaysPending) {
  runner_.NowAnswers(kHealth, kPending);
  EXPECT_EQ(Observe().net_health().value(), NET_HEALTH_DETECT_IP_SET);
  EXPECT_EQ(runner_.CountOf(kHealth), 4);
}

TEST_F(DeviceObserverTest, ForgetsAPendingHealthWhenTheNextQueryFails) {
  runner_.NowAnswers(kHealth, kPending);
  runner_.Fails(kHealth, 1, kFailed);
  EXPECT_EQ(Observe().net_health().missing().reason(), Missing::TOOL_FAILED);
}

TEST_F(DeviceObserverTest, TellsThatTheSwitchIsUnknownForATimeOut) {
  runner_.NowHangs(kIp);
  EXPECT_THAT(
      Observe().tls(),
      IsMissing(Missing::TIMED_OUT,
                Tells("fact-not-asked-after",
                      Worded("fact-no-answer", "`hccn_tool -i 3 -ip -g`",
                             absl::StrCat("10s", kAny)))));
  SetTlsKey("0");
  EXPECT_THAT(Observe(true).tls(), IsMissing(Missing::TIMED_OUT));
}

TEST_F(DeviceObserverTest, SaysWhereTheToolEndsWithoutAWord) {
  runner_.NowAnswers(kIp, "");
  EXPECT_EQ(Observe().address().missing().detail(),
            Say("fact-answer-none", "`hccn_tool -i 3 -ip -g`"));
}

TEST_F(DeviceObserverTest, AsksOverACopyWhereTheFileHasNoKey) {
  runner_.Answers(kTls,
                  "dev_id:3, tls switch[1](0:disable, 1:enable), tls "
                  "alarm time threshold[60]days\n");
  EXPECT_THAT(Observe().tls(),
              HasFields("value { enabled: true source: 'hccn_tool -tls -g' "
                        "in_file: '' }"));
  ASSERT_EQ(runner_.CountOf(kTls), 1);
  ASSERT_EQ(runner_.copies().size(), 1u);
  EXPECT_EQ(runner_.copies()[0].path, "/etc/hccn.conf");
  EXPECT_EQ(runner_.copies()[0].text, "mtu_3=4200\n");
  EXPECT_EQ(runner_.copies()[0].mode, 0640u);
}

TEST_F(DeviceObserverTest, NeverAsksOverTheFileWhereThereCanBeNoCopy) {
  runner_.CannotStart(
      kTls, absl::FailedPreconditionError(
                "no mount namespace of its own: Operation not permitted"));
  // The text omits the device's number: the devices of a cluster fold.
  EXPECT_THAT(Observe().tls(),
              IsMissing(Missing::NOT_QUERIED,
                        Tells("fact-no-copy",
                              absl::StrCat(kAny, "Operation not permitted"))));
  EXPECT_EQ(runner_.copies().size(), 1u);
}

TEST_F(DeviceObserverTest, TellsThatTheCopyCannotBeRead) {
  TlsAsking tls;
  tls.copy_conf = [] { return absl::PermissionDeniedError("/etc/hccn.conf"); };
  EXPECT_EQ(Observe(tls).tls().missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_EQ(runner_.CountOf(kTls), 0);
}

// The tool succeeds, and has the end of an expired one on the other stream.
TEST_F(DeviceObserverTest, TellsTheEndOfEachCertificate) {
  runner_.Fails(
      kTls, 0,
      "\t tls expiration status[2](0:normal, 1:near expiration, 2:has "
      "expired)\n",
      "dev_id:3, tls switch[1](0:disable, 1:enable), tls "
      "preconfigured[1](0:non-preset, 1:preset), tls alarm time "
      "threshold[60]days\ndev_id:3, [pub cert] info:\n"
      "\t end_time[Mon Feb 19 03:19:21 2024 GMT]\n");
  EXPECT_THAT(Observe(true).tls(), HasFields(R"(value {
      enabled: true
      certificates { name: "pub" ends: "Mon Feb 19 03:19:21 2024 GMT"
                     status: EXPIRED } })"));
}

// The state of a host without certificates.
TEST_F(DeviceObserverTest, TakesADeviceWithoutACertificateForOneWithoutTls) {
  runner_.Fails(kTls, 14, "No certificate found, please set certs firstly!\n");
  EXPECT_THAT(Observe().tls(),
              HasFields("value { enabled: false no_certificate: true }"));
}

TEST_F(DeviceObserverTest, RunsNoQueryThatWritesToAFileThatIsNotKnown) {
  const std::pair<Missing::Reason, const char*> kWhys[] = {
      {Missing::ABSENT, "/etc/hccn.conf: no such file"},
      {Missing::NOT_PERMITTED, "/etc/hccn.conf: Permission denied"}};
  for (const auto& [reason, why] : kWhys) {
    for (const bool live : {false, true}) {
      conf_.mutable_missing()->set_reason(reason);
      conf_.mutable_missing()->set_detail(why);
      EXPECT_THAT(Observe(live).tls(),
                  IsMissing(Missing::NOT_QUERIED, HasSubstr(why)))
          << live;
    }
  }
  EXPECT_EQ(runner_.CountOf(kTls), 0);
}

TEST_F(DeviceObserverTest, AsksTheDeviceWhoseKeyIsThereAndKeepsBothAnswers) {
  runner_.Answers(kTls, kTlsOn);
  // The query does not write, so the file's form does not matter.
  conf_.mutable_value()->add_problems()->set_kind(
      HccnConf::Problem::NO_FINAL_NEWLINE);
  SetTlsKey("0");
  EXPECT_THAT(Observe(true).tls(),
              HasFields("value { enabled: true source: 'hccn_tool -tls -g' "
                        "in_file: '0' }"));
}

// A user who may read the file can hold its lock, for which the tool waits.
TEST_F(DeviceObserverTest, AsksOverACopyAlsoWhereTheKeyIsThere) {
  runner_.CannotStart(kTls, absl::FailedPreconditionError("no namespace"));
  runner_.Answers(kTls, kTlsOn);
  SetTlsKey("0");
  for (const int asked : {2, 3}) {
    EXPECT_TRUE(Observe(true).tls().value().enabled());
    EXPECT_EQ(runner_.CountOf(kTls), asked);
    EXPECT_EQ(runner_.copies().size(), static_cast<size_t>(asked) - 1);
  }
}

TEST_F(DeviceObserverTest, TakesAFailedTlsQueryForNoValueEvenWithAKey) {
  runner_.Fails(kTls, 1, kFailed);
  EXPECT_EQ(Observe(true).tls().missing().reason(), Missing::TOOL_FAILED);
  SetTlsKey("0");
  EXPECT_EQ(Observe(true).tls().missing().reason(), Missing::TOOL_FAILED);
}

TEST_F(DeviceObserverTest, TakesTheFilesWordWhereItHasTheKey) {
  SetTlsKey("1");
  EXPECT_TRUE(Observe().tls().value().enabled());
  EXPECT_EQ(runner_.CountOf(kTls), 0);
}

TEST_F(DeviceObserverTest, ReadsTheSwitchBeforeAnUnreadableDate) {
  runner_.Fails(kTls, 8, "Cmd execute failed!\n",
                "dev_id:3, tls switch[0](0:disable, 1:enable), tls "
                "preconfigured[1](0:non-preset, 1:preset), tls alarm time "
                "threshold[60]days\ndev_id:3, [pub cert] info:\n");
  EXPECT_TRUE(Observe(true).tls().has_value());
}

TEST_F(DeviceObserverTest, RejectsASwitchThatIsNeitherOnNorOff) {
  SetTlsKey("2");
  EXPECT_THAT(Observe().tls(),
              IsMissing(Missing::UNREADABLE, HasSubstr("\"2\"")));
}

TEST_F(DeviceObserverTest, AsksForSettingsAlone) {
  runner_.Answers(kTls, kTlsOn);
  const auto settings = [this] {
    return Ask([&](HccnSession* session) {
      return ObserveDeviceSettings(3, conf_, OverCopy(true), session);
    });
  };
  EXPECT_TRUE(settings().tls().value().enabled());
  EXPECT_EQ(runner_.commands().size(), 8u);
  EXPECT_EQ(runner_.copies().size(), 1u);
  SetTlsKey("0");
  EXPECT_THAT(settings(), HasFields("address { value { settings {} } } "
                                    "gateway { value: '10.20.0.1' } "
                                    "detect_address { value: '10.20.0.1' } "
                                    "tls { value { enabled: true } }"));
  EXPECT_EQ(runner_.commands().size(), 16u);
  EXPECT_EQ(runner_.copies().size(), 2u);
}

class Ascend950ObserverTest : public ObserverFixture {
 protected:
  Ascend950ObserverTest() : ObserverFixture(NpuToolFacts::ASCEND_950) {
    Instead("-dev_info -i 3",
            "| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | Link "
            "Status | Media Type |\n"
            "| 0 | 4 | 400 | ETH | UP | Electrical |\n"
            "| Interface Name | IP Address | Netmask | Bond Mode | Slaves |\n"
            "| end3v0 | 192.168.2.199 | 255.255.255.0 | NA | NA |\n");
    Instead("-ip -i 3 -d bond3", "ipaddr:10.20.0.17\nnetmask:255.255.255.0\n");
    Instead("-gateway -i 3 -d bond3", "default gateway:10.20.0.1\n");
    Instead("-mtu -i 3 -d bond3", "mtu:4200\n");
    Instead("-lldp -i 3 -d bond3",
            "[dev_name:ethc3d0e0] LLDP neighbor info:\n\n"
            "[dev_name:ethc3d0e1] LLDP neighbor info:\n\n");
    Instead("-link -i 3 -u 0 -p 4", "link status: UP\n");
    Instead("-netdetect -i 3", "netdetect addr: 10.20.0.1\n");
    Instead("-net_health -i 3", "net health status: Success\n");
  }

  static std::string Line(const std::string& query) {
    return "hccn_tool -g " + query;
  }
  void Instead(const std::string& query, const std::string& output) {
    runner_.NowAnswers(Line(query), output);
  }
  void InsteadFails(const std::string& query, int status,
                    const std::string& standard_error) {
    runner_.NowFails(Line(query), status, standard_error);
  }
};

TEST_F(Ascend950ObserverTest, FillsEveryFactInItsOwnWordsOnly) {
  Instead("-tls -i 3", kTlsOn950);
  EXPECT_THAT(Observe(true), HasFields(R"(
      id: 3 address { value { settings { address: "10.20.0.17" } } }
      gateway { value: "10.20.0.1" } detect_address { value: "10.20.0.1" }
      net_health { value: NET_HEALTH_SUCCESS } link { value: UP }
      lldp { value {} } mtu { value: 4200 }
      tls { value { enabled: true source: "hccn_tool -g -tls" } })"));
  EXPECT_THAT(runner_.commands(), Each(StartsWith("hccn_tool -g -")));
}

TEST_F(Ascend950ObserverTest, NamesTheGenerationOfAClassicTool) {
  InsteadFails("-dev_info -i 3", 1,
               "Get invalid major cmd type. The valid major cmd type should be "
               "\"-a\" or \"-i\".\n");
  const DeviceFacts facts = Observe();
  for (const Missing& missing :
       {facts.address().missing(), facts.gateway().missing(),
        facts.mtu().missing(), facts.lldp().missing(), facts.link().missing(),
        facts.net_health().missing(), facts.detect_address().missing()}) {
    EXPECT_EQ(missing.reason(), Missing::TOOL_FAILED);
    EXPECT_THAT(missing.detail(), Tells("fact-other-tool", kAny, "classic"));
  }
  EXPECT_EQ(runner_.commands().size(), 1u);
}

TEST_F(Ascend950ObserverTest, TakesTheFilesWordWhereItHasTheTlsKey) {
  SetTlsKey("0");
  EXPECT_THAT(Observe().tls(),
              HasFields("value { enabled: false source: '/etc/hccn.conf' }"));
  EXPECT_EQ(runner_.CountOf(Line("-tls -i 3")), 0);
}

TEST_F(Ascend950ObserverTest, AsksOverACopyAndKeepsTheFilesWord) {
  Instead("-tls -i 3", kTlsOn950);
  EXPECT_TRUE(Observe().tls().value().enabled());
  EXPECT_EQ(runner_.copies().size(), 1u);
  SetTlsKey("0");
  EXPECT_THAT(Observe(true).tls(),
              HasFields("value { enabled: true in_file: '0' }"));
}

// Without the slot, tls_enable_3 may be another device's: the query may write.
TEST_F(Ascend950ObserverTest, AsksNoDeviceOfWhichTheSlotIsNotKnown) {
  InsteadFails("-dev_info -i 3", 1, "Command execute failed!\n");
  SetTlsKey("0");
  EXPECT_EQ(Observe(true).tls().value().source(), "/etc/hccn.conf");
  EXPECT_EQ(runner_.CountOf(Line("-tls -i 3")), 0);
}

}  // namespace
}  // namespace clusterd
