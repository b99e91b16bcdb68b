// clusterctl hook: called by a scheduler before and after a job. It asks this
// host's clusterd for the verdict, and turns the answer into this scheduler's
// exit status and lines. A killed hook leaves nothing behind. A Slurm epilog
// removes the variables that the prolog left for the job's tasks.
#include <unistd.h>

#include <algorithm>
#include <sstream>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/command/job/job_options.h"
#include "client/files/user_files.h"
#include "config/launch/hook_table.h"
#include "config/report/message_json.h"
#include "config/rules/finding_words.h"
#include "config/values/hostlist.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/waiver_text.h"

namespace clusterd {
namespace {

// Time for the daemon's answer to arrive, and for our own start and end.
constexpr absl::Duration kMargin = absl::Milliseconds(500);
constexpr absl::Duration kLongestWait = absl::Minutes(10);
constexpr int kReasonColumns = 200;
constexpr size_t kThroughLines = 5;
constexpr size_t kMaxVariableBytes = 4096;
constexpr absl::string_view kOfEachHost[] = {"HCCL_IF_IP", "NODE_RANK"};
constexpr size_t kMaxVariablesBytes = 64 << 10;

using JobSource = absl::StatusOr<JobSpec> (*)(const Environment&);

// nullptr if the options name the job, if there is one.
JobSource SourceOf(const HookRow& row) {
  if (row.kind == HOOK_PBS) return PbsJob;
  if (row.kind == HOOK_LSF) return LsfJob;
  return row.is_slurm && row.judges != HookJudges::kHost ? SlurmJob : nullptr;
}

// The table as help shows it, in the current language.
std::string HookHelp() {
  constexpr const char* kChecks[] = {"hook-checks-job", "hook-checks-host",
                                     "hook-checks-host", "hook-checks-nothing"};
  std::vector<Row> rows = {TitleRow(Say("hook-table"))};
  for (const HookRow& row : kHooks) {
    rows.push_back({{std::string(row.name)},
                    {Say(kChecks[static_cast<int>(row.judges)])},
                    {absl::StrCat(row.wait_s, "s")},
                    {Say(row.on_refused, row.refused)},
                    {Say(row.on_drained, row.drained)}});
  }
  std::ostringstream text;
  Page(Style(), text).PrintTable(rows, {});
  return text.str();
}

// The same words with each finding in them (TextWords) in the current language.
// A newer clusterd's finding stays in English. So does a text without words,
// with the title of its rule.
FindingValue WithFindings(FindingValue words) {
  const std::pair<absl::string_view, absl::string_view> names =
      absl::StrSplit(words.words(), absl::MaxSplits('/', 1));
  const Rule* const rule =
      absl::StrContains(words.words(), "/") ? FindRule(names.first) : nullptr;
  if (rule != nullptr && names.second.empty()) {
    return CurrentLanguage() == Language::kEnglish
               ? ToFindingValue(words.text())
               : Worded("hook-in-english", rule->text().title, words.text());
  }
  const RuleFinding* const row =
      rule == nullptr ? nullptr : FindRuleFinding(*rule, names.second);
  if (row != nullptr) {
    const auto* const end =
        FirstWith(words.values(), &FindingValue::name, kWaivedEnd);
    return ToFindingValue(WithValuesIn(row->text().observed, words.values()) +
                          (end == nullptr ? "" : ValueText(*end)));
  }
  for (FindingValue& value : *words.mutable_values()) {
    value = WithFindings(std::move(value));
  }
  return words;
}

// The reason to refuse the job without blaming a host: the finding's rule is
// about jobs or their files, or it names no host.
std::string ClusterWideReason(const Report& report) {
  for (const RuleResult& rule : report.rules()) {
    const Rule* const row = FindRule(rule.rule());
    const bool of_job =
        rule.category() == "job" || (row != nullptr && row->of_job);
    for (const Finding& finding : rule.findings()) {
      const bool names_host = absl::c_any_of(
          finding.subjects(),
          [](const Subject& subject) { return !subject.host().empty(); });
      if (finding.state() != FAIL || (names_host && !of_job)) continue;
      FindingValue text = ToFindingValue(finding.observed());
      if (names_host) {
        text =
            Worded("hook-about", SubjectsText(finding.subjects(), 2, 60), text);
      }
      return Say("hook-reason", rule.rule(), text);
    }
  }
  return "";
}

class HookCommand final : public CliCommand {
 public:
  HookCommand() : CliCommand("hook") {}

