// A host's ssh facts if everything were in order for an MPI launch.
#ifndef TESTS_SIM_FACTS_HEALTHY_SSH_H_
#define TESTS_SIM_FACTS_HEALTHY_SSH_H_

#include <string>

#include "proto/facts.pb.h"

namespace clusterd {

// The host answers on the ports of the question, but on the containers' not
// before they are started. Every login that it would try works: to itself and
// as many others as daemon/host/ssh tries at once.
SshFact MakeHealthySsh(const std::string& host, const SshQuestion& question);

}  // namespace clusterd

#endif  // TESTS_SIM_FACTS_HEALTHY_SSH_H_
