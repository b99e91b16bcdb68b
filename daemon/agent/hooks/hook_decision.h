// Decides what a hook answers, from what is known about the host and the job.
// Pure. The first line that holds wins; an unknown rule never drains.
//
//   what fails (see hook_settings.h)      answer
//   a rule about this host                REFUSE_AND_DRAIN; REFUSE if the rule
//                                         is of the job, or for `drain: false`
//   a rule about another host of the job  REFUSE: that host drains itself
//   a rule about the job or the cluster   REFUSE
//   a rule is waived                      ALLOW, named in `let_through`
//   a rule is unknown                     ALLOW, named in `let_through`;
//                                         REFUSE for `fail_closed_unknown`
//   nothing                               ALLOW
#ifndef DAEMON_AGENT_HOOKS_HOOK_DECISION_H_
#define DAEMON_AGENT_HOOKS_HOOK_DECISION_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "daemon/agent/hooks/hook_settings.h"
#include "proto/job.pb.h"

namespace clusterd {

// Of HookAnswer; goes up when the meaning of a field changes.
inline constexpr uint32_t kHookSchemaVersion = 1;

// What is known before a decision. All texts may be a stranger's.
struct JudgedHost {
  // About this host, by a controller's verdict and by its own fresh facts.
  std::vector<JobReason> by_verdict;
  std::vector<JobReason> by_itself;
  // About the others of the job, each with its name, and the job as a whole.
  std::vector<std::pair<std::string, JobReason>> others;
  std::vector<JobReason> whole;
  // What could not be asked or believed, and why; a line each.
  std::vector<std::string> trouble;
  std::string basis;
};

// Splits a verdict. A state without a reason in the bounded list becomes a
// reason without a rule; a host that the verdict lacks is trouble.
void AddVerdict(const JobVerdict& verdict, absl::string_view host,
                JudgedHost* judged);

HookAnswer Decide(const JudgedHost& judged, const HookSettings& settings);

// NAME=VALUE lines for the job: HCCL_WHITELIST_DISABLE, and what `verdict`
// (nullptr: none) is sure of: HCCL_IF_IP of `host`, MASTER_ADDR, MASTER_PORT,
// HCCL_IF_BASE_PORT unless a login file of `host` sets it, and NNODES and
// NODE_RANK by the order of the job's servers. Only IPv4 addresses.
std::vector<std::string> JobEnvironment(const JobVerdict* verdict,
                                        const JobSpec& job,
                                        absl::string_view host);

}  // namespace clusterd

#endif  // DAEMON_AGENT_HOOKS_HOOK_DECISION_H_
