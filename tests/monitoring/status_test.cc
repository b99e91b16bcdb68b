// The status port of a real controller: its pages about checks, and its access
// control.
#include <fstream>
#include <iterator>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/identity/tls_credentials.h"
#include "daemon/controller/status/http_server.h"
#include "daemon/process/scheduler.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_host.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/http/http_client.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

ControllerServerOptions StatusOn(const std::string& listen) {
  ControllerServerOptions options;
  options.status_listen = listen;
  return options;
}

TEST(StatusTest, ShowsTheNewestCheckOfAllAndCountsHosts) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 2, &scheduler,
                            StatusOn("127.0.0.1:0"));
  controller.Start();
  const auto spec = controller.spec().spec();
  MemoryObserver observer(MakeHealthyHost(*spec, spec->servers(0)));
  TestHost::Options options;
  options.name = "server0";
  options.controller = controller.address();
  options.tls = certificates.Host(options.name);
  TestHost host(options, &observer);
  ASSERT_TRUE(host.WaitAttached());

  // Each on a connection of its own: one that is idle is closed.
  const auto get = [&controller](const char* path) {
    return HttpClient(controller.status_port()).Get(path);
  };
  EXPECT_EQ(get("/report").code, 404);
  Report report;
  ASSERT_TRUE(controller.Check({}, &report).ok());
  const HttpReply page = get("/report");
  EXPECT_EQ(page.code, 200);
  EXPECT_THAT(page.head, HasSubstr("Content-Type: text/html"));
  EXPECT_THAT(page.body, AllOf(HasSubstr("Content-Security-Policy"),
                               HasSubstr(report.run_id())));
  EXPECT_THAT(get("/report.json").body, HasSubstr(report.run_id()));
  // A check of only one host is not the newest of all.
  CheckRequest of_one;
  of_one.add_hosts("server0");
  Report other;
  ASSERT_TRUE(controller.Check(of_one, &other).ok());
  EXPECT_THAT(get("/report.json").body, AllOf(HasSubstr(report.run_id()),
                                              Not(HasSubstr(other.run_id()))));
  const std::string metrics = get("/metrics").body;
  EXPECT_THAT(
      metrics,
      AllOf(HasSubstr("clusterd_hosts{state=\"expected\"} 2\n"),
            HasSubstr("clusterd_hosts{state=\"attached\"} 1\n"),
            HasSubstr("clusterd_host_state{host=\"server1\"} 4\n"),
            HasSubstr("clusterd_rule_state{rule=\"gateway\",state=\"pass\"} "),
            HasSubstr("clusterd_check_last_success_timestamp_seconds "),
            HasSubstr("kind=\"controller\"} "), HasSubstr("kind=\"ca\"} "),
            HasSubstr("kind=\"host\"} ")));
  // The host's connection, and those of the clients.
  EXPECT_THAT(metrics,
              Not(HasSubstr("clusterd_attach_wait_seconds_count 0\n")));

  // The history's data is back after a restart.
  controller.Stop();
  controller.Start();
  HttpReply again;
  EXPECT_TRUE(WaitUntil([&] {
    again = get("/report.json");
    return again.code == 200;
  }));
  EXPECT_THAT(again.body, HasSubstr(report.run_id()));
}

TEST(StatusTest, AnAddressThatNobodyHasNamedIsLocalAndMayBeTaken) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  // Repeats until this test can take the status port: another program may have
  // it now, and leave it at any time.
  std::unique_ptr<TestController> controller;
  std::unique_ptr<HttpServer> other;
  HttpServerOptions taken;
  while (other == nullptr) {
    controller = std::make_unique<TestController>(&certificates, 1, &scheduler,
                                                  StatusOn(""));
    controller->Start();
    if (controller->status_port() == 0) continue;
    EXPECT_EQ(HttpClient(controller->status_port()).Get("/").code, 200);
    // Accepted before the call, and closed by the controller when it stops:
    // then no other program is given the main port meanwhile.
    const int main_port = std::stoi(controller->address().substr(10));
    const HttpClient kept(main_port);
    EXPECT_EQ(controller->ListHosts().hosts_size(), 1);
    controller->Stop();
    taken.listen = absl::StrCat("127.0.0.1:", main_port + 2);
    auto started = HttpServer::Start(taken, {}, nullptr);
    if (started.ok()) other = *std::move(started);
  }
  controller->Start();
  EXPECT_EQ(controller->status_port(), 0);
  EXPECT_THAT(controller->log().Lines(),
              AllOf(HasSubstr("no status port: "), HasSubstr(taken.listen)));
  EXPECT_EQ(controller->ListHosts().hosts_size(), 1);
}

