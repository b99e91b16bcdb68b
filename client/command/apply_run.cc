#include "client/command/apply_run.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/command/exit_status.h"
#include "client/files/plan_file.h"
#include "client/files/text_file.h"
#include "client/print/apply_table.h"
#include "client/print/apply_verdict.h"
#include "client/print/count_text.h"
#include "client/print/history_table.h"
#include "client/print/message_json.h"
#include "client/print/plan_table.h"
#include "client/print/progress_line.h"
#include "client/print/subject_text.h"
#include "client/print/terminal_text.h"
#include "config/spec/network_namespace.h"

namespace clusterd {
namespace {

constexpr uint32_t kSchemaVersion = 1;
constexpr uint32_t kLargestWave = 100'000;
constexpr absl::Duration kHistoryTimeout = absl::Seconds(10);
// Who waits for an apply waits; it may take an hour of waves.
constexpr absl::Duration kTimeout = absl::Hours(24);

// One run of the command: holds what its steps share.
class ApplyRun {
 public:
  ApplyRun(const ApplyOptions& options, Session& session)
      : options_(options),
        session_(session),
        command_(options.rollback ? "rollback" : "apply"),
        err_style_(StyleOfErr(session.terminal, session.environment,
                              ColorMode::kAuto)),
        line_(err_style_, session.err) {}

  int Run();

 private:
  void ReadOptions();
  void ReadPlan();
  void CheckNamespace();
  absl::Status ReadPastApply(ControllerClient& client);
  std::string WhatWillHappen() const;
  // Ok if the person, or --yes, agrees.
  absl::Status AskConsent();
  absl::StatusOr<ApplyReport> Call(ControllerClient& client);
  void OnEvent(const ApplyEvent& event);
  void ShowStep(const HostStep& step);

  int NothingToDo();
  int FinishWith(ApplyReport report);
  int FinishWithout(const absl::Status& error);
  void CompleteHosts(ApplyReport& report) const;
  ApplyReport PartialReport(const std::string& note) const;
  void SayHowToLook(const absl::Status& error);
  int Refuse();
  void Print(const ApplyReport& report);
  int Finish(const ApplyReport& report, int status);
  void Tell(const std::string& text);

  const ApplyOptions& options_;
  Session& session_;
  const std::string command_;
  const Style err_style_;
  ProgressLine line_;

  std::vector<std::string> mistakes_;
  bool report_refused_ = false;
  OutputFormat format_ = OutputFormat::kTable;
  ColorMode color_ = ColorMode::kAuto;
  absl::Duration timeout_;
  uint32_t wave_size_ = kDefaultWaveSize;
  NetworkNamespace network_namespace_;
  std::optional<ClusterPlan> plan_;  // Of an apply.
  std::optional<ApplyReport> past_;  // Of a rollback.
  // Who will be asked, in that order.
  std::vector<std::string> hosts_;

