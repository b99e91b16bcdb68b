#include "daemon/agent/hooks/drainer.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/report/job_verdict.h"
#include "config/values/hostlist.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

constexpr size_t kMaxReasonBytes = 200;
constexpr absl::string_view kUntilFixed = " (until fixed)";
constexpr absl::string_view kUntilResume = " (until RESUME)";

// Reasons set by slurmctld (22.05): the first two when a prolog or epilog exits
// with another status than 0, the third when a node does not answer.
constexpr absl::string_view kSlurmsOwn[] = {"Prolog error", "Epilog error",
                                            "Not responding"};

// slurmctld may be slow when a job has just begun; MessageTimeout, after which
// scontrol gives up, is 10 s by default (slurm.conf(5)).
constexpr absl::Duration kCommandDeadline = absl::Seconds(15);
constexpr size_t kMaxOutputBytes = 1 << 16;

absl::Status CheckName(const std::string& node) {
  // Rejects a list of nodes, an option or a blank.
  if (IsHostName(node)) return absl::OkStatus();
  return InvalidWords("msg-hook-host-name", QuotedText(node));
}

// Returns an error with the program's output, if it failed.
absl::Status CheckRun(const std::vector<std::string>& argv,
                      const CommandResult& result) {
  const std::string subject = absl::StrCat("`", absl::StrJoin(argv, " "), "`");
  if (result.timed_out) {
    return DeadlineExceeded(subject, ": no answer in ",
                            absl::FormatDuration(kCommandDeadline));
  }
  if (result.signal != 0 || result.exit_status != 0) {
    return Unavailable(subject, ": status ", result.exit_status, ": ",
                       PrintableText(absl::StrCat(result.standard_error,
                                                  result.standard_output)));
  }
  if (result.output_cut) return Unavailable(subject, ": prints too much");
  return absl::OkStatus();
}

}  // namespace

bool SlurmNode::IsDrained() const {
  return absl::c_linear_search(states, "DRAIN");
}

bool SlurmNode::IsOurs() const {
  return absl::StartsWith(reason, kReasonPrefix) &&
         (absl::EndsWith(reason, kUntilFixed) ||
          absl::EndsWith(reason, kUntilResume));
}

bool SlurmNode::IsOfOthers() const {
  return !reason.empty() && !IsOurs() &&
         !absl::c_linear_search(kSlurmsOwn, reason);
}

absl::StatusOr<SlurmNode> ParseSlurmNode(absl::string_view line) {
  // The first State precedes the reason, which may contain any text.
  static const LazyRE2 kNode = {
      R"(\s*NodeName=(\S+) (?:.*? )??State=([A-Z_+*~#!%$@^-]+)(?: (.*?))?\s*)"};
  static const LazyRE2 kReason = {
      R"((.*? )??Reason=(.*?) \[[^\s\[\]]+@\d{4}-\d\d-\d\dT[\d:]+\].*)"};
  SlurmNode node;
  std::string states;
  std::string rest;
  if (!HasForm(line, *kNode, &node.name, &states, &rest)) {
    return InvalidArgument(
        "scontrol show node: ", QuotedText(line),
        ", expected one line of \"NodeName=NAME … State=STATE …\"");
  }
  node.states = absl::StrSplit(states, '+');
  for (std::string& state : node.states) {
    // A sign after a state adds a detail: "IDLE*" does not answer.
    while (!state.empty() && !absl::ascii_isupper(state.back())) {
      state.pop_back();
    }
  }
  // A comment, which may contain any text, follows the reason.
  const std::string fields = absl::StrCat(" ", rest);
  const size_t reason = fields.find(" Reason=");
  if (reason == std::string::npos || fields.find(" Comment=") < reason) {
    return node;
  }
  std::string before;
  if (HasForm(rest, *kReason, &before, &node.reason)) return node;
  return InvalidArgument("scontrol show node: reason in ", QuotedText(rest),
                         ", expected who set it and when behind it");
}

std::string RuleOfReason(absl::string_view reason) {
  if (!absl::ConsumePrefix(&reason, kReasonPrefix)) return "";
  static const LazyRE2 kRule = {R"(([a-z][a-z0-9-]*):.*)"};
  std::string rule;
  HasForm(reason, *kRule, &rule);
  return rule;
}

std::string DrainReason(absl::string_view reason) {
  const std::string plain = absl::StrReplaceAll(
      PrintableText(absl::StripPrefix(reason, kReasonPrefix), kMaxReasonBytes),
      {{"\"", ""}, {"'", ""}, {"\\", "/"}, {"`", ""}});
  const std::string line =
      absl::StrCat(kReasonPrefix, absl::StripAsciiWhitespace(plain));
  return absl::StrCat(line, ReturnOf(RuleOfReason(line)) == Return::kByHand
                                ? kUntilResume
                                : kUntilFixed);
}

absl::StatusOr<std::string> Drainer::Scontrol(
    const HookSettings& settings, const std::vector<std::string>& arguments) {
  Command command;
  if (!settings.slurm_conf.empty()) {
    // scontrol takes its configuration only from this variable (scontrol(1),
    // "ENVIRONMENT VARIABLES"), and the daemon's environment has none. The file
    // names plugins that scontrol loads as root.
    RETURN_IF_ERROR(CheckFile("/", settings.slurm_conf));
    ASSIGN_OR_RETURN(std::string env, FindProgram("/", {"/usr/bin/env"}));
    command.argv = {std::move(env),
                    absl::StrCat("SLURM_CONF=", settings.slurm_conf)};
  }
  ASSIGN_OR_RETURN(std::string scontrol, FindProgram("/", {settings.scontrol}));
  command.argv.push_back(std::move(scontrol));
  command.argv.insert(command.argv.end(), arguments.begin(), arguments.end());
  command.deadline = kCommandDeadline;
  command.max_stream_bytes = kMaxOutputBytes;
  ASSIGN_OR_RETURN(CommandResult result, runner_->Run(command));
  RETURN_IF_ERROR(CheckRun(command.argv, result));
  return std::move(result.standard_output);
}

