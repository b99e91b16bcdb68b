// What a host must have for a job: ports that are reserved and free, and kernel
// parameters, now and after the next boot.
#include "config/rules/host_rules.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "config/rules/rule_report.h"
#include "config/values/network_namespace.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

constexpr char kReservedPorts[] = "net.ipv4.ip_local_reserved_ports";
constexpr char kSomaxconn[] = "net.core.somaxconn";
constexpr char kSynBacklog[] = "net.ipv4.tcp_max_syn_backlog";
constexpr uint64_t kAdvisedBacklog = 65535;
// The file that an apply writes too.
constexpr char kOwnFolder[] = "/etc/sysctl.d/";
constexpr char kOwnFile[] = "90-clusterd.conf";

constexpr uint64_t kDefaultBasePort = 60000;
constexpr uint64_t kDefaultPortCount = 32;
constexpr uint64_t kMaxPort = 65535;

// Sockets of one owner that a finding lists.
constexpr size_t kMaxShownSockets = 8;
// Owners of one host that get a finding of their own.
constexpr size_t kMaxShownOwners = 16;

// Whether the values are of a namespace that somebody asked for.
bool IsOfNamespace(const HostView& host) {
  return !host.facts->network_namespace().empty();
}

bool IsReadOnly(const HostView& host) {
  const BoolFact& writable = host.facts->kernel().proc_sys_writable();
  return IsKnown(writable) && !writable.value();
}

absl::string_view KeptSince(absl::string_view key) {
  if (key == kReservedPorts) return " (for each namespace since Linux 3.16)";
  if (key == kSynBacklog) return " (for each namespace since about Linux 4.10)";
  return "";
}

// " in container:train-1" where that namespace was asked for; " (in network
// namespace 4026532000, not that of process 1)" where clusterd itself lives in
// one; else "".
std::string NamespaceText(const HostView& host) {
  const KernelFacts& kernel = host.facts->kernel();
  if (IsOfNamespace(host)) {
    return absl::StrCat(" in ", PrintableText(host.facts->network_namespace()));
  }
  if (!IsKnown(kernel.initial_namespace()) ||
      kernel.initial_namespace().value()) {
    return "";
  }
  return absl::StrCat(" (in network namespace ",
                      IsKnown(kernel.network_namespace())
                          ? absl::StrCat(kernel.network_namespace().value())
                          : "of unknown number",
                      ", not that of process 1)");
}

std::string PlaceOf(const HostView& host) {
  return absl::StrCat(NamespaceText(host),
                      IsReadOnly(host)
                          ? ", and /proc/sys is read-only where clusterd runs"
                          : "");
}

// A target as one word for a shell; it is one already but for odd paths.
std::string ShellQuotedIfNeeded(absl::string_view target) {
  static const LazyRE2 kPlain = {R"([\w.:/-]+)"};
  return HasForm(target, *kPlain) ? std::string(target) : ShellQuoted(target);
}

// The beginning of a command that then runs in that namespace.
std::string EnterCommand(absl::string_view target) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(target, absl::MaxSplits(':', 1));
  const std::string name = ShellQuotedIfNeeded(parts.second);
  if (parts.first == "path") return absl::StrCat("nsenter --net=", name);
  return absl::Substitute(
      parts.first == "pid"
          ? "nsenter --target $0 --net"
          : "nsenter --target $$(docker inspect --format '{{.State.Pid}}' $0) "
            "--net",
      name);
}

// Whether a running value is known; if not, adds that. A key that does not
// exist is told apart: a kernel that does not keep it per network namespace has
// no such file in a container. Kept per namespace since Linux 3.16
// (ip_local_reserved_ports, mainline 122ff243f5f1) and about 4.10
// (tcp_max_syn_backlog).
template <typename Fact>
bool KnowsParameter(const HostView& host, absl::string_view key,
                    const Fact& fact, RuleReport& report) {
  if (fact.missing().reason() != Missing::ABSENT) {
    return report.Knows(host, key, fact);
  }
  report.Add(
      host,
      IsOfNamespace(host) ? "not-in-namespace" : "not-where-clusterd-runs", key,
      NamespaceText(host), KeptSince(key));
  return false;
}

