// Every kind of fault of a simulated server, without and with namespaces. The
// check of three servers names the faulty one, or simhost refuses the fault.
// The cases are the table of tests/sim/fault.h.
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/rules/judge.h"
#include "config/spec/spec_loader.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "proto/agent_hub.pb.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/sim/fault.h"

namespace clusterd {
namespace {

using sim::FaultKey;
using sim::Mode;
using sim::Noticed;
using ::testing::HasSubstr;

// `command`: the deadline of each tool.
std::string SuperPodSpec(const std::string& command) {
  return absl::StrCat(R"(version: 1
name: demo
product: atlas-a3-superpod
servers:
  - hosts: server[0-2]
    address: 192.168.7.[22-24]
devices:
  netmask: 255.255.0.0
  gateway: 10.20.0.1
  rails:
    - {device: 0-15, subnet: 10.20.0.0/16, host: 256*n + 256 + d + 1}
  detect_address: 10.20.0.1
kernel: {somaxconn: 65535, tcp_max_syn_backlog: 65535, persistent: true}
firewall: disabled
deadlines: {command: )",
                      command, R"(, host: 10m, run: 20m}
)");
}

// A command line of namespaces.sh.
std::vector<std::string> Namespaces(std::vector<std::string> words) {
  words.insert(words.begin(),
               {"/bin/bash", Runfile("tests/sim/namespaces.sh")});
  return words;
}

// Empty: this machine has namespaces.
std::string WhyNoNamespaces() {
  const ProcessResult result = RunProgram(Namespaces({"available"}));
  return result.exit_status == 0
             ? ""
             : result.standard_output + result.standard_error;
}

// True if the rule names server2, and device 3 for a device. One rule compares
// all versions, also the kernel's: in namespaces that is the machine's, unlike
// the other servers' version.
bool Names(const Report& report, const FaultKey& key) {
  for (const Finding& finding : FindingsOf(report, key.noticed.rule)) {
    if (finding.state() != key.noticed.state) continue;
    // It measures this machine, and how busy that is.
    if (finding.finding() == "peer-not-answered") continue;
    if (finding.rule() == "version-uniform" &&
        !absl::StrContains(absl::AsciiStrToLower(finding.observed()),
                           key.key)) {
      continue;
    }
    for (const Subject& subject : finding.subjects()) {
      if (subject.host() == "server2" &&
          (!key.of_device || absl::c_linear_search(subject.devices(), 3u))) {
        return true;
      }
    }
  }
  return false;
}

// server2 with faults, until the object is destroyed.
class FaultyServer {
 public:
  FaultyServer(const std::string& folder, Mode mode,
               const std::vector<std::string>& faults)
      : folder_(folder), is_inside_(mode == Mode::kNamespaces) {
    std::vector<std::string> create = {Runfile("tests/sim/simhost"),
                                       "create",
                                       "--root",
                                       Folder(),
                                       "--spec",
                                       folder + "/cluster.yaml",
                                       "--host",
                                       "server2",
                                       "--tool",
                                       Runfile("tests/sim/hccn_tool")};
    if (is_inside_) create.push_back("--namespaces");
    for (const std::string& fault : faults) {
      create.insert(create.end(), {"--fault", fault});
    }
    const ProcessResult made = RunProgram(create);
    if (made.exit_status != 0) {
      refusal_ = made.standard_error;
      EXPECT_EQ(made.exit_status, 3) << refusal_;
    } else if (is_inside_) {
      std::ofstream(folder + "/table")
          << "server0 192.168.7.22/24 -\n"
          << "server1 192.168.7.23/24 -\n"
          << "server2 192.168.7.24/24 " << Folder() << "\n";
      const ProcessResult up =
          RunProgram(Namespaces({"up", folder + "/net", folder + "/table"}));
      EXPECT_EQ(up.exit_status, 0) << up.standard_error;
    }
  }
  ~FaultyServer() {
    if (is_inside_) RunProgram(Namespaces({"down", folder_ + "/net"}));
    std::error_code ignored;
    std::filesystem::remove_all(Folder(), ignored);
  }
  FaultyServer(const FaultyServer&) = delete;
  FaultyServer& operator=(const FaultyServer&) = delete;

  // simhost's refusal of the faults; empty: accepted.
  const std::string& refusal() const { return refusal_; }
  // The path of its file as commands of `Words` see it.
  std::string Path(const std::string& file) const {
    return is_inside_ ? file : Folder() + file;
  }
  // A command line that runs on the server.
  std::vector<std::string> Words(std::vector<std::string> words) const {
    if (!is_inside_) return words;
    words.insert(words.begin(), {"exec", folder_ + "/net", "server2"});
    return Namespaces(std::move(words));
  }

 private:
  std::string Folder() const { return folder_ + "/faulty"; }

  const std::string folder_;
  const bool is_inside_;
  std::string refusal_;
};

class FaultTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    cluster_ =
        new DemoCluster(SuperPodSpec("1m"), {"server0", "server1", "server2"});
    std::ofstream(cluster_->folder() + "/hasty.yaml") << SuperPodSpec("2s");
    healthy_ = new std::vector<HostFacts>;
    for (const char* host : {"server0", "server1"}) {
      healthy_->push_back(
          Observe({}, host, cluster_->Root(host), "cluster.yaml"));
    }
  }
  static void TearDownTestSuite() {
    delete healthy_;
    delete cluster_;
  }

  static std::string Folder() { return cluster_->folder(); }

