// clusterctl cancel: an apply or rollback finishes what is under way and begins
// no further wave; and how Ctrl-C does the same.
#include <chrono>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "client/command/run_canceller.h"
#include "client/print/apply_table.h"
#include "config/identity/grpc_status.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// The exit status: 0 no further wave begins; 3 the id is none, or the run is
// over; 2 the controller did not take it.
class CancelCommand final : public Request {
 public:
  CancelCommand() : Request("cancel") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "ID", "", id_,
              "Id of the apply or rollback, or its first characters")
        ->required();
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 private:
  void ReadOptions() override { CheckRunId("ID", id_); }

  absl::Status Ask(ControllerClient* client) override {
    CancelRequest request;
    request.set_id(id_);
    ASSIGN_OR_RETURN(cancelled_,
                     client->Ask(&Controller::Stub::Cancel, request, timeout_));
    return absl::OkStatus();
  }

  const google::protobuf::Message& Answer() const override {
    return cancelled_;
  }
  void PrintTable(const Style& style, std::ostream& out) override {
    out << Short(style.utf8) << "\nlook with: clusterctl show "
        << SafeText(cancelled_.run_id(), style.utf8) << "\n";
  }
  std::string Short(bool utf8) const override {
    return SafeText(
        absl::StrCat(cancelled_.rollback() ? "rollback " : "apply ",
                     cancelled_.run_id(), " of ", ActorName(cancelled_.actor()),
                     ": ", CancelText(cancelled_)),
        utf8);
  }

  std::string id_;
  CancelResponse cancelled_;
};

}  // namespace

void RunCanceller::OnInterrupt() {
  {
    absl::MutexLock lock(&mutex_);
    wanted_ = true;
  }
  AskIfDue();
}

void RunCanceller::OnRunId(const std::string& run_id) {
  {
    absl::MutexLock lock(&mutex_);
    run_id_ = run_id;
  }
  AskIfDue();
}

void RunCanceller::AskIfDue() {
  {
    absl::MutexLock lock(&mutex_);
    if (!wanted_ || run_id_.empty() || asked_ || closed_) return;
    asked_ = true;
    request_.set_id(run_id_);
  }
  context_.set_deadline(std::chrono::system_clock::now() +
                        absl::ToChronoMilliseconds(kShortTimeout));
  stub_.async()->Cancel(
      &context_, &request_, &response_,
      [this](const grpc::Status& status) { OnAnswer(status); });
}

void RunCanceller::OnAnswer(const grpc::Status& status) {
  const absl::Status answer = ToAbslStatus(status);
  // The end of a run that is over is on its way.
  if (!answer.ok() && !absl::IsInvalidArgument(answer)) interrupt_.Fire();
  // Close may return from here on.
  absl::MutexLock lock(&mutex_);
  answer_ = answer;
}

absl::Status RunCanceller::Close() {
  absl::MutexLock lock(&mutex_);
  closed_ = true;
  if (!asked_) return absl::NotFoundError("the controller was not asked");
  mutex_.Await(absl::Condition(
      +[](std::optional<absl::Status>* answer) { return answer->has_value(); },
      &answer_));
  return *answer_;
}

void AddCancelCommand(CommandList& commands) {
  commands.push_back(std::make_unique<CancelCommand>());
}

}  // namespace clusterd
