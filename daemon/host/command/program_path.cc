#include "daemon/host/command/program_path.h"

#include <errno.h>
#include <grp.h>
#include <limits.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr int kMaxLinks = 40;

absl::Status ErrnoStatus(absl::string_view path, int error) {
  const bool is_gone = error == ENOENT || error == ENOTDIR;
  return WithWords(
      is_gone ? absl::NotFoundError("") : absl::PermissionDeniedError(""),
      Worded("about", path, Term(strerror(error))));
}

absl::Status CheckOwner(const std::string& path, const struct stat& info,
                        bool sticky_guards) {
  const bool own = info.st_uid == 0 || info.st_uid == geteuid();
  const bool own_group = info.st_gid == 0 || info.st_gid == getegid();
  const bool guarded =
      sticky_guards && S_ISDIR(info.st_mode) && (info.st_mode & S_ISVTX) != 0;
  const bool by_others = !guarded && !S_ISLNK(info.st_mode) &&
                         ((info.st_mode & S_IWOTH) != 0 ||
                          ((info.st_mode & S_IWGRP) != 0 && !own_group));
  if (own && !by_others) return absl::OkStatus();
  return InFront(path,
                 DeniedWords(own ? "msg-step-others-can-change"
                                 : "msg-step-owner-can-change",
                             info.st_uid, info.st_gid,
                             absl::StrFormat("%04o", info.st_mode & 07777)));
}

// Walks down from a root folder by name and follows links itself, to check
// every folder that decides where the path leads.
class Walk {
 public:
  Walk(absl::string_view root, absl::string_view path,
       bool sticky_guards = true)
      : root_(root), ahead_(path), sticky_guards_(sticky_guards) {
    while (absl::ConsumeSuffix(&root_, "/")) {
    }
  }

  absl::Status Run() {
    while (!ahead_.empty()) {
      const std::pair<std::string, std::string> parts =
          absl::StrSplit(ahead_, absl::MaxSplits('/', 1));
      ahead_ = parts.second;
      RETURN_IF_ERROR(Step(parts.first));
    }
    return absl::OkStatus();
  }

  // Path and mode at its end.
  const std::string& here() const { return here_; }
  mode_t mode() const { return last_.st_mode; }

 private:
  void GoUp() { here_.resize(here_.rfind('/')); }

  absl::Status Step(const std::string& name) {
    if (name.empty() || name == ".") return absl::OkStatus();
    if (name == "..") {
      if (!here_.empty()) GoUp();
      return absl::OkStatus();
    }
    absl::StrAppend(&here_, "/", name);
    const std::string full = absl::StrCat(root_, here_);
    if (lstat(full.c_str(), &last_) != 0) return ErrnoStatus(here_, errno);
    RETURN_IF_ERROR(CheckOwner(here_, last_, sticky_guards_));
    return S_ISLNK(last_.st_mode) ? FollowLink(full) : absl::OkStatus();
  }

  absl::Status FollowLink(const std::string& full) {
    char target[PATH_MAX];
    const ssize_t size = readlink(full.c_str(), target, sizeof(target));
    if (size < 0 || ++links_ > kMaxLinks) {
      return ErrnoStatus(here_, size < 0 ? errno : ELOOP);
    }
    const absl::string_view text(target, size);
    if (!absl::StartsWith(text, "/")) {
      GoUp();
    } else if (root_.empty()) {
      here_.clear();
    } else {
      return InFront(here_, DeniedWords("msg-step-leads-out-of", root_));
    }
    ahead_ = absl::StrCat(text, "/", ahead_);
    return absl::OkStatus();
  }

  absl::string_view root_;  // "" for "/".
  std::string here_;        // "" for the root.
  std::string ahead_;
  const bool sticky_guards_;
  struct stat last_ = {};
  int links_ = 0;
};

constexpr size_t kShownBytes = 200;

