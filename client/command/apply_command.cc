// clusterctl apply and rollback: apply a saved plan, or undo an apply.
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "client/command/request.h"
#include "client/command/run_canceller.h"
#include "client/files/user_files.h"
#include "client/print/apply_table.h"
#include "client/print/history_table.h"
#include "client/print/plan_table.h"
#include "config/plan/make_plan.h"
#include "config/plan/waves.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr uint32_t kSchemaVersion = 1;
// The hosts at once without --wave, which is the controller's default.
constexpr uint32_t kDefaultWaveSize = 32;

// The common part of apply and rollback. Announces the changes, asks the user
// unless --yes was given, makes the call, and prints each host's end as it
// comes. The file of --report is written in any case.
class RunCommand : public Request {
 public:
  RunCommand(const char* name, bool is_rollback)
      : Request(name), is_rollback_(is_rollback) {}

 protected:
  void AddSharedOptions(CLI::App& app) {
    AddOption(app, "--wave", "N", wave_text_);
    // A failed wave does not stop a rollback, so a canary would be useless.
    if (!is_rollback_) {
      AddOption(app, "--canary", "N", canary_text_);
    }
    app.add_flag("--yes", yes_);
    app.add_flag("--force", force_);
    app.add_flag("--verbose", verbose_);
    AddOutput(app);
    AddReport(app);
    // The user waits for an apply, whose waves may take an hour.
    AddTimeout(app, absl::Hours(24));
  }

  // Reads the command's arguments; adds mistakes.
  virtual void ReadSubject() = 0;
  // Prints the changes to be confirmed, on stderr.
  virtual void PrintSubject(const Style& style, std::ostream& out) const = 0;
  // Ends a run that has nothing to do, without a question; the exit status.
  virtual int FinishNothing() = 0;
  // Makes the call.
  virtual absl::StatusOr<ApplyReport> Call(ControllerClient& client) = 0;

  template <typename CallRequest>
  absl::StatusOr<ApplyReport> Follow(
      ControllerClient& client,
      std::unique_ptr<grpc::ClientReader<ApplyEvent>> (Controller::Stub::*call)(
          grpc::ClientContext*, const CallRequest&),
      CallRequest request) {
    request.set_wave_size(wave_size_);
    request.set_force(force_);
    canceller_ = std::make_shared<RunCanceller>(client, session().interrupt);
    session().interrupt.DeferTo(
        [canceller = canceller_] { canceller->OnInterrupt(); });
    absl::StatusOr<ApplyReport> report =
        client.Follow(call, request, timeout_, name(),
                      [this](const ApplyEvent& event) { OnEvent(event); });
    session().interrupt.DeferTo(nullptr);
    const absl::Status asked = canceller_->Close();
    is_cancelled_ |= asked.ok();
    if (!asked.ok() && !absl::IsNotFound(asked) && !report.ok()) {
      Tell("msg-run-not-cancelled", run_id(), MessageWords(asked));
    }
    return report;
  }

  // Ends a run that has nothing to do because of an error.
  int NothingCanBeDone(const FindingValue& why) {
    Tell("msg-nothing-can-be-done", why);
    Note(why);
    return kExitNoVerdict;
  }
  void Note(const FindingValue& words) {
    report_.add_notes(EnglishText(words));
    said_.push_back(words);
  }

  // The hosts, in the order of the run.
  std::vector<std::string> hosts_;
  bool subject_known_ = false;
  FindingValue what_will_happen_;  // "Apply 2 steps"
  uint32_t canary_ = 0;            // 0: the first wave is like the others.
  uint32_t wave_size_ = 0;
  Canary first_wave_;  // Set by apply only.
  // For apply: time until the automatic rollback; zero: the plan decides.
  absl::Duration confirm_within_;
  // The word that the user types instead of "y", and why; empty: "y" is enough.
  std::string name_to_type_;
  FindingValue why_type_;
  std::string confirmed_;  // Value of --confirm.
  // The controller's report; until it arrives, what the client knows.
  ApplyReport report_;
  // For apply: the run to abort; empty: none.
  std::string abort_;
  std::vector<const CLI::Option*> not_with_abort_;

