#include <string>

#include "absl/strings/str_cat.h"
#include "config/rules/catalogue.h"
#include "config/rules/finding_words.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

ChipHealth* Health(TestCluster& cluster, int host, int device) {
  return cluster.device(host, device).mutable_health()->mutable_value();
}

// A host without npu-smi: every fact has the same reason.
void RemoveNpuSmi(HostFacts* host, Missing::Reason reason) {
  for (DeviceFacts& device : *host->mutable_devices()) {
    SetMissing(reason, "npu-smi", device.mutable_health());
    SetMissing(reason, "npu-smi", device.mutable_memory_errors());
    SetMissing(reason, "npu-smi", device.mutable_compatibility());
    SetMissing(reason, "npu-smi", device.mutable_hccs());
    SetMissing(reason, "npu-smi", device.mutable_memory());
  }
}

TEST(CheckDeviceHealthTest, AlarmFailsWhateverItsCodesAre) {
  // The last three are warnings, or harmless, without an alarm.
  for (const char* code : {"80E18401", "", "see", "80E1FFFF", "81078605",
                           "8C0E4E00", "81078603"}) {
    TestCluster cluster;
    Health(cluster, 0, 3)->set_health(ChipHealth::ALARM);
    if (*code != 0) Health(cluster, 0, 3)->add_error_codes(code);
    EXPECT_EQ(cluster.Check("device-health").state(), FAIL) << code;
  }
}

void SetMemory(TestCluster& cluster, uint64_t used_mb) {
  cluster.device(0, 3).mutable_memory()->mutable_value()->set_used_mb(used_mb);
}

TEST(CheckDeviceMemoryTest, WarnsOfMemoryThatNoProcessHas) {
  TestCluster cluster;
  SetMemory(cluster, 4095);
  EXPECT_EQ(cluster.Check("device-memory").state(), PASS);
  SetMemory(cluster, 30710);
  EXPECT_THAT(cluster.Check("device-memory"),
              Finds("WARN server0:3 left used=30710, total=65536"));
  // One that npu-smi lists, or that has the device open.
  DeviceMemory& memory =
      *cluster.device(0, 3).mutable_memory()->mutable_value();
  memory.add_pids(6277);
  EXPECT_EQ(cluster.Check("device-memory").state(), PASS);
  memory.clear_pids();
  cluster.Set(0, "npu_processes {value {processes {devices: 3}}}");
  EXPECT_EQ(cluster.Check("device-memory").state(), PASS);
  // Processes are not seen.
  SetMissing(Missing::NOT_SUPPORTED, "container",
             cluster.facts[0].mutable_npu_processes());
  EXPECT_EQ(cluster.Check("device-memory").state(), UNKNOWN);
  SetMemory(cluster, 4095);
  EXPECT_EQ(cluster.Check("device-memory").state(), PASS);
}

TEST(CheckDeviceHealthTest, JudgesEveryLevelOfTheVendorsTable) {
  const struct {
    const char* code;
    State state;
    const char* text;
  } kCases[] = {{"80E18402", FAIL, "separate-npu codes=80E18402"},
                {"8C03A000", FAIL, " restart-npu codes=8C03A000"},
                {"80E01801", FAIL, "restart-business codes=80E01801"},
                {"80C98008", FAIL, "restart-request codes=80C98008"},
                {"8C0E4E00", WARN, "free-restart-npu codes=8C0E4E00"},
                {"81078605", WARN, "sub-health-fault codes=81078605"},
                {"12345678", WARN, "not-in-table codes=12345678"},
                {"A4025021", PASS, ""}};
  for (const auto& test_case : kCases) {
    TestCluster cluster;
    // The tool reports OK if it could read no code in time.
    Health(cluster, 0, 3)->add_error_codes(test_case.code);
    EXPECT_THAT(cluster.Check("device-health"),
                Gives(test_case.state, test_case.text))
        << test_case.code;
  }
}

// Every level of the data file has its message, so no code is missing.
TEST(CheckDeviceHealthTest, HasWordsForEveryLevelAndEveryHealth) {
  for (const char* level :
       {"sub-health-fault", "free-restart-npu", "restart-request",
        "restart-business", "restart-npu", "separate-npu", "not-in-table"}) {
    EXPECT_NE(FindRuleFinding(*FindRule("device-health"), level), nullptr)
        << level;
  }
}

TEST(CheckDeviceHealthTest, TakesTheToolsWordWhereNoCodeSaysMore) {
  const struct {
    ChipHealth::Health health;
    State state;
    const char* finding;
  } kCases[] = {{ChipHealth::WARNING, WARN, "warning"},
                {ChipHealth::ALARM, FAIL, "alarm"},
                {ChipHealth::CRITICAL, FAIL, "critical"},
                {ChipHealth::NOT_STARTED, FAIL, "not-started"},
                {ChipHealth::HEALTH_UNSPECIFIED, UNKNOWN, "not-understood"}};
  for (const auto& test_case : kCases) {
    TestCluster cluster;
    Health(cluster, 1, 5)->set_health(test_case.health);
    const RuleResult result = cluster.Check("device-health");
    EXPECT_EQ(result.state(), test_case.state) << test_case.finding;
    EXPECT_EQ(Lines(result),
              absl::StrCat(State_Name(test_case.state), " server1:5 ",
                           test_case.finding, "\n"));
  }
}