std::string OneLine(absl::string_view text) {
  text = absl::StripAsciiWhitespace(text);
  std::string line = absl::StrReplaceAll(text.substr(0, kShownBytes),
                                         {{"\n", " "}, {"\t", " "}});
  line.erase(std::remove_if(line.begin(), line.end(), absl::ascii_iscntrl),
             line.end());
  return text.size() > kShownBytes ? line + "..." : line;
}

constexpr absl::string_view kGetent[] = {"/usr/bin/getent", "/bin/getent"};
constexpr absl::string_view kId[] = {"/usr/bin/id", "/bin/id"};
constexpr int kGetentNotFound = 2;  // getent(1)
constexpr size_t kMaxAnswerBytes = 64 << 10;
// NGROUPS_MAX is 65536; real users have far fewer.
constexpr size_t kMaxGroups = 1024;

absl::StatusOr<RunAs> ParsePasswd(absl::string_view name,
                                  absl::string_view text) {
  static const LazyRE2 kLine = {
      R"(([^:\n]*):[^:\n]*:(\d+):(\d+):[^:\n]*:(/[^:\n]*):[^:\n]*\n)"};
  RunAs as;
  if (!HasForm(text, *kLine, &as.name, &as.uid, &as.gid, &as.home) ||
      as.name != name) {
    return PreconditionWords("fact-getent-not-understood", name,
                             QuotedText(text));
  }
  return as;
}

