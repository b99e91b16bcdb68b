#include <algorithm>

#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/identity_observer.h"

namespace clusterd {
namespace {

constexpr absl::string_view kDmesg[] = {"/usr/bin/dmesg", "/bin/dmesg"};
constexpr absl::string_view kJournalctl[] = {"/usr/bin/journalctl",
                                             "/bin/journalctl"};
constexpr size_t kMaxKills = 16;
constexpr size_t kMaxKilledNameBytes = 64;
constexpr size_t kMaxLogBytes = 8 << 20;

// What starts jobs, by who makes it: systemd, Slurm's step daemon, Docker,
// Kubernetes. "" is this process's own container.
constexpr absl::string_view kSlices[] = {"",
                                         "system.slice",
                                         "system.slice/slurmd.service",
                                         "system.slice/slurmstepd.scope",
                                         "system.slice/docker.service",
                                         "user.slice",
                                         "machine.slice",
                                         "kubepods.slice",
                                         "kubepods",
                                         "docker",
                                         "slurm"};

absl::StatusOr<uint64_t> KilobytesOf(absl::string_view meminfo,
                                     const RE2& form) {
  uint64_t kilobytes = 0;
  if (HasForm(meminfo, form, &kilobytes)) return kilobytes << 10;
  return InvalidArgument("/proc/meminfo: unexpected ", QuotedText(meminfo));
}

// cgroup v2, or v1's memory controller.
void ReadLimits(const FileReader& files, HostMemoryFact::Memory* memory) {
  // Of a user who is logged in, where ranks of mpirun run, of a container, and
  // of a job of Slurm, which with cgroup v1 lies in a folder of its user.
  static const LazyRE2 kInner = {
      R"(user\.slice/user-[^/]*|(?:docker/|system\.slice/docker-)[0-9a-f]+)"
      R"((?:\.scope)?|system\.slice/slurmstepd\.scope/job_\d+|)"
      R"(slurm/uid_\d+(?:/job_\d+)?)"};
  std::vector<std::string> slices(std::begin(kSlices), std::end(kSlices));
  for (size_t i = 0; i < slices.size(); ++i) {
    for (const char* folder : {"/sys/fs/cgroup/", "/sys/fs/cgroup/memory/"}) {
      const auto names = files.List(absl::StrCat(folder, slices[i]),
                                    FileReader::Beyond::kLeftOut);
      for (const auto& each : names.value_or(std::vector<std::string>())) {
        std::string inner = absl::StrCat(slices[i], "/", each);
        if (HasForm(inner, *kInner)) slices.push_back(std::move(inner));
      }
    }
  }
  for (const std::string& slice : slices) {
    for (const char* file :
         {"/sys/fs/cgroup/$0/memory.max",
          "/sys/fs/cgroup/memory/$0/memory.limit_in_bytes"}) {
      const auto text = files.ReadTrimmed(absl::Substitute(file, slice));
      uint64_t bytes = 0;
      if (!text.ok() || text->empty() || !ParseDigits(*text, &bytes) ||
          bytes >= memory->total_bytes()) {
        continue;
      }
      MemoryLimit* const limit = memory->add_limits();
      limit->set_slice(slice.empty() ? "this container" : slice);
      limit->set_bytes(bytes);
    }
  }
}

absl::StatusOr<std::string> RunLogReader(
    const HostAccess& host, absl::Span<const absl::string_view> candidates,
    std::vector<std::string> argv) {
  ASSIGN_OR_RETURN(std::string program,
                   FindProgram(host.paths.root, candidates));
  const std::string name = absl::StrCat("`", argv[0], "`");
  argv[0] = std::move(program);
  ASSIGN_OR_RETURN(CommandResult result,
                   RunWithin(*host.budget, host.runner, name, std::move(argv),
                             kMaxLogBytes));
  // The journal of a machine has no kernel lines where journald takes none.
  if (result.exit_status == 0 && result.signal == 0 &&
      result.standard_output != "-- No entries --\n") {
    return std::move(result.standard_output);
  }
  return Unavailable(name, ": status ", result.exit_status, " and ",
                     QuotedText(result.standard_error));
}

absl::StatusOr<HostMemoryFact::Memory> ReadMemory(const HostAccess& host) {
  static const LazyRE2 kTotal = {R"((?s)(?:.*\n)?MemTotal: +(\d+) kB\n.*)"};
  static const LazyRE2 kAvailable = {
      R"((?s).*\nMemAvailable: +(\d+) kB(?:\n.*)?)"};
  static const LazyRE2 kUptime = {R"((\d+)\..*)"};
  const FileReader files = host.files();
  ASSIGN_OR_RETURN(const std::string meminfo,
                   files.ReadTrimmed("/proc/meminfo"));
  HostMemoryFact::Memory memory;
  ASSIGN_OR_RETURN(const uint64_t total, KilobytesOf(meminfo, *kTotal));
  ASSIGN_OR_RETURN(const uint64_t available, KilobytesOf(meminfo, *kAvailable));
  memory.set_total_bytes(total);
  memory.set_available_bytes(available);
  ReadLimits(files, &memory);
  const absl::StatusOr<std::string> errors =
      ReadKernelLog(host, /*errors_only=*/true);
  uint64_t uptime = 0;
  if (!errors.ok()) {
    *memory.mutable_kills_missing() = MissingFor(errors.status());
  } else if (!HasForm(files.ReadTrimmed("/proc/uptime").value_or(""), *kUptime,
                      &uptime)) {
    *memory.mutable_kills_missing() =
        MakeMissing(Missing::UNREADABLE, "/proc/uptime");
  } else {
    for (OutOfMemory& kill : ParseKills(*errors, uptime)) {
      *memory.add_kills() = std::move(kill);
    }
  }
  return memory;
}

}  // namespace

absl::StatusOr<std::string> ReadKernelLog(const HostAccess& host,
                                          bool errors_only) {
  std::vector<std::string> dmesg = {"dmesg", "--kernel"};
  std::vector<std::string> journal = {"journalctl", "--dmesg", "--no-pager",
                                      "--output=short-monotonic",
                                      "--lines=20000"};
  if (errors_only) {
    dmesg.push_back("--level=emerg,alert,crit,err");
    journal.push_back("--priority=err");
  }
  absl::StatusOr<std::string> log =
      RunLogReader(host, kDmesg, std::move(dmesg));
  if (log.ok()) return log;
  absl::StatusOr<std::string> kept =
      RunLogReader(host, kJournalctl, std::move(journal));
  return kept.ok() ? kept : log;
}

std::vector<OutOfMemory> ParseKills(absl::string_view dmesg,
                                    uint64_t uptime_s) {
  // Before Linux 4.20 the first line says "Kill process". A kernel with
  // CONFIG_PRINTK_CALLER names the task, "[ T123]". With
  // vm.oom_kill_allocating_task a word stands behind "memory". The name may
  // hold anything but a line break.
  static const LazyRE2 kForm = {
      R"((?:<\d+>)?\[ *(\d+)\.\d+\](?: ?\[ *[TC]\d+\])? +(?:[\w.-]+ kernel: )?)"
      R"((Memory cgroup out|Out) of memory(?: \(\w+\))?: )"
      R"(Kill(?:ed)? process (\d+),? \((.*)\)(?:[ ,].*)?)",
      RE2::Latin1};
  std::vector<OutOfMemory> kills;
  for (const absl::string_view line : absl::StrSplit(dmesg, '\n')) {
    OutOfMemory kill;
    uint64_t at = 0;
    uint32_t pid = 0;
    std::string whose;
    std::string command;
    if (!HasForm(absl::StripSuffix(line, "\r"), *kForm, &at, &whose, &pid,
                 &command)) {
      continue;
    }
    kill.set_seconds_ago(uptime_s > at ? uptime_s - at : 0);
    kill.set_pid(pid);
    kill.set_command(PrintableText(command, kMaxKilledNameBytes));
    kill.set_of_cgroup(whose != "Out");
    kills.push_back(std::move(kill));
  }
  std::reverse(kills.begin(), kills.end());
  if (kills.size() > kMaxKills) kills.resize(kMaxKills);
  return kills;
}

HostMemoryFact ReadHostMemory(const HostAccess& host) {
  return MakeFact<HostMemoryFact>(ReadMemory(host));
}

}  // namespace clusterd
