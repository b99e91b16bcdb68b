// One `clusterctl apply` or `clusterctl rollback` from validated words to exit
// status.
#ifndef CLIENT_COMMAND_APPLY_RUN_H_
#define CLIENT_COMMAND_APPLY_RUN_H_

#include <cstdint>
#include <string>

#include "client/command/common_options.h"
#include "client/command/session.h"

namespace clusterd {

// Hosts at once, unless --wave says otherwise; the controller's own default.
inline constexpr uint32_t kDefaultWaveSize = 32;

// The command line as given: nothing in it is known to be right.
struct ApplyOptions {
  bool rollback = false;
  std::string subject;  // A plan's file, "-" for stdin; or the id of an apply.
  std::string network_namespace;  // Of apply only.
  std::string wave;
  bool yes = false;
  bool force = false;
  bool verbose = false;
  std::string report_file;
  std::string timeout;
  OutputFlags output;
  ConnectionFlags connection;
};

// Checks the options and the plan's digest before anybody is asked, says what
// will happen, asks the person unless --yes was given, has the controller do
// it, and tells each host's end as it comes. Every mistake of the command line
// is named in one run. The report file is written on every path.
//   0  every host ended as wished
//   1  a host did not; of an apply, the waves behind it were not begun
//   2  it was not begun, and why; or no complete answer: a host is lost, the
//      controller is away, Ctrl-C, the report file could not be written; a run
//      that began goes on in the controller
//   3  wrong usage, an edited plan, no consent; nothing was changed
int RunApply(const ApplyOptions& options, Session& session);

// For a command line that could not even be parsed: the report file of it.
// `command` is "apply" or "rollback".
void WriteUsageApplyReport(const std::string& command,
                           const std::string& report_file,
                           const std::string& error, Session& session);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_APPLY_RUN_H_
