#include "daemon/agent/stream_line.h"

#include "absl/synchronization/notification.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

absl::Status ErrorOf(const TaskError& error) {
  if (error.code() == 0) {
    return absl::UnknownError("the controller's error has no code");
  }
  return absl::Status(static_cast<absl::StatusCode>(error.code()),
                      PrintableText(error.message()));
}

}  // namespace

absl::StatusOr<HubMessage> StreamLine::Ask(AgentMessage question,
                                           absl::Duration wait) {
  struct Reply {
    absl::StatusOr<HubMessage> answer;
    absl::Notification is_there;
  };
  const auto reply = std::make_shared<Reply>();
  stream_->Ask(std::move(question), wait,
               [reply](absl::StatusOr<HubMessage> answer) {
                 reply->answer = std::move(answer);
                 reply->is_there.Notify();
               });
  reply->is_there.WaitForNotification();
  return std::move(reply->answer);
}

absl::StatusOr<SignedVerdict> StreamLine::AskJob(JobQuestion question,
                                                 absl::Duration wait) {
  AgentMessage message;
  *message.mutable_job_question() = std::move(question);
  ASSIGN_OR_RETURN(HubMessage answer, Ask(std::move(message), wait));
  if (answer.job_answer().has_error()) {
    return ErrorOf(answer.job_answer().error());
  }
  if (!answer.job_answer().has_verdict()) {
    return absl::UnknownError("the controller's answer has no verdict");
  }
  return std::move(*answer.mutable_job_answer()->mutable_verdict());
}

absl::StatusOr<DrainAnswer> StreamLine::AskDrain(DrainQuestion question,
                                                 absl::Duration wait) {
  AgentMessage message;
  *message.mutable_drain_question() = std::move(question);
  ASSIGN_OR_RETURN(HubMessage answer, Ask(std::move(message), wait));
  if (!answer.has_drain_answer()) {
    return absl::UnknownError("the controller's answer is to no drain");
  }
  return std::move(*answer.mutable_drain_answer());
}

}  // namespace clusterd