TEST(CheckDeviceHealthTest, SaysOneFaultOnce) {
  TestCluster cluster;
  Health(cluster, 0, 3)->set_health(ChipHealth::CRITICAL);
  Health(cluster, 0, 3)->add_error_codes("80E18402");
  Health(cluster, 0, 3)->set_information("isolated rows full");
  const RuleResult result = cluster.Check("device-health");
  EXPECT_EQ(result.findings_size(), 1) << Lines(result);
  EXPECT_THAT(result,
              Finds("separate-npu codes=80E18402, words=: isolated rows full"));
  // The table calls this code harmless.
  TestCluster harmless;
  Health(harmless, 0, 3)->set_health(ChipHealth::WARNING);
  Health(harmless, 0, 3)->add_error_codes("81078603");
  EXPECT_THAT(harmless.Check("device-health"),
              Finds("warning codes=, fault codes 81078603"));
}

TEST(CheckDeviceHealthTest, WarnsOfMemoryErrorsAndNotOfIsolatedPages) {
  TestCluster cluster;
  MemoryErrors* errors =
      cluster.device(0, 3).mutable_memory_errors()->mutable_value();
  errors->set_isolated_pages(63);
  EXPECT_EQ(cluster.Check("device-health").state(), PASS);
  errors->set_double_bit(2);
  EXPECT_THAT(cluster.Check("device-health"),
              Finds("WARN server0:3 double-bit errors=2, pages=63"));
  errors->set_double_bit(0);
  errors->set_next_isolated_pages(1);
  EXPECT_THAT(cluster.Check("device-health"),
              Finds("WARN server0:3 pages-to-isolate pages=1"));
}

TEST(CheckDeviceHealthTest, IsSkippedOnHostsWithoutNpuSmi) {
  for (const Missing::Reason reason :
       {Missing::ABSENT, Missing::NOT_SUPPORTED, Missing::NOT_QUERIED}) {
    TestCluster cluster;
    RemoveNpuSmi(&cluster.facts[0], reason);
    for (const char* rule : {"device-health", "hccs"}) {
      const RuleResult result = cluster.Check(rule);
      EXPECT_EQ(result.state(), PASS) << Lines(result);
      EXPECT_EQ(JudgedCount(result), 8);
      EXPECT_EQ(result.notes(0).words(), "not-reported-by");
      EXPECT_THAT(result.summary(), HasSubstr("npu-smi"));
    }
    RemoveNpuSmi(&cluster.facts[1], reason);
    for (const char* rule : {"device-health", "hccs"}) {
      const RuleResult result = cluster.Check(rule);
      EXPECT_EQ(result.state(), SKIPPED) << Lines(result);
      EXPECT_EQ(result.skip_words().words(), "not-reported");
      EXPECT_THAT(result.skip_reason(), HasSubstr("npu-smi"));
      EXPECT_EQ(result.findings_size(), 0) << Lines(result);
    }
    // The driver's own file still decides.
    EXPECT_EQ(cluster.Check("driver-compat").state(), PASS);
  }
}

TEST(CheckDeviceHealthTest, IsUnknownWhereTheToolDidNotAnswer) {
  TestCluster cluster;
  RemoveNpuSmi(&cluster.facts[0], Missing::TIMED_OUT);
  for (const char* rule : {"device-health", "hccs", "driver-compat"}) {
    const RuleResult result = cluster.Check(rule);
    EXPECT_EQ(result.state(), UNKNOWN) << rule;
    ASSERT_EQ(result.findings_size(), 1) << Lines(result);
    // One of the causes has the headline.
    EXPECT_EQ(result.findings(0).caused_by(),
              rule == std::string("device-health") ? "" : "device-health");
  }
}

TEST(CheckDeviceHealthTest, NotesChipsThatDoNotTellMemoryErrors) {
  TestCluster cluster;
  cluster.Set(0, 3, "memory_errors {missing {reason: NOT_SUPPORTED}}");
  const RuleResult result = cluster.Check("device-health");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(result.summary(), "16 devices on 2 hosts; " +
                                  Say("not-reported-by", "memory errors",
                                      Counted(1, "device"), "not supported"));
}

