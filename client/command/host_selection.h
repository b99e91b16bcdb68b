// Hosts of a command line, for every command.
#ifndef CLIENT_COMMAND_HOST_SELECTION_H_
#define CLIENT_COMMAND_HOST_SELECTION_H_

#include <set>
#include <string>
#include <vector>

#include "config/words/terminal.h"
#include "config/words/words.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The hosts of a command: HOSTS arguments, --hostfile, -x, or the nodes of our
// Slurm job, compared with the hosts of the spec.
struct HostSelection {
  // Hostlists, as given on the command line; names after ExpandHosts.
  std::vector<std::string> hosts;
  std::vector<std::string> exclude;
  std::string hostfile;  // A hostlist per line; # begins a comment.
  bool all = false;      // Every host, also in a Slurm job.
  // Set by ExpandHosts: the job with these nodes; empty: none.
  std::string slurm_job;
};

// Reads the hostfile and expands all lists, without comparing them with a spec.
// Adds every mistake (empty, malformed, @group, a file that cannot be read) to
// `mistakes`, with its place.
void ExpandHosts(const Environment& environment, HostSelection& selection,
                 std::vector<FindingValue>& mistakes);

// The hosts to check, in the order of the spec, by any name that the spec
// knows. Adds a mistake with the nearest name for every unknown name, and one
// if no host is left. REQUIRES: ExpandHosts found no mistake.
std::vector<std::string> ResolveHosts(HostSelection selection,
                                      const ClusterSpec& spec,
                                      std::vector<FindingValue>& mistakes);

// Elements of `asked` that are not the host() of any element of `answered`.
template <typename Answered>
std::vector<std::string> LeftOut(const std::vector<std::string>& asked,
                                 const Answered& answered) {
  std::set<std::string> names;
  for (const auto& host : answered) names.insert(host.host());
  std::vector<std::string> left;
  for (const std::string& host : asked) {
    if (names.count(host) == 0) left.push_back(host);
  }
  return left;
}

}  // namespace clusterd

#endif  // CLIENT_COMMAND_HOST_SELECTION_H_
