#include "daemon/agent/self_check.h"

#include <optional>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

class FixedObserver final : public HostObserver {
 public:
  explicit FixedObserver(HostFacts facts) : facts_(std::move(facts)) {}
  HostFacts ObserveFor(const std::string& host, const ObserveRequest& request,
                       const Asker&) override {
    asked = request;
    HostFacts facts = facts_;
    facts.set_host(host);
    return facts;
  }

  ObserveRequest asked;

 private:
  const HostFacts facts_;
};

// A host of a cluster of one.
HostFacts Healthy() {
  const ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  return MakeHealthyHost(spec, spec.servers(0));
}

State StateOf(const Report& report, const std::string& rule) {
  for (const RuleResult& result : report.rules()) {
    if (result.rule() == rule) return result.state();
  }
  return STATE_UNSPECIFIED;
}

TEST(CheckSelfTest, PassesHealthyHostOfItsSpec) {
  const ClusterSpec spec = MakeSpec("atlas-training", "", 2);
  FixedObserver observer(MakeHealthyHost(spec, spec.servers(1)));
  const CheckSelfResponse response = CheckSelf(&observer, "server1", spec);
  EXPECT_EQ(response.report().verdict(), PASS)
      << response.report().DebugString();
  EXPECT_EQ(response.facts().host(), "server1");
  EXPECT_EQ(StateOf(response.report(), "ip-unique"), SKIPPED);
  EXPECT_EQ(StateOf(response.report(), "listen-backlog"), PASS);
}

TEST(CheckSelfTest, FindsFaultWithoutAnySpec) {
  HostFacts facts = Healthy();
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  facts.mutable_kernel()->mutable_reserved_ports()->set_value("");
  FixedObserver observer(facts);
  const CheckSelfResponse response =
      CheckSelf(&observer, "server0", std::nullopt);
  EXPECT_EQ(response.report().verdict(), FAIL);
  EXPECT_EQ(StateOf(response.report(), "ports-reserved"), FAIL);
  // The number of ranks that connect to the root is unknown.
  EXPECT_EQ(StateOf(response.report(), "listen-backlog"), WARN);
  ASSERT_FALSE(response.report().notes().empty());
  EXPECT_THAT(response.report().notes(response.report().notes_size() - 1),
              HasSubstr("no spec"));
}

TEST(CheckSelfTest, AsksForTheSocketsOfTheHcclPorts) {
  FixedObserver observer{HostFacts()};
  const CheckSelfResponse unread =
      CheckSelf(&observer, "server0", std::nullopt);
  // A host that could not be read never passes.
  EXPECT_EQ(unread.report().verdict(), UNKNOWN) << unread.DebugString();
  ASSERT_GE(observer.asked.socket_ports_size(), 1);
  EXPECT_EQ(observer.asked.socket_ports(0).first(), 60000u);
}

HostFacts FactsOf(const std::string& series, uint32_t devices) {
  HostFacts facts;
  facts.mutable_identity()->mutable_npu_series()->set_value(series);
  for (uint32_t id = 0; id < devices; ++id) {
    facts.mutable_device_ids()->mutable_value()->add_ids(id);
  }
  return facts;
}

TEST(AssumedSpecTest, TakesTheProductFromTheNpusFoundAndGuessesNone) {
  const struct {
    const char* series;
    uint32_t devices;
    const char* product;
  } kCases[] = {{"A1 x 8", 8, "atlas-training"},   {"A2 x 8", 8, "atlas-a2"},
                {"A2 x 16", 16, "atlas-a2-box16"}, {"Z9 x 8", 8, ""},
                {"A2 x 7, A3 x 1", 8, ""},         {"A2 x 8", 5, ""}};
  for (const auto& [series, devices, product] : kCases) {
    EXPECT_EQ(AssumedSpec(FactsOf(series, devices)).product(), product);
  }
  EXPECT_EQ(AssumedSpec(HostFacts()).product(), "");
  // Enough for every CANN version.
  EXPECT_EQ(AssumedSpec(HostFacts()).hccl().port_count(), 32u);
}

TEST(ObserveSelfTest, EndsWithinTheHooksTime) {
  FixedObserver observer{HostFacts()};
  ObserveSelf(&observer, "server0", absl::Seconds(3));
  EXPECT_EQ(observer.asked.host_ms(), 3000u);
  EXPECT_EQ(observer.asked.command_ms(), 3000u);
  ObserveSelf(&observer, "server0", absl::Hours(1));
  EXPECT_EQ(observer.asked.host_ms(), 30000u);
  ObserveSelf(&observer, "server0", absl::ZeroDuration());
  EXPECT_EQ(observer.asked.host_ms(), 1u);
}

TEST(JudgeSelfTest, FailsABrokenLinkUnlessPortsAreUnused) {
  HostFacts facts = Healthy();
  HostWaivers sent;
  EXPECT_EQ(StateOf(JudgeSelf(facts, nullptr), "link"), PASS);
  facts.mutable_devices(3)->mutable_link()->set_value(LinkFact::DOWN);
  EXPECT_EQ(StateOf(JudgeSelf(facts, nullptr), "link"), FAIL);
  EXPECT_EQ(StateOf(JudgeSelf(facts, nullptr, &sent), "link"), FAIL);
  sent.set_roce_unused(true);
  EXPECT_EQ(StateOf(JudgeSelf(facts, nullptr, &sent), "link"), SKIPPED);
  // Nobody has set the ports up.
  for (DeviceFacts& device : *facts.mutable_devices()) {
    device.mutable_link()->set_value(LinkFact::DOWN);
    device.mutable_address()->mutable_value()->clear_settings();
  }
  EXPECT_EQ(StateOf(JudgeSelf(facts, nullptr), "link"), SKIPPED);
}

