#include "tests/sim/replay_run.h"

#include <fcntl.h>
#include <signal.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <memory>
#include <regex>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "tests/sim/private_root.h"
#include "tests/sim/run_setup.h"
#include "tests/sim/tool_process.h"

namespace clusterd::sim {
namespace {

// A run that ends does so within this, also on a busy machine.
constexpr absl::Duration kLimit = absl::Minutes(2);
// A run that the record says does not end is watched for this long, from when
// it sleeps.
constexpr absl::Duration kBlockedFor = absl::Milliseconds(700);
// Seconds of the record, shortened, from when the run sleeps.
constexpr absl::Duration kSignalAfter = absl::Milliseconds(300);

constexpr char kUsage[] = "<usage text>";

// Commands of the vendor's tool that clusterd never runs, and whose full
// answers are not public.
struct NeverUsed {
  const char* command;
  const char* why;
};
constexpr NeverUsed kNeverUsed[] = {
    {"-pci", "clusterd reads PCI devices from sysfs"},
    {"-roce_test", "clusterd starts no traffic test"},
    {"-prbs", "clusterd runs no link pattern test"},
    {"-scdr", "clusterd reads no link diagnostics"},
    {"-cdr", "clusterd reads no link diagnostics"},
    {"-dcqcn", "clusterd does not tune congestion control"},
};

// True if the record of the vendor's tool shows undefined behaviour: its text
// came from outside a table.
bool IsUndefinedHealth(const CaptureRecord& record) {
  static const std::regex kMinusOne(
      "(^|[; ])net_health\\.[0-9]+=(-1|0xffffffff)($|;)");
  return std::regex_search(record.precondition, kMinusOne);
}

std::string WithoutUndefinedText(const CaptureRecord& record,
                                 const std::string& text) {
  const size_t colon = text.find(": ");
  return IsUndefinedHealth(record) ? text.substr(0, colon) : text;
}

std::string Escaped(const std::string& line) {
  return absl::StrReplaceAll(line, {{"\r", "\\r"}, {"\t", "\\t"}});
}

// Lines of both without their common beginning and end.
std::string Diff(const std::string& name, const std::string& expected,
                 const std::string& actual) {
  const std::vector<std::string> want = absl::StrSplit(expected, '\n');
  const std::vector<std::string> got = absl::StrSplit(actual, '\n');
  size_t front = 0;
  const size_t shorter = std::min(want.size(), got.size());
  while (front < shorter && want[front] == got[front]) ++front;
  size_t back = 0;
  while (back < shorter - front &&
         want[want.size() - 1 - back] == got[got.size() - 1 - back]) {
    ++back;
  }
  std::string text =
      absl::StrCat("    ", name, ", from line ", front + 1, "\n");
  for (size_t i = front; i < want.size() - back; ++i) {
    absl::StrAppend(&text, "      - ", Escaped(want[i]), "\n");
  }
  for (size_t i = front; i < got.size() - back; ++i) {
    absl::StrAppend(&text, "      + ", Escaped(got[i]), "\n");
  }
  return text;
}

// "<usage text>" stands for any text; the text around it is compared.
bool Matches(const std::string& expected, const std::string& actual) {
  const size_t at = expected.find(kUsage);
  if (at == std::string::npos) return expected == actual;
  const std::string rest = expected.substr(at + sizeof(kUsage) - 1);
  return actual.size() >= at + rest.size() &&
         absl::StartsWith(actual, expected.substr(0, at)) &&
         absl::EndsWith(actual, rest);
}

void Compare(const std::string& name, const std::string& expected,
             const std::string& actual, ReplayResult* result) {
  if (Matches(expected, actual)) return;
  result->verdict = ReplayResult::Verdict::kDifferent;
  result->text += Diff(name, expected, actual);
}

std::string ExitText(const std::optional<int>& exit) {
  return exit ? absl::StrCat(*exit) : "still running";
}

// Optional in the vendor's tool: memory decides whether it appears.
std::string WithoutOptionalWarning(const CaptureRecord& record,
                                   const std::string& text) {
  const std::vector<std::string> words = {"-tls", "-s", "enable", "0"};
  if (std::search(record.argv.begin(), record.argv.end(), words.begin(),
                  words.end()) == record.argv.end()) {
    return text;
  }
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  lines.erase(std::remove_if(lines.begin(), lines.end(),
                             [](const std::string& line) {
                               return absl::StartsWith(line, "[Warning]");
                             }),
              lines.end());
  return absl::StrJoin(lines, "\n");
}

void CompareDevices(const CaptureRecord& record, const RunSetup& setup,
                    const DeviceState& after, ReplayResult* result) {
  DeviceState expected = setup.state;
  for (const auto& [key, value] : record.device_changes) {
    // A record writes routes in another form, and null where a value is gone.
    if (value.empty()) {
      expected.Erase(key);
    } else if (!absl::StartsWith(key, "routes.")) {
      expected.Set(key, value);
    }
  }
  DeviceState actual = after;
  // The simulation's own, which no device of the records has.
  for (const auto& [key, value] : after.values()) {
    if (absl::StartsWith(key, "detect_pending") ||
        absl::StartsWith(key, "routes.") || key == "root_uid") {
      actual.Erase(key);
    }
  }
  Compare("devices", expected.Text(), actual.Text(), result);
}

// flock on hccn.conf, as another process would hold it.
class ConfLock {
 public:
  ConfLock(const std::string& path, RunSetup::Lock kind) {
    if (kind == RunSetup::Lock::kNone) return;
    fd_ = open(path.c_str(), O_RDWR | O_CLOEXEC);
    if (fd_ < 0) return;
    flock(fd_, kind == RunSetup::Lock::kShared ? LOCK_SH : LOCK_EX);
  }
  ~ConfLock() { Release(); }
  ConfLock(const ConfLock&) = delete;
  ConfLock& operator=(const ConfLock&) = delete;
  void Release() {
    if (fd_ >= 0) close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

// The kernel lists locks by inode, and after each the processes that wait:
//   1: FLOCK  ADVISORY  WRITE 4710 fe:01:1234 0 EOF
//   1: -> FLOCK  ADVISORY  WRITE 4711 fe:01:1234 0 EOF
// An inode of that number may have a lock in any file system: ours is the one
// that this process holds.
bool SomebodyWaitsForLock(const std::string& path) {
  struct stat found;
  if (stat(path.c_str(), &found) != 0) return false;
  std::ifstream locks("/proc/locks");
  const std::string inode = absl::StrCat(":", found.st_ino, " ");
  const std::string own = absl::StrCat(" ", getpid(), " ");
  std::string number;  // Our lock's.
  for (std::string line; std::getline(locks, line);) {
    if (!absl::StrContains(line, inode)) continue;
    const std::string own_number = line.substr(0, line.find(' '));
    if (!absl::StrContains(line, "->")) {
      number = absl::StrContains(line, own) ? own_number : "";
    } else if (own_number == number) {
      return true;
    }
  }
  return false;
}

// Pumps until the run waits for the lock, or has ended without it.
void PumpUntilItWaits(const PrivateRoot& root, ToolProcess* process) {
  const absl::Time until = absl::Now() + kLimit;
  while (!SomebodyWaitsForLock(root.ConfPath()) && !process->ended() &&
         absl::Now() < until) {
    process->Pump(absl::Milliseconds(5));
  }
}

// An editor that renames its new file over the one the tool waits for.
void RenameOverWhileWaiting(const CaptureRecord& record,
                            const PrivateRoot& root, ToolProcess* process) {
  PumpUntilItWaits(root, process);
  const std::string fresh = root.ConfPath() + ".new";
  std::ofstream(fresh, std::ios::binary)
      << record.conf_after.value_or(record.conf_before.value_or(""));
  rename(fresh.c_str(), root.ConfPath().c_str());
}

// The other one of two runs. The record only has the file after both were done:
// the last line belongs to the run that began last.
struct Partner {
  std::vector<std::string> argv;
  bool begins_first = true;
};

Partner PartnerOf(const CaptureRecord& record) {
  Partner partner;
  partner.argv = record.argv;
  const auto value =
      std::find(partner.argv.begin(), partner.argv.end(), "address");
  if (partner.argv.size() < 3 || partner.argv.end() - value < 2) {
    return partner;
  }
  const std::string own =
      absl::StrCat("address_", record.argv[2], "=", *(value + 1));
  std::string last;
  *(value + 1) = "10.0.0.99";
  const std::vector<std::string> lines =
      absl::StrSplit(record.conf_after.value_or(""), '\n');
  for (const std::string& line : lines) {
    if (!absl::StartsWith(line, "address_")) continue;
    last = line;
    if (line == own) continue;
    const size_t equals = line.find('=');
    partner.argv[2] = line.substr(8, equals - 8);
    *(value + 1) = line.substr(equals + 1);
  }
  partner.begins_first = last == own;
  return partner;
}

// The records lack a link's target; here it is the content left by the run.
std::optional<std::string> ConfBefore(const CaptureRecord& record,
                                      const RunSetup& setup) {
  if (setup.conf_kind != RunSetup::ConfKind::kSymlink || record.conf_before) {
    return record.conf_before;
  }
  std::string before;
  const std::vector<std::string> lines =
      absl::StrSplit(record.conf_after.value_or(""), '\n', absl::SkipEmpty());
  for (const std::string& line : lines) {
    const std::string value = line.substr(line.find('=') + 1);
    const bool set = std::find(record.argv.begin(), record.argv.end(), value) !=
                     record.argv.end();
    if (!set) absl::StrAppend(&before, line, "\n");
  }
  return before;
}

// The lines in an order that does not depend on which run came first.
std::string SortedLines(const std::string& text) {
  std::vector<std::string> lines = absl::StrSplit(text, '\n');
  std::sort(lines.begin(), lines.end());
  return absl::StrJoin(lines, "\n");
}

// Rounds of runs at the same time; N in the arguments stands for the device and
// K for the round. Every run has to end well, and no key may be lost.
ReplayResult PlayRounds(const CaptureRecord& record,
                        const ReplayOptions& options, const RunSetup& setup,
                        const PrivateRoot& root) {
  ReplayResult result;
  for (int round = 0; round < setup.rounds; ++round) {
    std::vector<ToolProcess> runs(setup.devices_at_once);
    for (int device = 0; device < setup.devices_at_once; ++device) {
      std::vector<std::string> argv = record.argv;
      for (std::string& word : argv) {
        word = absl::StrReplaceAll(word, {{"N+1", absl::StrCat(device + 1)},
                                          {"N", absl::StrCat(device)},
                                          {"K", absl::StrCat(round)}});
      }
      const absl::Status status =
          runs[device].Start(options.tool, argv, "", root, setup);
      if (!status.ok()) {
        Compare("start", "", std::string(status.message()), &result);
      }
    }
    for (ToolProcess& run : runs) {
      const ToolResult done = run.Finish(kLimit);
      Compare("exit", ExitText(record.exit), ExitText(done.exit), &result);
      Compare("stderr", record.standard_error, done.standard_error, &result);
    }
  }
  Compare("hccn.conf", SortedLines(record.conf_after.value_or("<no file>")),
          SortedLines(root.ReadConf().value_or("<no file>")), &result);
  return result;
}

// One record being played.
class Player {
 public:
  Player(const CaptureRecord& record, const ReplayOptions& options,
         const RunSetup& setup, const PrivateRoot& root)
      : record_(record), options_(options), setup_(setup), root_(root) {}

  absl::StatusOr<ToolResult> Play() {
    RunSetup::Lock kind = setup_.lock;
    if (setup_.renamed_while_waiting) kind = RunSetup::Lock::kExclusive;
    ConfLock lock(root_.ConfPath(), kind);
    if (setup_.with_partner) return PlayWithPartner();
    ToolProcess own;
    const absl::Status status = StartOwn(&own);
    if (!status.ok()) return status;
    Disturb(&own, &lock);
    if (!record_.exit) own.PumpUntilAsleep(kLimit);
    return own.Finish(record_.exit ? kLimit : kBlockedFor);
  }

 private:
  static void Send(int signal, const ToolProcess& process) {
    if (!process.ended()) kill(process.pid(), signal);
  }

  absl::Status StartOwn(ToolProcess* process) {
    return process->Start(options_.tool, record_.argv, record_.standard_input,
                          root_, setup_);
  }

  // Each change takes time, in which its run is stopped. Both begin before
  // either ends, and the second one ends last, on a busy machine, too.
  absl::StatusOr<ToolResult> PlayWithPartner() {
    const Partner partner = PartnerOf(record_);
    ToolProcess other, own;
    ToolProcess& first = partner.begins_first ? other : own;
    ToolProcess& second = partner.begins_first ? own : other;
    const auto start = [&](ToolProcess* process) {
      return process == &own ? StartOwn(process)
                             : process->Start(options_.tool, partner.argv, "",
                                              root_, setup_);
    };
    absl::Status status = start(&first);
    if (!status.ok()) return status;
    first.PumpUntilAsleep(kLimit);
    Send(SIGSTOP, first);
    status = start(&second);
    if (!status.ok()) return status;
    second.PumpUntilAsleep(kLimit);
    Send(SIGSTOP, second);
    Send(SIGCONT, first);
    first.Finish(kLimit);
    Send(SIGCONT, second);
    second.Finish(kLimit);
    return own.Finish(absl::ZeroDuration());
  }

  bool EndsByItself() const { return record_.exit && *record_.exit >= 0; }

  void Disturb(ToolProcess* process, ConfLock* lock) {
    if (setup_.renamed_while_waiting) {
      RenameOverWhileWaiting(record_, root_, process);
      lock->Release();
    } else if (setup_.lock != RunSetup::Lock::kNone && EndsByItself() &&
               !setup_.lock_for_ever) {
      PumpUntilItWaits(root_, process);
      lock->Release();
    }
    if (setup_.signal) {
      process->PumpUntilAsleep(kLimit);
      process->Pump(kSignalAfter);
      Send(*setup_.signal, *process);
    }
  }

  const CaptureRecord& record_;
  const ReplayOptions& options_;
  const RunSetup& setup_;
  const PrivateRoot& root_;
};

ReplayResult Skipped(const std::string& why) {
  ReplayResult result;
  result.verdict = ReplayResult::Verdict::kSkipped;
  result.text = why;
  return result;
}

ReplayResult Broken(const absl::Status& status) {
  ReplayResult result;
  result.verdict = ReplayResult::Verdict::kDifferent;
  result.text =
      absl::StrCat("    not run: ", std::string(status.message()), "\n");
  return result;
}

}  // namespace

std::string ReasonToSkip(const CaptureRecord& record) {
  for (const NeverUsed& row : kNeverUsed) {
    if (std::find(record.argv.begin(), record.argv.end(), row.command) !=
        record.argv.end()) {
      return absl::StrCat(row.command, " is never used: ", row.why);
    }
  }
  return "";
}

ReplayResult Replay(const CaptureRecord& record, const ReplayOptions& options) {
  if (const std::string why = ReasonToSkip(record); !why.empty()) {
    return Skipped(why);
  }
  const RunSetup setup = SetupOf(record);
  if (!setup.not_understood.empty()) {
    return Skipped(absl::StrCat("no way to arrange \"",
                                absl::StrJoin(setup.not_understood, "; "),
                                "\""));
  }
  if (setup.NeedsPrivilege() && !options.privileged) {
    return Skipped(
        "needs root and a mount namespace, for another user or a read-only "
        "mount");
  }
  auto root = PrivateRoot::Create(setup, ConfBefore(record, setup));
  if (!root.ok()) return Broken(root.status());
  if (setup.rounds > 0) return PlayRounds(record, options, setup, **root);
  struct stat before = {}, after = {};
  stat((*root)->ConfPath().c_str(), &before);
  auto run = Player(record, options, setup, **root).Play();
  if (!run.ok()) return Broken(run.status());
  stat((*root)->ConfPath().c_str(), &after);

  ReplayResult result;
  const auto shown = [&record](const std::string& text) {
    return WithoutUndefinedText(record, WithoutOptionalWarning(record, text));
  };
  Compare("stdout", shown(record.standard_output), shown(run->standard_output),
          &result);
  Compare("stderr", record.standard_error, run->standard_error, &result);
  Compare("exit", ExitText(record.exit), ExitText(run->exit), &result);
  Compare("hccn.conf", record.conf_after.value_or("<no file>"),
          (*root)->ReadConf().value_or("<no file>"), &result);
  if (setup.conf_mode) {
    // Edited in place: the same file with the same permissions.
    Compare("inode and mode of hccn.conf",
            absl::StrCat(before.st_ino, " ", before.st_mode),
            absl::StrCat(after.st_ino, " ", after.st_mode), &result);
  }
  // A partner changes devices too.
  if (options.compare_devices && !setup.with_partner) {
    CompareDevices(record, setup, (*root)->ReadState(), &result);
  }
  if (!setup.unknown_keys.empty()) {
    absl::StrAppend(&result.text, "    unknown in the precondition: ",
                    absl::StrJoin(setup.unknown_keys, ", "), "\n");
  }
  return result;
}

}  // namespace clusterd::sim
