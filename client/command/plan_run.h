// One `clusterctl plan` from validated words to exit status.
#ifndef CLIENT_COMMAND_PLAN_RUN_H_
#define CLIENT_COMMAND_PLAN_RUN_H_

#include <string>

#include "client/command/common_options.h"
#include "client/command/host_selection.h"
#include "client/command/session.h"

namespace clusterd {

// The command line as given: nothing in it is known to be right.
struct PlanOptions {
  HostArguments hosts;
  std::string out;  // A file, "-" for stdout, empty: the plan is not saved.
  std::string network_namespace;
  bool detailed_exitcode = false;
  bool verbose = false;
  std::string timeout;
  OutputFlags output;
  ConnectionFlags connection;
};

// Checks the options, has the controller plan, saves the plan and prints it.
// Nothing is changed on any host. Every mistake of the command line is named in
// one run, and then no host is asked. The exit status:
//                                      | plain | --detailed-exitcode
//   nothing to do                      | 0     | 0
//   steps, nothing blocked             | 0     | 2
//   blocked, or a host is left out     | 2     | 1
//   no plan, or it could not be saved, | 2     | 1
//   or be kept by the controller       |       |
//   wrong usage or configuration       | 3     | 3
int RunPlan(const PlanOptions& options, Session& session);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_PLAN_RUN_H_