  void AddOptions(CLI::App& app) override {
    app.footer(
        absl::StrReplaceAll(app.get_footer(), {{"{hooks}\n", HookHelp()}}));
    AddOption(app, "HOOK", "", hook_)->required();
    job_options_.AddTo(app);
    AddOption(app, "--node-name", "NAME", node_name_);
    AddOption(app, "--max-age", "DURATION", max_age_text_);
    AddOption(app, "--timeout", "DURATION", timeout_text_);
    app.add_flag("--fail-closed", fail_closed_);
    AddOption(app, "-o,--output", "FORMAT", format_);
    AddOption(app, "--socket", "PATH", socket_);
  }

 private:
  int Work() override {
    // A scheduler gives a hook its own locale, or none. Only --lang and
    // CLUSTERD_LANG choose Chinese, then in UTF-8.
    Environment& environment = session().environment;
    const bool is_chinese =
        absl::StartsWith(ValueOf(environment, "CLUSTERD_LANG"), "zh");
    if (is_chinese) environment["LC_ALL"] = "C.UTF-8";
    const InLanguage spoken(is_chinese ? Language::kChinese
                                       : Language::kEnglish);
    ReadOptions();
    if (!mistakes_.empty()) return RejectUsage();
    opt_out_ = OptOut(session().environment);
    ReadJob();
    if (!mistakes_.empty()) return RejectUsage();
    return row_->kind == HOOK_KIND_UNSPECIFIED ? AskController()
                                               : AskOwnDaemon();
  }

  void ReadOptions() {
    const auto names = Each<absl::string_view>(kHooks, &HookRow::name);
    row_ = &kHooks[ReadChoice("HOOK", hook_, names)];
    prints_json_ = ReadChoice("--output", format_, {"text", "json"}) == 1;
    if (prints_json_ && (row_->kind == HOOK_SLURM_TASK_PROLOG ||
                         row_->kind == HOOK_KIND_UNSPECIFIED)) {
      AddMistake("msg-hook-no-json", hook_);
    }
    max_age_ = ReadDuration("--max-age", max_age_text_, absl::Milliseconds(1),
                            absl::ZeroDuration(), kLongestWait);
    wait_ = ReadDuration("--timeout", timeout_text_, absl::Milliseconds(1),
                         absl::Seconds(row_->wait_s), kLongestWait);
    if (!job_options_.given().empty() && SourceOf(*row_) != nullptr) {
      AddMistake("msg-hook-job-from-environment", job_options_.given(), hook_);
    }
    if (node_name_.empty() && row_->is_slurm) {
      node_name_ = ValueOf(session().environment, "SLURMD_NODENAME");
    }
    if (node_name_.empty() || IsHostName(node_name_)) return;
    // A name that the scheduler has set is not a usage error.
    AddTrouble("msg-hook-host-name", QuotedText(node_name_));
    node_name_.clear();
  }

  // If the job cannot be read, only this host is judged.
  void ReadJob() {
    if (const JobSource source = SourceOf(*row_)) {
      absl::StatusOr<JobSpec> job = source(session().environment);
      if (job.ok()) {
        job_ = *std::move(job);
      } else {
        AddTrouble("msg-hook-job-not-known", MessageWords(job.status()));
      }
    } else if (!job_options_.given().empty()) {
      job_options_.Read(session().environment, mistakes_);
      job_ = job_options_.job();
    }
  }

  template <typename... Values>
  void AddTrouble(absl::string_view row, const Values&... values) {
    trouble_.push_back(Worded(row, values...));
  }

  std::string Safe(absl::string_view text) const {
    return CutText(SafeText(text, ErrStyle().utf8), kReasonColumns,
                   ErrStyle().utf8);
  }

  // A task prolog's stderr goes to the user, once for every task.
  bool MayTalk() const {
    if (row_->kind != HOOK_SLURM_TASK_PROLOG) return true;
    return ValueOf(session().environment, "SLURM_PROCID") == "0";
  }