 private:
  bool HasNothingToDo() const { return subject_known_ && hosts_.empty(); }
  // Empty: not received.
  const std::string& run_id() const { return report_.run_id(); }
  bool aborts() const { return !abort_.empty(); }

  bool AsksController() const final { return aborts() || !HasNothingToDo(); }

  void ReadOptions() final {
    if (aborts()) return CheckAbort();
    wave_size_ = ReadCount("--wave", wave_text_, kDefaultWaveSize);
    if (!canary_text_.empty()) canary_ = ReadCount("--canary", canary_text_, 1);
    // Refuse an unusable file of --report before hosts change.
    CheckReport();
    ReadSubject();
    const bool can_ask =
        session().terminal.in_is_terminal && session().terminal.err_is_terminal;
    if (!yes_ && !can_ask && !HasNothingToDo()) {
      AddMistake("msg-yes-missing");
    }
    const bool must_confirm = yes_ && !name_to_type_.empty();
    if (confirmed_.empty() && must_confirm && !HasNothingToDo()) {
      AddMistake("msg-confirm-missing", why_type_, name_to_type_);
    }
  }

  void CheckAbort() {
    CheckRunId("--abort", abort_);
    for (const CLI::Option* other : not_with_abort_) {
      if (other->count() == 0) continue;
      AddMistake("msg-abort-alone", other->get_name());
    }
  }

  absl::Status Ask(ControllerClient* client) final {
    if (aborts()) {
      AbortApplyRequest request;
      request.set_id(abort_);
      ASSIGN_OR_RETURN(aborted_, client->Ask(&Controller::Stub::AbortApply,
                                             request, kShortTimeout));
      return absl::OkStatus();
    }
    if (HasNothingToDo()) return absl::OkStatus();
    RETURN_IF_ERROR(AskConsent());
    began_ = session().now();
    ASSIGN_OR_RETURN(report_, Call(*client));
    return absl::OkStatus();
  }

  // OK if the user, or --yes, agrees.
  absl::Status AskConsent() {
    const Waves waves(hosts_.size(), first_wave_.size, wave_size_);
    const FindingValue question = Worded(
        "ctl-question", what_will_happen_, Counted(hosts_.size(), "host"),
        Counted(waves.count(), "wave"),
        canary_ > 0 ? Worded("ctl-first-wave", Counted(waves.begin(1), "host"))
                    : FindingValue(),
        force_ ? Worded("ctl-with-force") : FindingValue(),
        confirm_within_ > absl::ZeroDuration()
            ? Worded("ctl-reverts-after", absl::FormatDuration(confirm_within_))
            : FindingValue());
    if (!yes_) PrintSubject(ErrStyle(), session().err);
    if (first_wave_.size > 0) Tell("headed", "", first_wave_.why);
    if (yes_) {
      Tell("headed", "", question);
      return absl::OkStatus();
    }
    const bool by_name = !name_to_type_.empty() && confirmed_.empty();
    const std::string asked =
        by_name ? Say("ctl-ask-name", question, why_type_, name_to_type_)
                : Say("ctl-ask-yes", question);
    session().err << "\n" << SafeText(asked, ErrStyle().utf8) << std::flush;
    const absl::StatusOr<std::string> answer = session().read_line();
    static const LazyRE2 kYes = {R"((?i)\s*y(?:es)?\s*)"};
    if (answer.ok() &&
        (by_name ? absl::StripAsciiWhitespace(*answer) == name_to_type_
                 : HasForm(*answer, *kYes))) {
      return absl::OkStatus();
    }
    if (answer.ok()) {
      return InvalidWords(by_name ? "msg-answer-not-name"
                                  : "msg-answer-not-yes");
    }
    session().err << "\n";
    return WithWords(
        absl::IsCancelled(answer.status()) ? absl::CancelledError("")
                                           : absl::InvalidArgumentError(""),
        Worded("msg-answer-not-read", MessageWords(answer.status())));
  }

