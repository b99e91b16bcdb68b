// clusterctl cancel, and the same for Ctrl-C: an apply or rollback finishes its
// busy hosts and begins no further wave. clusterctl confirm and extend: an
// apply with automatic rollback becomes permanent, or is rolled back later.
#include "client/command/request.h"
#include "client/command/run_canceller.h"
#include "client/print/apply_table.h"
#include "config/identity/grpc_status.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

// Exit status: 0 no further wave begins; 3 the id is unknown, or the run is
// over; 2 the controller did not accept it.
class CancelCommand final : public OneCall<CancelRequest, CancelResponse> {
 public:
  CancelCommand() : OneCall("cancel", &Controller::Stub::Cancel) {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "ID", *asked_.mutable_id());
    Request::AddOptions(app);
  }

 private:
  void ReadOptions() override { CheckRunId("ID", asked_.id()); }

  void PrintTable(const Style& style, std::ostream& out) override {
    out << SafeShort(style) << "\n"
        << SafeText(Say("apply-to-show", answer_.run_id()), style.utf8) << "\n";
  }
  std::string Short() const override {
    return Say(
        answer_.rollback() ? "apply-of-rollback-run" : "apply-of-apply-run",
        answer_.run_id(), ActorName(answer_.actor()), CancelText(answer_));
  }
};

// Confirm and extend print the apply's current state.
template <typename Asked>
class PendingRequest : public OneCall<Asked, ConfirmResponse> {
 public:
  using OneCall<Asked, ConfirmResponse>::OneCall;

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "ID", *this->asked_.mutable_id());
    AddMore(app);
    this->AddOutput(app);
    // A host may take ten seconds to write its journal.
    this->AddTimeout(app, absl::Seconds(30));
  }

 protected:
  virtual void AddMore(CLI::App& /*app*/) {}
  void ReadOptions() override { this->CheckRunId("ID", this->asked_.id()); }

  std::string Short() const override {
    const ConfirmResponse& answer = this->answer_;
    return Say("apply-named", answer.run_id(),
               ConfirmationText(answer.confirmation(), answer.run_id()));
  }
};

// Exit status: 0 it is permanent on every host; 2 it still waits, is rolled
// back, or the controller did not accept it; 3 the id is unknown.
class ConfirmCommand final : public PendingRequest<ConfirmRequest> {
 public:
  ConfirmCommand() : PendingRequest("confirm", &Controller::Stub::Confirm) {}

 private:
  int Finish() override {
    const Confirmation& now = answer_.confirmation();
    const bool stays =
        now.state() == Confirmation::CONFIRMED && now.pending().empty();
    return Deliver(stays ? kExitPass : kExitNoVerdict);
  }
};

// Exit status: 0 it is rolled back later, on every host; 2 and 3 as above.
class ExtendCommand final : public PendingRequest<ExtendRequest> {
 public:
  ExtendCommand() : PendingRequest("extend", &Controller::Stub::Extend) {}

 private:
  void AddMore(CLI::App& app) override {
    AddArgument(app, "DURATION", by_text_);
  }

  void ReadOptions() override {
    PendingRequest::ReadOptions();
    const absl::Duration by = ReadDuration(
        "DURATION", by_text_, absl::Minutes(1), absl::ZeroDuration());
    asked_.set_by_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(by)));
  }

  std::string by_text_;
};

}  // namespace

void RunCanceller::AskIfDue(bool wanted, const std::string& run_id) {
  CancelRequest request;
  {
    absl::MutexLock lock(&mutex_);
    wanted_ |= wanted;
    if (!run_id.empty()) run_id_ = run_id;
    if (!wanted_ || run_id_.empty() || asked_ || closed_) return;
    asked_ = true;
    request.set_id(run_id_);
  }
  client_.AskBeside(&Controller::StubInterface::async_interface::Cancel,
                    request, kShortTimeout,
                    [this](const grpc::Status& status, const CancelResponse&) {
                      OnAnswer(status);
                    });
}

void RunCanceller::OnAnswer(const grpc::Status& status) {
  const absl::Status answer = ToAbslStatus(status);
  // If the run is over, its end will arrive.
  if (!answer.ok() && !absl::IsInvalidArgument(answer)) interrupt_.Fire();
  // Close may return from now on.
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

void AddCancelCommands(CommandList& commands) {
  AddCommands<CancelCommand, ConfirmCommand, ExtendCommand>(commands);
}

}  // namespace clusterd
