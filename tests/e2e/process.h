// Starts one of our programs for an end-to-end test. The destructor ends it by
// pid, and the kernel ends it if the test dies.
#ifndef TESTS_E2E_PROCESS_H_
#define TESTS_E2E_PROCESS_H_

#include <sys/types.h>

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "tests/support/wait/patience.h"

namespace clusterd {

struct ProcessResult {
  int exit_status = -1;  // -1: a signal ended it.
  int signal = 0;
  std::string standard_output;
  std::string standard_error;
};

// Not thread-safe.
class Process {
 public:
  // argv[0] is a path; `environment` replaces the caller's. Aborts the test
  // program if it cannot be started.
  explicit Process(std::vector<std::string> argv,
                   std::vector<std::string> environment = {});
  // Kills it if it still runs, and waits for it.
  ~Process();
  Process(const Process&) = delete;
  Process& operator=(const Process&) = delete;

  pid_t pid() const { return pid_; }

  // Waits until standard error has held `text` since the last call that found
  // its text; otherwise fails the test with the whole output.
  void ExpectError(const std::string& text, absl::Duration limit = kPatience);
  // The same without a failure: DeadlineExceeded after `limit`, Unavailable if
  // the stream ends before; both messages hold its whole output.
  absl::Status WaitForError(const std::string& text,
                            absl::Duration limit = kPatience);
  // The same; `rest` is the text between `text` and the end of its line.
  absl::Status WaitForErrorLine(const std::string& text, std::string* rest,
                                absl::Duration limit = kPatience);

  void Signal(int signal);
  // Waits for the end, reading both streams. Kills it after `limit`.
  ProcessResult Wait(absl::Duration limit = kPatience);
  // Sends the signal and waits for the end.
  ProcessResult EndBy(int signal) {
    Signal(signal);
    return Wait();
  }

 private:
  // Reads available data; false at the end of both streams or after `until`.
  bool Pump(absl::Time until);

  pid_t pid_ = -1;
  int out_ = -1;
  int err_ = -1;
  size_t searched_ = 0;
  ProcessResult result_;
};

// The processes that `pid` has started and that still run.
std::vector<pid_t> ChildrenOf(pid_t pid);

// Runs a program to its end.
ProcessResult RunProgram(std::vector<std::string> argv,
                         std::vector<std::string> environment = {},
                         absl::Duration limit = kPatience);

}  // namespace clusterd

#endif  // TESTS_E2E_PROCESS_H_
