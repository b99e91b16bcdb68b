// clusterd as a service, from start to SIGTERM, in a thread of the test.
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <csignal>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <thread>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/synchronization/notification.h"
#include "absl/time/time.h"
#include "config/words/words.h"
#include "daemon/agent/run_daemon.h"
#include "daemon/process/scheduler.h"
#include "daemon/process/signals.h"
#include "gmock/gmock.h"
#include "grpcpp/create_channel.h"
#include "gtest/gtest.h"
#include "proto/agent_hub.grpc.pb.h"
#include "tests/component/running_controller.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_controller.h"
#include "tests/component/test_daemon.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// Created before any thread of the process, gRPC's included: every thread must
// block the signals.
BlockedSignals process_signals;

AgentStatus AskSocket(const std::string& path) {
  const auto client = LocalAgent::NewStub(grpc::CreateChannel(
      "unix:" + path, grpc::experimental::LocalCredentials(UDS)));
  AgentStatus response;
  const grpc::Status status =
      client->GetStatus(NewContext().get(), {}, &response);
  EXPECT_TRUE(status.ok()) << status.error_message();
  return response;
}

TEST(DaemonTest, AttachesAnswersLocallyAndEndsOnSigterm) {
  RunningController controller(1);
  const AgentFlags flags =
      FlagsFor(&controller.certificates, "server0", controller.address());
  const auto machine = OpenUfwScenario();
  TestDaemon daemon(flags, machine.get(), &process_signals);
  ASSERT_TRUE(daemon.log().WaitFor("attached to"));

  const AgentStatus status = AskSocket(flags.socket);
  EXPECT_EQ(status.host(), "server0");
  EXPECT_TRUE(status.attached());
  EXPECT_EQ(status.controller(), controller.address());

  EXPECT_TRUE(daemon.Terminate().ok());
  ASSERT_TRUE(controller.log().WaitFor(Say("msg-hub-stream-ended")));
  EXPECT_NE(access(flags.socket.c_str(), F_OK), 0);
}

TEST(DaemonTest, RunsAndSaysWhyWhileTheControllerIsAway) {
  TestCertificates certificates;
  // No program can listen on port 0.
  const AgentFlags flags = FlagsFor(&certificates, "server0", "127.0.0.1:0");
  const auto machine = OpenUfwScenario();
  TestDaemon daemon(flags, machine.get(), &process_signals);
  ASSERT_TRUE(daemon.log().WaitFor("not attached"));
  const AgentStatus status = AskSocket(flags.socket);
  EXPECT_FALSE(status.attached());
  EXPECT_THAT(status.last_error(), HasSubstr("UNAVAILABLE"));
  EXPECT_TRUE(daemon.Terminate().ok());
}

TEST(DaemonTest, WritesMetricsForAnotherProgramIfConfigured) {
  RunningController controller(1);
  AgentFlags flags =
      FlagsFor(&controller.certificates, "server0", controller.address());
  flags.metrics_file = "/metrics/clusterd.prom";
  const std::string folder = controller.certificates.folder() + "/metrics";
  ASSERT_EQ(mkdir(folder.c_str(), 0755), 0);
  const auto machine = OpenUfwScenario();
  TestDaemon daemon(flags, machine.get(), &process_signals);
  const auto text = [&folder] {
    std::ifstream file(folder + "/clusterd.prom");
    return std::string(std::istreambuf_iterator<char>(file), {});
  };
  EXPECT_TRUE(WaitUntil([&text] {
    return absl::StrContains(text(), "clusterd_agent_attached 1\n");
  }));
  EXPECT_THAT(
      text(),
      AllOf(HasSubstr("clusterd_agent_attached 1\n"),
            HasSubstr("clusterd_agent_rules{state=\"unknown\"} "),
            HasSubstr("clusterd_agent_certificate_expiry_timestamp_seconds{"
                      "kind=\"host\"} "),
            HasSubstr("kind=\"ca\"} ")));
  EXPECT_TRUE(daemon.Terminate().ok());
}

// Plays systemd: takes the messages of a service of Type=notify.
class Systemd {
 public:
  explicit Systemd(const std::string& path) : path_(path) {
    fd_ = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un address = {};
    address.sun_family = AF_UNIX;
    std::strncpy(address.sun_path, path.c_str(), sizeof(address.sun_path) - 1);
    EXPECT_EQ(bind(fd_, reinterpret_cast<sockaddr*>(&address), sizeof(address)),
              0);
  }
  ~Systemd() { close(fd_); }

  const std::string& path() const { return path_; }
  // Waits for the next message.
  std::string Receive() { return ReceiveWith(0); }
  // Drops earlier messages; returns their number.
  int Forget() {
    int words = 0;
    while (!ReceiveWith(MSG_DONTWAIT).empty()) ++words;
    return words;
  }

 private:
  std::string ReceiveWith(int flags) {
    char word[64] = {};
    recv(fd_, word, sizeof(word) - 1, flags);
    return word;
  }