TEST(StatusTest, HealthIsBadWhileTheTimersStandStill) {
  TestCertificates certificates;
  ManualScheduler stands_still;
  TestController stuck(&certificates, 1, &stands_still,
                       StatusOn("127.0.0.1:0"));
  stuck.Start();
  // On a busy machine the workers may be late too, but not forever.
  EXPECT_TRUE(WaitUntil([&] {
    const HttpReply bad = HttpClient(stuck.status_port()).Get("/healthz");
    EXPECT_EQ(bad.code, 503);
    EXPECT_THAT(bad.body, HasSubstr("timers: no answer in 1s\n"));
    return bad.body == "timers: no answer in 1s\nworkers: ok\n";
  }));

  TestCertificates others;
  ThreadScheduler scheduler;
  TestController good(&others, 1, &scheduler, StatusOn("127.0.0.1:0"));
  good.Start();
  HttpReply fine;
  EXPECT_TRUE(WaitUntil([&] {
    fine = HttpClient(good.status_port()).Get("/healthz");
    return fine.code == 200;
  }));
  EXPECT_EQ(fine.body, "timers: ok\nworkers: ok\n");
}

TEST(StatusTest, AMetricOfAControllerThatLearnsHasNoHosts) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 0, &scheduler,
                            StatusOn("127.0.0.1:0"));
  controller.Start();
  EXPECT_THAT(HttpClient(controller.status_port()).Get("/metrics").body,
              HasSubstr("clusterd_hosts{state=\"expected\"} 0\n"));
}

TEST(StatusTest, OnAnyOtherAddressViewersGetInAndNobodyElse) {
  TestCertificates certificates;
  ThreadScheduler scheduler;
  TestController controller(&certificates, 1, &scheduler,
                            StatusOn("0.0.0.0:0"));
  controller.Start();
  const auto get_as = [&](const TlsFiles& files) {
    const auto pem = ReadTlsFiles(files);
    EXPECT_TRUE(pem.ok()) << pem.status();
    return HttpClient(controller.status_port(), *pem).Get("/");
  };
  for (const Role role : {Role::kViewer, Role::kOperator, Role::kAdmin}) {
    const TlsFiles user =
        certificates.User(absl::StrCat("ann-", RoleName(role)), role);
    EXPECT_EQ(get_as(user).code, 200) << RoleName(role);
  }
  const HttpReply hook = get_as(certificates.User("slurm", Role::kHook));
  EXPECT_EQ(hook.code, 403);
  EXPECT_THAT(hook.body, Tells("msg-trust-role", kAny, kAny, "hook", "viewer"));
  const HttpReply host = get_as(certificates.Host("server0"));
  EXPECT_EQ(host.code, 403);
  EXPECT_THAT(host.body, HasSubstr("only a user may do this"));
  const HttpReply foreign =
      get_as(certificates.Issue("foreign", {"spiffe://other/user/ann"}));
  EXPECT_EQ(foreign.code, 403);
  EXPECT_THAT(foreign.body, HasSubstr("is not of this cluster"));

  LockEntry lock;
  lock.set_identity("user/ann-viewer");
  lock.set_by("spiffe://test/user/root");
  controller.gate().Hold(lock);
  const HttpReply locked =
      get_as(certificates.User("ann-viewer", Role::kViewer));
  EXPECT_EQ(locked.code, 403);
  EXPECT_THAT(locked.body, HasSubstr("is locked"));

  controller.Stop();
  std::ifstream file(controller.audit_path());
  const std::string audit(std::istreambuf_iterator<char>(file), {});
  EXPECT_THAT(audit, HasSubstr("\"status\""));
}

}  // namespace
}  // namespace clusterd
