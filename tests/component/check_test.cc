// Checks from a client's request to its report, with hosts that answer, lag,
// die, lie or stay detached.
#include <functional>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/time.h"
#include "config/rules/judge.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/running_controller.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// The facts of the healthy host of that number.
HostFacts Healthy(TestController& controller, int server) {
  const auto spec = controller.spec().spec();
  return MakeHealthyHost(*spec, spec->servers(server));
}

// A healthy host of that number.
struct GoodHost : AttachedHost {
  template <typename Clock>
  GoodHost(OwningController<Clock>& controller, int server)
      : AttachedHost(controller,
                     controller.spec().spec()->servers(server).host(),
                     Healthy(controller, server)) {}
};

// A check on a thread of its own.
class BackgroundCheck {
 public:
  explicit BackgroundCheck(TestController* controller)
      : thread_([this, controller] {
          status_ = controller->Check(CheckRequest(), &report_);
        }) {}
  ~BackgroundCheck() {
    if (thread_.joinable()) thread_.join();
  }
  const Report& Wait() {
    thread_.join();
    EXPECT_TRUE(status_.ok()) << status_;
    return report_;
  }

 private:
  Report report_;
  absl::Status status_;
  std::thread thread_;
};

TEST(CheckTest, HealthyClusterPassesWithProgressOnTheWay) {
  RunningController controller(2);
  GoodHost host0(controller, 0);
  GoodHost host1(controller, 1);

  Report report;
  std::vector<CheckProgress> progress;
  ASSERT_TRUE(controller.Check(CheckRequest(), &report, &progress).ok());

  EXPECT_EQ(report.verdict(), PASS) << report.DebugString();
  EXPECT_EQ(report.cluster(), "test");
  EXPECT_EQ(report.hosts_size(), 2);
  EXPECT_EQ(report.run_id().size(), 16u);
  EXPECT_GT(report.started_at_ms(), 0);
  ASSERT_FALSE(progress.empty());
  EXPECT_EQ(progress.back().answered(), 2u);
  EXPECT_EQ(progress.back().pending(), 0u);
}

TEST(CheckTest, EndsWithWhatItHasWhenTheControllerStops) {
  RunningController controller(2);
  GoodHost host0(controller, 0);
  RawHost host1(controller.address(), controller.certificates.Host("server1"));
  ASSERT_TRUE(host1.Attach());
  const auto client = controller.Client();
  const auto context = NewContext();
  const auto stream = client->Check(context.get(), CheckRequest());
  CheckEvent event;
  while (event.progress().answered() == 0 && stream->Read(&event)) continue;
  EXPECT_EQ(event.progress().answered(), 1u);
  EXPECT_NE(host1.ReceiveTask(), 0u);

  std::thread stop([&controller] { controller.Stop(); });
  Report report;
  while (stream->Read(&event)) report = event.report();
  stop.join();

  EXPECT_TRUE(stream->Finish().ok());
  EXPECT_EQ(report.verdict(), UNKNOWN) << report.DebugString();
  EXPECT_EQ(HostOf(report, "server1").state(), UNKNOWN);
  // The other host's answer counts.
  EXPECT_EQ(HostOf(report, "server0").state(), PASS);
  EXPECT_EQ(HostOf(report, "server0").no_facts_reason(), "");
}

TEST(CheckTest, HostThatNeverAttachedCostsItsOwnVerdictOnly) {
  RunningController controller(2);
  GoodHost host0(controller, 0);

  Report report;
  std::vector<CheckProgress> progress;
  ASSERT_TRUE(controller.Check(CheckRequest(), &report, &progress).ok());

  EXPECT_EQ(report.verdict(), UNKNOWN);
  EXPECT_EQ(HostOf(report, "server0").state(), PASS);
  EXPECT_EQ(HostOf(report, "server1").state(), UNKNOWN);
  EXPECT_THAT(HostOf(report, "server1").no_facts_reason(),
              HasSubstr("never attached"));
  EXPECT_EQ(RuleOf(report, "host-identity").state(), UNKNOWN);
  EXPECT_EQ(progress.back().failed(), 1u);
}