void CheckBacklog(const ClusterView& view, absl::string_view key,
                  uint64_t needed,
                  const NumberFact& (KernelFacts::*fact_of)() const,
                  absl::string_view after, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const NumberFact& fact = (host.facts->kernel().*fact_of)();
    if (!KnowsParameter(host, key, fact, report)) continue;
    report.Judged(host);
    if (fact.value() >= needed) continue;
    report.Add(host, "too-small", key, fact.value(), PlaceOf(host), needed,
               SetParameterFix(host, key, absl::StrCat(needed)), after);
  }
}

// One parameter as the next boot would set it.
struct BootKey {
  absl::string_view name;
  const PersistentValueFact* fact;
  const PortSet* ports = nullptr;  // Null: a number.
  uint64_t number = 0;
};

// Whether the value does what the spec needs; false also for a value that the
// kernel would refuse.
bool Satisfies(const BootKey& key, absl::string_view value) {
  if (key.ports != nullptr) {
    const absl::StatusOr<PortSet> reserved = PortSet::Parse(value);
    return reserved.ok() && reserved->Contains(*key.ports);
  }
  uint64_t number = 0;
  return absl::SimpleAtoi(value, &number) && number >= key.number;
}

std::string PlaceText(const PersistentValue::Assignment& assignment) {
  return absl::StrCat(PrintableText(assignment.file()), ":", assignment.line(),
                      " sets ", QuotedText(assignment.value()));
}

// The value that a file should set: what the spec needs, with the reservations
// that run now or that the file makes for other programs.
std::string WantedValue(const HostView& host, const BootKey& key,
                        absl::string_view in_file) {
  if (key.ports == nullptr) return absl::StrCat(key.number);
  PortSet wanted = *key.ports;
  const TextFact& running = host.facts->kernel().reserved_ports();
  // The value of a fact that is not known is empty.
  for (const absl::string_view text :
       {in_file, absl::string_view(running.value())}) {
    const absl::StatusOr<PortSet> reserved = PortSet::Parse(text);
    if (reserved.ok()) wanted.Add(*reserved);
  }
  return wanted.ToString();
}

// Only the line that was seen, and only if it still has the key.
std::string EditLine(const BootKey& key, absl::string_view line,
                     uint32_t number, absl::string_view file) {
  return absl::StrCat("sed -i --follow-symlinks '", number, "{/",
                      key.name.substr(key.name.rfind('.') + 1), "/s/.*/", line,
                      "/}' ", ShellQuoted(file));
}

std::string BootFix(const BootKey& key, absl::string_view wanted,
                    const PersistentValue::Assignment* winner) {
  const std::string line = absl::StrCat(key.name, " = ", wanted);
  if (winner != nullptr && absl::StartsWith(winner->file(), "/etc/")) {
    return EditLine(key, line, winner->line(), winner->file());
  }
  // Files outside /etc belong to packages or vanish at boot.
  absl::string_view file;
  if (winner != nullptr) file = winner->file();
  const absl::string_view name = file.substr(file.rfind('/') + 1);
  if (name <= kOwnFile) {
    return absl::StrCat("echo '", line, "' >> ", kOwnFolder, kOwnFile);
  }
  // It sorts after our file and would win; one of its name under /etc takes its
  // place (sysctl.d(5)).
  return absl::StrCat(
      "cp ", ShellQuoted(file), " ", kOwnFolder, " && ",
      EditLine(key, line, winner->line(), absl::StrCat(kOwnFolder, name)));
}

