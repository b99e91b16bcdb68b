#include "client/connection/controller_client.h"

#include <vector>

#include "absl/strings/match.h"
#include "client/testing/fake_controller.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

constexpr absl::Duration kLong = absl::Seconds(60);

std::unique_ptr<ControllerClient> ClientOf(FakeController& controller,
                                           Interrupt& interrupt) {
  return std::make_unique<ControllerClient>(*controller.ToController({}),
                                            "head:7443", interrupt);
}

CheckProgress ProgressOf(uint32_t answered) {
  CheckProgress progress;
  progress.set_answered(answered);
  return progress;
}

void Ignore(const CheckProgress&) {}

TEST(ControllerClientTest, HandsOverProgressThenTheReport) {
  ControllerScript script;
  script.check_events = {EventOf(ProgressOf(1)), EventOf(ProgressOf(2)),
                         EventOf(PassingReport({"server0"}))};
  FakeController controller(script);
  Interrupt interrupt;
  CheckRequest request;
  request.add_hosts("server0");
  std::vector<uint32_t> seen;
  const auto report =
      ClientOf(controller, interrupt)
          ->Check(request, kLong, [&](const CheckProgress& progress) {
            seen.push_back(progress.answered());
          });
  ASSERT_TRUE(report.ok()) << report.status();
  EXPECT_EQ(report->verdict(), PASS);
  EXPECT_EQ(seen, (std::vector<uint32_t>{1, 2}));
  EXPECT_EQ(controller.check_request().value().hosts(0), "server0");
}

TEST(ControllerClientTest, CallsAStreamWithoutReportAMistakeOfTheController) {
  FakeController controller({});
  Interrupt interrupt;
  const auto report = ClientOf(controller, interrupt)->Check({}, kLong, Ignore);
  EXPECT_TRUE(absl::IsInternal(report.status()));
  EXPECT_EQ(
      report.status().message(),
      "controller head:7443: ended the check with 0 reports, expected one");
}

TEST(ControllerClientTest, DoesNotTrustAReportBeforeABrokenStream) {
  ControllerScript script;
  script.check_events = {EventOf(PassingReport({"server0"}))};
  script.check_status =
      grpc::Status(grpc::StatusCode::UNAVAILABLE, "Socket closed");
  FakeController controller(script);
  Interrupt interrupt;
  const auto report = ClientOf(controller, interrupt)->Check({}, kLong, Ignore);
  EXPECT_TRUE(absl::IsUnavailable(report.status()));
  EXPECT_EQ(report.status().message(),
            "controller head:7443: the connection broke: Socket closed");
}

TEST(ControllerClientTest, GivesUpAtTheDeadline) {
  ControllerScript script;
  script.check_hangs = true;
  FakeController controller(script);
  Interrupt interrupt;
  const auto report = ClientOf(controller, interrupt)
                          ->Check({}, absl::Milliseconds(50), Ignore);
  EXPECT_TRUE(absl::IsDeadlineExceeded(report.status()));
  EXPECT_EQ(report.status().message(),
            "controller head:7443: no answer in 50ms (--timeout)");
}

TEST(ControllerClientTest, EndsARunningCallOnCtrlC) {
  ControllerScript script;
  script.check_events = {EventOf(ProgressOf(1))};
  script.check_hangs = true;
  FakeController controller(script);
  Interrupt interrupt;
  const auto report =
      ClientOf(controller, interrupt)
          ->Check({}, kLong, [&](const CheckProgress&) { interrupt.Fire(); });
  EXPECT_TRUE(absl::IsCancelled(report.status()));
  EXPECT_EQ(report.status().message(), "interrupted");
}

TEST(ControllerClientTest, MakesNoCallAfterCtrlC) {
  FakeController controller({});
  Interrupt interrupt;
  interrupt.Fire();
  EXPECT_TRUE(absl::IsCancelled(
      ClientOf(controller, interrupt)->GetSpec(kLong).status()));
}

TEST(ControllerClientTest, TellsACancelledCallFromCtrlC) {
  ControllerScript script;
  script.hosts_status =
      grpc::Status(grpc::StatusCode::CANCELLED, "controller ends");
  FakeController controller(script);
  Interrupt interrupt;
  EXPECT_EQ(
      ClientOf(controller, interrupt)->ListHosts(kLong).status().message(),
      "controller head:7443: controller ends");
}

TEST(CheckSelfTest, NamesTheSocketWhenTheDaemonRefuses) {
  ControllerScript script;
  script.self_status =
      grpc::Status(grpc::StatusCode::FAILED_PRECONDITION, "no spec yet");
  FakeController controller(script);
  Interrupt interrupt;
  const auto answer = CheckSelf(*controller.ToLocalDaemon("/run/c.sock"),
                                "/run/c.sock", kLong, interrupt);
  EXPECT_EQ(answer.status().message(),
            "clusterd of this host, /run/c.sock: no spec yet");
}

}  // namespace
}  // namespace clusterd