// Each row is one answer of a host.
TEST(CheckTest, AnswerThatIsMalformedOrHugeCostsThatHostAlone) {
  struct Row {
    const char* name;
    std::function<void(TaskResult* result)> make;
    const char* reason;
  };
  const Row rows[] = {
      {"nothing", [](TaskResult*) {}, "an answer without an outcome"},
      {"of another question",
       [](TaskResult* result) { result->set_pong(true); },
       "clusterd answered another question"},
      {"a device twice",
       [](TaskResult* result) {
         result->mutable_facts()->add_devices()->set_id(3);
         result->mutable_facts()->add_devices()->set_id(3);
       },
       "device 3 is listed twice"},
      {"too many devices",
       [](TaskResult* result) {
         for (uint32_t i = 0; i < 5000; ++i) {
           result->mutable_facts()->add_devices()->set_id(i);
         }
       },
       "5000 devices, expected at most"},
      {"an error of no code",
       [](TaskResult* result) { result->mutable_error()->set_code(-1); },
       "clusterd answered: "},
      {"larger than a message may be",
       [](TaskResult* result) {
         result->mutable_facts()->mutable_missing()->set_detail(
             std::string(kMaxHostMessageBytes + 1, 'a'));
       },
       "its connection ended: a message of "}};
  RunningController controller(2);
  GoodHost good(controller, 0);
  for (const Row& row : rows) {
    RawHost bad(controller.address(), controller.certificates.Host("server1"));
    ASSERT_TRUE(bad.Attach()) << row.name;
    BackgroundCheck check(&controller);
    AgentMessage answer;
    answer.mutable_result()->set_task_id(bad.ReceiveTask());
    row.make(answer.mutable_result());
    bad.Send(answer);
    const Report& report = check.Wait();
    EXPECT_EQ(HostOf(report, "server0").state(), PASS) << row.name;
    EXPECT_EQ(HostOf(report, "server1").state(), UNKNOWN) << row.name;
    EXPECT_THAT(HostOf(report, "server1").no_facts_reason(),
                HasSubstr(row.reason))
        << row.name;
    bad.Kill();
    bad.End().IgnoreError();
    ASSERT_TRUE(controller.log().WaitFor("host server1: detached"));
    ASSERT_TRUE(WaitUntil(
        [&controller] { return !controller.Entry("server1").attached(); }));
  }
}

TEST(CheckTest, HostSpeaksForNobodyElse) {
  ManualController controller(2);
  RawHost liar(controller.address(), controller.certificates.Host("server0"));
  RawHost victim(controller.address(), controller.certificates.Host("server1"));
  ASSERT_TRUE(liar.Attach());
  ASSERT_TRUE(victim.Attach());

  BackgroundCheck check(&controller);
  const uint64_t own = liar.ReceiveTask();
  const uint64_t others = victim.ReceiveTask();
  HostFacts broken = Healthy(controller, 1);
  broken.mutable_devices(0)->mutable_link()->set_value(LinkFact::DOWN);
  AgentMessage answer;
  // Answers the other host's task, then its own under the other's name.
  answer.mutable_result()->set_task_id(others);
  *answer.mutable_result()->mutable_facts() = broken;
  ASSERT_TRUE(liar.Send(answer));
  answer.mutable_result()->set_task_id(own);
  ASSERT_TRUE(liar.Send(answer));
  answer.mutable_result()->set_task_id(others);
  *answer.mutable_result()->mutable_facts() = Healthy(controller, 1);
  ASSERT_TRUE(victim.Send(answer));

  const Report& report = check.Wait();
  EXPECT_EQ(HostOf(report, "server0").state(), FAIL);
  const RuleResult link = RuleOf(report, "link");
  ASSERT_EQ(link.findings_size(), 1);
  ASSERT_EQ(link.findings(0).subjects_size(), 1);
  EXPECT_EQ(link.findings(0).subjects(0).host(), "server0");
}

