#include "client/command/plan_run.h"

#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/command/exit_status.h"
#include "client/files/plan_file.h"
#include "client/print/message_json.h"
#include "client/print/plan_table.h"
#include "client/print/progress_line.h"
#include "client/print/subject_text.h"
#include "client/print/terminal_text.h"
#include "config/plan/plan_digest.h"
#include "config/spec/network_namespace.h"

namespace clusterd {
namespace {

constexpr char kCommand[] = "plan";
constexpr char kStdout[] = "-";
constexpr absl::Duration kSpecTimeout = absl::Seconds(10);
constexpr absl::Duration kDefaultRun = absl::Seconds(60);
// How long planning may take beyond the run deadline of the spec.
constexpr absl::Duration kMargin = absl::Seconds(20);

// One run of the command: holds what its steps share.
class PlanRun {
 public:
  PlanRun(const PlanOptions& options, Session& session)
      : options_(options),
        session_(session),
        err_style_(StyleOfErr(session.terminal, session.environment,
                              ColorMode::kAuto)) {}

  int Run();

 private:
  void ReadOptions();
  absl::StatusOr<ClusterPlan> AskController();
  // Adds a mistake for every host that the spec does not have.
  PlanRequest Request(const GetSpecResponse& spec);
  absl::StatusOr<ClusterPlan> AskForPlan(ControllerClient& client,
                                         const GetSpecResponse& spec,
                                         const PlanRequest& request);
  absl::Status CheckAnswer(const ClusterPlan& plan);
  absl::Status Save(const ClusterPlan& plan);
  // Ends the line about the file of --out.
  std::string WhatToDoWith(const ClusterPlan& plan) const;
  void Print(const ClusterPlan& plan);
  void Tell(const std::string& text);
  int Failure(const absl::Status& failure);
  int ExitStatus(const ClusterPlan& plan) const;

  const PlanOptions& options_;
  Session& session_;
  const Style err_style_;