absl::StatusOr<SlurmNode> Drainer::Show(const HookSettings& settings,
                                        const std::string& node) {
  ASSIGN_OR_RETURN(const std::string text,
                   Scontrol(settings, {"show", "node", node, "-o"}));
  ASSIGN_OR_RETURN(SlurmNode shown, ParseSlurmNode(text));
  if (shown.name == node) return shown;
  return InvalidArgument("scontrol show node: describes ",
                         QuotedText(shown.name), ", expected \"", node, "\"");
}

absl::Status Drainer::Update(const HookSettings& settings,
                             const std::string& node, const char* what,
                             const std::vector<std::string>& changes) {
  const AuditEntry entry = MakeAuditEntry(
      what, absl::StrCat(node, ": ", absl::StrJoin(changes, " ")));
  std::vector<std::string> arguments = {"update",
                                        absl::StrCat("NodeName=", node)};
  arguments.insert(arguments.end(), changes.begin(), changes.end());
  const auto change = [&] { return Scontrol(settings, arguments); };
  return (audit_ == nullptr ? change() : RunAudited(audit_, entry, change))
      .status();
}

absl::Status Drainer::DrainNow(const HookSettings& settings,
                               const std::string& node,
                               const std::string& reason) {
  ASSIGN_OR_RETURN(const SlurmNode before, Show(settings, node));
  if (before.IsOfOthers()) {
    log_->Notice("node ", node, " is left as it is: its reason is ",
                 QuotedText(before.reason), ", not ", QuotedText(reason));
    return absl::OkStatus();
  }
  may_be_drained_ = true;
  const std::string rule = RuleOfReason(reason);
  const std::string before_it = RuleOfReason(before.reason);
  if (before.IsDrained() && before.IsOurs() &&
      (before_it == rule || ReturnOf(before_it) > ReturnOf(rule))) {
    return absl::OkStatus();
  }
  RETURN_IF_ERROR(Update(settings, node, "drain",
                         {"State=DRAIN", absl::StrCat("Reason=", reason)}));
  ASSIGN_OR_RETURN(const SlurmNode after, Show(settings, node));
  if (!after.IsDrained() || !after.IsOurs()) {
    return Aborted("node ", node, ": is ", absl::StrJoin(after.states, "+"),
                   " with reason ", QuotedText(after.reason),
                   " after its drain, expected DRAIN and our reason");
  }
  log_->Notice(
      "node ", node, " drained: ", reason,
      ReturnOf(rule) != Return::kByHand
          ? ""
          : absl::StrCat("; this host cannot notice when it is fixed; then: ",
                         "scontrol update NodeName=", node, " State=RESUME"));
  return absl::OkStatus();
}

absl::Status Drainer::RecheckNow(
    const HookSettings& settings, const std::string& node,
    const std::function<bool(const std::string&)>& holds) {
  ASSIGN_OR_RETURN(const SlurmNode before, Show(settings, node));
  if (!before.IsDrained() || !before.IsOurs()) {
    may_be_drained_ = false;
    return absl::OkStatus();
  }
  const std::string rule = RuleOfReason(before.reason);
  if (rule.empty() || !holds(rule)) return absl::OkStatus();
  RETURN_IF_ERROR(Update(settings, node, "undrain", {"State=UNDRAIN"}));
  may_be_drained_ = false;
  log_->Notice("node ", node, " is used again, rule ", rule,
               " holds; it was drained with ", QuotedText(before.reason));
  return absl::OkStatus();
}

absl::Status Drainer::Drain(const HookSettings& settings,
                            const std::string& node, const std::string& reason,
                            absl::Duration wait) {
  RETURN_IF_ERROR(CheckName(node));
  const std::string text = DrainReason(reason);
  const auto log = [this, node, text](const absl::Status& drained) {
    if (drained.ok()) return;
    log_->Warning("node ", node, " is not drained with ", QuotedText(text),
                  ": ", drained.message());
  };
  drains_.Do(absl::StrCat(node, " ", text), wait, [&] {
    const auto done = std::make_shared<MonotonicNotification>();
    const bool queued = pool_.TryRun([this, settings, node, text, log, done] {
      log(DrainNow(settings, node, text));
      done->Notify();
    });
    if (!queued) log(Unavailable("too many calls of scontrol are queued"));
    return queued && done->WaitFor(wait);
  });
  return absl::OkStatus();
}

absl::Status Drainer::Recheck(
    const HookSettings& settings, const std::string& node,
    std::function<bool(const std::string& rule)> holds) {
  RETURN_IF_ERROR(CheckName(node));
  if (!may_be_drained_) return absl::OkStatus();
  // Dropped if the queue is full: the next check tries again.
  pool_.TryRun([this, settings, node, holds = std::move(holds)] {
    if (!may_be_drained_) return;
    const absl::Status status = RecheckNow(settings, node, holds);
    // Every check finds the same error, such as no scontrol: log it once.
    if (std::exchange(logged_, status) != status) {
      log_->Warning("node ", node, ": cannot read or end its drain by ",
                    "clusterd: ", status.message());
    }
  });
  return absl::OkStatus();
}

}  // namespace clusterd