  // Observes the server like clusterd; `launcher` enters it.
  static HostFacts Observe(std::vector<std::string> launcher,
                           const std::string& host, const std::string& root,
                           const std::string& spec) {
    launcher.insert(
        launcher.end(),
        {Runfile("daemon/agent/clusterd"), "--once", "--format", "json",
         "--cert", absl::StrCat(cluster_->Certificates(), "/", host, ".crt"),
         "--root", root, "--spec", absl::StrCat(Folder(), "/", spec)});
    return FromJson<CheckSelfResponse>(RunProgram(std::move(launcher))).facts();
  }

  // A check of all three servers, like the controller's.
  static Report Check(const FaultyServer& server,
                      const std::string& spec_file = "cluster.yaml") {
    const HostFacts facts =
        Observe(server.Words({}), "server2", server.Path("/"), spec_file);
    const auto spec = LoadSpec("cluster.yaml", SuperPodSpec("1m"));
    if (!spec.ok()) {
      ADD_FAILURE() << spec.status();
      return Report();
    }
    return BuildReport(*spec, {&healthy_->at(0), &healthy_->at(1), &facts}, {});
  }

 private:
  static DemoCluster* cluster_;
  static std::vector<HostFacts>* healthy_;
};

DemoCluster* FaultTest::cluster_ = nullptr;
std::vector<HostFacts>* FaultTest::healthy_ = nullptr;

struct Case {
  const FaultKey* key;
  Mode mode;
};

class FaultOfEveryKindTest : public FaultTest,
                             public testing::WithParamInterface<Case> {};

TEST_P(FaultOfEveryKindTest, IsNoticedOrRefused) {
  const FaultKey& key = *GetParam().key;
  const bool is_inside = GetParam().mode == Mode::kNamespaces;
  const std::string why_none = is_inside ? WhyNoNamespaces() : "";
  if (!why_none.empty()) GTEST_SKIP() << why_none;
  const std::string fault = absl::StrCat(
      key.of_device ? "3:" : "host:", key.key, "=", key.noticed.value);
  std::vector<std::string> faults = {fault};
  const bool changes = key.noticed.change != Noticed::kNoChange;
  if (changes) faults.insert(faults.begin(), "3:detect=none");
  const FaultyServer server(Folder(), GetParam().mode, faults);
  const std::string& why_not =
      is_inside ? key.not_in_namespaces : key.not_side_by_side;
  const bool lacks_program = is_inside && !key.program.empty() &&
                             !std::filesystem::exists(key.program);
  if (!why_not.empty() || lacks_program) {
    EXPECT_THAT(server.refusal(),
                HasSubstr(lacks_program ? key.program : why_not));
    return;
  }
  ASSERT_EQ(server.refusal(), "");

  std::unique_ptr<Process> change;
  if (changes) {
    change = std::make_unique<Process>(
        server.Words({server.Path("/usr/local/Ascend/driver/tools/hccn_tool"),
                      "-i", "3", "-netdetect", "-s", "address", "10.20.0.1"}));
  }
  if (key.noticed.change == Noticed::kChanged) {
    EXPECT_EQ(change->Wait().exit_status, 0);
  } else if (changes) {
    EXPECT_TRUE(WaitUntil([&] {
      return RunProgram(server.Words({"/usr/bin/test", "!", "-s",
                                      server.Path("/etc/hccn.conf")}))
                 .exit_status == 0;
    }));
  }
  // For a tool that never answers, a long deadline only costs time.
  const bool hangs = key.key == "hang" || key.key == "delay" ||
                     key.noticed.change == Noticed::kChanging;
  const Report report = Check(server, hangs ? "hasty.yaml" : "cluster.yaml");
  std::string said;
  for (const RuleResult& rule : report.rules()) {
    for (const Finding& finding : rule.findings()) {
      absl::StrAppend(&said, finding.ShortDebugString(), "\n");
    }
  }
  EXPECT_TRUE(Names(report, key))
      << fault << ": expected " << key.noticed.rule << " "
      << State_Name(key.noticed.state) << ", found\n"
      << said;
}

std::vector<Case> EveryKindInEveryMode() {
  std::vector<Case> cases;
  for (const FaultKey& key : sim::FaultKeys()) {
    cases.push_back({&key, Mode::kSideBySide});
    cases.push_back({&key, Mode::kNamespaces});
  }
  return cases;
}

INSTANTIATE_TEST_SUITE_P(OfTheTable, FaultOfEveryKindTest,
                         testing::ValuesIn(EveryKindInEveryMode()),
                         [](const testing::TestParamInfo<Case>& info) {
                           return absl::StrCat(
                               info.param.key->key,
                               info.param.mode == Mode::kNamespaces
                                   ? "_in_namespaces"
                                   : "_side_by_side");
                         });

// Otherwise the cases above could pass by earlier findings.
TEST_F(FaultTest, HealthyServerIsNamedByNoRuleOfTheTable) {
  for (const Mode mode : {Mode::kSideBySide, Mode::kNamespaces}) {
    if (mode == Mode::kNamespaces && !WhyNoNamespaces().empty()) continue;
    const FaultyServer server(Folder(), mode, {});
    ASSERT_EQ(server.refusal(), "");
    const Report report = Check(server);
    for (const FaultKey& key : sim::FaultKeys()) {
      EXPECT_FALSE(Names(report, key))
          << key.key << (mode == Mode::kNamespaces ? " in namespaces" : "");
      if (key.noticed.rule.empty()) continue;
      EXPECT_NE(StateOf(report, key.noticed.rule), STATE_UNSPECIFIED)
          << key.noticed.rule << " is not a rule";
    }
  }
}

}  // namespace
}  // namespace clusterd
