// Runs clusterctl in-process: arguments in; stdout, stderr and status out.
#ifndef TESTS_SUPPORT_CLIENT_PROGRAM_RUN_H_
#define TESTS_SUPPORT_CLIENT_PROGRAM_RUN_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "config/words/terminal.h"
#include "tests/support/client/fake_controller.h"

namespace clusterd {

struct ProgramOutput {
  int status = -1;
  std::string out;
  std::string err;
};

// The process that a run believes it lives in.
struct ProgramWorld {
  ControllerScript script;
  Terminal terminal;
  // All connection settings, and a UTF-8 locale, unless a test removes them.
  Environment environment = {
      {"CLUSTERD_CONTROLLER", "head:7443"},
      {"CLUSTERD_CLUSTER", "demo"},
      {"CLUSTERD_CA", "/etc/clusterd/ca.crt"},
      {"CLUSTERD_CERT", "/etc/clusterd/user.crt"},
      {"CLUSTERD_KEY", "/etc/clusterd/user.key"},
      {"LC_ALL", "C.UTF-8"},
  };
  // An empty folder: no settings file exists.
  std::string root = "/nonexistent";
  // Set if a test checks the requests to the controller.
  FakeController* controller = nullptr;
  // Ctrl-C is pressed as soon as stderr holds this text; empty: never. And
  // again when it holds the other.
  std::string interrupt_at;
  std::string interrupt_again_at;
  // The same when stdout has been flushed that often; 0: never.
  int interrupt_at_flush = 0;
  // The clock advances by this at each reading.
  absl::Duration clock_step = absl::ZeroDuration();
  // The user's input when asked.
  absl::StatusOr<std::string> answer = absl::OutOfRangeError("no answer");
  absl::TimeZone zone = absl::UTCTimeZone();
  std::string host_name = "login1";
};

// One run at 2025-01-01 00:00 UTC, by a clock that stands still by default.
ProgramOutput RunProgram(const std::vector<std::string>& arguments,
                         const ProgramWorld& world = {});

// The text of `clusterctl COMMAND --help` about one exit status, as one line;
// fails the test if it is missing.
std::string HelpOfStatus(const std::string& command, int status);

// A new file in the test's own folder with this content; its path.
std::string TestFile(const std::string& name, const std::string& content);

// The content of a file; fails the test if it does not exist.
std::string FileContent(const std::string& path);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CLIENT_PROGRAM_RUN_H_