  void OnEvent(const ApplyEvent& event) {
    const Style style = ErrStyle();
    if (event.has_progress()) {
      OnProgress(event.progress());
    } else if (event.has_step() && verbose_) {
      const StepOutcome& outcome = event.step().outcome();
      Tell("ctl-step", event.step().host(), outcome.step(),
           StepWord(outcome.state()), event.step().text(),
           SayPart("ctl-and", outcome.detail()));
    } else if (event.has_host()) {
      ClearProgress();
      session().err << HostEndLine(event.host(), is_rollback_, style)
                    << std::endl;
      results_[event.host().host()] = event.host();
    } else if (event.has_wave() && event.wave().waves() > 1) {
      Tell("headed", "", WaveText(event.wave()));
    } else if (event.has_cancelled()) {
      // Another user may have cancelled it. The next Ctrl-C ends the command.
      is_cancelled_ = true;
      session().interrupt.DeferTo(nullptr);
      Tell("ctl-cancelled", CancelText(event.cancelled()));
    }
  }

  void OnProgress(const ApplyProgress& progress) {
    if (run_id().empty() && !progress.run_id().empty()) {
      report_.set_run_id(progress.run_id());
      Tell("ctl-run", run_id());
      canceller_->OnRunId(run_id());
    }
    ShowProgress(ApplyProgressText(progress, ErrStyle().utf8));
  }

  int Finish() final {
    if (aborts()) return Deliver(kExitPass);
    if (HasNothingToDo()) {
      CompleteReport();
      return Deliver(FinishNothing());
    }
    if (report_.schema_version() != kSchemaVersion) {
      Note(Worded("msg-report-schema-differs", report_.schema_version(),
                  kSchemaVersion));
    }
    if (confirm_within_ > absl::ZeroDuration() && !report_.has_confirmation()) {
      // Older controllers ignore the field.
      Note(Worded("msg-confirm-within-not-known"));
    }
    const int hosts_before = report_.hosts_size();
    // The controller decides which hosts a rollback asks.
    if (!is_rollback_) CompleteHosts();
    if (report_.hosts_size() > hosts_before) {
      Note(Worded("msg-report-without-hosts",
                  report_.hosts_size() - hosts_before));
    }
    return Deliver(ExitStatusOf(SupportedVerdict(report_), FailOn::kFail));
  }

  bool AnswerWithout(const absl::Status& error) final {
    if (aborts()) return false;
    if (began_.has_value()) SayHowToShow(error);
    CompleteReport();
    if (!error.message().empty()) {
      report_.set_error(SafeText(error.message(), /*utf8=*/true));
      Note(MessageWords(error));
      *report_.mutable_notes()->rbegin() = report_.error();
    }
    return true;
  }
  int StatusOfFailure(int status) const final {
    return run_id().empty() ? status : kExitNoVerdict;
  }

  void SayHowToShow(const absl::Status& error) {
    // The client left, or the controller did, perhaps for good.
    const bool we_left =
        absl::IsCancelled(error) || absl::IsDeadlineExceeded(error);
    const std::string id = run_id();
    if (id.empty() && (we_left || absl::IsUnavailable(error) ||
                       absl::IsInternal(error) || absl::IsUnknown(error))) {
      Tell("msg-run-not-named", name());
    } else if (id.empty()) {
      Tell("ctl-nothing-changed");
    } else {
      Tell(is_cancelled_ ? "msg-run-cancelled"
           : we_left     ? "msg-run-goes-on"
                         : "msg-run-may-go-on",
           id);
    }
  }

  // A host that will be asked, but whose end is missing, has "no answer yet".
  void CompleteHosts() {
    for (const std::string& name : LeftOut(hosts_, report_.hosts())) {
      ApplyResult& result = *report_.add_hosts();
      const auto found = results_.find(name);
      if (found != results_.end()) result = found->second;
      result.set_host(name);
    }
  }

  // Completes the report of a run for which the controller sent none.
  void CompleteReport() {
    report_.set_schema_version(kSchemaVersion);
    report_.set_rollback(is_rollback_);
    report_.set_force(force_);
    report_.set_wave_size(wave_size_);
    report_.set_canary(static_cast<uint32_t>(first_wave_.size));
    if (run_id().empty()) return;
    if (!is_rollback_) report_.set_apply_id(run_id());
    report_.set_outcome(ApplyReport::RUNNING);
    report_.set_started_at_ms(absl::ToUnixMillis(*began_));
    report_.set_elapsed_ms(ElapsedMs(*began_));
    CompleteHosts();
  }

