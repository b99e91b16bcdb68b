// One `clusterctl check` from validated words to exit status, whoever is asked.
#ifndef CLIENT_COMMAND_CHECK_RUN_H_
#define CLIENT_COMMAND_CHECK_RUN_H_

#include <string>

#include "client/command/common_options.h"
#include "client/command/host_selection.h"
#include "client/command/session.h"
#include "proto/finding.pb.h"

namespace clusterd {

// The command line as given: nothing in it is known to be right.
struct CheckOptions {
  HostArguments hosts;
  RuleSelection selection;
  std::string fail_on = "fail";
  std::string report_file;
  bool local = false;
  std::string socket;
  std::string timeout;
  std::string network_namespace;
  OutputFlags output;
  ConnectionFlags connection;
};

// Where clusterd answers unless it is told otherwise.
inline constexpr char kDefaultSocket[] = "/run/clusterd/agent.sock";

// How long a check may take beyond the run deadline of the spec before the
// controller counts as hung.
inline constexpr absl::Duration kRunMargin = absl::Seconds(10);

// Checks the options, asks the controller (or this host's daemon), prints the
// report and writes the report file, also when there is no verdict: the report
// then holds `error`. Every mistake of the command line is named in one run.
// The exit status; see exit_status.h.
int RunCheck(const CheckOptions& options, Session& session);

// For a command line that could not even be parsed: the report file of it.
void WriteUsageReport(const std::string& report_file, const std::string& error,
                      Session& session);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_CHECK_RUN_H_