FindingText BootFinding(const HostView& host, const BootKey& key,
                        const RuleReport& report) {
  const auto& assignments = key.fact->value().assignments();
  const std::string demand = key.ports != nullptr
                                 ? absl::StrCat("with ", key.ports->ToString())
                                 : absl::StrCat("at least ", key.number);
  if (assignments.empty()) {
    return report.Text("none", key.name, demand,
                       BootFix(key, WantedValue(host, key, ""), nullptr));
  }
  const PersistentValue::Assignment& winner = *assignments.rbegin();
  std::string in_file = PlaceText(winner);
  // An earlier line that is right and loses is what puzzles people.
  for (const PersistentValue::Assignment& earlier : assignments) {
    if (&earlier == &winner || !Satisfies(key, earlier.value())) continue;
    absl::StrAppend(&in_file, " and wins over ", PlaceText(earlier));
    break;
  }
  return report.Text(
      "another", key.name, demand,
      BootFix(key, WantedValue(host, key, winner.value()), &winner), in_file);
}

// Who holds sockets: those of one owner make one finding.
struct Owner {
  uint32_t pid = 0;
  bool closing = false;
  std::string command;

  bool operator<(const Owner& other) const {
    return std::tie(closing, pid, command) <
           std::tie(other.closing, other.pid, other.command);
  }
};

std::string SocketText(const BoundSocket& socket) {
  return absl::StrCat(PrintableText(socket.protocol()), " ",
                      PrintableText(socket.address()), " port ", socket.port(),
                      socket.state().empty() ? "" : " ",
                      PrintableText(socket.state()));
}

void AddHeldPorts(const HostView& host, const PortSet& needed,
                  RuleReport& report) {
  std::map<Owner, std::vector<const BoundSocket*>> held;
  for (const BoundSocket& socket : host.facts->sockets().value().sockets()) {
    if (!needed.Contains(socket.port())) continue;
    const bool closing = socket.state() == "TIME_WAIT";
    held[{socket.pid(), closing, socket.command()}].push_back(&socket);
  }
  size_t shown = 0;
  for (const auto& [owner, sockets] : held) {
    if (shown++ == kMaxShownOwners) {
      report.Add(host, "more-owners", held.size() - kMaxShownOwners,
                 needed.ToString());
      return;
    }
    std::vector<std::string> texts;
    for (const BoundSocket* socket : sockets) {
      texts.push_back(SocketText(*socket));
    }
    const absl::string_view name = owner.closing    ? "closing"
                                   : owner.pid == 0 ? "owner-not-visible"
                                                    : "held";
    report.Add(host, name, FirstOf(texts, kMaxShownSockets), needed.ToString(),
               owner.pid, PrintableText(owner.command),
               sockets.front()->port());
  }
}

}  // namespace

PortSet HcclPorts(const ClusterSpec& spec) {
  const HcclSpec& hccl = spec.hccl();
  const uint64_t base =
      hccl.base_port() == 0 ? kDefaultBasePort : hccl.base_port();
  const uint64_t count =
      hccl.port_count() == 0 ? kDefaultPortCount : hccl.port_count();
  PortSet ports;
  ports.Add(std::min(base, kMaxPort), std::min(base + count - 1, kMaxPort));
  return ports;
}

PortSet JobPorts(const ClusterSpec& spec) {
  PortSet ports = HcclPorts(spec);
  for (const uint32_t port : {spec.rendezvous_port(), spec.ssh_port()}) {
    if (port != 0 && port <= kMaxPort) ports.Add(port, port);
  }
  return ports;
}

uint64_t NeededBacklog(const ClusterSpec& spec, uint32_t planned) {
  uint64_t devices = 0;
  for (const ServerSpec& server : spec.servers()) {
    devices += server.devices_size();
  }
  const uint64_t wanted = planned == 0 ? kAdvisedBacklog : planned;
  return std::max(wanted, std::min(devices, kAdvisedBacklog));
}

