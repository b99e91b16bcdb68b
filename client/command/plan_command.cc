// clusterctl plan: what would be changed, and a file of it for apply.
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "client/files/plan_file.h"
#include "client/files/text_file.h"
#include "client/print/plan_table.h"
#include "client/print/progress_line.h"
#include "config/plan/make_plan.h"
#include "config/values/network_namespace.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr char kStdout[] = "-";
constexpr absl::Duration kMargin = absl::Seconds(20);

constexpr char kFooter[] =
    R"(Shows what apply would change on each host, old -> new, and changes nothing.
Only a plan saved with --out can be applied, and only by the controller that
made it, as long as its history keeps the plan. It rests on the facts of now:
when the spec changes apply refuses it, and when a fact moves its host refuses
its part.

Exit status:           with --detailed-exitcode:
  0  a whole plan        0  nothing to do
  2  no complete plan    2  something to do
                         1  no complete plan
  3  wrong usage or configuration; no host was asked
No complete plan: a change is blocked, a host or the controller did not answer,
or the plan could not be kept by the controller or saved. A plan with blocked
changes is saved all the same; apply leaves out what is blocked.

Examples:
  clusterctl plan
  clusterctl plan node[001-512] --out plan.json
  clusterctl plan --netns container:train-1 --out plan.json
  clusterctl plan --detailed-exitcode -o short)";

// The exit status:
//                                      | plain | --detailed-exitcode
//   nothing to do                      | 0     | 0
//   steps, nothing blocked             | 0     | 2
//   blocked, or a host is left out     | 2     | 1
//   no plan, or it could not be saved, | 2     | 1
//   or be kept by the controller       |       |
//   wrong usage or configuration       | 3     | 3
class PlanCommand final : public ClusterRequest {
 public:
  PlanCommand()
      : ClusterRequest(
            {"plan", "Show what would be changed, and save it for apply",
             kFooter},
            kMargin) {}

  void AddOptions(CLI::App& app) override;

 private:
  void ReadOptions() override;
  absl::Status Ask(ControllerClient* client) override;
  absl::Status CheckAnswer();
  int Finish() override;
  int ExitStatus() const;
  int StatusOfFailure(int status) const override {
    return status == kExitNoVerdict && detailed_exitcode_ ? 1 : status;
  }
  absl::Status Save();
  // Ends the line about the file of --out.
  std::string WhatToDoWithIt() const;

  const google::protobuf::Message& Answer() const override { return plan_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    PlanLimits limits;
    limits.verbose = verbose_;
    PrintPlanTable(plan_, style, limits, out);
  }
  std::string Short(bool utf8) const override { return PlanShort(plan_, utf8); }
  bool PrintsToErr() const override { return out_ == kStdout; }

  std::string out_;  // A file, "-" for stdout, empty: the plan is not saved.
  bool detailed_exitcode_ = false;
  bool verbose_ = false;

  ClusterPlan plan_;
  std::vector<std::string> left_out_;
};

void PlanCommand::AddOptions(CLI::App& app) {
  AddHosts(app, "plan for", "--all plans for every host");
  app.add_option("--out", out_,
                 "Save the plan for clusterctl apply; - is stdout")
      ->type_name("FILE");
  AddNamespace(app,
               "Plan only the kernel parameters of this network namespace of "
               "the hosts");
  app.add_flag("--detailed-exitcode", detailed_exitcode_,
               "Exit with 2 if there is something to do; see below");
  app.add_flag("--verbose", verbose_,
               "Also what must hold before each step and how it is taken back, "
               "and every host");
  AddOutput(app);
  AddTimeout(app, absl::ZeroDuration(), "the run deadline of the spec and 20s");
}

void PlanCommand::ReadOptions() {
  if (out_ == kStdout && format() == OutputFormat::kJson) {
    mistakes_.push_back(
        "--out: \"-\" and -o json both write to stdout, expected one of them");
  }
  if (!out_.empty() && out_ != kStdout) {
    const absl::Status target = CheckPlanTarget(out_);
    if (!target.ok()) {
      mistakes_.push_back(absl::StrCat("--out ", target.message()));
    }
  }
  ClusterRequest::ReadOptions();
}