  const std::string path_;
  int fd_;
};
TEST(DaemonTest, TellsOnItsSocketThatAnUndoIsNotMadeAndLogsWhoAsked) {
  TestCertificates certificates;
  const AgentFlags flags = FlagsFor(&certificates, "server0", "127.0.0.1:0");
  const auto machine = AlmostAppliedScenario();
  machine->machine.files().SetOwner(kScenarioStateFolder, 12345, 0700);
  TestDaemon daemon(flags, machine.get(), &process_signals);
  ASSERT_TRUE(daemon.log().WaitFor("host server0 of cluster test"));
  EXPECT_THAT(AskSocket(flags.socket).unfinished(),
              HasSubstr(kScenarioStateFolder));
  EXPECT_TRUE(daemon.log().WaitFor(
      absl::StrCat("local call: GetStatus by uid ", geteuid(), " ")));
  EXPECT_TRUE(daemon.Terminate().ok());
}

TEST(DaemonTest, TellsSystemdWhenItIsReadyAndWhenItEnds) {
  TestCertificates certificates;
  Systemd systemd(certificates.folder() + "/notify");
  const auto machine = OpenUfwScenario();
  TestDaemon daemon(FlagsFor(&certificates, "server0", "127.0.0.1:0"),
                    machine.get(), &process_signals, systemd.path());
  EXPECT_EQ(systemd.Receive(), "READY=1");
  EXPECT_TRUE(daemon.Terminate().ok());
  EXPECT_EQ(systemd.Receive(), "STOPPING=1");
}

// A log that blocks the writer of a line with `text`, until released.
class BlockingLog final : public Log {
 public:
  explicit BlockingLog(std::string text) : text_(std::move(text)) {}
  void Write(LogLevel level, absl::string_view text) override {
    log.Write(level, text);
    if (absl::StrContains(text, text_)) release.WaitForNotification();
  }

  CapturedLog log;
  absl::Notification release;

 private:
  const std::string text_;
};

TEST(DaemonTest, TellsSystemdNothingWhileItsConnectionIsStuck) {
  TestCertificates certificates;
  Systemd systemd(certificates.folder() + "/notify");
  const auto machine = OpenUfwScenario();
  MemoryObserver observer{HostFacts()};
  // The connection's thread logs this and hangs.
  BlockingLog log("not attached");
  DaemonParts parts =
      PartsFor(machine.get(), &observer, &process_signals, &log);
  parts.watchdog = absl::Milliseconds(200);
  const AgentFlags flags = FlagsFor(&certificates, "server0", "127.0.0.1:0");
  absl::Status status;
  std::thread daemon([&] { status = RunDaemon(flags, systemd.path(), parts); });
  EXPECT_EQ(systemd.Receive(), "READY=1");
  // It is the first of the parts; on a busy machine others may be late too.
  ASSERT_TRUE(log.log.WaitFor("stuck: no answer in 100ms from the connection"));
  systemd.Forget();  // Sent before it hung.
  log.release.Notify();
  EXPECT_EQ(systemd.Receive(), "WATCHDOG=1");
  kill(getpid(), SIGTERM);
  daemon.join();
  EXPECT_TRUE(status.ok());
}

TEST(DaemonTest, RefusesToStartBesideAnother) {
  TestCertificates certificates;
  const AgentFlags flags = FlagsFor(&certificates, "server0", "127.0.0.1:0");
  const auto machine = OpenUfwScenario();
  TestDaemon first(flags, machine.get(), &process_signals);
  ASSERT_TRUE(first.log().WaitFor("host server0 of cluster test"));
  const auto other = OpenUfwScenario();
  MemoryObserver observer{HostFacts()};
  CapturedLog log;
  const absl::Status second = RunDaemon(
      flags, "", PartsFor(other.get(), &observer, &process_signals, &log));
  EXPECT_EQ(second.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(second.message()), HasSubstr("another clusterd"));
}

TEST(DaemonTest, RefusesToStartAsAnythingButAHost) {
  TestCertificates certificates;
  AgentFlags flags = FlagsFor(&certificates, "server0", "127.0.0.1:0");
  flags.tls = certificates.User("eve");
  const auto other = OpenUfwScenario();
  MemoryObserver observer{HostFacts()};
  CapturedLog log;
  const absl::Status status = RunDaemon(
      flags, "", PartsFor(other.get(), &observer, &process_signals, &log));
  EXPECT_EQ(status.code(), absl::StatusCode::kPermissionDenied);
  EXPECT_THAT(std::string(status.message()),
              HasSubstr("is spiffe://test/user/eve, expected a host"));
}

TEST(DaemonTest, LogsACertificateThatEndsWithinTwoDays) {
  TestCertificates certificates;
  AgentFlags flags = FlagsFor(&certificates, "server0", "127.0.0.1:0");
  IssueOptions soon;
  soon.valid_until = absl::Hours(47);
  flags.tls = certificates.Issue("soon", {"spiffe://test/host/server0"}, soon);
  const auto machine = OpenUfwScenario();
  TestDaemon daemon(flags, machine.get(), &process_signals);
  EXPECT_TRUE(
      daemon.log().WaitFor("<4>certificate spiffe://test/host/server0 in " +
                           flags.tls.certificate + " ends in 4"));
  EXPECT_TRUE(daemon.Terminate().ok());
}

}  // namespace
}  // namespace clusterd
