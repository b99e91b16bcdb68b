#include "daemon/agent/hooks/slurm_node.h"

#include <cstddef>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/report/job_verdict.h"
#include "config/values/hostlist.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/hooks/hook_settings.h"

namespace clusterd {
namespace {

constexpr size_t kMaxReasonBytes = 200;
constexpr absl::string_view kUntilMended = " (until mended)";
constexpr absl::string_view kUntilResume = " (until RESUME)";

// What slurmctld itself writes (22.05): the first two when a prolog or epilog
// exits with another status than 0, the third when a node does not answer.
constexpr absl::string_view kSlurmsOwn[] = {"Prolog error", "Epilog error",
                                            "Not responding"};

}  // namespace

bool SlurmNode::IsDrained() const {
  return absl::c_linear_search(states, "DRAIN");
}

bool SlurmNode::IsOurs() const {
  return absl::StartsWith(reason, kReasonPrefix) &&
         (absl::EndsWith(reason, kUntilMended) ||
          absl::EndsWith(reason, kUntilResume));
}

bool SlurmNode::IsOfOthers() const {
  return !reason.empty() && !IsOurs() &&
         !absl::c_linear_search(kSlurmsOwn, reason);
}

absl::StatusOr<SlurmNode> ParseSlurmNode(absl::string_view line) {
  // The first State stands before the reason, in which anything may stand.
  static const LazyRE2 kNode = {
      R"(\s*NodeName=(\S+) (?:.*? )??State=([A-Z_+*~#!%$@^-]+)(?: (.*?))?\s*)"};
  static const LazyRE2 kReason = {
      R"((.*? )??Reason=(.*?) \[[^\s\[\]]+@\d{4}-\d\d-\d\dT[\d:]+\].*)"};
  SlurmNode node;
  std::string states;
  std::string rest;
  if (!HasForm(line, *kNode, &node.name, &states, &rest)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "scontrol show node: ", QuotedText(line),
        ", expected one line of \"NodeName=NAME … State=STATE …\""));
  }
  node.states = absl::StrSplit(states, '+');
  for (std::string& state : node.states) {
    // A sign behind a state tells more of it: "IDLE*" does not answer.
    while (!state.empty() && !absl::ascii_isupper(state.back())) {
      state.pop_back();
    }
  }
  // A comment, in which anything may stand, comes behind the reason.
  const std::string fields = absl::StrCat(" ", rest);
  const size_t reason = fields.find(" Reason=");
  if (reason == std::string::npos || fields.find(" Comment=") < reason) {
    return node;
  }
  std::string before;
  if (!HasForm(rest, *kReason, &before, &node.reason)) {
    return absl::InvalidArgumentError(
        absl::StrCat("scontrol show node: reason in ", QuotedText(rest),
                     ", expected who set it and when behind it"));
  }
  return node;
}

bool IsSlurmNodeName(absl::string_view name) { return IsHostName(name); }

std::string RuleOfReason(absl::string_view reason) {
  if (!absl::ConsumePrefix(&reason, kReasonPrefix)) return "";
  static const LazyRE2 kRule = {R"(([a-z][a-z0-9-]*):.*)"};
  std::string rule;
  HasForm(reason, *kRule, &rule);
  return rule;
}

std::string DrainReason(absl::string_view reason) {
  const std::string plain = absl::StrReplaceAll(
      PrintableText(absl::StripPrefix(reason, kReasonPrefix), kMaxReasonBytes),
      {{"\"", ""}, {"'", ""}, {"\\", "/"}, {"`", ""}});
  const std::string line =
      absl::StrCat(kReasonPrefix, absl::StripAsciiWhitespace(plain));
  return absl::StrCat(line, ReturnOf(RuleOfReason(line)) == Return::kByHand
                                ? kUntilResume
                                : kUntilMended);
}

}  // namespace clusterd