std::string SetParameterFix(const HostView& host, absl::string_view key,
                            absl::string_view value) {
  const std::string set = absl::StrCat("sysctl -w ", key, "=", value);
  if (!IsOfNamespace(host) || SharesHostNetwork(*host.facts)) {
    return IsReadOnly(host)
               ? absl::StrCat("on the host itself, not where clusterd runs: ",
                              set)
               : set;
  }
  if (IsReadOnly(host)) {
    return absl::StrCat("make the container anew with docker run --sysctl ",
                        key, "=", value,
                        " …, or run clusterd on the host itself");
  }
  const std::string& target = host.facts->network_namespace();
  return absl::StrCat("clusterctl plan --netns ", ShellQuotedIfNeeded(target),
                      "; or on the host: ", EnterCommand(target), " ", set);
}

void CheckPortsReserved(const ClusterView& view, RuleReport& report) {
  const PortSet needed = HcclPorts(view.spec());
  for (const HostView& host : view.hosts()) {
    const TextFact& fact = host.facts->kernel().reserved_ports();
    if (!KnowsParameter(host, kReservedPorts, fact, report)) continue;
    const absl::StatusOr<PortSet> reserved = PortSet::Parse(fact.value());
    if (!reserved.ok()) {
      report.Add(host, "not-understood",
                 PrintableText(reserved.status().message()));
      continue;
    }
    report.Judged(host);
    const PortSet lacking = needed.Minus(*reserved);
    if (lacking.empty()) continue;
    PortSet merged = *reserved;
    merged.Add(needed);
    report.Add(host, "lacks",
               reserved->empty() ? "nothing" : reserved->ToString(),
               lacking.ToString(), PlaceOf(host), needed.ToString(),
               SetParameterFix(host, kReservedPorts, merged.ToString()));
  }
}

void CheckPortsFree(const ClusterView& view, RuleReport& report) {
  const PortSet needed = JobPorts(view.spec());
  for (const HostView& host : view.hosts()) {
    if (!report.Knows(host, "sockets", host.facts->sockets())) continue;
    report.Judged(host);
    AddHeldPorts(host, needed, report);
  }
}

void CheckListenBacklog(const ClusterView& view, RuleReport& report) {
  CheckBacklog(view, kSomaxconn,
               NeededBacklog(view.spec(), view.spec().kernel().somaxconn()),
               &KernelFacts::somaxconn, "; then restart what listens already",
               report);
}

void CheckSynBacklog(const ClusterView& view, RuleReport& report) {
  CheckBacklog(
      view, kSynBacklog,
      NeededBacklog(view.spec(), view.spec().kernel().tcp_max_syn_backlog()),
      &KernelFacts::tcp_max_syn_backlog, "", report);
}

void CheckSysctlPersistent(const ClusterView& view, RuleReport& report) {
  const KernelSpec& spec = view.spec().kernel();
  const PortSet ports = HcclPorts(view.spec());
  const uint64_t somaxconn = NeededBacklog(view.spec(), spec.somaxconn());
  const uint64_t syn = NeededBacklog(view.spec(), spec.tcp_max_syn_backlog());
  for (const HostView& host : view.hosts()) {
    const KernelFacts& kernel = host.facts->kernel();
    const BootKey keys[] = {
        {kReservedPorts, &kernel.reserved_ports_at_boot(), &ports},
        {kSomaxconn, &kernel.somaxconn_at_boot(), nullptr, somaxconn},
        {kSynBacklog, &kernel.tcp_max_syn_backlog_at_boot(), nullptr, syn}};
    bool all_known = true;
    for (const BootKey& key : keys) {
      if (!report.Knows(host, absl::StrCat(key.name, " at boot"), *key.fact)) {
        all_known = false;
        continue;
      }
      const auto& assignments = key.fact->value().assignments();
      if (!assignments.empty() &&
          Satisfies(key, assignments.rbegin()->value())) {
        continue;
      }
      FindingText text = BootFinding(host, key, report);
      if (spec.persistent()) text.state = FAIL;
      report.Add(host, std::move(text));
    }
    if (all_known) report.Judged(host);
  }
}

}  // namespace clusterd
