// Tells whether a run of the Ascend 950 tool failed, and how, from what it
// said. Texts and codes of the tool's source (hicann/driver, hccn/ascend950,
// hccn_err.h and the table of texts); the exit status is the code's low byte:
//   code    status  stream
//   0x3101  1       stdout  hccn_tool is busy, please try again.
//   0x3102  2       stderr  permission denied: … this cmd run permission.
//   0x3103  3       stderr  permission denied: … this cmd run environment.
//   0x3104  4       stderr  The ip address configured is conflicted!
//   0x3105  5       stderr  Get gateway failed, because no gateway was preset …
//   0x3106  6       stderr  Get ip failed, because no ip was preset there!
//   0x3107  7       stderr  The segment of configured gateway doesn't match …
//   0x310f  15      stderr  Get device info failed.
//   0x1002  2       stderr  Please specify a valid mode.
#ifndef DAEMON_HOST_ASCEND950_RUN_VERDICT_H_
#define DAEMON_HOST_ASCEND950_RUN_VERDICT_H_

#include "daemon/host/command_runner.h"
#include "daemon/host/hccn_error.h"

namespace clusterd {
namespace ascend950 {

// By text first, by status second, as for the classic tool; texts that both
// tools have mean the same. A status without a known text is kOther.
// REQUIRES: the program ended by itself or by a signal, not at a deadline.
HccnVerdict ClassifyRun(const CommandResult& result);

}  // namespace ascend950
}  // namespace clusterd

#endif  // DAEMON_HOST_ASCEND950_RUN_VERDICT_H_
