// A hook's questions to the controller, over this host's stream.
#ifndef DAEMON_AGENT_STREAM_LINE_H_
#define DAEMON_AGENT_STREAM_LINE_H_

#include <memory>
#include <utility>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "daemon/agent/agent_stream.h"
#include "daemon/agent/hooks/controller_line.h"

namespace clusterd {

// As ControllerLine. Every call returns once the stream has been stopped.
class StreamLine final : public ControllerLine {
 public:
  explicit StreamLine(std::shared_ptr<AgentStream> stream)
      : stream_(std::move(stream)) {}

  absl::StatusOr<SignedVerdict> AskJob(JobQuestion question,
                                       absl::Duration wait) override;
  absl::StatusOr<DrainAnswer> AskDrain(DrainQuestion question,
                                       absl::Duration wait) override;

 private:
  absl::StatusOr<HubMessage> Ask(AgentMessage question, absl::Duration wait);

  const std::shared_ptr<AgentStream> stream_;
};

}  // namespace clusterd

#endif  // DAEMON_AGENT_STREAM_LINE_H_