  void Talk(const FindingValue& words) {
    if (MayTalk()) Tell("hook-about", hook_, Safe(ValueText(words)));
  }

  // An internal error of clusterd blocks a job only with --fail-closed.
  int WithoutAnswer(const absl::Status& why) {
    AddMistakes("", why, trouble_);
    for (const FindingValue& line : trouble_) Talk(line);
    const bool refuses = fail_closed_ && row_->drained != 0;
    Talk(Worded(refuses ? "msg-hook-fail-closed" : "msg-hook-not-checked"));
    return refuses ? row_->drained : kExitPass;
  }

  // A prolog runs as root and may ask. A task prolog runs as the job's user and
  // may not, unless a site permits it. The prolog's answer is beside the socket
  // until the epilog. The id has no "/". Empty if the job is not known.
  std::string VariablesFile() const {
    const size_t restarts = job_.id().rfind('.');
    if (!row_->is_slurm || restarts == std::string::npos) return "";
    return absl::StrCat(socket_, ".", job_.id().substr(0, restarts), ".env");
  }

  // Reads the file that the job's prolog wrote; false if there is none.
  bool ReadVariables(HookAnswer* answer) const {
    const auto text = ReadTextFile(VariablesFile(), kMaxVariablesBytes);
    if (!text.ok()) return false;
    const std::vector<std::string> lines =
        absl::StrSplit(*text, '\n', absl::SkipEmpty());
    answer->mutable_environment()->Assign(lines.begin(), lines.end());
    answer->set_decision(HookAnswer::ALLOW);
    return true;
  }

  void KeepVariables(const HookAnswer& answer) {
    const std::string path = VariablesFile();
    if (row_->kind != HOOK_SLURM_PROLOG || path.empty() ||
        answer.environment().empty()) {
      return;
    }
    const absl::Status kept =
        WriteTextFile(path, absl::StrJoin(answer.environment(), "\n"), 0644);
    if (!kept.ok()) {
      AddTrouble("msg-hook-variables-not-kept", MessageWords(kept));
    }
  }

  int AskOwnDaemon() {
    if (row_->kind == HOOK_SLURM_PROLOG || row_->kind == HOOK_SLURM_EPILOG) {
      unlink(VariablesFile().c_str());  // Left by an earlier start of the job.
    }
    HookAnswer left;
    if (row_->kind == HOOK_SLURM_TASK_PROLOG && ReadVariables(&left)) {
      return Obey(left);
    }
    const auto channel = session().connector.ToLocalDaemon(socket_);
    if (!channel.ok()) return WithoutAnswer(channel.status());
    HookRequest request;
    request.set_kind(row_->kind);
    *request.mutable_job() = job_.SerializeAsString();
    request.set_wait_ms(ToMs(wait_));
    request.set_max_age_ms(ToMs(max_age_));
    request.set_opt_out(opt_out_);
    request.set_node_name(node_name_);
    LocalClient client(*channel, Worded("daemon-here", socket_),
                       session().interrupt);
    const absl::StatusOr<HookAnswer> answer =
        client.Ask(&LocalAgent::Stub::RunHook, request, wait_ + kMargin);
    if (!answer.ok()) return WithoutAnswer(answer.status());
    return Obey(*answer);
  }

  int Obey(const HookAnswer& answer) {
    size_t more = answer.let_through_size() + answer.let_through_more();
    const size_t most =
        std::max(kThroughLines, trouble_.size() + answer.let_through_worst());
    for (int i = 0; i < answer.let_through_size(); ++i) {
      if (trouble_.size() >= most) break;
      AddTrouble("hook-not-blocking",
                 i < answer.let_through_words_size()
                     ? WithFindings(answer.let_through_words(i))
                     : ToFindingValue(answer.let_through(i)));
      --more;
    }
    if (more > 0) AddTrouble("hook-more-not-blocking", more);
    KeepVariables(answer);
    for (const FindingValue& line : trouble_) Talk(line);
    if (prints_json_) session().out << MessageJson(answer);
    if (row_->kind == HOOK_SLURM_TASK_PROLOG) PrintEnvironment(answer);
    FindingValue words = ToFindingValue(answer.reason());
    if (answer.has_reason_words()) words = WithFindings(answer.reason_words());
    if (answer.reason().empty()) words = Worded("msg-hook-without-reason");
    const std::string reason = Safe(ValueText(words));
    switch (answer.decision()) {
      case HookAnswer::ALLOW:
        return kExitPass;
      case HookAnswer::REFUSE:
        return Refuse(row_->refused, reason);
      case HookAnswer::REFUSE_AND_DRAIN:
        return Refuse(row_->drained, reason);
      default:
        return WithoutAnswer(
            InternalWords("msg-hook-other-version",
                          Worded("hook-decision", answer.decision())));
    }
  }

