#include "daemon/host/logs/read_logs.h"

#include <sys/stat.h>

#include <algorithm>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

// Levels: debug, run and security, below each plog and device-N, and the files.
constexpr char kMaxDepth[] = "5";
constexpr size_t kMaxPathBytes = 512;
constexpr size_t kMaxNotes = 50;
constexpr uint64_t kMaxMessageBytes = 4096;  // Limit of a program's messages.
constexpr absl::string_view kFind[] = {"/usr/bin/find", "/bin/find"};
constexpr absl::string_view kTail[] = {"/usr/bin/tail", "/bin/tail"};
constexpr absl::string_view kGzip[] = {"/usr/bin/gzip", "/bin/gzip"};

struct FoundFile {
  const LogFolder* folder;
  std::string path;  // As its reader sees it.
  uint64_t size = 0;
  double changed_at_s = 0;
};

// OK if only root can change what `path` leads to.
absl::Status CheckRootsAlone(const HostAccess& host, const std::string& path) {
  std::string part;
  for (const absl::string_view name :
       absl::StrSplit(path, '/', absl::SkipEmpty())) {
    absl::StrAppend(&part, "/", name);
    struct stat info;
    if (lstat(host.files().Resolve(part).c_str(), &info) != 0) {
      return NotFoundWords("log-not-there", part);
    }
    if (!S_ISDIR(info.st_mode) || info.st_uid != 0 ||
        (info.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      return DeniedWords("log-not-roots", part);
    }
  }
  return absl::OkStatus();
}

class LogReading {
 public:
  LogReading(const HostAccess& host, const LogsQuery& query)
      : host_(host),
        query_(query),
        left_to_read_(
            query.max_read_bytes() == 0
                ? kMaxLogBytesRead
                : std::min<uint64_t>(query.max_read_bytes(), kMaxLogBytesRead)),
        left_to_send_(
            std::min<uint64_t>(query.max_sent_bytes(), kMaxLogBytesSent)),
        // One file must not use up the budget for all others.
        sent_per_file_(left_to_send_ / 4) {}

  HostLogs Run() {
    const absl::Status done = ReadAll();
    if (!done.ok()) *logs_.mutable_missing() = MissingFor(done);
    return std::move(logs_);
  }

 private:
  absl::Status ReadAll() {
    ASSIGN_OR_RETURN(find_, FindProgram(host_.paths.root, kFind));
    ASSIGN_OR_RETURN(tail_, FindProgram(host_.paths.root, kTail));
    gzip_ =
        FindProgram(host_.paths.root, kGzip).value_or(std::string(kGzip[0]));
    ASSIGN_OR_RETURN(const LogFolders found, FindLogFolders(host_, query_));
    for (const FindingValue& note : found.notes) Note(note);
    for (const LogFolder& folder : found.folders) {
      logs_.add_folders(
          BoundedUtf8(absl::StrCat(folder.path, " (", folder.user.name, "; ",
                                   folder.from, ")"),
                      kMaxPathBytes));
      ListFiles(folder);
    }
    if (!listed_any_ && (!found.folders.empty() || !found.notes.empty())) {
      return NotFoundWords(found.folders.empty() ? "log-no-place"
                                                 : "log-none-listed");
    }
    if (!listed_any_) Note(Worded("log-no-place"));
    absl::c_stable_sort(files_, [](const FoundFile& a, const FoundFile& b) {
      return a.changed_at_s > b.changed_at_s;
    });
    if (files_.size() > kMaxLogFiles) {
      Note(Worded("log-newest", Counted(files_.size(), "file"), kMaxLogFiles));
      files_.resize(kMaxLogFiles);
    }
    for (const FoundFile& file : files_) ReadFile(file);
    return absl::OkStatus();
  }

  void Note(FindingValue words) {
    if (static_cast<size_t>(logs_.notes_size()) == kMaxNotes) return;
    words = PrintableWords(std::move(words));
    logs_.add_notes(BoundedUtf8(EnglishText(words), kMaxPathBytes));
    *logs_.mutable_notes_words()->add_values() = std::move(words);
  }

  absl::StatusOr<CommandResult> RunAsUser(const RunAs& user,
                                          std::vector<std::string> argv,
                                          size_t max_bytes) {
    if (host_.budget->IsSpent()) {
      return DeadlineWords("fact-no-time-left", host_.budget->HostDeadline());
    }
    return host_.runner->Run(
        {std::move(argv), host_.budget->ForCommand(), {}, max_bytes, user});
  }

  void ListFiles(const LogFolder& folder) {
    const absl::Status safe = folder.user.uid == 0
                                  ? CheckRootsAlone(host_, folder.path)
                                  : absl::OkStatus();
    listed_any_ |= absl::IsNotFound(safe);
    if (!safe.ok()) return Note(MessageWords(safe));
    bool listed = false;
    if (!folder.process_root.empty()) {
      listed = ListBelow(folder, folder.process_root + folder.path, false);
    }
    if (!listed) ListBelow(folder, folder.path, true);
    ListOutputs(folder);
  }

  // Lists what Slurm wrote of the user's jobs; most folders have no such file.
  void ListOutputs(const LogFolder& folder) {
    if (folder.outputs.empty() || folder.user.uid == 0) return;
    const std::string job = query_.job_id().empty() ? "*" : query_.job_id();
    const auto run = RunAsUser(
        folder.user,
        Find({"-H", host_.files().Resolve(folder.process_root + folder.outputs),
              "-xdev", "-maxdepth", "1", "-type", "f", "(", "-name",
              absl::StrCat("slurm-", job, ".out"), "-o", "-name",
              absl::StrCat("slurm-", job, "_*.out"), ")"}),
        kMaxStreamBytes);
    if (!run.ok()) {
      return Note(Worded("about", folder.outputs, MessageWords(run.status())));
    }
    if (run->timed_out || run->output_cut) NoteTrouble(folder, *run);
    const size_t before = files_.size();
    TakeFiles(folder, run->standard_output);
    if (files_.size() == before) return;
    listed_any_ = true;
    logs_.add_folders(BoundedUtf8(
        absl::StrCat(folder.outputs, " (", folder.user.name, "; slurm-*.out)"),
        kMaxPathBytes));
  }

  // `find` with these arguments, which prints what TakeFiles reads.
  std::vector<std::string> Find(std::vector<std::string> argv) const {
    argv.insert(argv.begin(), find_);
    if (query_.since_ms() > 0) {
      argv.insert(argv.end(),
                  {"-newermt", absl::StrCat("@", query_.since_ms() / 1000)});
    }
    argv.insert(argv.end(), {"-printf", R"(%D:%i %T@ %s %p\0)"});
    return argv;
  }

  // Returns whether `find` listed it; if not and `is_last`, notes the reason.
  bool ListBelow(const LogFolder& folder, const std::string& path,
                 bool is_last) {
    const bool is_root = folder.user.uid == 0;
    // A user's folder may itself be a link; root's may not.
    std::vector<std::string> argv = {is_root ? "-P" : "-H",
                                     host_.files().Resolve(path), "-xdev",
                                     "-maxdepth", kMaxDepth};
    if (is_root) {
      argv.insert(argv.end(), {"(", "!", "-uid", "0", "-o", "-perm", "/022",
                               ")", "-prune", "-o"});
    }
    // logrotate(8) adds a number or a date.
    argv.insert(argv.end(), {"-type", "f", "(", "-name", "*.log", "-o", "-name",
                             "*.log[.-]*", "-o", "-name", "slurm-*.out", ")"});
    const auto run =
        RunAsUser(folder.user, Find(std::move(argv)), kMaxStreamBytes);
    if (!run.ok()) {
      Note(Worded("about", folder.path, MessageWords(run.status())));
      return true;
    }
    const bool listed = !run->standard_output.empty() || run->exit_status == 0;
    // A missing folder has no logs, which is an answer.
    listed_any_ |=
        listed || (is_last && absl::EndsWith(run->standard_error,
                                             ": No such file or directory\n"));
    if (listed || is_last) NoteTrouble(folder, *run);
    TakeFiles(folder, run->standard_output);
    return listed;
  }

  void NoteTrouble(const LogFolder& folder, const CommandResult& run) {
    if (run.timed_out || run.output_cut) {
      Note(Worded(run.timed_out ? "log-no-time" : "log-too-many", folder.path));
    } else if (!run.standard_error.empty()) {
      // "/usr/bin/find: '/home/ann/ascend/log/debug': Permission denied"
      static const LazyRE2 kForm = {R"((?s)[^:\n]*: '([^\n]*?)': .*)"};
      std::string found;
      if (!HasForm(run.standard_error, *kForm, &found)) found = folder.path;
      absl::string_view path = found;
      absl::ConsumePrefix(&path, host_.files().Resolve(folder.process_root));
      Note(Worded("log-not-read-as", path, folder.user.name,
                  Term(LastWords(run.standard_error))));
    }
  }

  // Entries are "2049:131 1767225600.0000000000 1234 /home/ann/…" and a NUL,
  // which a truncated one lacks. Containers may see the same file.
  void TakeFiles(const LogFolder& folder, absl::string_view output) {
    static const LazyRE2 kForm = {
        R"((?s)(\d+:\d+) (\d{1,12}\.\d+) (\d+) (/.*))"};
    std::string device_and_inode;
    for (size_t end = output.find('\0'); end != absl::string_view::npos;
         end = output.find('\0')) {
      FoundFile file = {&folder, "", 0, 0};
      if (HasForm(output.substr(0, end), *kForm, &device_and_inode,
                  &file.changed_at_s, &file.size, &file.path) &&
          found_.insert(device_and_inode).second) {
        files_.push_back(std::move(file));
      }
      output.remove_prefix(end + 1);
    }
  }

  void ReadFile(const FoundFile& file) {
    LogFile& log = *logs_.add_files();
    absl::string_view path = file.path;
    absl::ConsumePrefix(&path,
                        host_.files().Resolve(file.folder->process_root));
    log.set_path(BoundedUtf8(path, kMaxPathBytes));
    log.set_size_bytes(file.size);
    log.set_changed_at_ms(static_cast<int64_t>(file.changed_at_s * 1000));
    log.set_user(file.folder->user.name);
    static const LazyRE2 kOtherPacked = {R"((?s).*\.(?:xz|bz2|zst))"};
    if (HasForm(file.path, *kOtherPacked)) {
      return log.set_cut("not read: packed, and not by gzip");
    }
    const bool is_packed = absl::EndsWith(file.path, ".gz");
    const uint64_t most = std::min({is_packed ? kMaxLogBytesPerFile : file.size,
                                    kMaxLogBytesPerFile, left_to_read_});
    if (most == 0 || file.size == 0) {
      if (file.size > 0) log.set_cut("not read: enough was (--bytes)");
      return;
    }
    const auto run = RunAsUser(
        file.folder->user,
        is_packed ? std::vector<std::string>{gzip_, "-dc", "--", file.path}
                  : std::vector<std::string>{tail_, "-c", absl::StrCat(most),
                                             "--", file.path},
        std::max<uint64_t>(most, kMaxMessageBytes));
    if (!run.ok() || run->timed_out || run->exit_status != 0) {
      return log.set_cut(
          BoundedUtf8(absl::StrCat("not read: ", WhyNot(run)), kMaxPathBytes));
    }
    // A file may have grown since.
    Take(absl::string_view(run->standard_output).substr(0, most),
         !is_packed && most < file.size, &log);
    if (is_packed && (run->output_cut || run->standard_output.size() > most)) {
      log.set_cut(absl::StrCat("its first ", most, " bytes were read"));
    }
  }

  static std::string WhyNot(const absl::StatusOr<CommandResult>& run) {
    if (!run.ok()) return std::string(run.status().message());
    return run->timed_out ? "no answer in time"
                          : PrintableText(LastWords(run->standard_error));
  }

  // Returns the first line's text after its last colon: "Permission denied".
  static absl::string_view LastWords(absl::string_view said) {
    said = said.substr(0, said.find('\n'));
    const size_t colon = said.rfind(": ");
    return colon == absl::string_view::npos ? said : said.substr(colon + 2);
  }

  void Take(absl::string_view text, bool is_end, LogFile* log) {
    left_to_read_ -= std::min<uint64_t>(left_to_read_, text.size());
    logs_.set_read_bytes(logs_.read_bytes() + text.size());
    if (is_end) {
      log->set_cut(absl::StrCat("its last ", text.size(), " bytes were read"));
    }
    log->set_last_line(LastLine(text));
    bool left_out = false;
    for (LogHit& hit : ScanLog(text, is_end ? 0 : 1, &left_out)) {
      if (static_cast<size_t>(logs_.hits_size()) == kMaxLogHits) {
        if (!hits_left_out_) Note(Worded("log-more-codes"));
        hits_left_out_ = true;
        break;
      }
      hit.set_file(log->path());
      *logs_.add_hits() = std::move(hit);
    }
    if (left_out) Note(Worded("log-more-codes-in", log->path()));
    const size_t sent =
        std::min<uint64_t>({left_to_send_, sent_per_file_, text.size()});
    log->set_content(std::string(text.substr(text.size() - sent)));
    left_to_send_ -= sent;
  }

  const HostAccess& host_;
  const LogsQuery& query_;
  uint64_t left_to_read_;
  uint64_t left_to_send_;
  const uint64_t sent_per_file_;
  bool hits_left_out_ = false;
  bool listed_any_ = false;  // Some folder was listed.
  std::string find_;
  std::string tail_;
  std::string gzip_;
  std::vector<FoundFile> files_;
  std::set<std::string> found_;  // By device and inode.
  HostLogs logs_;
};

}  // namespace

HostLogs ReadHostLogs(const HostAccess& host, const LogsQuery& query) {
  return LogReading(host, query).Run();
}

}  // namespace clusterd
