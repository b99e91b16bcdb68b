#include "daemon/host/launch_observer.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "config/values/ipv4.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"

namespace clusterd {
namespace {

constexpr absl::string_view kIp[] = {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip",
                                     "/bin/ip"};
constexpr absl::string_view kGetent[] = {"/usr/bin/getent", "/bin/getent"};
constexpr int kGetentNotFound = 2;  // getent(1)
constexpr int kMaxInterfaces = 1024;
constexpr int kMaxPeers = 8;
// A resolver itself waits 5 s for a server (resolv.conf(5)).
constexpr absl::Duration kPeerTime = absl::Seconds(2);

// A child inherits its parent's limits (getrlimit(2)), so a job has those of
// these programs unless configured otherwise:
//   slurmd      the soft limit of the user who submitted, under slurmd's hard
//               one; with PropagateResourceLimits=NONE its own (slurm.conf(5))
//   dockerd     its own without --ulimit and default-ulimits (docker run)
//   containerd  its own, for its shims and their containers, where the
//               container's process.rlimits is unset (OCI runtime-spec)
//   sshd        its own for a login, unless pam_limits(8) sets another
// kubelet starts no container itself; the limits that pbs_mom and sbatchd pass
// on are not published well enough.
constexpr absl::string_view kStarters[] = {"slurmd", "dockerd", "containerd",
                                           "sshd"};

// Returns the answer of a run with status 0 or `none`; Unavailable otherwise.
absl::StatusOr<CommandResult> Run(const HostAccess& host,
                                  absl::Span<const absl::string_view> programs,
                                  absl::string_view name,
                                  std::vector<std::string> arguments,
                                  int none = 0) {
  ASSIGN_OR_RETURN(std::string path, FindProgram(host.paths.root, programs));
  arguments.insert(arguments.begin(), std::move(path));
  ASSIGN_OR_RETURN(CommandResult result, RunWithin(*host.budget, host.runner,
                                                   name, std::move(arguments)));
  const int status = result.exit_status;
  if (result.signal == 0 && (status == 0 || status == none)) return result;
  return InFront(
      name,
      UnavailableWords("fact-status-and", status,
                       QuotedText(absl::StripAsciiWhitespace(absl::StrCat(
                           result.standard_error, result.standard_output)))));
}

// Drivers that do not keep the state report "unknown". An interface that is
// dormant or whose lower one is down carries no traffic (Linux,
// Documentation/networking/operstates.rst).
bool IsUp(const FileReader& files, absl::string_view interface) {
  const auto state = files.ReadTrimmed(
      absl::StrCat("/sys/class/net/", interface, "/operstate"));
  return !state.ok() || *state == "up" || *state == "unknown";
}

absl::StatusOr<InterfacesFact::Interfaces> ReadInterfaces(
    const HostAccess& host) {
  constexpr char kName[] = "`ip -o -4 address show`";
  ASSIGN_OR_RETURN(const CommandResult result,
                   Run(host, kIp, kName, {"-o", "-4", "address", "show"}));
  ASSIGN_OR_RETURN(InterfacesFact::Interfaces interfaces,
                   ParseInterfaces(result.standard_output));
  for (HostInterface& each : *interfaces.mutable_interfaces()) {
    each.set_up(IsUp(host.files(), each.name()));
  }
  return interfaces;
}

absl::StatusOr<AddressesFact::Addresses> ReadOwnName(const HostAccess& host) {
  static const LazyRE2 kName = {R"([A-Za-z0-9_.][A-Za-z0-9_.-]*)"};
  ASSIGN_OR_RETURN(const std::string name,
                   host.files().ReadTrimmed("/proc/sys/kernel/hostname"));
  if (!HasForm(name, *kName)) {
    return InvalidWords("fact-host-name", QuotedText(name));
  }
  const std::string command = absl::StrCat("`getent ahostsv4 ", name, "`");
  ASSIGN_OR_RETURN(
      const CommandResult result,
      Run(host, kGetent, command, {"ahostsv4", name}, kGetentNotFound));
  if (result.exit_status == kGetentNotFound) return AddressesFact::Addresses();
  return ParseResolved(result.standard_output);
}

// torch.distributed resolves the name of each peer that connects, and waits for
// a DNS that does not answer.
absl::StatusOr<PeerNamesFact::Names> ReadPeerNames(
    const HostAccess& host, const ObserveRequest& request) {
  ASSIGN_OR_RETURN(const std::string getent,
                   FindProgram(host.paths.root, kGetent));
  PeerNamesFact::Names names;
  for (const std::string& text : request.peers()) {
    // Parsed first, since it becomes a command's argument.
    ASSIGN_OR_RETURN(const Ipv4Address address, Ipv4Address::Parse(text));
    if (names.names_size() == kMaxPeers) break;
    ASSIGN_OR_RETURN(
        const CommandResult result,
        host.runner->Run({{getent, "hosts", address.ToString()},
                          std::min(kPeerTime, host.budget->ForCommand())}));
    NameOfPeer* const name = names.add_names();
    name->set_address(address.ToString());
    name->set_elapsed_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(result.elapsed)));
    name->set_answered(!result.timed_out);
    // The others would time out too.
    if (result.timed_out) break;
  }
  return names;
}

