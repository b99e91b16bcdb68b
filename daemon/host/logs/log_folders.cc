#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/device_users.h"
#include "daemon/host/logs/read_logs.h"

namespace clusterd {
namespace {

constexpr size_t kMaxUsers = 64;
constexpr size_t kMaxFolders = 64;
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxEnviron = 256 << 10;
constexpr absl::Duration kEnvironTime = absl::Seconds(1);

// sbatch(1), qsub(1B) and bsub(1) set them for every process of a job; the
// second is Slurm's older name.
constexpr absl::string_view kJobVariables[] = {"SLURM_JOB_ID", "SLURM_JOBID",
                                               "PBS_JOBID", "LSB_JOBID"};

struct Process {
  uint32_t pid = 0;
  uint32_t uid = 0;
  uint32_t gid = 0;
  std::map<std::string, std::string> variables;  // Only the relevant ones.
};

class FolderSearch {
 public:
  FolderSearch(const HostAccess& host, const LogsQuery& query)
      : host_(host), files_(host.files()), query_(query) {}

  absl::StatusOr<LogFolders> Run() {
    RETURN_IF_ERROR(CheckJob());
    if (!query_.user().empty()) {
      ASSIGN_OR_RETURN(asked_, FindUser(host_.paths.root, host_.runner,
                                        *host_.budget, query_.user()));
      by_uid_[asked_->uid] = asked_;
    }
    const bool found = AddProcesses();
    if (!query_.job_id().empty() && !found) {
      if (!asked_.has_value()) {
        return NotFoundWords("log-no-process", query_.job_id());
      }
      Note("log-all-of", query_.job_id(), asked_->name);
    }
    if (asked_.has_value() && (query_.job_id().empty() || !found)) {
      AddOwnFolder(*asked_);
    }
    if (!asked_.has_value() && query_.job_id().empty()) AddHomes();
    return std::move(result_);
  }

 private:
  absl::Status CheckJob() const {
    // Accepts Slurm's "4711_3", PBS's "4711.head", LSF's "4711[3]".
    static const LazyRE2 kForm = {R"([0-9A-Za-z_.\[\]-]{0,64})"};
    if (HasForm(query_.job_id(), *kForm)) return absl::OkStatus();
    return InvalidWords("log-job-id", QuotedText(query_.job_id()));
  }

  template <typename... Values>
  void Note(absl::string_view row, const Values&... values) {
    result_.notes.push_back(Worded(row, values...));
  }

  // Returns whether any process was found.
  bool AddProcesses() {
    bool found = false;
    for (const uint32_t pid : Candidates()) {
      if (host_.budget->IsSpent()) {
        Note("log-processes-late", host_.budget->HostDeadline());
        break;
      }
      const std::optional<Process> process = ReadProcess(pid);
      if (!process.has_value() || !IsOfJob(*process)) continue;
      found = true;
      AddProcess(*process);
    }
    return found;
  }

  std::vector<uint32_t> Candidates() {
    std::vector<uint32_t> pids;
    if (query_.job_id().empty()) {
      const NpuProcessesFact fact =
          ReadNpuProcesses(host_.paths, *host_.budget);
      if (fact.has_missing() && MayHaveNpu()) {
        Note("log-npu-processes", DetailOf(fact.missing()));
      }
      for (const NpuProcess& process : fact.value().processes()) {
        pids.push_back(process.pid());
      }
      return pids;
    }
    const auto names = files_.List("/proc");
    if (!names.ok()) result_.notes.push_back(MessageWords(names.status()));
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      uint32_t pid = 0;
      if (absl::SimpleAtoi(name, &pid)) pids.push_back(pid);
    }
    return pids;
  }

  // Without NPUs in the host no process uses one.
  bool MayHaveNpu() const {
    static const LazyRE2 kNode = {R"(davinci\d+)"};
    const auto nodes = files_.List("/dev");
    if (!nodes.ok()) return !absl::IsNotFound(nodes.status());
    return absl::c_any_of(
        *nodes, [](const std::string& name) { return HasForm(name, *kNode); });
  }

