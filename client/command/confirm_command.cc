// clusterctl confirm and clusterctl extend: an apply that its hosts would take
// back by themselves stays, or goes back later.
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "client/print/apply_table.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// What both print: how the apply is doing now.
class PendingRequest : public Request {
 public:
  using Request::Request;

  void AddOptions(CLI::App& app) override {
    AddOption(app, "ID", "", id_, "Id of the apply, or its first characters")
        ->required();
    AddMore(app);
    AddOutput(app);
    // A host may take ten seconds to write it down.
    AddTimeout(app, absl::Seconds(30));
  }

 protected:
  virtual void AddMore(CLI::App& /*app*/) {}

  const google::protobuf::Message& Answer() const override { return answer_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    out << Short(style.utf8) << "\n";
  }
  std::string Short(bool utf8) const override {
    return SafeText(absl::StrCat("apply ", answer_.run_id(), ": ",
                                 ConfirmationText(answer_.confirmation(),
                                                  answer_.run_id())),
                    utf8);
  }

  std::string id_;
  ConfirmResponse answer_;
};

// The exit status: 0 it stays, on every host; 2 something is still waited for,
// it goes back, or the controller did not take it; 3 the id is none.
class ConfirmCommand final : public PendingRequest {
 public:
  ConfirmCommand() : PendingRequest("confirm") {}

 private:
  void ReadOptions() override { CheckRunId("ID", id_); }

  absl::Status Ask(ControllerClient* client) override {
    ConfirmRequest request;
    request.set_id(id_);
    ASSIGN_OR_RETURN(
        answer_, client->Ask(&Controller::Stub::Confirm, request, timeout_));
    return absl::OkStatus();
  }

  int Finish() override {
    const Confirmation& now = answer_.confirmation();
    const bool stays =
        now.state() == Confirmation::CONFIRMED && now.untold().empty();
    return Deliver(stays ? kExitPass : kExitNoVerdict);
  }
};

// The exit status: 0 it goes back later, on every host; 2 and 3 as above.
class ExtendCommand final : public PendingRequest {
 public:
  ExtendCommand() : PendingRequest("extend") {}

 private:
  void AddMore(CLI::App& app) override {
    AddOption(app, "DURATION", "", by_text_, "How much later, 1m at least")
        ->required();
  }

  void ReadOptions() override {
    CheckRunId("ID", id_);
    by_ = ReadDuration("DURATION", by_text_, absl::Minutes(1),
                       absl::ZeroDuration());
  }

  absl::Status Ask(ControllerClient* client) override {
    ExtendRequest request;
    request.set_id(id_);
    request.set_by_ms(static_cast<uint32_t>(absl::ToInt64Milliseconds(by_)));
    ASSIGN_OR_RETURN(answer_,
                     client->Ask(&Controller::Stub::Extend, request, timeout_));
    return absl::OkStatus();
  }

  std::string by_text_;
  absl::Duration by_;
};

}  // namespace

void AddConfirmCommands(CommandList& commands) {
  commands.push_back(std::make_unique<ConfirmCommand>());
  commands.push_back(std::make_unique<ExtendCommand>());
}

}  // namespace clusterd