TEST(CheckTest, AsksOnlyTheNamedHosts) {
  RunningController controller(2);
  GoodHost host1(controller, 1);
  CheckRequest request;
  request.add_hosts("server1");
  request.mutable_selection()->add_only("link");
  Report report;
  ASSERT_TRUE(controller.Check(request, &report).ok());
  ASSERT_EQ(report.hosts_size(), 1);
  EXPECT_EQ(report.hosts(0).host(), "server1");
  EXPECT_EQ(RuleOf(report, "link").state(), PASS);
  EXPECT_EQ(RuleOf(report, "ip-unique").state(), SKIPPED);
}

TEST(CheckTest, RefusesHostsAndRulesThatDoNotExist) {
  RunningController controller(1);
  Report report;
  CheckRequest hosts;
  hosts.add_hosts("server0");
  hosts.add_hosts("server7");
  hosts.add_hosts("server9");
  const absl::Status unknown_hosts = controller.Check(hosts, &report);
  EXPECT_EQ(unknown_hosts.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(unknown_hosts.message(),
              Tells("msg-hub-hosts-not-in-spec", "test", "server7, server9"));
  CheckRequest rules;
  rules.mutable_selection()->add_only("lnik");
  EXPECT_THAT(controller.Check(rules, &report),
              Fails(absl::StatusCode::kNotFound, HasText("link")));
}

TEST(CheckSoFarTest, JudgesWhatIsThereAndNamesWhoIsAwaited) {
  RunningController controller(2);
  GoodHost host0(controller, 0);
  RawHost silent(controller.address(), controller.certificates.Host("server1"));
  ASSERT_TRUE(silent.Attach());
  const auto client = controller.Client();
  const auto context = NewContext();
  const auto stream = client->Check(context.get(), CheckRequest());
  CheckEvent event;
  while (stream->Read(&event) && event.progress().answered() == 0) {
  }
  ASSERT_EQ(event.progress().answered(), 1u);

  CheckSoFarRequest request;
  request.set_run_id(event.progress().run_id());
  Report report;
  ASSERT_TRUE(client->CheckSoFar(NewContext().get(), request, &report).ok());
  EXPECT_TRUE(report.partial());
  ASSERT_EQ(report.awaited_size(), 1);
  EXPECT_EQ(report.awaited(0), "server1");
  EXPECT_EQ(report.run_id(), "");
  EXPECT_EQ(report.verdict(), UNKNOWN);
  EXPECT_EQ(HostOf(report, "server0").state(), PASS);
  EXPECT_THAT(HostOf(report, "server1").no_facts_reason(),
              Tells("hub-still-awaited"));

  // The check itself continues until its client leaves it.
  AgentMessage answer;
  answer.mutable_result()->set_task_id(silent.ReceiveTask());
  *answer.mutable_result()->mutable_facts() = Healthy(controller, 1);
  ASSERT_TRUE(silent.Send(answer));
  while (!event.has_report() && stream->Read(&event)) {
  }
  EXPECT_EQ(event.report().verdict(), PASS);
  EXPECT_TRUE(stream->Finish().ok());
  // A forged id is like that of no check.
  request.set_run_id("no such run");
  EXPECT_EQ(
      client->CheckSoFar(NewContext().get(), request, &report).error_code(),
      grpc::StatusCode::NOT_FOUND);
}

TEST(DescribeTest, ShowsFactsOfOneHostNow) {
  RunningController controller(2);
  GoodHost host0(controller, 0);
  const auto client = controller.Client();
  DescribeHostRequest request;
  DescribeHostResponse response;
  request.set_host("server0");
  ASSERT_TRUE(
      client->DescribeHost(NewContext().get(), request, &response).ok());
  EXPECT_TRUE(response.entry().attached());
  EXPECT_EQ(response.facts().host(), "server0");
  EXPECT_EQ(response.facts().devices_size(), 8);

  request.set_host(controller.spec().spec()->servers(0).address());
  ASSERT_TRUE(
      client->DescribeHost(NewContext().get(), request, &response).ok());
  EXPECT_EQ(response.facts().host(), "server0");

  request.set_host("server1");
  ASSERT_TRUE(
      client->DescribeHost(NewContext().get(), request, &response).ok());
  EXPECT_THAT(response.facts().missing().detail(), HasSubstr("never attached"));

  request.set_host("nobody");
  EXPECT_EQ(
      client->DescribeHost(NewContext().get(), request, &response).error_code(),
      grpc::StatusCode::NOT_FOUND);
}

// Several rules of a large cluster are judged at a time.
TEST(LargeClusterTest, IsJudgedAlikeEveryTime) {
  const ClusterSpec spec = MakeSpec("atlas-training", "", 128);
  std::vector<HostFacts> facts = MakeHealthyFacts(spec);
  for (HostFacts& host : facts) {
    for (DeviceFacts& device : *host.mutable_devices()) {
      device.mutable_address()
          ->mutable_value()
          ->mutable_settings(0)
          ->set_netmask("255.255.255.128");
      device.mutable_link()->set_value(LinkFact::DOWN);
      device.mutable_net_health()->set_value(NET_HEALTH_RECEIVE_TIMEOUT);
    }
  }
  const Report first = BuildReport(spec, Pointers(facts), {});
  EXPECT_EQ(first.verdict(), FAIL);
  for (int i = 0; i < 8; ++i) {
    EXPECT_EQ(BuildReport(spec, Pointers(facts), {}).SerializeAsString(),
              first.SerializeAsString());
  }
  size_t of_links = 0;
  for (const RuleResult& rule : first.rules()) {
    EXPECT_FALSE(rule.rule().empty());
    for (const Finding& finding : rule.findings()) {
      // No finding is lost when it is explained by another rule.
      if (rule.rule() == "net-health") {
        EXPECT_EQ(finding.caused_by(), "link");
      }
      if (finding.caused_by() == "link") ++of_links;
    }
  }
  EXPECT_GT(of_links, 0u);
}

WaiveRequest AskToWaive(const std::string& rule, const std::string& host) {
  WaiveRequest request;
  request.set_rule(rule);
  request.set_hosts(host);
  request.set_reason("cable\x1b[31m ordered");
  request.set_until("1h");
  return request;
}

TEST(WaiveTest, IsForOperatorsAndCountsFromTheNextCheckOn) {
  RunningController controller(1);
  HostFacts facts = Healthy(controller, 0);
  facts.mutable_devices(3)->mutable_link()->set_value(LinkFact::DOWN);
  AttachedHost host(controller, "server0", facts);
  const auto link_state = [&controller] {
    Report report;
    EXPECT_TRUE(controller.Check(CheckRequest(), &report).ok());
    return RuleOf(report, "link").state();
  };
  EXPECT_EQ(link_state(), FAIL);

  WaiverResponse response;
  EXPECT_EQ(
      controller.Client(Role::kViewer)
          ->Waive(NewContext().get(), AskToWaive("link", "server0"), &response)
          .error_code(),
      grpc::StatusCode::PERMISSION_DENIED);
  const auto client = controller.Client(Role::kOperator);
  WaiveRequest bad = AskToWaive("lnik", "server[0-9]");
  bad.set_devices("x");
  bad.set_reason(" ");
  bad.set_until("2025-02-30");
  const grpc::Status wrong = client->Waive(NewContext().get(), bad, &response);
  EXPECT_EQ(wrong.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
  EXPECT_THAT(
      wrong.error_message(),
      testing::AllOf(HasSubstr("did you mean \"link\"?"), HasSubstr("server9"),
                     HasSubstr("devices: "), HasSubstr("reason: has 0 bytes"),
                     HasSubstr("\"2025-02-30\" is not a moment")));
  WaiveRequest absent = AskToWaive("link", "server9");
  absent.set_devices("3,44");
  absent.set_reason("cable\nordered");
  WaiveRequest part = AskToWaive("maintenance", "server0");
  part.set_devices("3");
  WaiveRequest never = AskToWaive("listen-backlog", "server0");
  never.set_devices("3");
  WaiveRequest five = AskToWaive("link", "server0");
  five.set_until("5");
  for (const auto& [request, text] :
       {std::make_pair(absent, "devices: no host has device 44, expected ids "),
        std::make_pair(absent, "server9, did you mean \"server0\"?"),
        std::make_pair(absent, "reason: has 13 bytes, expected one line of 1"),
        std::make_pair(part, "devices: maintenance is of whole hosts"),
        std::make_pair(never,
                       "devices: listen-backlog says nothing of single "
                       "devices, expected no devices"),
        std::make_pair(five,
                       "\"5\" is not a moment, expected UTC such as "
                       "2026-12-01T10:00Z, or from now such as 2h or "
                       "30d")}) {
    const grpc::Status refused =
        client->Waive(NewContext().get(), request, &response);
    EXPECT_EQ(refused.error_code(), grpc::StatusCode::INVALID_ARGUMENT);
    EXPECT_THAT(refused.error_message(), HasSubstr(text));
  }
  for (const char* until : {"-2h", "0s", "91d", "9999d", "2000-01-01", "inf"}) {
    WaiveRequest late = AskToWaive("link", "all");
    late.set_until(until);
    EXPECT_EQ(client->Waive(NewContext().get(), late, &response).error_code(),
              grpc::StatusCode::INVALID_ARGUMENT)
        << until;
  }
  EXPECT_EQ(link_state(), FAIL);

  ASSERT_TRUE(
      client
          ->Waive(NewContext().get(), AskToWaive("link", "server0"), &response)
          .ok());
  EXPECT_EQ(response.waiver().owner(),
            "spiffe://test/user/tester/role/operator");
  EXPECT_EQ(link_state(), WARN);
  controller.Stop();
  const std::string audit = TestCertificates::Text(controller.audit_path());
  EXPECT_THAT(audit, HasSubstr("link on server0 : cable\\\\x1b[31m ordered"));
  const std::string until = absl::FormatTime(
      absl::RFC3339_sec, absl::FromUnixMillis(response.waiver().until_ms()),
      absl::UTCTimeZone());
  EXPECT_THAT(audit,
              HasSubstr(absl::StrCat("\\\"", response.waiver().id(),
                                     "\\\" until ", until, ": link on")));
  EXPECT_THAT(audit, testing::Not(HasSubstr("\x1b")));
  // The same over a restart.
  controller.Start();
  ASSERT_TRUE(host->WaitAttached());
  EXPECT_EQ(link_state(), WARN);
  const auto again = controller.Client(Role::kOperator);
  EndWaiverRequest end;
  end.set_id(response.waiver().id());
  EXPECT_TRUE(again->EndWaiver(NewContext().get(), end, &response).ok());
  EXPECT_EQ(again->EndWaiver(NewContext().get(), end, &response).error_code(),
            grpc::StatusCode::NOT_FOUND);
  EXPECT_EQ(link_state(), FAIL);
  controller.SettleAudit();
  EXPECT_THAT(
      TestCertificates::Text(controller.audit_path()),
      testing::ContainsRegex(absl::StrCat("\"EndWaiver\"[^\n]*", end.id())));
}

TEST(WaiveTest, HostsGetTheWaiversThatCoverThem) {
  RunningController controller(2);
  RawHost host(controller.address(), controller.certificates.Host("server1"));
  ASSERT_TRUE(host.Send(RawHost::Hello()));
  HubMessage message;
  ASSERT_TRUE(host.Receive(&message));
  ASSERT_TRUE(message.has_welcome());
  ASSERT_TRUE(message.has_waivers()) << "it knows that there is none";
  EXPECT_EQ(message.waivers().waivers_size(), 0);
  const auto client = controller.Client(Role::kAdmin);
  for (const char* name : {"server0", "server1"}) {
    WaiverResponse response;
    ASSERT_TRUE(client
                    ->Waive(NewContext().get(), AskToWaive("maintenance", name),
                            &response)
                    .ok());
    ASSERT_TRUE(host.Receive(&message));
    ASSERT_TRUE(message.has_waivers());
    EXPECT_EQ(message.waivers().waivers_size(), name[6] - '0');
  }
  EXPECT_EQ(message.waivers().waivers(0).rule(), "maintenance");
}

}  // namespace
}  // namespace clusterd
