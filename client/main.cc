// clusterctl: passes the process's arguments to command/command.h.
#include <pthread.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>
#include <string>
#include <thread>
#include <vector>

#include "absl/time/clock.h"
#include "client/command/command.h"
#include "client/connection/connector.h"
#include "client/connection/rpc_client.h"
#include "client/files/user_files.h"
#include "config/report/verdict.h"
#include "config/words/words.h"

extern char** environ;

namespace {

clusterd::Environment ReadEnvironment() {
  clusterd::Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    const size_t equals = text.find('=');
    if (equals != std::string::npos) {
      environment[text.substr(0, equals)] = text.substr(equals + 1);
    }
  }
  return environment;
}

clusterd::Terminal ReadTerminal() {
  clusterd::Terminal terminal;
  terminal.out_is_terminal = isatty(STDOUT_FILENO) == 1;
  terminal.err_is_terminal = isatty(STDERR_FILENO) == 1;
  terminal.in_is_terminal = isatty(STDIN_FILENO) == 1;
  winsize size = {};
  const int fd = terminal.out_is_terminal ? STDOUT_FILENO : STDERR_FILENO;
  if (ioctl(fd, TIOCGWINSZ, &size) == 0) {
    terminal.width = size.ws_col;
    terminal.height = size.ws_row;
  }
  return terminal;
}

// Waits for signals in its own thread. The first ends the call, and the run
// prints its findings so far. For an apply or rollback the first cancels the
// run and the second ends the call. The next one ends the program.
void WaitForSignals(const sigset_t& signals, clusterd::Interrupt& interrupt) {
  for (;;) {
    int signal = 0;
    if (sigwait(&signals, &signal) != 0) return;
    if (signal == SIGUSR1) return;  // From main, at the end.
    if (!interrupt.Fire()) _exit(clusterd::kExitNoVerdict);
  }
}

}  // namespace

int main(int argc, char** argv) {
  // The detector is for tests, and takes much CPU in a storm.
  absl::SetMutexDeadlockDetectionMode(absl::OnDeadlockCycle::kIgnore);
  // gRPC logs every failed connection; clusterctl explains it instead.
  setenv("GRPC_VERBOSITY", "NONE", /*overwrite=*/0);
  sigset_t signals;
  sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGUSR1})
    sigaddset(&signals, signal);
  pthread_sigmask(SIG_BLOCK, &signals, nullptr);  // Later threads inherit it.
  char host_name[256] = {};
  gethostname(host_name, sizeof(host_name) - 1);
  clusterd::Interrupt interrupt;
  std::thread waiter([&] { WaitForSignals(signals, interrupt); });
  clusterd::GrpcConnector connector;
  clusterd::Session session{std::cout,
                            std::cerr,
                            ReadTerminal(),
                            ReadEnvironment(),
                            [] { return absl::Now(); },
                            connector,
                            interrupt,
                            "/",
                            absl::LocalTimeZone(),
                            [&interrupt] {
                              return clusterd::ReadTypedLine(
                                  STDIN_FILENO, interrupt.descriptor());
                            },
                            host_name,
                            ReadTerminal};
  int status = clusterd::RunClusterctl(
      std::vector<std::string>(argv + 1, argv + argc), session);
  // A report that could not be written, e.g. on a full disk, is not a pass.
  if (!std::cout.flush()) {
    const clusterd::InLanguage spoken(
        clusterd::LanguageOf(session.environment));
    std::cerr << "clusterctl: " << clusterd::Say("msg-stdout-not-written")
              << "\n";
    if (status == clusterd::kExitPass) status = clusterd::kExitNoVerdict;
  }
  pthread_kill(waiter.native_handle(), SIGUSR1);
  waiter.join();
  return status;
}
