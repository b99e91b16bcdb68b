#include "daemon/agent/hooks/drainer.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/process/monotonic_notification.h"

namespace clusterd {
namespace {

// slurmctld may be slow when a job has just begun; MessageTimeout, after which
// scontrol gives up by itself, is 10 s by default (slurm.conf(5)).
constexpr absl::Duration kCommandDeadline = absl::Seconds(15);
constexpr size_t kMaxOutputBytes = 1 << 16;

absl::Status CheckName(const std::string& node) {
  if (IsSlurmNodeName(node)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("node ", QuotedText(node),
                   ": is no name of one Slurm node, expected letters, digits, "
                   "\".\", \"-\" and \"_\""));
}

// Says what the program did where it did not do what it should.
absl::Status CheckRun(const std::vector<std::string>& argv,
                      const CommandResult& result) {
  const std::string subject = absl::StrCat("`", absl::StrJoin(argv, " "), "`");
  if (result.timed_out) {
    return absl::DeadlineExceededError(absl::StrCat(
        subject, ": no answer in ", absl::FormatDuration(kCommandDeadline)));
  }
  if (result.signal != 0 || result.exit_status != 0) {
    return absl::UnavailableError(
        absl::StrCat(subject, ": status ", result.exit_status, ": ",
                     PrintableText(absl::StrCat(result.standard_error,
                                                result.standard_output))));
  }
  if (result.output_cut) {
    return absl::UnavailableError(absl::StrCat(subject, ": prints too much"));
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> Drainer::Scontrol(
    const HookSettings& settings, const std::vector<std::string>& arguments) {
  Command command;
  if (!settings.slurm_conf.empty()) {
    // scontrol knows its configuration by this variable alone (scontrol(1),
    // "ENVIRONMENT VARIABLES"); the daemon has none of its own to pass on.
    // It names plugins that scontrol loads as root.
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
  return absl::InvalidArgumentError(
      absl::StrCat("scontrol show node: tells of ", QuotedText(shown.name),
                   ", expected \"", node, "\""));
}

absl::Status Drainer::Update(const HookSettings& settings,
                             const std::string& node, const char* what,
                             const std::vector<std::string>& changes) {
  AuditEntry entry;
  entry.set_what(what);
  entry.set_subject(absl::StrCat(node, ": ", absl::StrJoin(changes, " ")));
  if (audit_ != nullptr) RETURN_IF_ERROR(audit_->Begin(entry));
  std::vector<std::string> arguments = {"update",
                                        absl::StrCat("NodeName=", node)};
  arguments.insert(arguments.end(), changes.begin(), changes.end());
  const absl::Status changed = Scontrol(settings, arguments).status();
  if (audit_ != nullptr) {
    audit_->End(entry, changed.ok() ? "done" : changed.message());
  }
  return changed;
}

absl::Status Drainer::DrainNow(const HookSettings& settings,
                               const std::string& node,
                               const std::string& reason) {
  ASSIGN_OR_RETURN(const SlurmNode before, Show(settings, node));
  if (before.IsOfOthers()) {
    log_->Notice(
        absl::StrCat("node ", node, " is left as it is: its reason is ",
                     QuotedText(before.reason), ", not ", QuotedText(reason)));
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
    return absl::AbortedError(
        absl::StrCat("node ", node, ": is ", absl::StrJoin(after.states, "+"),
                     " with reason ", QuotedText(after.reason),
                     " after its drain, expected DRAIN and our reason"));
  }
  log_->Notice(absl::StrCat(
      "node ", node, " drained: ", reason,
      ReturnOf(rule) != Return::kByHand
          ? ""
          : absl::StrCat("; this host cannot tell when it is mended; then: ",
                         "scontrol update NodeName=", node, " State=RESUME")));
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
  log_->Notice(absl::StrCat("node ", node, " is used again, rule ", rule,
                            " holds; it was drained with ",
                            QuotedText(before.reason)));
  return absl::OkStatus();
}

absl::Status Drainer::Drain(const HookSettings& settings,
                            const std::string& node, const std::string& reason,
                            absl::Duration wait) {
  RETURN_IF_ERROR(CheckName(node));
  const std::string text = DrainReason(reason);
  drains_.Do(absl::StrCat(node, " ", text), wait, [&] {
    const auto done = std::make_shared<MonotonicNotification>();
    const bool queued = pool_.TryRun([this, settings, node, text, done] {
      const absl::Status drained = DrainNow(settings, node, text);
      if (!drained.ok()) {
        log_->Warning(absl::StrCat("node ", node, " is not drained with ",
                                   QuotedText(text), ": ", drained.message()));
      }
      done->Notify();
    });
    if (!queued) {
      log_->Warning(absl::StrCat("node ", node, " is not drained with ",
                                 QuotedText(text),
                                 ": too much waits for scontrol"));
    }
    return queued && done->WaitFor(wait);
  });
  return absl::OkStatus();
}

absl::Status Drainer::Recheck(
    const HookSettings& settings, const std::string& node,
    std::function<bool(const std::string& rule)> holds) {
  RETURN_IF_ERROR(CheckName(node));
  if (!may_be_drained_) return absl::OkStatus();
  // Dropped where the queue is full: the next check comes.
  pool_.TryRun([this, settings, node, holds = std::move(holds)] {
    if (!may_be_drained_) return;
    const absl::Status status = RecheckNow(settings, node, holds);
    // Every check finds the same; a host that has no scontrol says so once.
    if (std::exchange(logged_, status) != status) {
      log_->Warning(
          absl::StrCat("node ", node, ": whether it is drained by ",
                       "us cannot be told or changed: ", status.message()));
    }
  });
  return absl::OkStatus();
}

}  // namespace clusterd
