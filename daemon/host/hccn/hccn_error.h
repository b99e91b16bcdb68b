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
// The texts, of the Ascend 950 tool too, are the rows of failure_texts.txt.
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
  kNoCertificate,     // -tls -g: an answer, too.
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
