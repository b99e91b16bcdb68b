#include "config/words/fact_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// Reasons quote commands and answers.
constexpr size_t kMaxDetailBytes = 600;

struct ReasonWords {
  Missing::Reason reason;
  const char* why;
  const char* how_to_learn;
};

constexpr ReasonWords kReasons[] = {
    {Missing::REASON_UNSPECIFIED, "no reason given",
     "look at the log of clusterd on the host"},
    {Missing::ABSENT, "does not exist",
     "install what is missing, or mount it into the container in which "
     "clusterd runs"},
    {Missing::NOT_PERMITTED, "not permitted",
     "run clusterd as root on the host, and in a privileged container if it "
     "runs in one"},
    {Missing::TIMED_OUT, "timed out",
     "find out what hangs on the host; if it is only slow, raise "
     "deadlines.command or deadlines.host in cluster.yaml"},
    {Missing::UNREADABLE, "not understood",
     "run the quoted command on the host and read its answer; this version of "
     "clusterd does not understand it"},
    {Missing::BUSY, "busy",
     "wait until the other hccn_tool ends (pgrep -a hccn_tool), then check "
     "again"},
    {Missing::TOOL_FAILED, "the tool failed",
     "run on the host by hand what the reason names, and repair what it says"},
    {Missing::NOT_SUPPORTED, "not supported",
     "leave the rule out with --skip if the product cannot tell"},
    {Missing::NOT_QUERIED, "not queried",
     "read the reason: it says why clusterd did not ask"},
    {Missing::NO_ANSWER, "no answer", "systemctl status clusterd"},
};

// A reason of a newer clusterd counts as none.
const ReasonWords& WordsOf(const Missing& missing) {
  for (const ReasonWords& words : kReasons) {
    if (words.reason == missing.reason()) return words;
  }
  return kReasons[0];
}

}  // namespace

std::string WhyMissing(const Missing* missing) {
  if (missing == nullptr) return "not asked for";
  const char* why = WordsOf(*missing).why;
  if (missing->detail().empty()) return why;
  return absl::StrCat(why, ": ",
                      PrintableText(missing->detail(), kMaxDetailBytes));
}

std::string HowToLearn(const Missing* missing) {
  if (missing == nullptr) {
    return "bring clusterd on the host to the controller's version: it was not "
           "told to look, or does not know how";
  }
  // Many a program can fail; only this one keeps that log.
  if (missing->reason() == Missing::TOOL_FAILED &&
      absl::StrContains(missing->detail(), "hccn_tool")) {
    return "run the quoted command on the host by hand; /var/log/hccn_tool/ "
           "has the tool's own log";
  }
  return WordsOf(*missing).how_to_learn;
}

}  // namespace clusterd