  // Users control what their processes' memory answers, and when. A program of
  // that user reads it, so that an unkillable one counts among the user's.
  absl::StatusOr<std::string> ReadEnviron(const Process& process) const {
    const std::string path = absl::StrCat("/proc/", process.pid, "/environ");
    if (process.uid == 0) {
      ASSIGN_OR_RETURN(FileText file, files_.Read(path));
      return std::move(file.text);
    }
    ASSIGN_OR_RETURN(
        std::string head,
        FindProgram(host_.paths.root, {"/usr/bin/head", "/bin/head"}));
    Command command = {{std::move(head), "-c", absl::StrCat(kMaxEnviron),
                        files_.Resolve(path)},
                       std::min(kEnvironTime, host_.budget->Left())};
    const std::string name = absl::StrCat(process.uid);
    command.as = {name, process.uid, process.gid, {process.gid}, "/"};
    ASSIGN_OR_RETURN(CommandResult result, host_.runner->Run(command));
    if (result.exit_status == 0) return std::move(result.standard_output);
    return absl::NotFoundError(path);
  }

  // None if the process has ended, or is not the requested user's.
  std::optional<Process> ReadProcess(uint32_t pid) const {
    static const LazyRE2 kIds = {R"((?s).*\nUid:\t(\d+)\t.*\nGid:\t(\d+)\t.*)"};
    static constexpr absl::string_view kKept[] = {"ASCEND_PROCESS_LOG_PATH",
                                                  "ASCEND_WORK_PATH", "HOME"};
    Process process;
    process.pid = pid;
    if (!HasForm(files_.ReadTrimmed(absl::StrCat("/proc/", pid, "/status"))
                     .value_or(""),
                 *kIds, &process.uid, &process.gid) ||
        (asked_.has_value() && process.uid != asked_->uid)) {
      return std::nullopt;
    }
    const auto environment = ReadEnviron(process);
    if (!environment.ok()) return std::nullopt;
    for (const absl::string_view entry : absl::StrSplit(*environment, '\0')) {
      const std::pair<absl::string_view, absl::string_view> parts =
          absl::StrSplit(entry, absl::MaxSplits('=', 1));
      if (absl::c_linear_search(kKept, parts.first) ||
          absl::c_linear_search(kJobVariables, parts.first)) {
        process.variables.emplace(parts.first, parts.second);
      }
    }
    return process;
  }

  bool IsOfJob(const Process& process) const {
    return query_.job_id().empty() ||
           absl::c_any_of(kJobVariables, [&](absl::string_view variable) {
             const auto found = process.variables.find(std::string(variable));
             return found != process.variables.end() &&
                    found->second == query_.job_id();
           });
  }

  void AddProcess(const Process& process) {
    const std::optional<RunAs> user = UserOf(process.uid);
    if (!user.has_value()) return;
    if (user->uid == 0) {
      // Users may make links in a folder that a root process names.
      return NoteOnce(
          Worded(asked_.has_value() ? "log-own-of-root" : "log-left-out-root"));
    }
    LogFolder folder;
    folder.user = *user;
    std::string variable;
    folder.path = FolderOf(process, *user, &variable);
    folder.from = absl::StrCat("process ", process.pid, ", ", variable);
    if (!absl::StartsWith(folder.path, "/") ||
        folder.path.size() > kMaxPathBytes) {
      return Note("log-not-absolute", folder.from, QuotedText(folder.path));
    }
    const std::string proc = absl::StrCat("/proc/", process.pid);
    const auto theirs = files_.ReadLink(proc + "/ns/mnt");
    const auto ours = files_.ReadLink("/proc/self/ns/mnt");
    if (theirs.ok() && ours.ok() && *theirs != *ours) {
      folder.process_root = proc + "/root";
      folder.view = *theirs;
    }
    Add(std::move(folder));
  }

