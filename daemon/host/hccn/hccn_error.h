// Tells whether a run of hccn_tool failed, and how, from what it said.
//
// The exit status is the low byte of an internal code, so one status stands for
// several failures, and a failure may exit 0: the text decides, the status
// comes second (hccn_tool source, hicann/driver ef377e95, main.c and
// tool_ops.c).
//   a known failure text on stderr, or alone on stdout    that failure
//   nothing at all, status 234                            kNotPermitted
//   status 0                                              kNone
//   any other status or a signal                          kOther
// The Ascend 950 tool has texts of its own beside them (hicann/driver,
// hccn/ascend950, hccn_err.h and the table of texts):
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
#ifndef DAEMON_HOST_HCCN_HCCN_ERROR_H_
#define DAEMON_HOST_HCCN_HCCN_ERROR_H_

#include <string>

#include "daemon/host/command/command_runner.h"
#include "proto/facts.pb.h"

namespace clusterd {

enum class HccnFailure {
  kNone,
  kNoAddress,  // -ip -g: none is configured; an answer, not a fault.
  kNoGateway,  // -gateway -g: the same.
  kBusy,       // Ask again.
  kNotPermitted,
  kNotSupported,      // By this product.
  kNoDevice,          // No device of that id.
  kWrongCommandLine,  // The tool speaks another generation's command line.
  kOther,
};

struct HccnVerdict {
  HccnFailure failure = HccnFailure::kNone;
  // What the tool said, or its status in words; printable. Empty for kNone.
  std::string text;
};

// Texts that both tools have mean the same; those of the other generation alone
// are not known. REQUIRES: the program ended by itself or by a signal, not at a
// deadline.
HccnVerdict ClassifyHccnRun(
    const CommandResult& result,
    NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_ERROR_H_
