#include "tests/support/host/logged_command_runner.h"

namespace clusterd {

LoggedCommandRunner::LoggedCommandRunner(CommandRunner* inner)
    : inner_(inner) {}

absl::StatusOr<CommandResult> LoggedCommandRunner::Run(const Command& command) {
  absl::StatusOr<CommandResult> result = inner_->Run(command);
  absl::MutexLock lock(&mutex_);
  commands_.push_back({command, result});
  return result;
}

std::vector<LoggedCommand> LoggedCommandRunner::commands() const {
  absl::MutexLock lock(&mutex_);
  return commands_;
}

}  // namespace clusterd