  static std::string FolderOf(const Process& process, const RunAs& user,
                              std::string* variable) {
    static constexpr struct {
      absl::string_view name;
      absl::string_view below;
    } kPlaces[] = {{"ASCEND_PROCESS_LOG_PATH", ""},
                   {"ASCEND_WORK_PATH", "/log"},
                   {"HOME", "/ascend/log"}};
    for (const auto& place : kPlaces) {
      const auto found = process.variables.find(std::string(place.name));
      if (found == process.variables.end() || found->second.empty()) continue;
      *variable = std::string(place.name);
      return absl::StrCat(absl::StripSuffix(found->second, "/"), place.below);
    }
    *variable = "no variable";
    return user.home + "/ascend/log";
  }

  // Returns the user as whom to read a process; empty, with a note, if unknown.
  std::optional<RunAs> UserOf(uint32_t uid) {
    const auto known = by_uid_.find(uid);
    if (known != by_uid_.end()) return known->second;
    std::optional<RunAs>& user = by_uid_[uid];
    const absl::StatusOr<RunAs> found = FindByUid(uid);
    if (found.ok()) {
      user = *found;
    } else {
      result_.notes.push_back(MessageWords(found.status()));
    }
    return user;
  }

  absl::StatusOr<RunAs> FindByUid(uint32_t uid) const {
    static constexpr absl::string_view kGetent[] = {"/usr/bin/getent"};
    ASSIGN_OR_RETURN(const std::string getent,
                     FindProgram(host_.paths.root, kGetent));
    ASSIGN_OR_RETURN(const CommandResult entry,
                     RunWithin(*host_.budget, host_.runner, "`getent passwd`",
                               {getent, "passwd", absl::StrCat(uid)}));
    const std::string name(
        absl::StrSplit(entry.standard_output, absl::MaxSplits(':', 1))
            .begin()
            ->substr(0, 64));
    if (name.empty()) {
      return NotFoundWords("log-no-user-id", uid);
    }
    ASSIGN_OR_RETURN(RunAs user, FindUser(host_.paths.root, host_.runner,
                                          *host_.budget, name));
    if (user.uid == uid) return user;
    return PreconditionWords("log-other-user-id", uid, name);
  }

  void AddOwnFolder(const RunAs& user) {
    Add({user, user.home + "/ascend/log", "", "",
         absl::StrCat("home of ", user.name)});
  }

  // Only the names in /home are read directly; the rest is read as its user.
  void AddHomes() {
    const auto names = files_.List("/home");
    size_t users = 0;
    for (const std::string& name : names.value_or(std::vector<std::string>())) {
      if (!CheckUserName(name).ok() || name == "root") continue;
      if (++users > kMaxUsers || host_.budget->IsSpent()) {
        return Note("log-homes", names->size());
      }
      const absl::StatusOr<RunAs> user =
          FindUser(host_.paths.root, host_.runner, *host_.budget, name);
      if (user.ok() && user->uid != 0) AddOwnFolder(*user);
    }
  }

  void Add(LogFolder folder) {
    const bool known =
        absl::c_any_of(result_.folders, [&folder](const LogFolder& other) {
          return other.user.uid == folder.user.uid &&
                 other.path == folder.path &&
                 (folder.view.empty() || folder.view == other.view);
        });
    if (known) return;
    if (result_.folders.size() == kMaxFolders) {
      return NoteOnce(Worded("log-folders-beyond", kMaxFolders));
    }
    result_.folders.push_back(std::move(folder));
  }

  void NoteOnce(const FindingValue& note) {
    const bool is_new =
        absl::c_none_of(result_.notes, [&note](const FindingValue& other) {
          return other.words() == note.words();
        });
    if (is_new) result_.notes.push_back(note);
  }

  const HostAccess& host_;
  const FileReader files_;
  const LogsQuery& query_;
  std::optional<RunAs> asked_;
  std::map<uint32_t, std::optional<RunAs>> by_uid_;
  LogFolders result_;
};

}  // namespace

absl::StatusOr<LogFolders> FindLogFolders(const HostAccess& host,
                                          const LogsQuery& query) {
  return FolderSearch(host, query).Run();
}

}  // namespace clusterd