  std::vector<std::string> mistakes_;
  OutputFormat format_ = OutputFormat::kTable;
  ColorMode color_ = ColorMode::kAuto;
  absl::Duration timeout_;  // Zero: none was given.
  NetworkNamespace network_namespace_;
  HostRequest hosts_;
  bool hosts_expanded_ = false;     // Without a mistake.
  std::vector<std::string> asked_;  // Empty: all.
  std::vector<std::string> missing_;
};

void PlanRun::ReadOptions() {
  format_ = ReadFormat(options_.output, mistakes_);
  color_ = ReadColor(options_.output, mistakes_);
  timeout_ = ReadTimeout(options_.timeout, absl::ZeroDuration(), mistakes_);
  network_namespace_ = ReadNamespace(options_.network_namespace, mistakes_);
  if (options_.out == kStdout && format_ == OutputFormat::kJson) {
    mistakes_.push_back(
        "--out: \"-\" and -o json both write to stdout, expected one of them");
  }
  if (!options_.out.empty() && options_.out != kStdout) {
    const absl::Status target = CheckPlanTarget(options_.out);
    if (!target.ok()) {
      mistakes_.push_back(absl::StrCat("--out ", target.message()));
    }
  }
  const size_t before = mistakes_.size();
  hosts_ = ExpandHostArguments(options_.hosts, session_.environment, mistakes_);
  hosts_expanded_ = mistakes_.size() == before;
}

void PlanRun::Tell(const std::string& text) {
  session_.err << "clusterctl plan: " << SafeText(text, err_style_.utf8)
               << "\n";
}

PlanRequest PlanRun::Request(const GetSpecResponse& spec) {
  PlanRequest request;
  if (!options_.network_namespace.empty()) {
    *request.mutable_network_namespace() = network_namespace_;
  }
  if (!hosts_expanded_) return request;
  std::vector<std::string> known;
  for (const ServerSpec& server : spec.spec().servers()) {
    known.push_back(server.host());
  }
  asked_ = ResolveHosts(hosts_, known, mistakes_);
  if (hosts_.all && hosts_.exclude.empty())
    return request;  // All, by contract.
  for (const std::string& host : asked_) request.add_hosts(host);
  return request;
}

absl::StatusOr<ClusterPlan> PlanRun::AskForPlan(ControllerClient& client,
                                                const GetSpecResponse& spec,
                                                const PlanRequest& request) {
  const uint32_t run_ms = spec.spec().deadlines().run_ms();
  const absl::Duration run =
      run_ms > 0 ? absl::Milliseconds(run_ms) : kDefaultRun;
  ProgressLine line(err_style_, session_.err);
  return client.Plan(request,
                     timeout_ > absl::ZeroDuration() ? timeout_ : run + kMargin,
                     [&](const CheckProgress& progress) {
                       line.Show(ProgressText(progress, err_style_.utf8));
                     });
}

absl::StatusOr<ClusterPlan> PlanRun::AskController() {
  const std::unique_ptr<ControllerClient> client =
      ConnectToController(options_.connection, session_, mistakes_);
  if (client == nullptr) return absl::InvalidArgumentError("");
  const absl::StatusOr<GetSpecResponse> spec = client->GetSpec(
      timeout_ > absl::ZeroDuration() ? timeout_ : kSpecTimeout);
  if (!spec.ok()) return spec.status();
  const PlanRequest request = Request(*spec);
  if (!mistakes_.empty()) return absl::InvalidArgumentError("");
  if (!hosts_.slurm_job.empty()) {
    Tell(absl::StrCat("the hosts of Slurm job ", hosts_.slurm_job, ", ",
                      HostsText(asked_, 100), " (--all plans for every host)"));
  }
  if (!spec->refused().empty()) {
    Tell(
        "the controller refused a newer cluster.yaml and plans by the one "
        "before; clusterctl config show says why");
  }
  absl::StatusOr<ClusterPlan> plan = AskForPlan(*client, *spec, request);
  if (!plan.ok()) return plan;
  const absl::Status right = CheckAnswer(*plan);
  if (!right.ok()) return right;
  return plan;
}

// A plan that the controller would refuse to apply is not worth saving.
absl::Status PlanRun::CheckAnswer(const ClusterPlan& plan) {
  const absl::Status verified = VerifyPlan(plan);
  if (!verified.ok()) {
    return absl::InternalError(
        absl::StrCat("the controller's answer: ", verified.message()));
  }
  const std::string wanted = NetworkNamespaceText(network_namespace_);
  const std::string planned = PlanNamespace(plan);
  if (planned != wanted && (CountPlan(plan).steps > 0 || !planned.empty())) {
    return absl::InternalError(absl::StrCat(
        "the controller's answer: is for network namespace \"", planned,
        "\", expected \"", wanted, "\"; use the controller's version"));
  }
  std::set<std::string> answered;
  for (const HostPlan& host : plan.hosts()) answered.insert(host.host());
  for (const std::string& host : asked_) {
    if (answered.count(host) == 0) missing_.push_back(host);
  }
  return absl::OkStatus();
}

absl::Status PlanRun::Save(const ClusterPlan& plan) {
  // One without a step is applied without the controller.
  if (!plan.not_kept().empty() && CountPlan(plan).steps > 0) {
    const std::string why = absl::StrCat(
        "the controller could not keep this plan, so it cannot be "
        "applied: ",
        plan.not_kept());
    if (!options_.out.empty()) {
      return absl::FailedPreconditionError(
          absl::StrCat(why, "; the plan is not saved"));
    }
    Tell(why);
    return absl::OkStatus();
  }
  if (options_.out.empty()) {
    if (CountPlan(plan).steps > 0 && format_ == OutputFormat::kTable) {
      Tell("not saved; --out FILE saves it for clusterctl apply FILE");
    }
    return absl::OkStatus();
  }
  const absl::StatusOr<std::string> text = PlanFileText(plan);
  if (!text.ok()) return text.status();
  if (options_.out == kStdout) {
    session_.out << *text;
    return absl::OkStatus();
  }
  const absl::Status written = WritePlanFile(options_.out, *text);
  if (!written.ok()) {
    return absl::PermissionDeniedError(
        absl::StrCat("--out ", written.message(), "; the plan is not saved"));
  }
  Tell(absl::StrCat("saved to ", options_.out, WhatToDoWith(plan)));
  return absl::OkStatus();
}

std::string PlanRun::WhatToDoWith(const ClusterPlan& plan) const {
  const PlanCounts counts = CountPlan(plan);
  if (counts.steps > 0) {
    return absl::StrCat("; apply with: clusterctl apply ", options_.out);
  }
  return counts.blocked > 0 ? "; it has nothing to apply: all of it is blocked"
                            : "; it has nothing to apply";
}

void PlanRun::Print(const ClusterPlan& plan) {
  const bool file_on_stdout = options_.out == kStdout;
  std::ostream& out = file_on_stdout ? session_.err : session_.out;
  const Style style =
      file_on_stdout
          ? StyleOfErr(session_.terminal, session_.environment, color_)
          : StyleOfOut(session_.terminal, session_.environment, color_);
  PlanLimits limits;
  limits.verbose = options_.verbose;
  switch (format_) {
    case OutputFormat::kTable:
      PrintPlanTable(plan, style, limits, out);
      break;
    case OutputFormat::kShort:
      out << PlanShort(plan, style.utf8) << "\n";
      break;
    case OutputFormat::kJson:
      out << MessageJson(plan);
      break;
  }
}

int PlanRun::ExitStatus(const ClusterPlan& plan) const {
  const PlanCounts counts = CountPlan(plan);
  const bool complete =
      counts.hosts > 0 && counts.blocked == 0 && missing_.empty();
  if (!options_.detailed_exitcode) return complete ? 0 : kExitNoVerdict;
  if (!complete) return 1;
  return counts.steps > 0 ? 2 : 0;
}

int PlanRun::Failure(const absl::Status& failure) {
  const int status = ReportFailure(kCommand, failure, session_);
  return status == kExitNoVerdict && options_.detailed_exitcode ? 1 : status;
}

int PlanRun::Run() {
  ReadOptions();
  const absl::StatusOr<ClusterPlan> plan = AskController();
  if (!mistakes_.empty()) return RejectUsage(kCommand, mistakes_, session_);
  if (!plan.ok()) return Failure(plan.status());
  Print(*plan);
  if (!missing_.empty()) {
    Tell(absl::StrCat("the plan leaves out ", missing_.size(),
                      " of the hosts asked for: ", HostsText(missing_, 200)));
  }
  const absl::Status saved = Save(*plan);
  if (!saved.ok()) return Failure(saved);
  return ExitStatus(*plan);
}

}  // namespace

int RunPlan(const PlanOptions& options, Session& session) {
  return PlanRun(options, session).Run();
}

}  // namespace clusterd