TEST(CheckDriverCompatTest, ComparesWithEveryIntervalOfTheDriver) {
  const struct {
    const char* firmware;
    const char* intervals;
    State state;
  } kCases[] = {{"7.5.0.1.129", "[7.0.0,7.5.99]", PASS},
                {"7.7.99.9", "[7.0.0,7.7.99]", PASS},
                {"7.0.0", "[7.0.0,7.7.99]", PASS},
                {"7.3.0.1.231", "[7.0.0,7.2.99]", FAIL},
                {"6.9.9", "[7.0.0,7.2.99]", FAIL},
                {"6.4.12.1.241", "[6.4.0,6.4.99],[7.0.0,8.9.9]", PASS},
                {"6.5.0.1", "[6.4.0,6.4.99],[7.0.0,8.9.9]", FAIL},
                {"7.10.0", "[7.0.0,7.9.99]", FAIL}};
  for (const auto& test_case : kCases) {
    TestCluster cluster;
    VersionFacts* versions = cluster.facts[0].mutable_versions();
    versions->mutable_firmware()->set_value(test_case.firmware);
    versions->mutable_firmware_of_driver()->set_value(test_case.intervals);
    const RuleResult result = cluster.Check("driver-compat");
    EXPECT_EQ(result.state(), test_case.state)
        << test_case.firmware << " " << test_case.intervals << Lines(result);
    if (test_case.state != FAIL) continue;
    EXPECT_THAT(
        result,
        Finds(absl::StrCat("FAIL server0 outside firmware=", test_case.firmware,
                           ", intervals=", test_case.intervals, ", driver=")));
  }
}

TEST(CheckDriverCompatTest, FailsWhereNpuSmiSaysSo) {
  TestCluster cluster;
  cluster.device(1, 2).mutable_compatibility()->set_value("NOK");
  EXPECT_THAT(cluster.Check("driver-compat"), Finds("FAIL server1:2 nok"));
  cluster.device(0, 3).mutable_hccs()->mutable_value()->set_ok(false);
  EXPECT_THAT(cluster.Check("hccs"), Finds("FAIL server0:3 nok"));
}

TEST(CheckDriverCompatTest, NotesWhatNobodyTells) {
  TestCluster cluster;
  const auto forget = [&](int host) {
    SetMissing(
        Missing::ABSENT, "no such line",
        cluster.facts[host].mutable_versions()->mutable_firmware_of_driver());
    for (DeviceFacts& device : *cluster.facts[host].mutable_devices()) {
      device.mutable_compatibility()->set_value("UNKNOWN");
    }
  };
  forget(0);
  EXPECT_EQ(cluster.Check("driver-compat").state(), PASS);
  EXPECT_EQ(cluster.Check("driver-compat").notes(0).words(),
            "no-firmware-range-on");
  forget(1);
  EXPECT_EQ(cluster.Check("driver-compat").state(), SKIPPED);
  EXPECT_EQ(cluster.Check("driver-compat").skip_words().words(),
            "no-firmware-range");
}

TEST(CheckDriverCompatTest, JudgesNoVersionOfAnotherForm) {
  for (const char* odd :
       {"[7.0.0]", "7.0.0,8.0.0", "", "[a.b,c.d]", "[7.0.0,7.5.99],"}) {
    TestCluster cluster;
    for (HostFacts& host : cluster.facts) {
      host.mutable_versions()->mutable_firmware_of_driver()->set_value(odd);
    }
    // npu-smi's answer is enough then.
    EXPECT_EQ(cluster.Check("driver-compat").state(), PASS) << odd;
    for (HostFacts& host : cluster.facts) {
      RemoveNpuSmi(&host, Missing::ABSENT);
    }
    EXPECT_EQ(cluster.Check("driver-compat").state(), SKIPPED) << odd;
  }
  // This firmware reports less than the interval.
  for (const char* firmware : {"7", "7.1", "unknown", ""}) {
    TestCluster cluster;
    cluster.facts[0].mutable_versions()->mutable_firmware()->set_value(
        firmware);
    EXPECT_EQ(cluster.Check("driver-compat").state(), PASS) << firmware;
  }
}

TEST(CheckHccsTest, WarnsOfFewerLanesThanThePeersHave) {
  TestCluster cluster("atlas-a2", "", 3);
  // No port of device 6 has a link at its fifth place, on any host.
  for (int host = 0; host < 3; ++host) {
    cluster.device(host, 6).mutable_hccs()->mutable_value()->set_lanes(5, 0);
  }
  EXPECT_EQ(cluster.Check("hccs").state(), PASS);
  cluster.device(1, 6).mutable_hccs()->mutable_value()->set_lanes(2, 1);
  EXPECT_EQ(Lines(cluster.Check("hccs")),
            "WARN server1:6 fewer-lanes port=2, lanes=1, right=4, id=6, "
            "others=2 devices\n");
}

TEST(CheckHccsTest, TakesMoreLanesForRightWhereTwoDisagree) {
  TestCluster cluster;
  HccsLinks& hccs = *cluster.device(0, 3).mutable_hccs()->mutable_value();
  hccs.set_lanes(0, 2);
  const std::string lines = Lines(cluster.Check("hccs"));
  EXPECT_THAT(lines, HasSubstr("server0:3"));
  EXPECT_THAT(lines, Not(HasSubstr("server1")));
  // The tool names none.
  hccs.clear_lanes();
  EXPECT_EQ(cluster.Check("hccs").state(), PASS);
}

}  // namespace
}  // namespace clusterd
