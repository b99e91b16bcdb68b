#include <memory>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/controller/status/status_pages.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not;

HostEntry HostNamed(const std::string& name, bool in_spec, bool attached) {
  HostEntry host;
  host.set_host(name);
  host.set_in_spec(in_spec);
  host.set_attached(attached);
  return host;
}

std::shared_ptr<const Report> ReportOf(const char* text) {
  return std::make_shared<Report>(FromText<Report>(text));
}

std::string Rule(const char* rule, const char* state, int hosts) {
  return absl::StrCat("clusterd_rule_state{rule=\"", rule, "\",state=\"", state,
                      "\"} ", hosts, "\n");
}

TEST(ClusterMetricsTest, CountsHostsByRuleAndState) {
  ClusterNumbers numbers;
  numbers.newest = ReportOf(R"(
      hosts { host: 'a' } hosts { host: 'b' }
      hosts { host: 'c' } hosts { host: 'd' }
      rules {
        rule: 'mtu' state: FAIL
        findings { state: WARN subjects { host: 'a' } subjects { host: 'b' } }
        findings { state: FAIL subjects { host: 'b' } subjects { host: 'b' } }
      }
      rules {
        rule: 'topology' state: FAIL
        findings { state: FAIL subjects { host: '' } }
      }
      rules { rule: 'roce' state: SKIPPED }
      rules { rule: 'job-hosts' not_run: true }
      started_at_ms: 1700000000000 elapsed_ms: 2500)");
  const std::string text = ClusterMetrics(numbers);
  EXPECT_THAT(text, AllOf(HasSubstr(Rule("mtu", "pass", 2)),
                          HasSubstr(Rule("mtu", "warn", 1)),
                          HasSubstr(Rule("mtu", "fail", 1)),
                          HasSubstr(Rule("mtu", "unknown", 0)),
                          HasSubstr(Rule("topology", "fail", 4)),
                          HasSubstr(Rule("topology", "pass", 0)),
                          HasSubstr(Rule("roce", "skipped", 4)),
                          HasSubstr(Rule("roce", "pass", 0))));
  EXPECT_THAT(text, Not(HasSubstr("job-hosts")));
  EXPECT_THAT(text,
              AllOf(HasSubstr("clusterd_check_duration_seconds 2.5\n"),
                    HasSubstr("clusterd_check_last_success_timestamp_seconds "
                              "1700000002.5\n")));
}

TEST(ClusterMetricsTest, BeforeTheFirstCheckNothingIsSaidOfIt) {
  ClusterNumbers numbers;
  numbers.hosts = {HostNamed("a", true, true)};
  const std::string text = ClusterMetrics(numbers);
  EXPECT_THAT(text, Not(HasSubstr("clusterd_rule_state")));
  EXPECT_THAT(text, Not(HasSubstr("clusterd_check_")));
  EXPECT_THAT(text, HasSubstr("clusterd_host_state{host=\"a\"} 2\n"));
}

TEST(ClusterMetricsTest, AStrangerHasNoSeriesAndNoNameBreaksOut) {
  ClusterNumbers numbers;
  numbers.newest = ReportOf(R"(
      hosts { host: 'ok' state: PASS } hosts { host: 'warns' state: WARN }
      hosts { host: 'fails' state: FAIL }
      hosts { host: 'stranger' state: FAIL })");
  numbers.hosts = {HostNamed("ok", true, true),
                   HostNamed("warns", true, true),
                   HostNamed("fails", true, true),
                   HostNamed("away", true, false),
                   HostNamed("a\"} 1\nclusterd_hosts{state=\"b", true, true),
                   HostNamed("stranger", false, true),
                   HostNamed("old-stranger", false, false)};
  numbers.hosts[1].mutable_drift()->mutable_value()->add_drifts();
  *numbers.hosts[2].mutable_conflict_words() =
      ToFindingValue("another machine");
  const std::string text = ClusterMetrics(numbers);
  EXPECT_THAT(text, AllOf(HasSubstr("clusterd_host_state{host=\"ok\"} 0\n"),
                          HasSubstr("clusterd_host_state{host=\"warns\"} 1\n"),
                          HasSubstr("clusterd_host_state{host=\"fails\"} 3\n"),
                          HasSubstr("clusterd_host_state{host=\"away\"} 4\n"),
                          HasSubstr("clusterd_host_state{host=\"a\\\"} "
                                    "1\\nclusterd_hosts{state=\\\"b\"} 2\n")));
  EXPECT_THAT(text, Not(HasSubstr("stranger")));
  EXPECT_THAT(text, AllOf(HasSubstr("clusterd_hosts{state=\"expected\"} 5\n"),
                          HasSubstr("clusterd_hosts{state=\"attached\"} 4\n"),
                          HasSubstr("clusterd_hosts{state=\"drifted\"} 1\n"),
                          HasSubstr("clusterd_hosts{state=\"unexpected\"} 1\n"),
                          HasSubstr("clusterd_hosts{state=\"refused\"} 1\n")));
}

