// The whole program: command line in, exit status out.
#ifndef CLIENT_COMMAND_CLUSTERCTL_H_
#define CLIENT_COMMAND_CLUSTERCTL_H_

#include <string>
#include <vector>

#include "client/command/command.h"

namespace clusterd {

// Runs the command that `arguments` (without the program's name) name. Help
// goes to session.out with status 0. A command line that cannot be parsed gets
// one message with the nearest command or option, status 3, and with --report
// FILE also a report file that says so.
int RunClusterctl(const std::vector<std::string>& arguments, Session& session);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_CLUSTERCTL_H_
