#include <fstream>
#include <sstream>
#include <string>
#include <utility>

#include "config/spec/spec_loader.h"
#include "daemon/agent/self_check.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "proto/agent_hub.pb.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/config/test_authority.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

class FixedObserver final : public HostObserver {
 public:
  explicit FixedObserver(HostFacts facts) : facts_(std::move(facts)) {}
  HostFacts ObserveFor(const std::string& host, const ObserveRequest&,
                       const Asker&) override {
    HostFacts facts = facts_;
    facts.set_host(host);
    return facts;
  }

 private:
  const HostFacts facts_;
};

struct Outcome {
  int status;
  std::string out;
  std::string err;
};

Outcome Once(const AgentFlags& flags, const HostFacts& facts) {
  FixedObserver observer(facts);
  std::ostringstream out;
  std::ostringstream err;
  const int status = RunOnce(flags, "server0", &observer, &out, &err);
  return {status, out.str(), err.str()};
}

std::string WriteSpec(const ClusterSpec& spec) {
  const std::string path = testing::TempDir() + "/cluster.yaml";
  std::ofstream(path) << SpecToYaml(spec);
  return path;
}

AgentFlags Flags(const std::string& format, const std::string& spec) {
  AgentFlags flags;
  flags.once = true;
  flags.format = format;
  flags.spec = spec;
  return flags;
}

TEST(RunOnceTest, PrintsFactsAndVerdictAsText) {
  const ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  const Outcome outcome = Once(Flags("text", WriteSpec(spec)),
                               MakeHealthyHost(spec, spec.servers(0)));
  EXPECT_EQ(outcome.status, 0) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("\nKernel\n"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  somaxconn  "));
  EXPECT_THAT(outcome.out, HasSubstr("\nPASS: "));
  EXPECT_EQ(outcome.err, "");
}

TEST(RunOnceTest, PrintsMessageAsJson) {
  const ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  HostFacts facts = MakeHealthyHost(spec, spec.servers(0));
  facts.mutable_devices(0)->mutable_link()->set_value(LinkFact::DOWN);
  const Outcome outcome = Once(Flags("json", WriteSpec(spec)), facts);
  EXPECT_EQ(outcome.status, 1);
  CheckSelfResponse response;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(outcome.out, &response).ok());
  EXPECT_EQ(response.report().verdict(), FAIL);
  EXPECT_EQ(response.facts().host(), "server0");
}

TEST(RunOnceTest, ShowsAFindingWithExpectationAndFixAsCheckDoes) {
  const ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  HostFacts facts = MakeHealthyHost(spec, spec.servers(0));
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  const Outcome outcome = Once(Flags("text", WriteSpec(spec)), facts);
  EXPECT_EQ(outcome.status, 1) << outcome.out;
  EXPECT_THAT(outcome.out, HasSubstr("x fail     listen-backlog"));
  EXPECT_THAT(outcome.out, HasSubstr("\n  server0\n    found     "));
  EXPECT_THAT(outcome.out, HasSubstr("\n    expected  "));
  EXPECT_THAT(outcome.out, HasSubstr("\n    fix       "));
  EXPECT_THAT(outcome.out, HasSubstr("\nFAIL: 1 failed"));
}

TEST(RunOnceTest, RefusesSpecWithoutThisHostOrWithMistakes) {
  ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  spec.mutable_servers(0)->set_host("elsewhere");
  const Outcome foreign = Once(Flags("text", WriteSpec(spec)), HostFacts());
  EXPECT_EQ(foreign.status, 3);
  EXPECT_THAT(foreign.err, HasSubstr("names no host \"server0\""));
  const std::string path = testing::TempDir() + "/cluster.yaml";
  std::ofstream(path) << "version: 7\n";
  EXPECT_EQ(Once(Flags("text", path), HostFacts()).status, 3);
  EXPECT_EQ(Once(Flags("text", "/nowhere.yaml"), HostFacts()).status, 3);
}

TEST(RunOnceTest, TakesTheNameOfACertificateThatHasExpired) {
  const auto authority = TestAuthority::Create();
  IssueOptions past;
  past.valid_from = -absl::Hours(2);
  past.valid_until = -absl::Hours(1);
  AgentFlags flags = Flags("text", "");
  flags.tls.certificate = testing::TempDir() + "/expired.crt";
  std::ofstream(flags.tls.certificate)
      << authority->Issue({"spiffe://demo/host/node07"}, past).certificate;
  const ClusterSpec spec = MakeSpec("atlas-training", "", 1);
  const HostFacts facts = MakeHealthyHost(spec, spec.servers(0));
  EXPECT_THAT(Once(flags, facts).out, HasSubstr("node07"));
  std::ofstream(flags.tls.certificate)
      << authority->Issue({"spiffe://demo/user/ann"}).certificate;
  const Outcome outcome = Once(flags, facts);
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("spiffe://demo/user/ann, "));
}

TEST(RunOnceTest, SaysWhatCannotBeRead) {
  EXPECT_EQ(Once(Flags("text", ""), HostFacts()).status, 2);
  AgentFlags flags = Flags("text", "");
  flags.tls.certificate = "/nowhere/host.crt";
  flags.tls.key = "/nowhere/host.key";
  flags.tls.ca = "/nowhere/ca.crt";
  const Outcome outcome = Once(flags, HostFacts());
  EXPECT_EQ(outcome.status, 3);
  EXPECT_THAT(outcome.err, HasSubstr("/nowhere/host.crt: "));
}

}  // namespace
}  // namespace clusterd
