// Which hosts a command line is about, whatever the command.
#ifndef CLIENT_COMMAND_HOST_SELECTION_H_
#define CLIENT_COMMAND_HOST_SELECTION_H_

#include <set>
#include <string>
#include <vector>

#include "config/words/terminal.h"
#include "config/words/words.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Which hosts a command is about: HOSTS arguments, --hostfile, -x, or the nodes
// of the Slurm job that we run in, held against the hosts of the spec.
struct HostSelection {
  // Hostlists, as given on the command line; names after ExpandHosts.
  std::vector<std::string> hosts;
  std::vector<std::string> exclude;
  std::string hostfile;  // A hostlist per line; # begins a comment.
  bool all = false;      // Every host; given: also inside a Slurm job.
  // Found by ExpandHosts: the job whose nodes these are; empty: none.
  std::string slurm_job;
};

// Reads the hostfile and expands all lists, not yet compared with a spec. Every
// mistake (empty, malformed, @group, a file that cannot be read) is added to
// `mistakes`, naming where it stands.
void ExpandHosts(const Environment& environment, HostSelection& selection,
                 std::vector<FindingValue>& mistakes);

// The hosts to check, in the order of the spec, by whatever name the spec knows
// them; adds a mistake for every name that it does not have, with the nearest
// one, and if nothing is left to check. REQUIRES: ExpandHosts found no mistake.
std::vector<std::string> ResolveHosts(HostSelection selection,
                                      const ClusterSpec& spec,
                                      std::vector<FindingValue>& mistakes);

// The hosts of `asked` that no element of `answered` has as its host().
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
