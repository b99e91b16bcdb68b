// What the answers of all of hccn_tool's queries share: lines of data, words of
// a list, and whether the run failed. Text in, views into it out: runs nothing.
#ifndef DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
#define DAEMON_HOST_HCCN_HCCN_OUTPUT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "daemon/host/command/command_runner.h"
#include "proto/facts.pb.h"

namespace clusterd {

// InvalidArgument: unexpected "<text>", expected <expected>.
absl::Status UnexpectedHccnText(absl::string_view text,
                                absl::string_view expected);

// The lines that carry data, without blanks at their end. Left out: empty
// lines; "[WARNING] …", which the tool prints first when /var/log/hccn_tool is
// not a directory; and "Cmd executed successfully!".
std::vector<absl::string_view> HccnDataLines(absl::string_view output);

// What `text` stands for, by a table of all that it may be; else
// UnexpectedHccnText with `expected`.
template <typename Value>
absl::StatusOr<Value> ParseHccnWord(
    absl::string_view text,
    absl::Span<const std::pair<absl::string_view, Value>> words,
    absl::string_view expected) {
  for (const auto& [word, value] : words) {
    if (text == word) return value;
  }
  return UnexpectedHccnText(text, expected);
}

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

#endif  // DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
