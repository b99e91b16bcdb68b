// clusterctl hook: what a scheduler calls before and after a job. Asks this
// host's own clusterd, which knows or learns the verdict, and turns the answer
// into an exit status and the lines that this scheduler understands. One
// that is killed leaves nothing; what a Slurm job's prolog leaves for its tasks
// its epilog removes.
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "client/command/job/job_options.h"
#include "client/files/user_files.h"
#include "config/launch/hook_table.h"
#include "config/report/message_json.h"
#include "config/rules/catalogue.h"
#include "config/values/hostlist.h"
#include "config/values/text_form.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr char kDefaultSocket[] = "/run/clusterd/agent.sock";
// What every refusal begins with, as drain reasons do.
constexpr char kPrefix[] = "clusterd: ";
// The daemon's answer on its way back, and our own start and end.
constexpr absl::Duration kMargin = absl::Milliseconds(500);
constexpr absl::Duration kLongestWait = absl::Minutes(10);
constexpr int kReasonColumns = 200;
constexpr size_t kThroughLines = 5;
constexpr size_t kMaxVariableBytes = 4096;
constexpr absl::string_view kOfEachHost[] = {"HCCL_IF_IP", "NODE_RANK"};
constexpr size_t kMaxVariablesBytes = 64 << 10;

using JobSource = absl::StatusOr<JobSpec> (*)(const Environment&);

// nullptr: the options name the job, if any.
JobSource SourceOf(HookKind kind) {
  switch (kind) {
    case HOOK_SLURM_HEALTH:
    case HOOK_PLAIN:
      return nullptr;
    case HOOK_PBS:
      return PbsJob;
    case HOOK_LSF:
      return LsfJob;
    default:
      return SlurmJob;
  }
}

// The rows as help shows them.
std::string HookHelp() {
  constexpr char kLine[] = "%-25s%-7s%-16s%s\n";
  std::string text = absl::StrFormat(kLine, "HOOK", "waits", "refused",
                                     "refused because of this host");
  for (const HookRow& row : kHooks) {
    const bool asks_controller = row.kind == HOOK_KIND_UNSPECIFIED;
    absl::StrAppend(
        &text, absl::StrFormat(kLine, row.name, absl::StrCat(row.wait_s, "s"),
                               absl::StrCat(row.refused, row.on_refused),
                               asks_controller ? "left to that host's prolog"
                                               : absl::StrCat(row.drained,
                                                              row.on_drained)));
  }
  return text;
}

// The reason to refuse the job of a finding that no host is to blame for: its
// rule is about jobs or what they bring, or it names no host.
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
      return absl::StrCat(
          kPrefix, rule.rule(), ": ",
          names_host
              ? absl::StrCat(SubjectsText(finding.subjects(), 2, 60), ": ")
              : "",
          finding.observed());
    }
  }
  return "";
}

class HookCommand final : public Command {
 public:
  HookCommand() : Command("hook") {}

  void AddOptions(CLI::App& app) override {
    app.footer(
        absl::StrReplaceAll(app.get_footer(), {{"{hooks}\n", HookHelp()}}));
    const auto names = Each<absl::string_view>(kHooks, &HookRow::name);
    AddOption(app, "HOOK", "", hook_,
              absl::StrCat("Hook to run: ", absl::StrJoin(names, ", ")))
        ->required();
    job_options_.AddTo(app);
    AddOption(app, "--node-name", "NAME", node_name_,
              "Name of this host in Slurm [SLURMD_NODENAME]");
    AddOption(app, "--max-age", "DURATION", max_age_text_,
              "Accept a verdict about the job that is at most this old");
    AddOption(app, "--timeout", "DURATION", timeout_text_,
              "Wait at most this long for an answer (default: by HOOK, see "
              "below)");
    app.add_flag("--fail-closed", fail_closed_,
                 "Also refuse when there is no answer");
    AddOption(app, "-o,--output", "FORMAT", format_,
              "Output on stdout: text (default), json");
    AddOption(app, "--socket", "PATH", socket_,
              absl::StrCat("Unix socket of this host's clusterd (default: ",
                           kDefaultSocket, ")"));
  }

