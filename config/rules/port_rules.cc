#include "config/rules/port_rules.h"

#include <algorithm>
#include <map>

#include "absl/strings/str_cat.h"
#include "config/rules/job_ports.h"
#include "config/rules/kernel_rules.h"
#include "config/spec/port_set.h"

namespace clusterd {
namespace {

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
  return absl::StrCat(Printable(socket.protocol()), " ",
                      Printable(socket.address()), " port ", socket.port(),
                      socket.state().empty() ? "" : " ",
                      Printable(socket.state()));
}

std::string OwnerText(const Owner& owner) {
  if (owner.closing) return "closed, waiting in TIME_WAIT";
  if (owner.pid == 0) return "owner not visible";
  return absl::StrCat("held by pid ", owner.pid, " (", Printable(owner.command),
                      ")");
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
      report.Add(
          host, {FAIL,
                 absl::StrCat(held.size() - kMaxShownOwners,
                              " more owners of sockets in ", needed.ToString()),
                 "", "ss -tulnap as root shows all of them"});
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
    report.Add(host, {owner.closing ? WARN : FAIL,
                      absl::StrCat(list, ", ", OwnerText(owner)),
                      absl::StrCat("nothing bound in ", needed.ToString()),
                      OwnerFix(owner, sockets.front()->port())});
  }
}

}  // namespace

void CheckPortsReserved(const ClusterView& view, RuleReport& report) {
  const PortSet needed = HcclPorts(view.spec());
  for (const HostView& host : view.hosts()) {
    const TextFact& fact = host.facts->kernel().reserved_ports();
    if (!IsKnown(fact)) {
      AddUnknownKey(host, "net.ipv4.ip_local_reserved_ports", fact, report);
      continue;
    }
    const absl::StatusOr<PortSet> reserved = PortSet::Parse(fact.value());
    if (!reserved.ok()) {
      report.Add(host, {UNKNOWN,
                        absl::StrCat("reserved ports not understood: ",
                                     Printable(reserved.status().message())),
                        "", "sysctl net.ipv4.ip_local_reserved_ports"});
      continue;
    }
    report.Judged(host);
    const PortSet lacking = needed.Minus(*reserved);
    if (lacking.empty()) continue;
    PortSet merged = *reserved;
    merged.Add(needed);
    report.Add(host, {FAIL,
                      absl::StrCat(
                          reserved->empty() ? "nothing" : reserved->ToString(),
                          " reserved, lacks ", lacking.ToString(),
                          NamespaceText(host), ReadOnlyText(host)),
                      absl::StrCat(needed.ToString(), " reserved"),
                      SetParameterFix(host, "net.ipv4.ip_local_reserved_ports",
                                      merged.ToString())});
  }
}

void CheckPortsFree(const ClusterView& view, RuleReport& report) {
  const PortSet needed = JobPorts(view.spec());
  for (const HostView& host : view.hosts()) {
    if (!IsKnown(host.facts->sockets())) {
      report.AddUnknown(host, "sockets", host.facts->sockets());
      continue;
    }
    report.Judged(host);
    AddHeldPorts(host, needed, report);
  }
}

}  // namespace clusterd
