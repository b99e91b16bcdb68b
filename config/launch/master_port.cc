#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/hccl/cann_ports.h"
#include "config/launch/launch.h"
#include "config/values/port_set.h"
#include "config/words/fact_text.h"

namespace clusterd {
namespace {

// net.ipv4.ip_local_port_range as Linux has it (ip-sysctl).
constexpr uint32_t kFirstEphemeral = 32768;
constexpr uint32_t kLastEphemeral = 60999;
constexpr uint32_t kSshPort = 22;

std::string PortsText(const PortSet::Range& range) {
  return absl::StrCat(range.first, "-", range.second);
}

// As many as any version of CANN takes, and those that the spec says.
PortSet HcclRange(const ClusterSpec& job) {
  PortSet ports;
  const uint32_t first = job.hccl().base_port();
  if (first == 0) return ports;
  const uint32_t count =
      std::max(job.hccl().port_count(), CannPorts{}.possible);
  ports.Add(first, std::min<uint32_t>(65535, first + count - 1));
  return ports;
}

// Who has the port on the host, as far as sockets were looked at; else empty.
std::string HolderOf(uint32_t port, const HostFacts& host) {
  for (const BoundSocket& socket : host.sockets().value().sockets()) {
    // The kernel lets a listener have what waits for its end alone.
    if (socket.port() != port || !absl::StartsWith(socket.protocol(), "tcp") ||
        socket.state() == "TIME_WAIT") {
      continue;
    }
    return socket.pid() == 0
               ? std::string("a process that cannot be seen from here")
               : absl::StrCat("pid ", socket.pid(), " (",
                              PrintableText(socket.command()), ")");
  }
  return "";
}

// Why the port cannot be taken; empty: nothing is against it.
std::string WhyNot(uint32_t port, const ClusterSpec& job,
                   const HostFacts& master) {
  const PortSet hccl = HcclRange(job);
  if (hccl.Contains(port)) {
    return absl::StrCat("lies in HCCL's range ", PortsText(hccl.ranges()[0]));
  }
  if (port == job.ssh_port() || port == kSshPort) return "is ssh's";
  const std::string holder = HolderOf(port, master);
  if (holder.empty()) return "";
  return absl::StrCat("is taken on ", master.host(), " by ", holder);
}

}  // namespace

absl::StatusOr<MasterPort> ChooseMasterPort(const ClusterSpec& job,
                                            const HostFacts& master,
                                            uint32_t asked) {
  MasterPort chosen = {asked != 0 ? asked : job.rendezvous_port(), {}};
  const bool is_named = chosen.port != 0;
  if (is_named) {
    const std::string why_not = chosen.port > 65535
                                    ? std::string("is no port")
                                    : WhyNot(chosen.port, job, master);
    if (!why_not.empty()) {
      return absl::InvalidArgumentError(absl::StrCat(
          asked != 0 ? "--master-port" : "rendezvous port of cluster.yaml",
          ": ", chosen.port, " ", why_not,
          ", expected a free port up to 65535"
          " outside HCCL's range"));
    }
  } else {
    chosen.port = kFirstMasterPort;
    while (!WhyNot(chosen.port, job, master).empty()) {
      if (++chosen.port > kLastMasterPort) {
        return absl::InvalidArgumentError(
            "--master-port: no port is free that could be chosen, expected one "
            "to be named");
      }
    }
    chosen.notes.push_back(absl::StrCat(
        "MASTER_PORT ", chosen.port, " was chosen: below the ports ",
        PortsText({kFirstEphemeral, kLastEphemeral}),
        " that Linux gives to outgoing connections, and not HCCL's"));
  }
  // Hosts were asked about the port that the job names, else about all that
  // could be chosen (MakeObserveRequest).
  if (!IsKnown(master.sockets())) {
    chosen.notes.push_back(absl::StrCat(
        "whether MASTER_PORT ", chosen.port, " is free on ", master.host(),
        " is not known: ", WhyMissing(MissingOf(master.sockets()))));
  }
  const auto reserved =
      PortSet::Parse(master.kernel().reserved_ports().value());
  if (chosen.port >= kFirstEphemeral && chosen.port <= kLastEphemeral &&
      !(reserved.ok() && reserved->Contains(chosen.port))) {
    chosen.notes.push_back(absl::StrCat(
        "MASTER_PORT ", chosen.port, " is one that Linux gives to outgoing ",
        "connections (", PortsText({kFirstEphemeral, kLastEphemeral}),
        ") and is not reserved on ", master.host(),
        ": one of them may have it when the job starts"));
  }
  return chosen;
}

}  // namespace clusterd
