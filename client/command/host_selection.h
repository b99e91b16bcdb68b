// Which hosts a command is about: HOSTS arguments, --hostfile, -x, or the nodes
// of the Slurm job that we run in, held against the hosts of the spec.
#ifndef CLIENT_COMMAND_HOST_SELECTION_H_
#define CLIENT_COMMAND_HOST_SELECTION_H_

#include <string>
#include <vector>

#include "absl/types/span.h"
#include "config/words/terminal.h"

namespace clusterd {

// As given on the command line.
struct HostArguments {
  std::vector<std::string> hosts;    // Hostlists; an empty one is a mistake.
  std::vector<std::string> exclude;  // Hostlists.
  std::string hostfile;              // A hostlist per line; # begins a comment.
  bool all = false;                  // Every host, also inside a Slurm job.
};

// The arguments expanded, not yet compared with a spec.
struct HostRequest {
  bool all = true;  // Nothing was named.
  std::vector<std::string> hosts;
  std::vector<std::string> exclude;
  std::string slurm_job;  // The job whose nodes these are; empty: none.
};

// Reads the hostfile and expands all lists. Every mistake (empty, malformed,
// @group, a file that cannot be read) is added to `mistakes`, naming where it
// stands.
HostRequest ExpandHostArguments(const HostArguments& arguments,
                                const Environment& environment,
                                std::vector<std::string>& mistakes);

// The hosts to check, in the order of `spec_hosts`; adds a mistake for every
// name that the spec does not have, with the nearest one, and if nothing is
// left to check. REQUIRES: ExpandHostArguments found no mistake.
std::vector<std::string> ResolveHosts(const HostRequest& request,
                                      absl::Span<const std::string> spec_hosts,
                                      std::vector<std::string>& mistakes);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_HOST_SELECTION_H_
