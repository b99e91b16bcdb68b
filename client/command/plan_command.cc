// clusterctl plan: prints planned changes, and saves them for apply.
#include <string>
#include <vector>

#include "absl/algorithm/container.h"
#include "client/command/request.h"
#include "client/files/user_files.h"
#include "client/print/plan_table.h"
#include "config/plan/make_plan.h"
#include "config/rules/catalogue.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr char kStdout[] = "-";
constexpr absl::Duration kMargin = absl::Seconds(20);

// help/plan.txt has the exit statuses.
class PlanCommand final : public ClusterRequest {
 public:
  PlanCommand() : ClusterRequest("plan", kMargin) {}

  void AddOptions(CLI::App& app) override {
    AddHosts(app, "ctl-all-plans");
    AddListOption(app, "--only", "KIND|RULE,..", only_);
    AddOption(app, "--out", "FILE", out_);
    AddNamespace(app);
    app.add_flag("--detailed-exitcode", detailed_exitcode_);
    app.add_flag("--verbose", verbose_);
    AddOutput(app);
    AddTimeout(app, absl::ZeroDuration());
  }

 private:
  void ReadOptions() override {
    if (out_ == kStdout && format_ == OutputFormat::kJson) {
      AddMistake("msg-stdout-taken-twice");
    }
    if (!out_.empty() && out_ != kStdout) {
      const absl::Status target = CheckPlanTarget(out_);
      if (!target.ok()) AddMistakes("--out ", target, mistakes_);
    }
    AddMistakes("--", SelectSteps(only_).status(), mistakes_);
    ClusterRequest::ReadOptions();
  }

  absl::Status Ask(ControllerClient* client) override {
    if (!spec_.refused().empty()) {
      Tell("headed", "", OlderSpecWords(spec_.refused(), "ctl-plans"));
    }
    PlanRequest request;
    request.mutable_only()->Assign(only_.begin(), only_.end());
    ASSIGN_OR_RETURN(
        plan_, Follow(*client, &Controller::Stub::Plan, request, "planning"));
    counts_ = CountPlan(plan_);
    return CheckAnswer();
  }

  // A plan that the controller would refuse to apply is not saved.
  absl::Status CheckAnswer() {
    const absl::Status verified = VerifyPlan(plan_);
    if (!verified.ok()) {
      return InternalWords("msg-plan-not-valid", MessageWords(verified));
    }
    const std::string wanted = NetworkNamespaceText(network_namespace_);
    const std::string planned = NamespaceOfPlan(plan_);
    if (planned != wanted && (counts_.steps > 0 || !planned.empty())) {
      return InternalWords("msg-plan-of-other-namespace", planned, wanted);
    }
    if (!absl::c_equal(only_, plan_.only())) {
      return InternalWords("msg-plan-not-narrowed");
    }
    left_out_ = LeftOut(asked_, plan_.hosts());
    return absl::OkStatus();
  }

  int Finish() override {
    const int status = Deliver(ExitStatus());
    if (!left_out_.empty()) {
      Tell("ctl-plan-leaves-out", left_out_.size(), HostsValue(left_out_, 200));
    }
    const absl::Status saved = Save();
    return saved.ok() ? status : StatusOfFailure(ReportFailure(saved));
  }

  int ExitStatus() const {
    const bool complete = counts_.hosts > 0 && counts_.blocked == 0 &&
                          counts_.hosts_failing == 0 && left_out_.empty();
    if (!complete) return StatusOfFailure(kExitNoVerdict);
    return detailed_exitcode_ && counts_.steps > 0 ? 2 : kExitPass;
  }
  int StatusOfFailure(int status) const override {
    return status == kExitNoVerdict && detailed_exitcode_ ? 1 : status;
  }

  absl::Status Save() {
    const bool has_steps = counts_.steps > 0;
    // A plan without steps is applied without the controller.
    if (!plan_.not_kept().empty() && has_steps) {
      const std::string& why = plan_.not_kept();
      if (!out_.empty()) {
        return PreconditionWords("msg-plan-not-kept", why,
                                 Worded("ctl-plan-not-saved"));
      }
      Tell("msg-plan-not-kept", why, "");
    } else if (!out_.empty()) {
      return WritePlan();
    } else if (has_steps && format_ == OutputFormat::kTable) {
      Tell("ctl-plan-to-save");
    }
    return absl::OkStatus();
  }

  absl::Status WritePlan() {
    ASSIGN_OR_RETURN(const std::string text, PlanFileText(plan_));
    if (out_ == kStdout) {
      session().out << text;
      return absl::OkStatus();
    }
    const absl::Status written = WriteTextFile(out_, text, kOwnerOnly);
    if (!written.ok()) {
      return DeniedWords("msg-plan-file-not-written", MessageWords(written));
    }
    Tell(counts_.steps > 0     ? "ctl-plan-saved"
         : counts_.blocked > 0 ? "ctl-plan-saved-blocked"
                               : "ctl-plan-saved-empty",
         out_);
    return absl::OkStatus();
  }

  const google::protobuf::Message& Answer() const override { return plan_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintPlanTable(plan_, style, verbose_, out);
  }
  std::string Short() const override { return PlanShort(plan_); }
  bool PrintsToErr() const override { return out_ == kStdout; }

  std::vector<std::string> only_;
  std::string out_;  // A file, "-" for stdout, empty: the plan is not saved.
  bool detailed_exitcode_ = false;

  ClusterPlan plan_;
  PlanCounts counts_;
  std::vector<std::string> left_out_;
};

}  // namespace

void AddPlanCommand(CommandList& commands) {
  AddCommands<PlanCommand>(commands);
}

}  // namespace clusterd
