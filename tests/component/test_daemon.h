// clusterd as a service in a thread of the test, on a machine in memory.
#ifndef TESTS_COMPONENT_TEST_DAEMON_H_
#define TESTS_COMPONENT_TEST_DAEMON_H_

#include <string>
#include <thread>

#include "absl/status/status.h"
#include "daemon/agent/agent_flags.h"
#include "daemon/agent/run_daemon.h"
#include "daemon/process/signals.h"
#include "tests/component/test_certificates.h"
#include "tests/component/test_host.h"
#include "tests/support/apply/apply_scenarios.h"
#include "tests/support/process/captured_log.h"

namespace clusterd {

// Flags of `host` in cluster "test"; its root is the folder of certificates,
// which also has its socket.
AgentFlags FlagsFor(TestCertificates* certificates, const std::string& host,
                    const std::string& controller);

class TestDaemon {
 public:
  // The devices are unused.
  static absl::StatusOr<std::vector<DeviceUser>> NoUsers() {
    return std::vector<DeviceUser>();
  }

  // Starts. `signals` was made before any thread of the process; only the
  // daemon changes `scenario` while it runs. Both must outlive it.
  TestDaemon(const AgentFlags& flags, Scenario* scenario,
             BlockedSignals* signals, const std::string& notify_socket = "",
             Applier::DeviceUsers device_users = &NoUsers);
  // Ends it as Terminate does.
  ~TestDaemon();

  // Sends SIGTERM without waiting.
  void BeginTerminate();
  // Sends SIGTERM unless it was sent, and waits for the end.
  absl::Status Terminate();

  CapturedLog& log() { return log_; }

 private:
  MemoryObserver observer_{HostFacts()};
  CapturedLog log_;
  absl::Status status_;
  bool signalled_ = false;
  std::thread thread_;  // Last: uses everything above.
};

// Parts that a test hands to RunDaemon itself.
DaemonParts PartsFor(Scenario* scenario, HostObserver* observer,
                     BlockedSignals* signals, Log* log);

}  // namespace clusterd

#endif  // TESTS_COMPONENT_TEST_DAEMON_H_
