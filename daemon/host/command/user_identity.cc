#include "daemon/host/command/user_identity.h"

#include <errno.h>
#include <grp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

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