  const google::protobuf::Message& Answer() const final {
    if (aborts()) return aborted_;
    return report_;
  }
  void PrintTable(const Style& style, std::ostream& out) final {
    if (aborts()) {
      out << SafeShort(style) << "\n"
          << SafeText(Say("apply-to-show", aborted_.run_id()), style.utf8)
          << "\n";
      return;
    }
    // Errors from before the first host was asked were printed on stderr.
    if (report_.hosts().empty()) return;
    ApplyReport shown = report_;
    auto note = shown.mutable_notes()->rbegin();
    for (auto said = said_.rbegin(); said != said_.rend(); ++said) {
      *note++ = ValueText(*said);
    }
    PrintApplyTable(shown, style, out);
  }
  std::string Short() const final {
    return aborts() ? AbortText(aborted_) : ApplyShort(report_);
  }

  const bool is_rollback_;
  std::string wave_text_;
  std::string canary_text_;
  bool yes_ = false;
  bool force_ = false;

  std::optional<absl::Time> began_;  // The call.
  std::shared_ptr<RunCanceller> canceller_;
  bool is_cancelled_ = false;  // Here or elsewhere.
  std::map<std::string, ApplyResult> results_;
  std::vector<FindingValue> said_;  // The last notes of the report.
  AbortApplyResponse aborted_;
};

// Checks the plan's digest before any host is asked. help/apply.txt lists the
// exit statuses. A run that has begun continues in the controller.
class ApplyCommand final : public RunCommand {
 public:
  ApplyCommand() : RunCommand("apply", /*is_rollback=*/false) {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "PLANFILE", "", file_);
    AddNamespace(app);
    AddOption(app, "--confirm", "NAME", confirmed_);
    AddOption(app, "--confirm-within", "DURATION", confirm_within_text_);
    app.add_flag("--auto-confirm", auto_confirm_);
    app.add_flag("--no-confirm", no_confirm_);
    AddSharedOptions(app);
    AddOption(app, "--abort", "ID", abort_);
    for (const char* other :
         {"PLANFILE", "--netns", "--confirm", "--confirm-within",
          "--auto-confirm", "--no-confirm", "--wave", "--canary", "--yes",
          "--force", "--verbose", "--report"}) {
      not_with_abort_.push_back(app.get_option(other));
    }
  }

 private:
  void ReadSubject() override {
    confirm_within_ = ReadDuration("--confirm-within", confirm_within_text_,
                                   absl::Minutes(1), absl::ZeroDuration());
    if (no_confirm_ && (auto_confirm_ || !confirm_within_text_.empty())) {
      AddMistake("msg-no-confirm-conflict");
    }
    if (file_.empty()) {
      AddMistake("msg-planfile-missing");
      return;
    }
    absl::StatusOr<ClusterPlan> plan = ReadPlanFile(file_);
    if (!plan.ok()) return AddMistakes("", plan.status(), mistakes_);
    plan_ = *std::move(plan);
    subject_known_ = true;
    for (const HostPlan& host : plan_.hosts()) {
      if (!host.steps().empty()) hosts_.push_back(host.host());
    }
    first_wave_ = ChooseCanary(plan_, canary_, wave_size_);
    absl::c_stable_partition(hosts_, [this](const std::string& host) {
      return first_wave_.hosts.count(host) > 0;
    });
    const PlanCounts counts = CountPlan(plan_);
    what_will_happen_ =
        Worded("ctl-apply-steps", Counted(counts.steps, "step"));
    if (counts.readdresses_many()) {
      name_to_type_ = plan_.cluster();
      why_type_ = Worded("plan-readdressed", counts.hosts_readdressed,
                         Counted(counts.cluster_hosts, "host"));
    }
    if (!confirmed_.empty() && confirmed_ != plan_.cluster()) {
      AddMistake("msg-confirm-other-cluster", confirmed_, plan_.cluster());
    }
    report_.set_cluster(plan_.cluster());
    report_.set_plan_id(plan_.plan_id());
    report_.set_plan_digest(plan_.digest());

    const std::string wanted = NetworkNamespaceText(network_namespace_);
    const std::string planned = NamespaceOfPlan(plan_);
    if (wanted.empty() || planned == wanted) return;
    AddMistake(
        "msg-netns-not-of-plan", wanted, file_,
        planned.empty() ? Worded("ctl-no-namespace") : ToFindingValue(planned));
  }

  void PrintSubject(const Style& style, std::ostream& out) const override {
    PrintPlanTable(plan_, style, /*verbose=*/false, out);
  }

  int FinishNothing() override {
    const PlanCounts counts = CountPlan(plan_);
    if (counts.blocked > 0) {
      const auto why = [&] {
        return Worded("ctl-plan-says-why", PlanCountsText(counts));
      };
      const int status = NothingCanBeDone(why());
      const InLanguage of_report(Language::kEnglish);
      *report_.mutable_notes()->rbegin() = ValueText(why());
      return status;
    }
    Tell("headed", "", PlanCountsText(counts));
    report_.set_outcome(ApplyReport::SUCCEEDED);
    for (const HostPlan& host : plan_.hosts()) {
      ApplyResult& result = *report_.add_hosts();
      result.set_host(host.host());
      result.set_outcome(ApplyResult::NOTHING_TO_DO);
    }
    return kExitPass;
  }

  absl::StatusOr<ApplyReport> Call(ControllerClient& client) override {
    ApplyPlanRequest request;
    request.set_plan_id(plan_.plan_id());
    request.set_digest(plan_.digest());
    request.set_canary(canary_);
    request.set_confirm_within_ms(ToMs(confirm_within_));
    request.set_auto_confirm(auto_confirm_);
    request.set_no_confirm(no_confirm_);
    return Follow(client, &Controller::Stub::ApplyPlan, request);
  }

  std::string file_;
  std::string confirm_within_text_;
  bool auto_confirm_ = false;
  bool no_confirm_ = false;
  ClusterPlan plan_;
};

