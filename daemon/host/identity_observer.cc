#include "daemon/host/identity_observer.h"

#include <sys/utsname.h>

#include <algorithm>
#include <map>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/hccn/hccn_conf.h"

namespace clusterd {
namespace {

constexpr char kConf[] = "/etc/hccn.conf";
constexpr size_t kMaxValueBytes = 256;
// Far above the tool's own bound, which is reported as a problem.
constexpr size_t kMaxConfBytes = 4 << 20;
// How long a rewrite by the tool may hold the lock; see ReadShared.
constexpr absl::Duration kConfLockWait = absl::Milliseconds(500);

absl::StatusOr<std::string> ReadText(const FileReader& files,
                                     absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string text, files.ReadTrimmed(path));
  if (!text.empty()) return PrintableText(text, kMaxValueBytes);
  return InFront(path, InvalidWords("fact-empty"));
}

// Returns the file's value of `key`.
absl::StatusOr<std::string> ReadValue(const FileReader& files,
                                      const std::string& path,
                                      absl::string_view key) {
  ASSIGN_OR_RETURN(const FileText file, files.Read(path));
  absl::StatusOr<std::string> value = ParseInfoValue(file.text, key);
  if (value.ok()) return value;
  return InFront(path, value.status());
}

// PCI ids of Huawei's NPUs; the labels are those of its msprechecker
// (Ascend/msit). Other accelerators of the vendor are not NPUs.
constexpr absl::string_view kHuawei = "0x19e5";
constexpr std::pair<absl::string_view, absl::string_view> kNpuSeries[] = {
    {"0xd100", "Atlas-300"}, {"0xd500", "300I-Duo"}, {"0xd801", "A1"},
    {"0xd802", "A2"},        {"0xd803", "A3"},
};

// Returns "A2 x 8", or "A2 x 7, A3 x 1" with the most frequent first.
absl::StatusOr<std::string> ReadSeries(const FileReader& files) {
  constexpr absl::string_view kFolder = "/sys/bus/pci/devices";
  ASSIGN_OR_RETURN(const std::vector<std::string> slots, files.List(kFolder));
  std::map<absl::string_view, int> counts;
  for (const std::string& slot : slots) {
    const auto read = [&](absl::string_view name) {
      // A device may disappear meanwhile.
      return absl::AsciiStrToLower(
          files.ReadTrimmed(absl::StrCat(kFolder, "/", slot, "/", name))
              .value_or(""));
    };
    if (read("vendor") != kHuawei) continue;
    const std::string device = read("device");
    for (const auto& [id, series] : kNpuSeries) {
      if (device == id) ++counts[series];
    }
  }
  if (counts.empty()) {
    return NotFoundWords("fact-no-series", kFolder);
  }
  std::vector<std::pair<absl::string_view, int>> sorted(counts.begin(),
                                                        counts.end());
  absl::c_stable_sort(
      sorted, [](const auto& a, const auto& b) { return a.second > b.second; });
  return absl::StrJoin(sorted, ", ", absl::PairFormatter(" x "));
}

std::string Architecture() {
  utsname name;
  return uname(&name) == 0 ? PrintableText(name.machine, 64) : "";
}

// Reads the toolkit's own file: its path since 8.5, then the earlier one,
// "Querying the Software Package Version" (instg_0064) of the CANN software
// installation guides 8.0 and 8.5. Captures of it have a line version=8.2.RC1.
absl::StatusOr<std::string> ReadCann(const FileReader& files,
                                     const std::string& prefix) {
  constexpr absl::string_view kFile = "-linux/ascend_toolkit_install.info";
  for (const absl::string_view folder : {"/cann/", "/ascend-toolkit/latest/"}) {
    absl::StatusOr<std::string> version = ReadValue(
        files, absl::StrCat(prefix, folder, Architecture(), kFile), "version");
    if (!absl::IsNotFound(version.status())) return version;
  }
  return NotFoundWords("fact-no-cann", prefix);
}

constexpr absl::string_view kDmesg[] = {"/usr/bin/dmesg", "/bin/dmesg"};
constexpr absl::string_view kJournalctl[] = {"/usr/bin/journalctl",
                                             "/bin/journalctl"};
constexpr size_t kMaxKills = 16;
constexpr size_t kMaxKilledNameBytes = 64;
constexpr size_t kMaxLogBytes = 8 << 20;

// Cgroups in which jobs start, made by systemd, Slurm's step daemon, Docker and
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
  return InFront("/proc/meminfo",
                 InvalidWords("fact-odd", QuotedText(meminfo)));
}