  absl::Time began_;
  std::string run_id_;  // Empty: not heard.
  std::map<std::string, ApplyResult> results_;
};

void ApplyRun::Tell(const std::string& text) {
  line_.Clear();
  session_.err << "clusterctl " << command_ << ": "
               << SafeText(text, err_style_.utf8) << "\n";
}

void ApplyRun::ReadOptions() {
  format_ = ReadFormat(options_.output, mistakes_);
  color_ = ReadColor(options_.output, mistakes_);
  timeout_ = ReadTimeout(options_.timeout, kTimeout, mistakes_);
  wave_size_ = ReadNumber("--wave", options_.wave, {1, kLargestWave},
                          kDefaultWaveSize, mistakes_);
  network_namespace_ = ReadNamespace(options_.network_namespace, mistakes_);
  // Who changes hosts and wants a report of it must not find out afterwards.
  report_refused_ = !CheckReportTarget(options_.report_file, mistakes_);
  if (options_.rollback) {
    CheckRunId("APPLY_ID", options_.subject, mistakes_);
  } else {
    ReadPlan();
  }
  const bool can_ask =
      session_.terminal.in_is_terminal && session_.terminal.err_is_terminal;
  const bool nothing = plan_.has_value() && hosts_.empty();
  if (!options_.yes && !can_ask && !nothing) {
    mistakes_.push_back(
        "--yes: is missing, and nobody can be asked: stdin and stderr are no "
        "terminal");
  }
}

void ApplyRun::ReadPlan() {
  absl::StatusOr<ClusterPlan> plan = ReadPlanFile(options_.subject);
  if (!plan.ok()) {
    mistakes_.emplace_back(plan.status().message());
    return;
  }
  plan_ = *std::move(plan);
  for (const HostPlan& host : plan_->hosts()) {
    if (!host.steps().empty()) hosts_.push_back(host.host());
  }
  CheckNamespace();
}

void ApplyRun::CheckNamespace() {
  if (options_.network_namespace.empty()) return;
  const std::string wanted = NetworkNamespaceText(network_namespace_);
  const std::string planned = PlanNamespace(*plan_);
  if (wanted.empty() || planned == wanted) return;
  mistakes_.push_back(absl::StrCat(
      "--netns: \"", wanted, "\" is not what ", options_.subject,
      " was planned for, expected ",
      planned.empty() ? "none: it is for the hosts' own namespace" : planned));
}

// What is to be taken back, so that a person is asked about hosts and not about
// a number.
absl::Status ApplyRun::ReadPastApply(ControllerClient& client) {
  absl::StatusOr<HistoryRecord> record =
      client.GetHistory(options_.subject, kHistoryTimeout);
  if (!record.ok()) return record.status();
  if (record->entry().kind() != HISTORY_APPLY) {
    return absl::InvalidArgumentError(absl::StrCat(
        "APPLY_ID: \"", options_.subject, "\" is a ",
        HistoryKindWord(record->entry().kind()), ", expected an apply"));
  }
  past_ = std::move(*record->mutable_apply());
  past_->set_apply_id(record->entry().id());
  for (const ApplyResult& host : past_->hosts()) {
    if (MayHold(host.outcome())) hosts_.push_back(host.host());
  }
  return absl::OkStatus();
}

std::string ApplyRun::WhatWillHappen() const {
  const size_t waves = (hosts_.size() + wave_size_ - 1) / wave_size_;
  return absl::StrCat(
      options_.rollback
          ? absl::StrCat("Roll back apply ", past_->apply_id())
          : absl::StrCat("Apply ",
                         CountOf(CountPlan(*plan_).steps, "step", "steps")),
      " on ", CountOf(hosts_.size(), "host", "hosts"), " in ",
      CountOf(waves, "wave", "waves"), options_.force ? ", with force" : "");
}

absl::Status ApplyRun::AskConsent() {
  if (options_.yes) {
    Tell(WhatWillHappen());
    return absl::OkStatus();
  }
  if (plan_.has_value()) {
    PrintPlanTable(*plan_, err_style_, {}, session_.err);
  } else {
    ApplyLimits limits;
    limits.rollback_hint = false;
    PrintApplyTable(*past_, err_style_, session_.err, limits);
  }
  session_.err << "\n"
               << SafeText(WhatWillHappen(), err_style_.utf8) << "? [y/N] "
               << std::flush;
  const absl::StatusOr<std::string> answer = session_.read_line();
  if (absl::IsCancelled(answer.status())) {
    session_.err << "\n";
    return absl::CancelledError("interrupted; nothing was changed");
  }
  const std::string word = answer.ok() ? absl::AsciiStrToLower(*answer) : "";
  const absl::string_view stripped = absl::StripAsciiWhitespace(word);
  if (stripped == "y" || stripped == "yes") return absl::OkStatus();
  if (!answer.ok()) session_.err << "\n";
  return absl::InvalidArgumentError(
      absl::StrCat(answer.ok() ? "the answer was not yes"
                               : std::string(answer.status().message()),
                   "; nothing was changed"));
}

void ApplyRun::ShowStep(const HostStep& step) {
  const StepOutcome& outcome = step.outcome();
  Tell(absl::StrCat(step.host(), " step ", outcome.step(), " ",
                    StepWord(outcome.state()), ": ", step.text(),
                    outcome.detail().empty() ? "" : "; ", outcome.detail()));
}

void ApplyRun::OnEvent(const ApplyEvent& event) {
  switch (event.kind_case()) {
    case ApplyEvent::kProgress:
      if (run_id_.empty() && !event.progress().run_id().empty()) {
        run_id_ = event.progress().run_id();
        Tell(absl::StrCat("run ", run_id_));
      }
      line_.Show(ApplyProgressText(event.progress(), err_style_.utf8));
      break;
    case ApplyEvent::kStep:
      if (options_.verbose) ShowStep(event.step());
      break;
    case ApplyEvent::kHost:
      line_.Clear();
      session_.err << HostEndLine(event.host(), options_.rollback, err_style_)
                   << std::endl;
      results_[event.host().host()] = event.host();
      break;
    default:
      break;
  }
}

absl::StatusOr<ApplyReport> ApplyRun::Call(ControllerClient& client) {
  const auto on_event = [this](const ApplyEvent& event) { OnEvent(event); };
  if (options_.rollback) {
    RollBackRequest request;
    request.set_apply_id(past_->apply_id());
    request.set_wave_size(wave_size_);
    request.set_force(options_.force);
    return client.RollBack(request, timeout_, on_event);
  }
  ApplyPlanRequest request;
  request.set_plan_id(plan_->plan_id());
  request.set_digest(plan_->digest());
  request.set_wave_size(wave_size_);
  request.set_force(options_.force);
  return client.ApplyPlan(request, timeout_, on_event);
}

// A host that will be asked and has no end has "no answer yet".
void ApplyRun::CompleteHosts(ApplyReport& report) const {
  std::map<std::string, bool> told;
  for (const ApplyResult& host : report.hosts()) told[host.host()] = true;
  for (const std::string& name : hosts_) {
    if (told[name]) continue;
    const auto found = results_.find(name);
    if (found != results_.end()) {
      *report.add_hosts() = found->second;
    } else {
      report.add_hosts()->set_host(name);
    }
  }
}

ApplyReport ApplyRun::PartialReport(const std::string& note) const {
  ApplyReport report;
  report.set_schema_version(kSchemaVersion);
  report.set_rollback(options_.rollback);
  report.set_force(options_.force);
  report.set_wave_size(wave_size_);
  if (plan_.has_value()) {
    report.set_cluster(plan_->cluster());
    report.set_plan_id(plan_->plan_id());
    report.set_plan_digest(plan_->digest());
  }
  if (past_.has_value()) {
    report.set_cluster(past_->cluster());
    report.set_apply_id(past_->apply_id());
  }
  if (!note.empty()) report.add_notes(SafeText(note, /*utf8=*/true));
  if (run_id_.empty()) return report;
  report.set_run_id(run_id_);
  if (!options_.rollback) report.set_apply_id(run_id_);
  report.set_outcome(ApplyReport::RUNNING);
  report.set_started_at_ms(absl::ToUnixMillis(began_));
  report.set_elapsed_ms(static_cast<uint64_t>(std::max<int64_t>(
      0, absl::ToInt64Milliseconds(session_.now() - began_))));
  CompleteHosts(report);
  return report;
}

void ApplyRun::Print(const ApplyReport& report) {
  const Style style =
      StyleOfOut(session_.terminal, session_.environment, color_);
  switch (format_) {
    case OutputFormat::kTable:
      // What went wrong before any host was asked was told on stderr.
      if (!report.hosts().empty()) {
        PrintApplyTable(report, style, session_.out);
      }
      break;
    case OutputFormat::kShort:
      session_.out << ApplyShort(report, style.utf8) << "\n";
      break;
    case OutputFormat::kJson:
      session_.out << MessageJson(report);
      break;
  }
}

int ApplyRun::Finish(const ApplyReport& report, int status) {
  Print(report);
  if (options_.report_file.empty() || report_refused_) return status;
  const absl::Status written =
      WriteTextFile(options_.report_file, MessageJson(report));
  if (written.ok()) return status;
  Tell(absl::StrCat("--report ", written.message()));
  return status == kExitPass ? kExitNoVerdict : status;
}

int ApplyRun::Refuse() {
  return Finish(PartialReport(absl::StrJoin(mistakes_, "\n")),
                RejectUsage(command_, mistakes_, session_));
}

void ApplyRun::SayHowToLook(const absl::Status& error) {
  // We left; or the controller did, perhaps for good.
  const bool we_left =
      absl::IsCancelled(error) || absl::IsDeadlineExceeded(error);
  if (!run_id_.empty()) {
    Tell(absl::StrCat("run ", run_id_,
                      we_left ? " goes on in the controller; look with: "
                              : " may go on in the controller; look with: ",
                      "clusterctl show ", run_id_));
  } else if (we_left || absl::IsUnavailable(error) || absl::IsInternal(error) ||
             absl::IsUnknown(error)) {
    Tell(absl::StrCat(
        "no run of this command was named; if one began all the same, it is "
        "in: clusterctl history --kind ",
        command_));
  } else {
    Tell("nothing was changed");
  }
}

int ApplyRun::FinishWithout(const absl::Status& error) {
  line_.Clear();
  const int status = ReportFailure(command_, error, session_);
  SayHowToLook(error);
  return Finish(PartialReport(std::string(error.message())),
                run_id_.empty() ? status : kExitNoVerdict);
}

int ApplyRun::FinishWith(ApplyReport report) {
  line_.Clear();
  if (report.schema_version() != kSchemaVersion) {
    report.add_notes(
        absl::StrCat("report schema ", report.schema_version(),
                     " is not the one that this clusterctl reads (",
                     kSchemaVersion, "); use the controller's version"));
  }
  const int hosts_before = report.hosts_size();
  // Which hosts a rollback asks, the controller knows best.
  if (!options_.rollback) CompleteHosts(report);
  if (report.hosts_size() > hosts_before) {
    report.add_notes(absl::StrCat("the controller's report leaves out ",
                                  report.hosts_size() - hosts_before,
                                  " of the hosts"));
  }
  return Finish(report, ExitStatusOf(SupportedVerdict(report), FailOn::kFail));
}

int ApplyRun::NothingToDo() {
  ApplyReport report = PartialReport("");
  if (options_.rollback || CountPlan(*plan_).blocked > 0) {
    const std::string why =
        options_.rollback ? absl::StrCat("apply ", past_->apply_id(),
                                         ": no host of it is applied")
                          : absl::StrCat(PlanCountsText(CountPlan(*plan_)),
                                         "; clusterctl plan says why");
    Tell(absl::StrCat("nothing can be done: ", why));
    report.add_notes(why);
    return Finish(report, kExitNoVerdict);
  }
  Tell(PlanCountsText(CountPlan(*plan_)));
  report.set_outcome(ApplyReport::SUCCEEDED);
  for (const HostPlan& host : plan_->hosts()) {
    ApplyResult& result = *report.add_hosts();
    result.set_host(host.host());
    result.set_outcome(ApplyResult::NOTHING_TO_DO);
  }
  return Finish(report, kExitPass);
}

int ApplyRun::Run() {
  ReadOptions();
  const bool nothing = plan_.has_value() && hosts_.empty();
  std::unique_ptr<ControllerClient> client;
  if (!nothing) {
    client = ConnectToController(options_.connection, session_, mistakes_);
  }
  if (!mistakes_.empty()) return Refuse();
  if (nothing) return NothingToDo();
  if (options_.rollback) {
    const absl::Status known = ReadPastApply(*client);
    if (!known.ok()) {
      const int status = ReportFailure(command_, known, session_);
      return Finish(PartialReport(std::string(known.message())), status);
    }
    if (hosts_.empty()) return NothingToDo();
  }
  const absl::Status consent = AskConsent();
  if (!consent.ok()) {
    const int status = ReportFailure(command_, consent, session_);
    return Finish(PartialReport(std::string(consent.message())), status);
  }
  began_ = session_.now();
  absl::StatusOr<ApplyReport> report = Call(*client);
  if (!report.ok()) return FinishWithout(report.status());
  return FinishWith(*std::move(report));
}

}  // namespace

int RunApply(const ApplyOptions& options, Session& session) {
  return ApplyRun(options, session).Run();
}

void WriteUsageApplyReport(const std::string& command,
                           const std::string& report_file,
                           const std::string& error, Session& session) {
  ApplyReport report;
  report.set_schema_version(kSchemaVersion);
  report.set_rollback(command == "rollback");
  report.add_notes(SafeText(error, /*utf8=*/true));
  const absl::Status written = WriteTextFile(report_file, MessageJson(report));
  if (written.ok()) return;
  ReportFailure(
      command,
      absl::InvalidArgumentError(absl::StrCat("--report ", written.message())),
      session);
}

}  // namespace clusterd
