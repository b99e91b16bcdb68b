// Runs commands through another runner and remembers them: for the journal of a
// host's changes, and for tests.
#ifndef TESTS_SUPPORT_HOST_LOGGED_COMMAND_RUNNER_H_
#define TESTS_SUPPORT_HOST_LOGGED_COMMAND_RUNNER_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

struct LoggedCommand {
  Command command;
  absl::StatusOr<CommandResult> result;
};

// Safe for concurrent use.
class LoggedCommandRunner final : public CommandRunner {
 public:
  // `inner` must outlive this object.
  explicit LoggedCommandRunner(CommandRunner* inner);

  absl::StatusOr<CommandResult> Run(const Command& command) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  // Ordered by their ends.
  std::vector<LoggedCommand> commands() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  CommandRunner* const inner_;
  mutable absl::Mutex mutex_;
  std::vector<LoggedCommand> commands_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_LOGGED_COMMAND_RUNNER_H_
