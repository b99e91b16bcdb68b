// Programs that exist only in a test's script:
//   FakeCommandRunner runner(&clock);
//   runner.Answers("hccn_tool -i 0 -link -g", "link status: UP\n");
//   runner.Hangs("hccn_tool -i 1 -ip -g");
// A command is named by its program's last path component and its arguments,
// with blanks between. Others end with status 127.
#ifndef TESTS_SUPPORT_HOST_FAKE_COMMAND_RUNNER_H_
#define TESTS_SUPPORT_HOST_FAKE_COMMAND_RUNNER_H_

#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/host/command/command_runner.h"
#include "tests/support/host/fake_clock.h"

namespace clusterd {

// Safe for concurrent use.
class FakeCommandRunner final : public CommandRunner {
 public:
  // `clock` passes a deadline when a command hangs; it must outlive this
  // object.
  explicit FakeCommandRunner(FakeClock* clock);

  // Each call adds one run; the last one is repeated.
  void Answers(const std::string& command, std::string standard_output);
  void Fails(const std::string& command, int exit_status,
             std::string standard_error, std::string standard_output = "");
  void Ends(const std::string& command, CommandResult result);
  void Hangs(const std::string& command);
  // Killed at its deadline, but still there as process `pid`.
  void HangsForEver(const std::string& command, int pid);
  void CannotStart(const std::string& command, absl::Status status);
  // Forgets the script of `command`.
  void Forget(const std::string& command);
  // Replaces the script of `command`.
  void NowAnswers(const std::string& command, std::string standard_output) {
    Forget(command);
    Answers(command, std::move(standard_output));
  }
  void NowFails(const std::string& command, int exit_status,
                std::string standard_error, std::string standard_output = "") {
    Forget(command);
    Fails(command, exit_status, std::move(standard_error),
          std::move(standard_output));
  }
  void NowHangs(const std::string& command) {
    Forget(command);
    Hangs(command);
  }

  absl::StatusOr<CommandResult> Run(const Command& command) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Every command that was run, by name, in order.
  std::vector<std::string> commands() const ABSL_LOCKS_EXCLUDED(mutex_);
  int CountOf(const std::string& command) const ABSL_LOCKS_EXCLUDED(mutex_);
  // The copies that commands would have seen instead of files, in order.
  std::vector<PrivateFile> copies() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  using Script = std::deque<absl::StatusOr<CommandResult>>;

  void Add(const std::string& command, absl::StatusOr<CommandResult> run)
      ABSL_LOCKS_EXCLUDED(mutex_);

  FakeClock* const clock_;
  mutable absl::Mutex mutex_;
  std::map<std::string, Script> scripts_ ABSL_GUARDED_BY(mutex_);
  std::vector<std::string> commands_ ABSL_GUARDED_BY(mutex_);
  std::vector<PrivateFile> copies_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_FAKE_COMMAND_RUNNER_H_
