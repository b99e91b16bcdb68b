#include "daemon/host/recording_command_runner.h"

namespace clusterd {

RecordingCommandRunner::RecordingCommandRunner(CommandRunner* inner)
    : inner_(inner) {}

absl::StatusOr<CommandResult> RecordingCommandRunner::Run(
    const Command& command) {
  absl::StatusOr<CommandResult> result = inner_->Run(command);
  absl::MutexLock lock(&mutex_);
  commands_.push_back({command, result});
  return result;
}

std::vector<RecordedCommand> RecordingCommandRunner::commands() const {
  absl::MutexLock lock(&mutex_);
  return commands_;
}

}  // namespace clusterd