absl::Status PlanCommand::Ask(ControllerClient* client) {
  if (!spec().refused().empty()) {
    Tell(
        "the controller refused a newer cluster.yaml and plans by the one "
        "before; clusterctl config show says why");
  }
  PlanRequest request;
  if (has_namespace()) {
    *request.mutable_network_namespace() = network_namespace();
  }
  for (const std::string& host : named_hosts()) request.add_hosts(host);
  const absl::Status asked =
      Take(client->Follow(
               &Controller::Stub::Plan, request, RunTimeout(), "planning",
               [&](const PlanEvent& event) {
                 if (!event.has_progress()) return;
                 ShowProgress(ProgressText(event.progress(), ErrStyle().utf8));
               }),
           plan_);
  return asked.ok() ? CheckAnswer() : asked;
}

// A plan that the controller would refuse to apply is not worth saving.
absl::Status PlanCommand::CheckAnswer() {
  const absl::Status verified = VerifyPlan(plan_);
  if (!verified.ok()) {
    return absl::InternalError(
        absl::StrCat("the controller's answer: ", verified.message()));
  }
  const std::string wanted = NetworkNamespaceText(network_namespace());
  const std::string planned = PlanNamespace(plan_);
  if (planned != wanted && (CountPlan(plan_).steps > 0 || !planned.empty())) {
    return absl::InternalError(absl::StrCat(
        "the controller's answer: is for network namespace \"", planned,
        "\", expected \"", wanted, "\"; use the controller's version"));
  }
  left_out_ = LeftOut(asked_hosts(), plan_.hosts());
  return absl::OkStatus();
}

absl::Status PlanCommand::Save() {
  // One without a step is applied without the controller.
  if (!plan_.not_kept().empty() && CountPlan(plan_).steps > 0) {
    const std::string why = absl::StrCat(
        "the controller could not keep this plan, so it cannot be "
        "applied: ",
        plan_.not_kept());
    if (!out_.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(why, "; the plan is not saved"));
    }
    Tell(why);
    return absl::OkStatus();
  }
  if (out_.empty()) {
    if (CountPlan(plan_).steps > 0 && format() == OutputFormat::kTable) {
      Tell("not saved; --out FILE saves it for clusterctl apply FILE");
    }
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> text = PlanFileText(plan_);
  if (!text.ok()) return text.status();
  if (out_ == kStdout) {
    session().out << *text;
    return absl::OkStatus();
  }
  const absl::Status written = WritePrivateFile(out_, *text);
  if (!written.ok()) {
    return absl::PermissionDeniedError(
        absl::StrCat("--out ", written.message(), "; the plan is not saved"));
  }
  Tell(absl::StrCat("saved to ", out_, WhatToDoWithIt()));
  return absl::OkStatus();
}

std::string PlanCommand::WhatToDoWithIt() const {
  const PlanCounts counts = CountPlan(plan_);
  if (counts.steps > 0) {
    return absl::StrCat("; apply with: clusterctl apply ", out_);
  }
  return counts.blocked > 0 ? "; it has nothing to apply: all of it is blocked"
                            : "; it has nothing to apply";
}

int PlanCommand::ExitStatus() const {
  const PlanCounts counts = CountPlan(plan_);
  const bool complete =
      counts.hosts > 0 && counts.blocked == 0 && left_out_.empty();
  if (!complete) return StatusOfFailure(kExitNoVerdict);
  return detailed_exitcode_ && counts.steps > 0 ? 2 : kExitPass;
}

int PlanCommand::Finish() {
  const int status = Deliver(ExitStatus());
  if (!left_out_.empty()) {
    Tell(absl::StrCat("the plan leaves out ", left_out_.size(),
                      " of the hosts asked for: ", HostsText(left_out_, 200)));
  }
  const absl::Status saved = Save();
  return saved.ok() ? status : StatusOfFailure(ReportFailure(saved));
}

}  // namespace

std::unique_ptr<Command> MakePlanCommand() {
  return std::make_unique<PlanCommand>();
}

}  // namespace clusterd
