// Requirements of a job on every host, for the rules and for requests to hosts.
#ifndef CONFIG_RULES_HOST_RULES_H_
#define CONFIG_RULES_HOST_RULES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/strings/string_view.h"
#include "config/hccl/job_ports.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "proto/facts.pb.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The question to a host for rule ssh-ready; the servers of the spec that have
// an address are those of the job.
SshQuestion MakeSshQuestion(const ClusterSpec& spec, const JobSsh& ssh);

// The question to a host for rule job-python.
PythonQuestion MakePythonQuestion(const JobSpec& job);

// The number of clients that connect to the root of a job over all servers: one
// rank for each device and one agent for each server; a job may state its ranks
// for each device. 0: the spec has no devices.
uint64_t RootDialers(const ClusterSpec& spec, const JobSpec* job = nullptr);

// HCCL's own advice for both backlogs; larger values are as good.
inline constexpr uint64_t kAdvisedBacklog = 65535;

// The required backlog: less than `least` fails, less than `enough` warns.
// | kernel.* of the spec      | least              | enough     | advised    |
// |---------------------------|--------------------|------------|------------|
// | a number                  | it, or the clients | least      | least      |
// | none, or auto             | the clients        | twice that | 65535      |
// | the same, without devices | 0                  | 65535      | 65535      |
// Never more than the 65535 that HCCL itself advises unless the spec says so.
struct BacklogNeed {
  uint64_t least = 0;
  uint64_t enough = 0;
  uint64_t advised = 0;
  bool is_beyond_plan = false;  // A plan sets the number of the spec, if any.
};
BacklogNeed SomaxconnNeed(const ClusterSpec& spec,
                          const JobSpec* job = nullptr);
BacklogNeed SynBacklogNeed(const ClusterSpec& spec,
                           const JobSpec* job = nullptr);

// The socket that would stop a listen on the port of the host, and its owner:
// "tcp 0.0.0.0 port 29500 LISTEN, held by pid 7 (sshd)". A socket that the
// kernel is closing stops none. REQUIRES: sockets are known.
std::optional<FindingValue> HolderOfPort(const HostView& host, uint32_t port);

// " (HCCL_IF_BASE_PORT is 53000 in /etc/environment:1)"; empty: by the spec.
FindingValue SourceWords(const HcclPortNeed& needed);

// Adds a finding if only a shell knows which ports HCCL takes on the host.
void AddUnclearPorts(const HostView& host, const HcclPortNeed& needed,
                     RuleReport& report);

// Names devices of the spec or the host that are NPU IDs of npu-smi and not the
// numbers of /dev/davinciN; otherwise empty.
FindingValue NpuIdsTakenForDevices(const ClusterView& view,
                                   const HostView& host);

// The command that sets a running parameter in its namespace, ready to paste:
// | values of       | /proc/sys | fix                                        |
// |-----------------|-----------|--------------------------------------------|
// | host            | writable  | sysctl -w                                  |
// | host            | read-only | the same on the host itself                |
// | other namespace | writable  | clusterctl plan --netns, or nsenter        |
// | other namespace | read-only | docker run --sysctl for a new container    |
// A namespace that is the host's own counts as the host.
FindingValue SetParameterFix(const HostView& host, absl::string_view key,
                             absl::string_view value);

}  // namespace clusterd

#endif  // CONFIG_RULES_HOST_RULES_H_