// Reads the paths of files that `docker -v` is given.
absl::StatusOr<PathsFact::Paths> ReadDirectories(const FileReader& files) {
  PathsFact::Paths paths;
  for (const char* path :
       {"/etc/hccl_rootinfo.json", "/etc/ascend_install.info", "/etc/localtime",
        "/etc/vnpu.cfg", "/usr/local/bin/npu-smi", "/usr/local/sbin/npu-smi",
        "/usr/local/Ascend/driver/version.info"}) {
    if (files.List(path).ok()) paths.add_paths(path);
  }
  return paths;
}

// dockerd's default pid file (dockerd(8), --pidfile).
bool IsDockerRunning(const FileReader& files) {
  const auto pid = files.ReadTrimmed("/run/docker.pid");
  return pid.ok() && files.ReadTrimmed(absl::StrCat("/proc/", *pid, "/comm"))
                             .value_or("") == "dockerd";
}

// Returns whether a file of pam_limits(8) has a line about open files.
bool PamLimitsOpenFiles(const FileReader& files) {
  static const LazyRE2 kLine = {R"((?s)(?:.*\n)?[^#\n]*\snofile\s.*)"};
  constexpr absl::string_view kFolder = "/etc/security/limits.d";
  std::vector<std::string> paths = {"/etc/security/limits.conf"};
  for (const std::string& name :
       files.List(kFolder).value_or(std::vector<std::string>())) {
    paths.push_back(absl::StrCat(kFolder, "/", name));
  }
  return absl::c_any_of(paths, [&](const std::string& path) {
    return HasForm(files.ReadTrimmed(path).value_or(""), *kLine);
  });
}

// Returns the program's name if root runs it and process 1 started it. Others,
// such as a container's or a login's sshd, do not count.
std::string StarterOf(absl::string_view status) {
  static const LazyRE2 kForm = {
      R"((?s)Name:\t([a-z]+)\n.*\nPPid:\t1\n.*\nUid:\t0\t0\t.*)"};
  std::string name;
  if (!HasForm(status, *kForm, &name) ||
      !absl::c_linear_search(kStarters, name)) {
    return "";
  }
  return name;
}

absl::StatusOr<OpenFilesFact::Limits> ReadOpenFiles(const HostAccess& host) {
  const FileReader files = host.files();
  OpenFilesFact::Limits limits;
  const auto names = files.List("/proc");
  if (absl::IsNotFound(names.status())) return limits;
  RETURN_IF_ERROR(names.status());
  const bool skips_sshd = PamLimitsOpenFiles(files);
  for (const std::string& each : *names) {
    uint32_t pid = 0;
    if (!absl::SimpleAtoi(each, &pid)) continue;
    if (host.budget->IsSpent()) {
      return DeadlineWords("fact-starters-late", host.budget->HostDeadline());
    }
    const std::string process = absl::StrCat("/proc/", pid);
    const std::string name =
        StarterOf(files.ReadTrimmed(process + "/status").value_or(""));
    if (name.empty() || (name == "sshd" && skips_sshd)) continue;
    const auto text = files.ReadTrimmed(process + "/limits");
    if (absl::IsNotFound(text.status())) continue;  // It has ended.
    RETURN_IF_ERROR(text.status());
    ASSIGN_OR_RETURN(*limits.add_limits(), ParseOpenFilesLimit(*text));
    limits.mutable_limits()->rbegin()->set_program(name);
    limits.mutable_limits()->rbegin()->set_pid(pid);
  }
  return limits;
}

}  // namespace

