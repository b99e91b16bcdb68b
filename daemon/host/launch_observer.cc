#include "daemon/host/launch_observer.h"

#include <cstdint>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/ipv4.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/files/missing.h"

namespace clusterd {
namespace {

constexpr absl::string_view kIp[] = {"/usr/sbin/ip", "/sbin/ip", "/usr/bin/ip",
                                     "/bin/ip"};
constexpr absl::string_view kGetent[] = {"/usr/bin/getent", "/bin/getent"};
constexpr int kGetentNotFound = 2;  // getent(1)
constexpr int kMaxInterfaces = 1024;
constexpr size_t kMaxVariables = 256;

absl::StatusOr<CommandResult> Run(const HostAccess& host,
                                  absl::Span<const absl::string_view> programs,
                                  absl::string_view name,
                                  std::vector<std::string> arguments) {
  ASSIGN_OR_RETURN(std::string path, FindProgram(host.paths.root, programs));
  arguments.insert(arguments.begin(), std::move(path));
  return RunWithin(*host.budget, host.runner, name, std::move(arguments));
}

absl::Status Failed(absl::string_view name, const CommandResult& result) {
  return absl::UnavailableError(
      absl::StrCat(name, ": status ", result.exit_status, " and ",
                   QuotedText(absl::StripAsciiWhitespace(absl::StrCat(
                       result.standard_error, result.standard_output)))));
}

// Drivers that do not keep the state say "unknown", and an interface that is
// dormant or whose lower one is down carries nothing (Linux,
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
  if (result.exit_status != 0 || result.signal != 0) {
    return Failed(kName, result);
  }
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
    return absl::InvalidArgumentError(
        absl::StrCat("host name ", QuotedText(name), " is none to look up"));
  }
  const std::string command = absl::StrCat("`getent ahostsv4 ", name, "`");
  ASSIGN_OR_RETURN(const CommandResult result,
                   Run(host, kGetent, command, {"ahostsv4", name}));
  if (result.exit_status == kGetentNotFound && result.signal == 0) {
    return AddressesFact::Addresses();
  }
  if (result.exit_status != 0 || result.signal != 0) {
    return Failed(command, result);
  }
  return ParseResolved(result.standard_output);
}

// Where dockerd writes its pid unless it is told otherwise (dockerd(8),
// --pidfile).
bool IsDockerRunning(const FileReader& files) {
  const auto pid = files.ReadTrimmed("/run/docker.pid");
  return pid.ok() && files.ReadTrimmed(absl::StrCat("/proc/", *pid, "/comm"))
                             .value_or("") == "dockerd";
}

// The files that a login reads; none of them has to be there.
absl::StatusOr<EnvironmentFact::Variables> ReadEnvironment(
    const FileReader& files) {
  constexpr absl::string_view kFolder = "/etc/profile.d";
  std::vector<std::string> paths = {"/etc/environment"};
  const auto names = files.List(kFolder);
  if (!names.ok() && !absl::IsNotFound(names.status())) return names.status();
  for (const std::string& name : names.value_or(std::vector<std::string>())) {
    if (absl::EndsWith(name, ".sh")) {
      paths.push_back(absl::StrCat(kFolder, "/", name));
    }
  }
  EnvironmentFact::Variables variables;
  for (const std::string& path : paths) {
    const absl::StatusOr<FileText> file = files.Read(path);
    if (absl::IsNotFound(file.status())) continue;
    RETURN_IF_ERROR(file.status());
    for (EnvironmentVariable& each : ParseEnvironment(path, file->text)) {
      *variables.add_variables() = std::move(each);
    }
  }
  return variables;
}

// Docker, Podman (podman-run(1)) and systemd (Container Interface) leave one.
absl::StatusOr<bool> IsContainer(const FileReader& files) {
  for (const char* file :
       {"/.dockerenv", "/run/.containerenv", "/run/host/container-manager"}) {
    const absl::Status exists = files.CheckExists(file);
    if (exists.ok()) return true;
    if (!absl::IsNotFound(exists)) return exists;
  }
  return false;
}

}  // namespace

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
      return absl::InvalidArgumentError(
          absl::StrCat("ip: line ", QuotedText(line), " not understood"));
    }
    auto* const all = interfaces.mutable_interfaces();
    if (all->empty() || all->rbegin()->name() != name) {
      if (all->size() == kMaxInterfaces) {
        return absl::InvalidArgumentError(
            absl::StrCat("ip: more than ", kMaxInterfaces, " interfaces"));
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
      return absl::InvalidArgumentError(
          absl::StrCat("getent: line ", QuotedText(line), " not understood"));
    }
    if (!absl::c_linear_search(found.addresses(), address)) {
      found.add_addresses(address);
    }
  }
  return found;
}

std::vector<EnvironmentVariable> ParseEnvironment(absl::string_view file,
                                                  absl::string_view text) {
  static const LazyRE2 kForm = {
      R"re((?:export +)?(HCCL_[A-Z0-9_]+)=)re"
      R"re((?:"([^"$`\\]*)"|'([^']*)'|([^\s"'$`\\;&|#]*))\s*(?:#.*)?)re"};
  std::vector<EnvironmentVariable> variables;
  uint32_t number = 0;
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    EnvironmentVariable variable;
    std::string quoted;
    std::string literal;
    std::string bare;
    // What is set back by white space is under a condition.
    if (variables.size() == kMaxVariables ||
        !HasForm(line, *kForm, variable.mutable_name(), &quoted, &literal,
                 &bare)) {
      continue;
    }
    variable.set_value(PrintableText(absl::StrCat(quoted, literal, bare)));
    variable.set_file(std::string(file));
    variable.set_line(number);
    variables.push_back(std::move(variable));
  }
  return variables;
}

void ObserveLaunch(const HostAccess& host, HostFacts* facts) {
  const FileReader files = host.files();
  SetFact(ReadInterfaces(host), facts->mutable_interfaces());
  SetFact(ReadOwnName(host), facts->mutable_own_name());
  facts->mutable_docker_running()->set_value(IsDockerRunning(files));
  SetFact(ReadEnvironment(files), facts->mutable_environment());
  SetFact(IsContainer(files), facts->mutable_in_container());
}

}  // namespace clusterd
