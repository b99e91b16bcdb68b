// Runs commands through another runner and remembers them: for the journal of
// what was done to a host, and for tests.
#ifndef DAEMON_HOST_RECORDING_COMMAND_RUNNER_H_
#define DAEMON_HOST_RECORDING_COMMAND_RUNNER_H_

#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "daemon/host/command_runner.h"

namespace clusterd {

struct RecordedCommand {
  Command command;
  absl::StatusOr<CommandResult> result;
};

// Safe for concurrent use.
class RecordingCommandRunner final : public CommandRunner {
 public:
  // `inner` must outlive this object.
  explicit RecordingCommandRunner(CommandRunner* inner);

  absl::StatusOr<CommandResult> Run(const Command& command) override
      ABSL_LOCKS_EXCLUDED(mutex_);

  // In the order in which they ended.
  std::vector<RecordedCommand> commands() const ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  CommandRunner* const inner_;
  mutable absl::Mutex mutex_;
  std::vector<RecordedCommand> commands_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // DAEMON_HOST_RECORDING_COMMAND_RUNNER_H_