// Docker, Podman (podman-run(1)) and systemd (Container Interface) leave such a
// file, and Kubernetes the account's folder, with any container runtime
// (kubernetes.io/docs/tasks/run-application/access-api-from-pod).
absl::StatusOr<bool> IsContainer(const FileReader& files) {
  for (const char* file :
       {"/.dockerenv", "/run/.containerenv", "/run/host/container-manager",
        "/run/secrets/kubernetes.io", "/var/run/secrets/kubernetes.io"}) {
    const absl::Status exists = files.CheckExists(file);
    if (exists.ok()) return true;
    if (!absl::IsNotFound(exists)) return exists;
  }
  return false;
}

absl::StatusOr<InterfacesFact::Interfaces> ParseInterfaces(
    absl::string_view text) {
  static const LazyRE2 kForm = {
      R"(\d+: ([^ @]{1,64})(?:@[^ ]*)? +inet ([0-9.]+)(?:/\d+)? .*)"};
  InterfacesFact::Interfaces interfaces;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    std::string name;
    std::string address;
    if (!HasForm(line, *kForm, &name, &address) ||
        !Ipv4Address::Parse(address).ok()) {
      return InvalidWords("fact-line-not-understood", "ip", QuotedText(line));
    }
    auto* const all = interfaces.mutable_interfaces();
    if (all->empty() || all->rbegin()->name() != name) {
      if (all->size() == kMaxInterfaces) {
        return InvalidWords("fact-interfaces-over", kMaxInterfaces);
      }
      all->Add()->set_name(PrintableText(name));
    }
    all->rbegin()->add_addresses(address);
  }
  return interfaces;
}

absl::StatusOr<AddressesFact::Addresses> ParseResolved(absl::string_view text) {
  static const LazyRE2 kForm = {R"(([0-9.]+) +(?:STREAM|DGRAM|RAW)(?: .*)?)"};
  AddressesFact::Addresses found;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    if (line.empty()) continue;
    std::string address;
    if (!HasForm(line, *kForm, &address) || !Ipv4Address::Parse(address).ok()) {
      return InvalidWords("fact-line-not-understood", "getent",
                          QuotedText(line));
    }
    if (!absl::c_linear_search(found.addresses(), address)) {
      found.add_addresses(address);
    }
  }
  return found;
}

absl::StatusOr<OpenFilesLimit> ParseOpenFilesLimit(absl::string_view limits) {
  static const LazyRE2 kForm = {
      R"((?s)(?:.*\n)?Max open files +(?:unlimited|(\d+)) +)"
      R"((?:unlimited|(\d+)) +files *(?:\n.*)?)"};
  std::optional<uint64_t> soft;
  std::optional<uint64_t> hard;
  if (!HasForm(limits, *kForm, &soft, &hard)) {
    return InvalidWords("fact-no-open-files", QuotedText(limits));
  }
  constexpr uint64_t kUnlimited = std::numeric_limits<uint64_t>::max();
  OpenFilesLimit limit;
  limit.set_soft(soft.value_or(kUnlimited));
  limit.set_hard(hard.value_or(kUnlimited));
  return limit;
}

void ObserveLaunch(const HostAccess& host, const ObserveRequest& request,
                   HostFacts* facts) {
  const FileReader files = host.files();
  SetFact(ReadInterfaces(host), facts->mutable_interfaces());
  SetFact(ReadOwnName(host), facts->mutable_own_name());
  facts->mutable_docker_running()->set_value(IsDockerRunning(files));
  SetFact(ReadLoginEnvironment(files), facts->mutable_environment());
  SetFact(IsContainer(files), facts->mutable_in_container());
  SetFact(ReadOpenFiles(host), facts->mutable_open_files());
  SetFact(ReadDirectories(files), facts->mutable_directories());
  SetFact(ReadPeerNames(host, request), facts->mutable_peer_names());
}

}  // namespace clusterd