// Reads cgroup v2, or v1's memory controller.
void ReadLimits(const FileReader& files, HostMemoryFact::Memory* memory) {
  // Matches logged-in users, where ranks of mpirun run, containers, and Slurm's
  // jobs, which cgroup v1 puts into a folder of their user.
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
  // The journal has no kernel lines where journald does not collect them.
  if (result.exit_status == 0 && result.signal == 0 &&
      result.standard_output != "-- No entries --\n") {
    return std::move(result.standard_output);
  }
  return InFront(name, UnavailableWords("fact-status-and", result.exit_status,
                                        QuotedText(result.standard_error)));
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

IdentityFacts ReadIdentity(const FileReader& files) {
  IdentityFacts facts;
  SetFact(ReadText(files, "/proc/sys/kernel/hostname"),
          facts.mutable_hostname());
  SetFact(ReadText(files, "/proc/sys/kernel/osrelease"),
          facts.mutable_kernel_release());
  *facts.mutable_boot_id() = ReadBootId(files);
  SetFact(ReadText(files, "/etc/machine-id"), facts.mutable_machine_id());
  facts.mutable_architecture()->set_value(Architecture());
  SetFact(ReadValue(files, "/etc/os-release", "PRETTY_NAME"),
          facts.mutable_os_release());
  SetFact(ReadSeries(files), facts.mutable_npu_series());
  return facts;
}

TextFact ReadBootId(const FileReader& files) {
  return MakeFact<TextFact>(ReadText(files, "/proc/sys/kernel/random/boot_id"));
}

VersionFacts ReadVersions(const FileReader& files) {
  VersionFacts facts;
  const absl::StatusOr<std::string> prefix = ReadInstallPath(files);
  const auto read = [&](absl::string_view name,
                        absl::string_view key) -> absl::StatusOr<std::string> {
    RETURN_IF_ERROR(prefix.status());
    return ReadValue(files, absl::StrCat(*prefix, name), key);
  };
  SetFact(read("/driver/version.info", "Version"), facts.mutable_driver());
  SetFact(read("/firmware/version.info", "Version"), facts.mutable_firmware());
  // Not every driver reports it.
  absl::StatusOr<std::string> compatible =
      read("/driver/version.info", "compatible_version_fw");
  if (absl::IsInvalidArgument(compatible.status())) {
    compatible =
        WithWords(absl::NotFoundError(""), MessageWords(compatible.status()));
  }
  SetFact(std::move(compatible), facts.mutable_firmware_of_driver());
  SetFact(prefix.ok() ? ReadCann(files, *prefix) : prefix.status(),
          facts.mutable_cann());
  return facts;
}

absl::StatusOr<PrivateFile> CopyHccnConf(const FileReader& files,
                                         Clock* clock) {
  ASSIGN_OR_RETURN(FileText file, files.ReadShared(kConf, clock, kConfLockWait,
                                                   kMaxConfBytes));
  return PrivateFile{files.Resolve(kConf), std::move(file.text), file.mode};
}

HccnConfFact ReadHccnConf(const FileReader& files, Clock* clock) {
  const auto read = [&]() -> absl::StatusOr<HccnConf> {
    ASSIGN_OR_RETURN(const PrivateFile file, CopyHccnConf(files, clock));
    ASSIGN_OR_RETURN(HccnConf conf, ParseHccnConf(file.text));
    conf.set_mode(file.mode);
    return conf;
  };
  return MakeFact<HccnConfFact>(read());
}

std::string ReadSimulation(const FileReader& files) {
  const std::string text =
      files.Read("/etc/clusterd/simulation").value_or(FileText()).text;
  return PrintableText(text.substr(0, text.find('\n')), kMaxValueBytes);
}

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
  // vm.oom_kill_allocating_task a word follows "memory". The name may hold any
  // text but a line break.
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