// As after a boot without the file: cabled ports have no address.
TEST(JudgeSelfTest, AJobThatNeedsRoceMissesTheFileThatGaveItAddresses) {
  const auto made_of = [](const char* product, const char* series) {
    HostFacts facts = MakeHealthyFacts(MakeSpec(product, "", 1))[0];
    facts.mutable_identity()->mutable_npu_series()->set_value(series);
    facts.mutable_hccn_conf()->mutable_missing()->set_reason(Missing::ABSENT);
    for (DeviceFacts& device : *facts.mutable_devices()) {
      device.mutable_address()->mutable_value()->clear_settings();
    }
    return facts;
  };
  const auto state_of = [](const HostFacts& facts, const JobSpec* job,
                           const HostWaivers* sent = nullptr) {
    return StateOf(JudgeSelf(facts, job, sent), "hccn-conf");
  };
  HostFacts facts = made_of("atlas-a2", "A2 x 8");
  JobSpec job;
  job.add_servers()->set_host(facts.host());
  job.set_other_servers(1);
  EXPECT_EQ(state_of(facts, &job), FAIL);
  const Report report = JudgeSelf(facts, &job);
  for (const RuleResult& result : report.rules()) {
    if (result.rule() != "hccn-conf") continue;
    ASSERT_EQ(result.findings_size(), 1);
    EXPECT_TRUE(result.findings(0).holds_alone());
  }
  EXPECT_EQ(state_of(facts, nullptr), SKIPPED);
  HostWaivers sent;
  EXPECT_EQ(state_of(facts, &job, &sent), FAIL);
  sent.set_roce_unused(true);
  EXPECT_EQ(state_of(facts, &job, &sent), SKIPPED);
  // Inside one server HCCL uses HCCS.
  job.clear_other_servers();
  EXPECT_EQ(state_of(facts, &job), WARN);
  job.set_other_servers(1);
  // No fact shows if these servers are of one super pod.
  EXPECT_EQ(state_of(made_of("atlas-a3", "A3 x 16"), &job), SKIPPED);
  EXPECT_EQ(state_of(made_of("atlas-a2", "Z9 x 8"), &job), SKIPPED);
  for (DeviceFacts& device : *facts.mutable_devices()) {
    device.mutable_link()->set_value(LinkFact::DOWN);
  }
  EXPECT_EQ(state_of(facts, &job), SKIPPED);
}

TEST(JudgeSelfTest, CountsTheDevicesOfTheJobWithoutAnySpec) {
  HostFacts facts = MakeHealthyFacts(MakeSpec("atlas-a2", "", 1))[0];
  facts.mutable_identity()->mutable_npu_series()->set_value("A2 x 8");
  JobSpec job;
  JobServer* server = job.add_servers();
  server->set_host(facts.host());
  for (uint32_t id = 0; id < 8; ++id) server->add_devices(id);
  EXPECT_EQ(StateOf(JudgeSelf(facts, &job), "job-device-count"), PASS);
}

TEST(JudgeSelfTest, JobsRendezvousPortMustBeFreeOnItsFirstServer) {
  HostFacts facts = Healthy();
  JobSpec job;
  job.add_servers()->set_host(facts.host());
  job.mutable_servers(0)->set_master_port(29500);
  EXPECT_EQ(StateOf(JudgeSelf(facts, &job), "ports-free"), PASS);
  BoundSocket* const held =
      facts.mutable_sockets()->mutable_value()->add_sockets();
  held->set_protocol("tcp");
  held->set_address("0.0.0.0");
  held->set_port(29500);
  held->set_state("LISTEN");
  EXPECT_EQ(StateOf(JudgeSelf(facts, &job), "ports-free"), FAIL);
  job.mutable_servers(0)->clear_master_port();
  EXPECT_EQ(StateOf(JudgeSelf(facts, &job), "ports-free"), PASS);
}

TEST(JudgeSelfTest, AppliesSentWaiversUntilTheyExpire) {
  HostFacts facts = Healthy();
  facts.mutable_devices(3)->mutable_link()->set_value(LinkFact::DOWN);
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  HostWaivers sent;
  Waiver* const waiver = sent.add_waivers();
  waiver->set_rule("link");
  waiver->add_hosts(facts.host());
  waiver->set_until_ms(absl::ToUnixMillis(now + absl::Hours(1)));
  EXPECT_EQ(StateOf(JudgeSelf(facts, nullptr, &sent, now), "link"), WARN);
  EXPECT_EQ(
      StateOf(JudgeSelf(facts, nullptr, &sent, now + absl::Hours(1)), "link"),
      FAIL);
  EXPECT_EQ(StateOf(JudgeSelf(facts, nullptr, nullptr, now), "link"), FAIL);
}

TEST(JudgeSelfTest, IsSureOfAFileThatIsMissingAndOfNoOtherMistakeInIt) {
  HostFacts facts = Healthy();
  facts.mutable_hccn_conf()->mutable_missing()->set_reason(Missing::ABSENT);
  const Report report = JudgeSelf(facts, nullptr);
  int sure = 0;
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      EXPECT_EQ(finding.holds_alone(), result.rule() == "hccn-conf")
          << result.rule();
      sure += finding.holds_alone();
    }
  }
  EXPECT_EQ(sure, 1);
}

}  // namespace
}  // namespace clusterd