// The exit statuses are those of apply, except that every wave is asked.
class RollbackCommand final : public RunCommand {
 public:
  RollbackCommand() : RunCommand("rollback", /*is_rollback=*/true) {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "APPLY_ID", id_);
    AddSharedOptions(app);
  }

 private:
  void ReadSubject() override { CheckRunId("APPLY_ID", id_); }

  // Reads the apply to be undone, so that the question can name its hosts.
  absl::Status Prepare(ControllerClient& client) override {
    if (!mistakes_.empty()) return absl::OkStatus();
    GetHistoryRequest request;
    request.set_id(id_);
    ASSIGN_OR_RETURN(
        HistoryRecord record,
        client.Ask(&Controller::Stub::GetHistory, request, kShortTimeout));
    if (record.entry().kind() != HISTORY_APPLY) {
      return InvalidWords("msg-run-not-an-apply", id_,
                          HistoryKindWords(record.entry().kind()));
    }
    subject_known_ = true;
    past_ = std::move(*record.mutable_apply());
    past_.set_apply_id(record.entry().id());
    for (const ApplyResult& host : past_.hosts()) {
      if (MayHold(host.outcome())) hosts_.push_back(host.host());
    }
    what_will_happen_ = Worded("ctl-roll-back", past_.apply_id());
    report_.set_cluster(past_.cluster());
    report_.set_apply_id(past_.apply_id());
    return absl::OkStatus();
  }

  void PrintSubject(const Style& style, std::ostream& out) const override {
    PrintApplyTable(past_, style, out, /*rollback_hint=*/false);
  }
  int FinishNothing() override {
    return NothingCanBeDone(Worded("ctl-apply-on-no-host", past_.apply_id()));
  }

  absl::StatusOr<ApplyReport> Call(ControllerClient& client) override {
    RollBackRequest request;
    request.set_apply_id(past_.apply_id());
    return Follow(client, &Controller::Stub::RollBack, request);
  }

  std::string id_;
  ApplyReport past_;
};

}  // namespace

void AddRunCommands(CommandList& commands) {
  AddCommands<ApplyCommand, RollbackCommand>(commands);
}

}  // namespace clusterd