 private:
  int Work() override {
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
      AddMistake("--output: json is not for ", hook_, ", expected text");
    }
    max_age_ = ReadDuration("--max-age", max_age_text_, absl::Milliseconds(1),
                            absl::ZeroDuration(), kLongestWait);
    wait_ = ReadDuration("--timeout", timeout_text_, absl::Milliseconds(1),
                         absl::Seconds(row_->wait_s), kLongestWait);
    if (!job_options_.given().empty() && SourceOf(row_->kind) != nullptr) {
      AddMistake(job_options_.given(), ": ", hook_,
                 " takes the job from its environment, expected no option ",
                 "about it");
    }
    if (node_name_.empty() && row_->is_slurm) {
      node_name_ = ValueOf(session().environment, "SLURMD_NODENAME");
    }
    if (node_name_.empty() || IsHostName(node_name_)) return;
    // A scheduler's own word is no mistake of the command line.
    AddTrouble("node name ", QuotedText(node_name_), " is no host's name");
    node_name_.clear();
  }

  // What is wrong with the scheduler's words leaves the job unknown; this host
  // alone is judged then.
  void ReadJob() {
    const JobSource source = SourceOf(row_->kind);
    if (source == nullptr) {
      if (!job_options_.given().empty()) {
        job_options_.Read(session().environment, mistakes_);
        job_ = job_options_.job();
      }
      return;
    }
    absl::StatusOr<JobSpec> job = source(session().environment);
    if (job.ok()) {
      job_ = *std::move(job);
    } else {
      AddTrouble("the job is not known: ", job.status().message());
    }
  }

  template <typename... Parts>
  void AddTrouble(const Parts&... parts) {
    trouble_.push_back(absl::StrCat(parts...));
  }

  std::string Safe(absl::string_view text) const {
    return CutText(SafeText(text, ErrStyle().utf8), kReasonColumns,
                   ErrStyle().utf8);
  }

  // A task prolog's stderr is the user's own, once for every task.
  bool MayTalk() const {
    if (row_->kind != HOOK_SLURM_TASK_PROLOG) return true;
    return ValueOf(session().environment, "SLURM_PROCID") == "0";
  }

  void TellTrouble() {
    if (!MayTalk()) return;
    for (const std::string& line : trouble_) Tell(hook_, ": ", Safe(line));
  }

  // Nobody could be asked: our own trouble, which stops no job unless it is
  // told to.
  int WithoutAnswer(const absl::Status& why) {
    AddTrouble(why.message());
    TellTrouble();
    const bool refuses = fail_closed_ && row_->drained != 0;
    if (MayTalk()) {
      Tell(hook_, refuses ? ": refused, because nobody could be asked "
                            "(--fail-closed)"
                          : ": let through unchecked");
    }
    return refuses ? row_->drained : kExitPass;
  }

  std::string SocketPath() const {
    return socket_.empty() ? kDefaultSocket : socket_;
  }

  // A prolog is root and may ask; a task prolog is the job's user and may not,
  // unless a site lets it. What the first was told lies beside the socket until
  // the epilog. The id has no "/". Empty: the job is not known.
  std::string VariablesFile() const {
    const size_t restarts = job_.id().rfind('.');
    if (!row_->is_slurm || restarts == std::string::npos) return "";
    return absl::StrCat(SocketPath(), ".", job_.id().substr(0, restarts),
                        ".env");
  }

  // What the job's prolog has left; false if it has left nothing.
  bool ReadVariables(HookAnswer* answer) const {
    const auto text = ReadTextFile(VariablesFile(), kMaxVariablesBytes);
    if (!text.ok()) return false;
    for (const absl::string_view line :
         absl::StrSplit(*text, '\n', absl::SkipEmpty())) {
      answer->add_environment(std::string(line));
    }
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
      AddTrouble("the job is not told its variables: ", kept.message());
    }
  }

  int AskOwnDaemon() {
    const std::string socket = SocketPath();
    if (row_->kind == HOOK_SLURM_PROLOG || row_->kind == HOOK_SLURM_EPILOG) {
      unlink(VariablesFile().c_str());  // Of the job's start before this one.
    }
    HookAnswer left;
    if (row_->kind == HOOK_SLURM_TASK_PROLOG && ReadVariables(&left)) {
      return Obey(left);
    }
    const auto channel = session().connector.ToLocalDaemon(socket);
    if (!channel.ok()) return WithoutAnswer(channel.status());
    HookRequest request;
    request.set_kind(row_->kind);
    *request.mutable_job() = job_.SerializeAsString();
    request.set_wait_ms(ToMs(wait_));
    request.set_max_age_ms(ToMs(max_age_));
    request.set_opt_out(opt_out_);
    request.set_node_name(node_name_);
    LocalClient client(*channel, Worded("daemon-here", socket),
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
    for (const std::string& line : answer.let_through()) {
      if (trouble_.size() >= most) break;
      AddTrouble("let through: ", line);
      --more;
    }
    if (more > 0) AddTrouble("let through: and ", more, " more");
    KeepVariables(answer);
    TellTrouble();
    if (prints_json_) session().out << MessageJson(answer);
    if (row_->kind == HOOK_SLURM_TASK_PROLOG) PrintEnvironment(answer);
    const std::string reason =
        Safe(answer.reason().empty() ? "clusterd: refused without a reason"
                                     : answer.reason());
    switch (answer.decision()) {
      case HookAnswer::ALLOW:
        return kExitPass;
      case HookAnswer::REFUSE:
        return Refuse(row_->refused, reason);
      case HookAnswer::REFUSE_AND_DRAIN:
        return Refuse(row_->drained, reason);
      default:
        return WithoutAnswer(absl::InternalError(
            "clusterd of this host: its decision is not known here; use its "
            "version of clusterctl"));
    }
  }

  // The one line that is all that many people will ever see.
  int Refuse(int status, const std::string& reason) {
    if (!MayTalk()) return status;
    ClearProgress();
    session().err << reason << std::endl;
    if (status == kExitPass && row_->kind == HOOK_SLURM_PROLOG) {
      Tell(hook_, ": let through: this host is not the cause, and Slurm would ",
           "drain it; slurm-controller-prolog and the host in question refuse");
    }
    return status;
  }

  // "export NAME=value", which slurmstepd reads (srun(1), --task-prolog). What
  // the user has set stays, but for what is each host's own: srun hands on what
  // a task prolog has told the batch script on another host.
  void PrintEnvironment(const HookAnswer& answer) {
    static const LazyRE2 kVariable = {
        "[A-Z][A-Z0-9_]*=[A-Za-z0-9_.,:;%/@+=^ -]*"};
    for (const std::string& line : answer.environment()) {
      if (line.size() > kMaxVariableBytes || !HasForm(line, *kVariable)) {
        if (MayTalk()) {
          Tell(hook_, ": passed over ", QuotedText(line),
               ", expected NAME=value");
        }
        continue;
      }
      const std::pair<std::string, std::string> variable =
          absl::StrSplit(line, absl::MaxSplits('=', 1));
      const std::string own =
          ValueOf(session().environment, variable.first.c_str());
      if (own.empty() || absl::c_linear_search(kOfEachHost, variable.first)) {
        session().out << "export " << line << "\n";
      } else if (own != variable.second && MayTalk()) {
        session().out << "print clusterd: " << variable.first << " is "
                      << PrintableText(own) << " in the job, and "
                      << variable.second << " was checked\n";
      }
    }
  }

  // Where slurmctld runs: refuses what is wrong with the job or the cluster as
  // a whole. What one host is the cause of, that host's own prolog refuses and
  // drains: a job that is requeued from here would come back to it.
  int AskController() {
    if (!opt_out_.empty()) {
      Tell(hook_, ": ", job_.id(), " is not checked: ", opt_out_);
      return kExitPass;
    }
    if (job_.servers().empty()) {
      return WithoutAnswer(absl::InvalidArgumentError("no job to ask about"));
    }
    const auto client = Connect();
    if (client == nullptr) {
      const std::string why = absl::StrJoin(mistakes_, "; ");
      return WithoutAnswer(absl::InvalidArgumentError(why));
    }
    CheckRequest request;
    *request.mutable_job() = job_;
    request.set_max_age_ms(ToMs(max_age_));
    const absl::StatusOr<Report> report =
        client->Follow(&Controller::Stub::Check, request, wait_, "check",
                       [](const CheckEvent&) {});
    if (!report.ok()) return WithoutAnswer(report.status());
    if (report->job_servers() == 0 || !report->error().empty()) {
      return WithoutAnswer(absl::UnknownError(
          report->error().empty() ? "the controller knows no jobs; use a newer "
                                    "one"
                                  : report->error()));
    }
    TellTrouble();
    const std::string reason = ClusterWideReason(*report);
    if (reason.empty()) return kExitPass;
    return Refuse(row_->refused, Safe(reason));
  }

  std::string hook_;
  std::string node_name_;
  std::string max_age_text_;
  std::string timeout_text_;
  std::string format_ = "text";
  std::string socket_;
  bool fail_closed_ = false;
  JobOptions job_options_;

  const HookRow* row_ = nullptr;
  bool prints_json_ = false;
  absl::Duration max_age_;
  absl::Duration wait_;
  std::string opt_out_;
  JobSpec job_;
  MistakeList trouble_;  // Ours, or let through; a line each.
};

}  // namespace

void AddHookCommand(CommandList& commands) {
  commands.push_back(std::make_unique<HookCommand>());
}

}  // namespace clusterd
