// Parses the common parts of all hccn_tool answers: data lines, words of a
// list, and failures. Runs nothing; returns views into the text.
#ifndef DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
#define DAEMON_HOST_HCCN_HCCN_OUTPUT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/words/words.h"
#include "daemon/host/command/command_runner.h"
#include "proto/facts.pb.h"

namespace clusterd {

// InvalidArgument: unexpected "<text>", expected <expected>.
absl::Status UnexpectedHccnText(absl::string_view text,
                                const FindingValue& expected);
inline absl::Status UnexpectedHccnText(absl::string_view text,
                                       absl::string_view expected) {
  return UnexpectedHccnText(text, ToFindingValue(expected));
}

// Returns the lines of data, without trailing blanks. Omits empty lines,
// "[WARNING] …", which the tool prints first when /var/log/hccn_tool is not a
// directory, and "Cmd executed successfully!".
std::vector<absl::string_view> HccnDataLines(absl::string_view output);

// Returns the value of `text` in the table of all known words; otherwise
// UnexpectedHccnText with `expected`.
template <typename Value>
absl::StatusOr<Value> ParseHccnWord(
    absl::string_view text,
    absl::Span<const std::pair<absl::string_view, Value>> words,
    const FindingValue& expected) {
  for (const auto& [word, value] : words) {
    if (text == word) return value;
  }
  return UnexpectedHccnText(text, expected);
}

// The failure of an hccn_tool run, derived from its output.
//
// The exit status is the low byte of an internal code, so one status stands for
// several failures, and a failure may exit 0: the text decides, the status
// comes second (hccn_tool source, hicann/driver ef377e95, main.c and
// tool_ops.c).
//   a known failure text on stderr, or alone on stdout    that failure
//   nothing at all, status 234                            kNotPermitted
//   status 0                                              kNone
//   any other status or a signal                          kOther
// failure_texts.txt lists the texts, the Ascend 950 tool's too.
enum class HccnFailure {
  kNone,
  kNoAddress,  // -ip -g: none is configured; an answer, not a fault.
  kNoGateway,  // -gateway -g: as kNoAddress.
  kBusy,       // Try again.
  kNotPermitted,
  kNotSupported,      // By this product.
  kNoCertificate,     // -tls -g: also an answer.
  kNoDevice,          // No device of that id.
  kWrongCommandLine,  // The tool has another generation's command line.
  kOther,
};

struct HccnVerdict {
  HccnFailure failure = HccnFailure::kNone;
  // The tool's text, or its status in words; printable. Empty for kNone.
  std::string text;
  FindingValue words = {};  // The status; unset: there is only the text.
};

// Texts of both tools have one meaning; those of only the other generation are
// unknown. REQUIRES: the program ended without a deadline.
HccnVerdict ClassifyHccnRun(
    const CommandResult& result,
    NpuToolFacts::Generation generation = NpuToolFacts::CLASSIC);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_OUTPUT_H_
