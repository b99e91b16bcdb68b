// For tests of rules: a healthy cluster in which a test breaks a part, and
// short texts of the judge's findings.
#ifndef TESTS_SUPPORT_CONFIG_JUDGE_TESTING_H_
#define TESTS_SUPPORT_CONFIG_JUDGE_TESTING_H_

#include <functional>
#include <optional>
#include <string>
#include <type_traits>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/rules/judge.h"
#include "gmock/gmock.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {

// Everything is public: tests change it before they judge.
struct TestCluster {
  explicit TestCluster(absl::string_view product = "atlas-training",
                       absl::string_view mode = "", int servers = 2);

  DeviceFacts& device(int host, int index) {
    return *facts[host].mutable_devices(index);
  }
  // Sets a device's address and netmask, also in the host's hccn.conf.
  void SetAddress(int host, int index, absl::string_view address,
                  absl::string_view netmask);
  // The same in the spec.
  void PlanAddress(int host, int index, absl::string_view address,
                   absl::string_view netmask);
  // A host as delivered: no device has an address, gateway or detect address,
  // and hccn.conf has only the tool's own lines.
  void MakeNew(int host);
  // The host sends no facts.
  void Silence(int host);
  // No query about the device is answered: "`hccn_tool -i 3 -ip -g`: what". The
  // TLS switch in hccn.conf stays.
  void Mute(int host, int index, Missing::Reason reason,
            absl::string_view what);
  // Merges text format into the facts of a host, or of one of its devices:
  // Set(0, 3, "link {value: DOWN}").
  TestCluster& Set(int host, absl::string_view text);
  TestCluster& Set(int host, int index, absl::string_view text);
  // The same of every host, or of every device of every host.
  TestCluster& SetHosts(absl::string_view text);
  TestCluster& SetDevices(absl::string_view text);
  // The same of the spec, or of its device: Plan(0, 3, "gateway: ''").
  TestCluster& SetSpec(absl::string_view text);
  TestCluster& Plan(int host, int index, absl::string_view text);
  // Visits every device of every host.
  void ForEachDevice(const std::function<void(DeviceFacts&)>& visit);
  // Adds a line to a login file of the host.
  EnvironmentVariable& SetInLogins(int host, const std::string& name,
                                   const std::string& value,
                                   const std::string& file = "/etc/environment",
                                   int line = 1);

  // From now on, judges a job of all servers and devices of the spec; the test
  // may change the job.
  JobSpec& StartJob();

  // Adds a variable of the job itself, which is started if there is none.
  EnvironmentVariable& SetInJob(const std::string& name,
                                const std::string& value);

  // The rule's result when all rules run.
  RuleResult Check(absl::string_view rule) const;
  State StateOf(absl::string_view rule) const { return Check(rule).state(); }
  Report MakeReport(const JudgeOptions& options = {}) const;

  ClusterSpec spec;
  std::vector<HostFacts> facts;
  std::optional<JobSpec> job;
  absl::Time now = absl::InfiniteFuture();  // The options' default.
};

// A cluster of which only the number of servers matters.
TestCluster SizedCluster(absl::string_view product, int servers);

// The result of a rule that the report has.
const RuleResult& ResultOf(const Report& report, absl::string_view rule);

// A selection that runs these rules alone.
RuleSelection Only(const std::vector<std::string>& rules);

// "server0:3 server1:0-7", "server0" without devices, "cluster".
std::string Who(const Finding& finding);

// Name and values, in English and without those that are empty: "unlike-spec
// mtu=1500, right=4200".
std::string Brief(const Finding& finding);

// The number of devices, or of hosts, that the rule says it judged.
int64_t JudgedCount(const RuleResult& result);

// All findings, one per line: "FAIL server0:3 [hccn-tool] down" with its
// values, and a cause in brackets. Their texts are in the pages of rules.
std::string Lines(const RuleResult& result);

// Matches a result whose Lines hold each text, and match each matcher.
template <typename... Texts>
auto Finds(const Texts&... texts) {
  [[maybe_unused]] const auto of_lines =
      [](const auto& text) -> testing::Matcher<std::string> {
    using Text = std::decay_t<decltype(text)>;
    if constexpr (std::is_convertible_v<Text, std::string>) {
      return testing::HasSubstr(std::string(text));
    } else {
      return text;
    }
  };
  return testing::ResultOf(
      [](const RuleResult& result) { return Lines(result); },
      testing::AllOfArray(
          std::vector<testing::Matcher<std::string>>{of_lines(texts)...}));
}

// The same of a result with this state.
template <typename... Texts>
auto Gives(State state, const Texts&... texts) {
  return testing::AllOf(testing::Property("state", &RuleResult::state, state),
                        Finds(texts...));
}
template <typename... Texts>
auto Passes(const Texts&... texts) {
  return Gives(PASS, texts...);
}
template <typename... Texts>
auto Warns(const Texts&... texts) {
  return Gives(WARN, texts...);
}
template <typename... Texts>
auto Fails(const Texts&... texts) {
  return Gives(FAIL, texts...);
}
template <typename... Texts>
auto IsUnknown(const Texts&... texts) {
  return Gives(UNKNOWN, texts...);
}
template <typename... Texts>
auto GivesSkip(const Texts&... texts) {
  return Gives(SKIPPED, texts...);
}

// Matches a result with one finding, which is about `who` and whose Brief
// matches.
MATCHER_P2(FindsOne, who, brief, "") {
  *result_listener << Lines(arg);
  return arg.findings_size() == 1 && Who(arg.findings(0)) == who &&
         testing::Value(Brief(arg.findings(0)), brief);
}

// A Missing in a fact.
template <typename Fact>
void SetMissing(Missing::Reason reason, absl::string_view detail, Fact* fact) {
  fact->mutable_missing()->set_reason(reason);
  fact->mutable_missing()->set_detail(std::string(detail));
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONFIG_JUDGE_TESTING_H_
