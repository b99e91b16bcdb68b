#include "tests/component/test_daemon.h"

#include <signal.h>
#include <unistd.h>

#include <utility>

namespace clusterd {

AgentFlags FlagsFor(TestCertificates* certificates, const std::string& host,
                    const std::string& controller) {
  AgentFlags flags;
  flags.controller = controller;
  flags.cluster = "test";
  flags.tls = certificates->Host(host);
  flags.socket = certificates->folder() + "/agent.sock";
  flags.root = certificates->folder();
  flags.state = "/var/lib/clusterd";
  return flags;
}

DaemonParts PartsFor(Scenario* scenario, HostObserver* observer,
                     BlockedSignals* signals, Log* log) {
  DaemonParts parts;
  parts.observer = observer;
  parts.access.files = &scenario->machine.files();
  parts.access.runner = &scenario->machine;
  parts.access.reader = &scenario->machine;
  parts.access.clock = &scenario->clock;
  parts.access.locks = &scenario->locks;
  parts.device_users = &TestDaemon::NoUsers;
  parts.signals = signals;
  parts.log = log;
  return parts;
}

TestDaemon::TestDaemon(const AgentFlags& flags, Scenario* scenario,
                       BlockedSignals* signals,
                       const std::string& notify_socket,
                       Applier::DeviceUsers device_users) {
  DaemonParts parts = PartsFor(scenario, &observer_, signals, &log_);
  parts.device_users = std::move(device_users);
  thread_ = std::thread([this, flags, notify_socket, parts] {
    status_ = RunDaemon(flags, notify_socket, parts);
  });
}

TestDaemon::~TestDaemon() { Terminate().IgnoreError(); }

void TestDaemon::BeginTerminate() {
  if (!signalled_) kill(getpid(), SIGTERM);
  signalled_ = true;
}

absl::Status TestDaemon::Terminate() {
  BeginTerminate();
  if (thread_.joinable()) thread_.join();
  return status_;
}

}  // namespace clusterd
