// The ports that a job needs on every host: reserved by the kernel, and free.
#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "config/rules/host_rules.h"
#include "config/values/port_set.h"

namespace clusterd {
namespace {

constexpr uint64_t kDefaultBasePort = 60000;
constexpr uint64_t kDefaultPortCount = 32;
constexpr uint64_t kMaxPort = 65535;

// Sockets of one owner that a finding lists.
constexpr size_t kMaxShownSockets = 8;
// Owners of one host that get a finding of their own.
constexpr size_t kMaxShownOwners = 16;

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

std::string OwnerText(const Owner& owner) {
  if (owner.closing) return "closed, waiting in TIME_WAIT";
  if (owner.pid == 0) return "owner not visible";
  return absl::StrCat("held by pid ", owner.pid, " (",
                      PrintableText(owner.command), ")");
}

std::string OwnerFix(const Owner& owner, uint32_t port) {
  if (owner.closing) return "wait a minute and check again";
  if (owner.pid == 0) {
    return absl::StrCat("find the owner as root: ss -tulnap 'sport = :", port,
                        "'");
  }
  return absl::StrCat("if the process may end: kill ", owner.pid,
                      "; else choose other ports in cluster.yaml");
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
      report.Add(host,
                 FindingText(FAIL, held.size() - kMaxShownOwners,
                             " more owners of sockets in ", needed.ToString())
                     .Fix("ss -tulnap as root shows all of them"));
      return;
    }
    std::string list;
    for (size_t i = 0; i < std::min(sockets.size(), kMaxShownSockets); ++i) {
      absl::StrAppend(&list, i == 0 ? "" : ", ", SocketText(*sockets[i]));
    }
    if (sockets.size() > kMaxShownSockets) {
      absl::StrAppend(&list, " and ", sockets.size() - kMaxShownSockets,
                      " more");
    }
    report.Add(host, FindingText(owner.closing ? WARN : FAIL,
                                 absl::StrCat(list, ", ", OwnerText(owner)))
                         .Expected("nothing bound in ", needed.ToString())
                         .Fix(OwnerFix(owner, sockets.front()->port())));
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

void CheckPortsReserved(const ClusterView& view, RuleReport& report) {
  const PortSet needed = HcclPorts(view.spec());
  for (const HostView& host : view.hosts()) {
    const TextFact& fact = host.facts->kernel().reserved_ports();
    if (!KnowsParameter(host, kReservedPorts, fact, report)) continue;
    const absl::StatusOr<PortSet> reserved = PortSet::Parse(fact.value());
    if (!reserved.ok()) {
      report.Add(host, FindingText(UNKNOWN, "reserved ports not understood: ",
                                   PrintableText(reserved.status().message()))
                           .Fix("sysctl ", kReservedPorts));
      continue;
    }
    report.Judged(host);
    const PortSet lacking = needed.Minus(*reserved);
    if (lacking.empty()) continue;
    PortSet merged = *reserved;
    merged.Add(needed);
    report.Add(
        host,
        FindingText(FAIL, reserved->empty() ? "nothing" : reserved->ToString(),
                    " reserved, lacks ", lacking.ToString(),
                    NamespaceText(host), ReadOnlyText(host))
            .Expected(needed.ToString(), " reserved")
            .Fix(SetParameterFix(host, kReservedPorts, merged.ToString())));
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

}  // namespace clusterd
