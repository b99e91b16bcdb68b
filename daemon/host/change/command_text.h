// Formats an external program's output as one line for an error message.
#ifndef DAEMON_HOST_CHANGE_COMMAND_TEXT_H_
#define DAEMON_HOST_CHANGE_COMMAND_TEXT_H_

#include "absl/status/statusor.h"
#include "config/words/words.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Returns, e.g., "`ufw disable`: status 1: ERROR: problem running ufw-init".
// The program is named without its folder. Its words come from stderr, or
// stdout if that is empty, without control characters, at most 200 bytes. A run
// that could not start shows its status.
FindingValue CommandWords(const Command& command,
                          const absl::StatusOr<CommandResult>& result);

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_COMMAND_TEXT_H_