absl::Status ParseGroups(absl::string_view text, RunAs* as) {
  for (const absl::string_view word :
       absl::StrSplit(text, absl::ByAnyChar(" \n"), absl::SkipEmpty())) {
    uint32_t group = 0;
    if (!absl::SimpleAtoi(word, &group) || as->groups.size() == kMaxGroups) {
      return PreconditionWords("fact-id-not-understood", as->name,
                               QuotedText(text));
    }
    as->groups.push_back(group);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::string> FindProgram(
    const std::string& root, absl::Span<const absl::string_view> candidates) {
  for (const absl::string_view path : candidates) {
    Walk walk(root, path);
    const absl::Status walked = walk.Run();
    if (walked.ok()) {
      if (!S_ISREG(walk.mode()) || (walk.mode() & 0111) == 0) {
        return InFront(walk.here(), DeniedWords("msg-step-not-executable"));
      }
      return absl::StrCat(absl::StripSuffix(root, "/"), path);
    }
    if (!absl::IsNotFound(walked)) return walked;
  }
  return ErrnoStatus(candidates[0], ENOENT);
}

absl::Status CheckFolder(absl::string_view path) {
  Walk walk("/", path);
  RETURN_IF_ERROR(walk.Run());
  if (walk.here().empty() || S_ISDIR(walk.mode())) return absl::OkStatus();
  return InFront(walk.here(), DeniedWords("msg-step-not-a-folder"));
}

absl::Status CheckFile(absl::string_view root, absl::string_view path,
                       bool sticky_guards) {
  Walk walk(root, path, sticky_guards);
  RETURN_IF_ERROR(walk.Run());
  if (!walk.here().empty() && !S_ISDIR(walk.mode())) return absl::OkStatus();
  return InFront(path, DeniedWords("msg-step-is-a-folder"));
}

absl::StatusOr<CommandResult> RunWithin(
    const TimeBudget& budget, CommandRunner* runner, absl::string_view name,
    std::vector<std::string> argv, size_t max_bytes, std::optional<RunAs> as) {
  absl::StatusOr<CommandResult> result = runner->Run(
      {std::move(argv), budget.ForCommand(), {}, max_bytes, std::move(as)});
  RETURN_IF_ERROR(InFront(name, result.status()));
  if (result->timed_out) {
    return DeadlineWords("plan-say-no-answer", name,
                         budget.CutBy(result->elapsed), 0);
  }
  if (result->output_cut) {
    return InFront(name, PreconditionWords("msg-step-endless-output"));
  }
  return result;
}

FindingValue CommandWords(const Command& command,
                          const absl::StatusOr<CommandResult>& result) {
  std::vector<std::string> words = command.argv;
  if (!words.empty()) words[0] = words[0].substr(words[0].rfind('/') + 1);
  const std::string line =
      absl::StrCat("`", OneLine(absl::StrJoin(words, " ")), "`");
  if (!result.ok()) {
    return Worded("about", line, MessageWords(result.status()));
  }
  if (result->timed_out) {
    return Worded(
        result->left_running ? "plan-say-no-answer-left" : "plan-say-no-answer",
        line, absl::FormatDuration(command.deadline), result->pid);
  }
  const FindingValue how = Worded(
      "about", line,
      result->signal != 0 ? Worded("plan-say-signal", result->signal)
                          : Worded("plan-say-status", result->exit_status));
  std::string said = OneLine(result->standard_error);
  if (said.empty()) said = OneLine(result->standard_output);
  return said.empty() ? how : Worded("about", how, said);
}

absl::Status CheckUserName(absl::string_view name) {
  static const LazyRE2 kName = {R"([A-Za-z_][A-Za-z0-9_.-]{0,31})"};
  if (HasForm(name, *kName)) return absl::OkStatus();
  return InvalidWords("fact-user-name", QuotedText(name));
}

absl::StatusOr<RunAs> FindUser(const std::string& root, CommandRunner* runner,
                               const TimeBudget& budget,
                               absl::string_view name) {
  RETURN_IF_ERROR(CheckUserName(name));
  ASSIGN_OR_RETURN(const std::string getent, FindProgram(root, kGetent));
  ASSIGN_OR_RETURN(const std::string id, FindProgram(root, kId));
  ASSIGN_OR_RETURN(
      const CommandResult entry,
      RunWithin(budget, runner, absl::StrCat("`getent passwd ", name, "`"),
                {getent, "passwd", std::string(name)}, kMaxAnswerBytes));
  if (entry.exit_status == kGetentNotFound) {
    return NotFoundWords("fact-no-account", name);
  }
  ASSIGN_OR_RETURN(RunAs as, ParsePasswd(name, entry.standard_output));
  if (as.uid == 0 && name != "root") {
    return DeniedWords("fact-other-root", name);
  }
  ASSIGN_OR_RETURN(const CommandResult groups,
                   RunWithin(budget, runner, absl::StrCat("`id -G ", name, "`"),
                             {id, "-G", std::string(name)}, kMaxAnswerBytes));
  RETURN_IF_ERROR(ParseGroups(groups.standard_output, &as));
  if (groups.exit_status == 0 && !as.groups.empty()) return as;
  return PreconditionWords("about", absl::StrCat("`id -G ", name, "`"),
                           PrintableText(groups.standard_error));
}

const char* BecomeUser(const RunAs& user, pid_t parent) {
  // setresuid(2) and setresgid(2) take it as "unchanged", which is root.
  constexpr uint32_t kUnchanged = -1;
  if (user.uid == kUnchanged || user.gid == kUnchanged) {
    errno = EINVAL;
    return "not the user";
  }
  if (setsid() < 0) return "no session of its own";
  if (geteuid() == 0) {
    if (setgroups(user.groups.size(), user.groups.data()) != 0) {
      return "not the groups of the user";
    }
    if (setresgid(user.gid, user.gid, user.gid) != 0) {
      return "not the group of the user";
    }
  }
  // Without root only the process's own user is allowed.
  if (setresuid(user.uid, user.uid, user.uid) != 0) return "not the user";
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return "no bound on rights";
  // A user's file may be endless, e.g. a known_hosts that is a device.
  const rlimit memory = {kMaxUserMemory, kMaxUserMemory};
  // The unit refuses setrlimit(2).
  if (prlimit(0, RLIMIT_AS, &memory, nullptr) != 0) return "no bound on memory";
  if (chdir("/") != 0) return "not the folder /";
  // Changing the user cleared it (prctl(2)).
  if (prctl(PR_SET_PDEATHSIG, SIGKILL) != 0) return "no end with its parent";
  errno = ESRCH;
  return getppid() == parent ? nullptr : "no parent";
}

}  // namespace clusterd
