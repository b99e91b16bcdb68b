#include "daemon/host/command/program_path.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"

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

}  // namespace clusterd
