#include "config/rules/fact_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// Reasons quote commands and answers.
constexpr size_t kMaxDetailBytes = 600;

// Length of the control character that begins at `at`, 0 if there is none. C1
// controls (U+0080 to U+009F) count: terminals obey them.
size_t ControlLength(absl::string_view text, size_t at) {
  const unsigned char c = static_cast<unsigned char>(text[at]);
  if (c < 0x20 || c == 0x7f) return 1;
  if (c != 0xc2 || at + 1 == text.size()) return 0;
  const unsigned char next = static_cast<unsigned char>(text[at + 1]);
  return next >= 0x80 && next <= 0x9f ? 2 : 0;
}

bool ContinuesCharacter(char c) {
  return (static_cast<unsigned char>(c) & 0xc0) == 0x80;
}

absl::string_view ReasonWords(Missing::Reason reason) {
  switch (reason) {
    case Missing::ABSENT:
      return "does not exist";
    case Missing::NOT_PERMITTED:
      return "not permitted";
    case Missing::TIMED_OUT:
      return "timed out";
    case Missing::UNREADABLE:
      return "not understood";
    case Missing::BUSY:
      return "busy";
    case Missing::TOOL_FAILED:
      return "the tool failed";
    case Missing::NOT_SUPPORTED:
      return "not supported";
    case Missing::NOT_QUERIED:
      return "not queried";
    case Missing::NO_ANSWER:
      return "no answer";
    default:
      return "no reason given";
  }
}

}  // namespace

std::string WhyMissing(const Missing* missing) {
  if (missing == nullptr) return "not asked for";
  const absl::string_view words = ReasonWords(missing->reason());
  if (missing->detail().empty()) return std::string(words);
  return absl::StrCat(words, ": ",
                      Printable(missing->detail(), kMaxDetailBytes));
}

std::string HowToLearn(const Missing* missing) {
  if (missing == nullptr) {
    return "bring clusterd on the host to the controller's version: it was not "
           "told to look, or does not know how";
  }
  switch (missing->reason()) {
    case Missing::ABSENT:
      return "install what is missing, or mount it into the container in which "
             "clusterd runs";
    case Missing::NOT_PERMITTED:
      return "run clusterd as root on the host, and in a privileged container "
             "if it runs in one";
    case Missing::TIMED_OUT:
      return "find out what hangs on the host; if it is only slow, raise "
             "deadlines.command or deadlines.host in cluster.yaml";
    case Missing::UNREADABLE:
      return "run the quoted command on the host and read its answer; this "
             "version of clusterd does not understand it";
    case Missing::BUSY:
      return "wait until the other hccn_tool ends (pgrep -a hccn_tool), then "
             "check again";
    case Missing::TOOL_FAILED:
      // Many a program can fail; only this one keeps that log.
      return absl::StrContains(missing->detail(), "hccn_tool")
                 ? "run the quoted command on the host by hand; "
                   "/var/log/hccn_tool/ has the tool's own log"
                 : "run on the host by hand what the reason names, and repair "
                   "what it says";
    case Missing::NOT_SUPPORTED:
      return "leave the rule out with --skip if the product cannot tell";
    case Missing::NOT_QUERIED:
      return "read the reason: it says why clusterd did not ask";
    case Missing::NO_ANSWER:
      return "systemctl status clusterd";
    default:
      return "look at the log of clusterd on the host";
  }
}

std::string Printable(absl::string_view text, size_t max_bytes) {
  std::string shown;
  for (size_t at = 0; at < text.size();) {
    if (shown.size() >= max_bytes && !ContinuesCharacter(text[at])) {
      shown += "…";
      break;
    }
    // Longer than any character: not UTF-8, so there is no better place.
    if (shown.size() >= max_bytes + 3) break;
    const size_t control = ControlLength(text, at);
    shown += control > 0 ? ' ' : text[at];
    at += control > 0 ? control : 1;
  }
  return shown;
}

std::string Quoted(absl::string_view text) {
  return absl::StrCat("\"", Printable(text), "\"");
}

std::string ShellQuoted(absl::string_view text) {
  std::string word = "'";
  for (size_t at = 0; at < text.size();) {
    const size_t control = ControlLength(text, at);
    if (control == 0 && text[at] == '\'') {
      word += "'\\''";
    } else if (control == 0) {
      word += text[at];
    }
    at += control > 0 ? control : 1;
  }
  return word + "'";
}

std::string FoldIds(absl::Span<const uint32_t> ids) {
  if (ids.empty()) return "none";
  std::string text;
  for (size_t i = 0; i < ids.size();) {
    size_t last = i;
    while (last + 1 < ids.size() && ids[last + 1] == ids[last] + 1) ++last;
    absl::StrAppend(&text, text.empty() ? "" : ",", ids[i]);
    if (last > i) absl::StrAppend(&text, last == i + 1 ? "," : "-", ids[last]);
    i = last + 1;
  }
  return text;
}

std::string Count(size_t number, absl::string_view singular) {
  return absl::StrCat(number, " ", singular, number == 1 ? "" : "s");
}

}  // namespace clusterd