  // Many users see only this line.
  int Refuse(int status, const std::string& reason) {
    if (!MayTalk()) return status;
    ClearProgress();
    session().err << reason << std::endl;
    if (status == kExitPass && row_->kind == HOOK_SLURM_PROLOG) {
      Talk(Worded("msg-hook-slurm-not-refused"));
    }
    return status;
  }

  // Prints "export NAME=value", which slurmstepd reads (srun(1),
  // --task-prolog). The user's values stay, except variables that differ by
  // host: srun passes those of the batch script on to other hosts.
  void PrintEnvironment(const HookAnswer& answer) {
    static const LazyRE2 kVariable = {
        "[A-Z][A-Z0-9_]*=[A-Za-z0-9_.,:;%/@+=^ -]*"};
    for (const std::string& line : answer.environment()) {
      if (line.size() > kMaxVariableBytes || !HasForm(line, *kVariable)) {
        Talk(Worded("msg-hook-variable-skipped", QuotedText(line)));
        continue;
      }
      const std::pair<std::string, std::string> variable =
          absl::StrSplit(line, absl::MaxSplits('=', 1));
      const std::string own =
          ValueOf(session().environment, variable.first.c_str());
      if (own.empty() || absl::c_linear_search(kOfEachHost, variable.first)) {
        session().out << "export " << line << "\n";
      } else if (own != variable.second && MayTalk()) {
        session().out << "print "
                      << Say("hook-variable-differs", variable.first,
                             PrintableText(own), variable.second)
                      << "\n";
      }
    }
  }

  // Runs where slurmctld runs. Refuses for the job or the cluster as a whole. A
  // faulty host refuses and drains in its own prolog; a job requeued by this
  // hook would return to it.
  int AskController() {
    if (!opt_out_.empty()) {
      Talk(Worded("hook-opted-out", job_.id(), opt_out_));
      return kExitPass;
    }
    if (job_.servers().empty()) {
      return WithoutAnswer(InvalidWords("msg-hook-no-job"));
    }
    const auto client = Connect();
    if (client == nullptr) return WithoutAnswer(MistakesError(mistakes_));
    CheckRequest request;
    *request.mutable_job() = job_;
    request.set_max_age_ms(ToMs(max_age_));
    absl::StatusOr<Report> report =
        client->Follow(&Controller::Stub::Check, request, wait_, "check",
                       [](const CheckEvent&) {});
    if (!report.ok()) return WithoutAnswer(report.status());
    if (report->job_servers() == 0 || !report->error().empty()) {
      return WithoutAnswer(report->error().empty()
                               ? UnknownWords("msg-hook-old-controller")
                               : absl::UnknownError(report->error()));
    }
    RenderReport(&*report);
    for (const FindingValue& line : trouble_) Talk(line);
    const std::string reason = ClusterWideReason(*report);
    if (reason.empty()) return kExitPass;
    return Refuse(row_->refused, Safe(reason));
  }

  std::string hook_;
  std::string node_name_;
  std::string max_age_text_;
  std::string timeout_text_;
  std::string format_ = "text";
  std::string socket_ = "/run/clusterd/agent.sock";
  bool fail_closed_ = false;
  JobOptions job_options_;

  const HookRow* row_ = nullptr;
  bool prints_json_ = false;
  absl::Duration max_age_;
  absl::Duration wait_;
  std::string opt_out_;
  JobSpec job_;
  MistakeList trouble_;  // Our errors, or not blocking.
};

}  // namespace

void AddHookCommand(CommandList& commands) {
  AddCommands<HookCommand>(commands);
}

}  // namespace clusterd
