// Runs the program of a notifier, which reads the news on its standard input.
// Those are in memory, whole, before it starts, so that a program that does not
// read them holds up nothing.
#ifndef DAEMON_CONTROLLER_NOTIFY_NOTIFIER_COMMAND_H_
#define DAEMON_CONTROLLER_NOTIFY_NOTIFIER_COMMAND_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"

namespace clusterd {

// The first line of what it wrote, on either stream, fit for a log. It runs in
// "/", as our own user, in a process group of its own, which is killed when it
// ends, at the deadline, and when `stop` (of a StopSignal) can be read; it
// inherits nothing, and its environment is PATH and LC_ALL.
//
// FailedPrecondition, with that line, for another status than 0 or a signal;
// NotFound or PermissionDenied if it cannot be run; DeadlineExceeded;
// Cancelled: `stop`; Unavailable: no process or memory to be had, or a status
// of 75, EX_TEMPFAIL of sysexits.h, by which a program asks to be run again
// later. REQUIRES: argv[0] is an absolute path.
absl::StatusOr<std::string> RunNotifierCommand(
    const std::vector<std::string>& argv, absl::string_view input,
    absl::Duration deadline, int stop);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_NOTIFY_NOTIFIER_COMMAND_H_
