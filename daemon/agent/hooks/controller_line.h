// What a hook asks the controller, over the stream that this host has open.
#ifndef DAEMON_AGENT_HOOKS_CONTROLLER_LINE_H_
#define DAEMON_AGENT_HOOKS_CONTROLLER_LINE_H_

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "proto/agent_hub.pb.h"

namespace clusterd {

// Both block, at most for `wait`, and fill in the question's id. Unavailable:
// this host is not attached, or was cut off before the answer.
// DeadlineExceeded: no answer in time, as of a controller that knows no such
// question. AskJob also passes on the controller's own error. Safe for
// concurrent use.
class ControllerLine {
 public:
  virtual ~ControllerLine() = default;

  virtual absl::StatusOr<SignedVerdict> AskJob(JobQuestion question,
                                               absl::Duration wait) = 0;
  virtual absl::StatusOr<DrainAnswer> AskDrain(DrainQuestion question,
                                               absl::Duration wait) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_CONTROLLER_LINE_H_
