#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/apply/journal_contents.h"
#include "daemon/agent/run_daemon.h"

namespace clusterd {
namespace {

constexpr char kPointers[] = "/var/lib/clusterd/state-folders";
constexpr size_t kMaxBytes = 1 << 16;

// NotFound if there is no file. Damage is an error: it might hide a journal.
absl::StatusOr<std::vector<std::string>> ReadPointers(FileSystem* files) {
  ASSIGN_OR_RETURN(const FileAttributes folder, files->Stat(kDefaultState));
  ASSIGN_OR_RETURN(const FileAttributes file, files->Stat(kPointers));
  RETURN_IF_ERROR(CheckOnlyOurs(kDefaultState, FileType::kDirectory, folder));
  RETURN_IF_ERROR(CheckOnlyOurs(kPointers, FileType::kRegular, file));
  ASSIGN_OR_RETURN(const std::string text,
                   ReadWholeFile(files, kPointers, kMaxBytes));
  std::vector<std::string> paths =
      absl::StrSplit(text, '\n', absl::SkipEmpty());
  for (const std::string& path : paths) {
    if (absl::StartsWith(path, "/")) continue;
    return absl::DataLossError(absl::StrCat(kPointers, ": ", QuotedText(path),
                                            ", expected an absolute path"));
  }
  return paths;
}

// Writes all of the file or nothing, even in a crash.
absl::Status WritePointers(FileSystem* files,
                           const std::vector<std::string>& paths) {
  MakeStateFolder(kDefaultState, files);
  return WriteByDraft(files, absl::StrCat(kPointers, ".new"), kPointers,
                      absl::StrCat(absl::StrJoin(paths, "\n"), "\n"));
}

// The actor in the audit file, since the host's identity is not known yet.
constexpr char kAuditWho[] = "clusterd";

// Logs each undo, and writes a line to the audit file before and after it.
// `audit` and the objects in `parts` must outlive it.
UndoWatch WatchUndos(AuditFile* audit, const DaemonParts& parts) {
  const auto write = [audit, log = parts.log, clock = parts.access.clock](
                         const std::string& id, absl::string_view result) {
    AuditEntry entry = RecoveryOf(id);
    entry.set_at(AuditMoment(clock->Now()));
    entry.set_who(kAuditWho);
    entry.set_result(std::string(result));
    const absl::Status written = audit->Append(entry);
    if (written.ok()) return;
    log->Error(written.message(), "; not written: ", entry.what(), " ", id,
               ": ", result);
  };
  UndoWatch watch;
  watch.begins = [write](const std::string& id) { write(id, kAuditBegins); };
  watch.ends = [write, log = parts.log](
                   const std::string& id,
                   const absl::StatusOr<ApplyResult>& result) {
    if (result.ok()) log->Warning(InterruptedText(*result));
    write(id, RecoveryText(result));
  };
  return watch;
}

}  // namespace

struct FirstRecovery::Folder {
  std::string path;
  std::unique_ptr<Applier> applier;
  absl::Status status;
};

FirstRecovery::FirstRecovery(const AgentFlags& flags,
                             const std::string& machine,
                             const DaemonParts& parts)
    : root_(flags.root), parts_(parts) {
  const auto add = [&](const std::string& path) {
    const auto is_it = [&path](const auto& each) { return each->path == path; };
    if (absl::c_any_of(folders_, is_it)) return;
    folders_.push_back(std::make_unique<Folder>());
    folders_.back()->path = path;
    // This applier only recovers, so it does not matter what is allowed.
    folders_.back()->applier = std::make_unique<Applier>(
        OptionsOf(machine, flags.root, path), parts.access,
        [] { return HostAllows(); }, parts.device_users);
  };
  add(flags.state.empty() ? kDefaultState : flags.state);
  const auto pointed = ReadPointers(parts.access.files);
  if (pointed.ok()) {
    for (const std::string& path : *pointed) add(path);
  } else if (!absl::IsNotFound(pointed.status())) {
    parts.log->Error(pointed.status().message());
  }
}

FirstRecovery::~FirstRecovery() = default;

void FirstRecovery::RunIn(Folder* folder, bool also_waiting) {
  FileSystem* const files = parts_.access.files;
  // Recover would create a folder that does not belong to clusterd yet.
  if (!files->Stat(absl::StrCat(folder->path, "/apply")).ok()) {
    folder->status = absl::OkStatus();
    return;
  }
  // Released at the end of this function: the daemon opens its own.
  AuditFile audit(AuditPath(root_, folder->path), kMaxAuditBytes);
  const absl::Status status =
      folder->applier->Recover(WatchUndos(&audit, parts_), also_waiting)
          .status();
  const bool is_news = status != folder->status;
  folder->status = status;
  if (!status.ok() && is_news) parts_.log->Error(status.message());
}

void FirstRecovery::Run() {
  for (const auto& folder : folders_) {
    RunIn(folder.get(), /*also_waiting=*/false);
  }
}

void FirstRecovery::Finish(const std::string& except) {
  for (const auto& folder : folders_) {
    if (folder->path != except) RunIn(folder.get(), /*also_waiting=*/true);
  }
}

void FirstRecovery::Remember(const std::string& state) {
  FileSystem* const files = parts_.access.files;
  std::vector<std::string> paths = {state};
  // Folders with a journal that could not be undone stay in the list.
  for (const auto& folder : folders_) {
    if (!folder->status.ok() && folder->path != state) {
      paths.push_back(folder->path);
    }
  }
  const auto known = ReadPointers(files);
  if (known.ok() && *known == paths) return;
  // The default folder is read anyway.
  const bool is_usual = paths.size() == 1 && state == kDefaultState;
  if (is_usual && absl::IsNotFound(known.status())) return;
  const absl::Status written = WritePointers(files, paths);
  if (written.ok()) return;
  parts_.log->Warning(
      "where the journals are is not kept, so a mistake in agent.yaml after a "
      "crash would keep it from being undone: ",
      written.message());
}

}  // namespace clusterd