TEST(ClusterMetricsTest, ReportsTheFirstCertificateThatNeedsAttention) {
  const absl::Time now = absl::FromUnixSeconds(1'700'000'000);
  const auto host = [&](absl::Duration left, bool renews, bool attached) {
    HostEntry entry = HostNamed("h", true, attached);
    entry.set_certificate_ends_ms(absl::ToUnixMillis(now + left));
    entry.set_certificate_renews(renews);
    return entry;
  };
  ClusterNumbers numbers;
  numbers.now = now;
  numbers.late_renewal = absl::Hours(2);
  numbers.certificate_ends = {{"ca", now + absl::Hours(1)}};
  numbers.hosts = {host(absl::Hours(9), false, true),
                   host(absl::Hours(3), true, true),
                   host(absl::Hours(1), false, false)};
  const auto line = [&](const char* kind, absl::Duration left) {
    return absl::StrCat("clusterd_certificate_expiry_timestamp_seconds{kind=\"",
                        kind, "\"} ", absl::ToUnixSeconds(now + left), "\n");
  };
  EXPECT_THAT(ClusterMetrics(numbers),
              AllOf(HasSubstr(line("ca", absl::Hours(1))),
                    HasSubstr(line("host", absl::Hours(9)))));
  // This host is late with its renewal.
  numbers.hosts.push_back(host(absl::Minutes(90), true, true));
  EXPECT_THAT(ClusterMetrics(numbers),
              HasSubstr(line("host", absl::Minutes(90))));
  numbers.hosts.clear();
  EXPECT_THAT(ClusterMetrics(numbers), Not(HasSubstr("kind=\"host\"")));
}

TEST(ClusterMetricsTest, AppliesAreCountedFromZero) {
  ClusterNumbers numbers;
  numbers.applies = {{"succeeded", 3}};
  numbers.attach_waits = Histogram({1, 5});
  numbers.attach_waits.Observe(2);
  EXPECT_THAT(
      ClusterMetrics(numbers),
      AllOf(HasSubstr("# TYPE clusterd_apply_total counter\n"),
            HasSubstr("clusterd_apply_total{result=\"succeeded\"} 3\n"),
            HasSubstr("clusterd_apply_total{result=\"interrupted\"} 0\n"),
            HasSubstr("clusterd_attach_wait_seconds_bucket{le=\"5\"} 1\n")));
}

TEST(ClusterMetricsTest, NobodyIsCalledForAHostInMaintenance) {
  ClusterNumbers numbers;
  numbers.hosts = {HostNamed("a", true, true), HostNamed("b", true, false),
                   HostNamed("c", true, true)};
  for (HostEntry& host : numbers.hosts) {
    host.mutable_drift()->mutable_value()->add_drifts();
  }
  numbers.hosts[1].set_maintenance(true);
  numbers.hosts[2].set_maintenance(true);
  EXPECT_THAT(ClusterMetrics(numbers),
              AllOf(HasSubstr("clusterd_hosts{state=\"expected\"} 2\n"),
                    HasSubstr("clusterd_hosts{state=\"attached\"} 2\n"),
                    HasSubstr("clusterd_hosts{state=\"drifted\"} 1\n"),
                    HasSubstr("clusterd_hosts{state=\"maintenance\"} 2\n")));
}

TEST(ClusterMetricsTest, CountsWhatIsWaivedByRule) {
  ClusterNumbers numbers;
  numbers.newest = ReportOf(
      "rules {rule: 'link' state: WARN findings {waiver {rule: 'link'}} "
      "findings {}} rules {rule: 'mtu'}");
  EXPECT_THAT(ClusterMetrics(numbers),
              AllOf(HasSubstr("clusterd_waived_findings{rule=\"link\"} 1\n"),
                    Not(HasSubstr("clusterd_waived_findings{rule=\"mtu\""))));
}

}  // namespace
}  // namespace clusterd
