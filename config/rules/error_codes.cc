#include "config/rules/error_codes.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"

namespace clusterd {
namespace {

struct CodeMeaning {
  absl::string_view code;
  absl::string_view meaning;
};

constexpr CodeMeaning kMeanings[] = {
    {"EI0001", "an environment variable has a value that HCCL does not take"},
    {"EI0002", "a rank waited for another one until its time was over"},
    {"EI0004", "the rank table could not be read"},
    {"EI0005", "ranks called a collective with arguments that do not agree"},
    {"EI0006", "no connection to another rank came about in time"},
    {"EI0007", "a resource of the NPU is exhausted"},
    {"EI0008", "versions of HCCL differ between ranks"},
    {"EI0009", "a device could not set up its link to another one"},
    {"EI0010", "devices of one server could not reach each other (P2P)"},
    {"EI0011", "memory of the NPU could not be had"},
    {"EI0012", "a copy over SDMA failed"},
    {"EI0013", "a transfer over RoCE failed; the text names both ends"},
    {"EI0014", "the rank table has a value that does not fit"},
    {"EI0015", "the ranks did not find together at the root"},
    {"EI0016", "a setting is not the same on all ranks, as the TLS switch"},
    {"EI0017", "the rank table lacks an entry"},
    {"EI0018", "a transfer over UB failed"},
    {"EI0019", "an address and port of the host could not be listened on"},
    {"EI0020", "an address and port of an NPU could not be listened on"},
    // Before CANN 9; vllm-ascend issue 405.
    {"EJ0003", "an address and port could not be bound"}};

bool NamesCode(const Rule& rule, absl::string_view code) {
  const auto names_it = [code](absl::string_view text) {
    return absl::StrContains(text, code);
  };
  const RuleText& words = rule.text;
  return names_it(words.title) || names_it(words.fails_when) ||
         names_it(words.why) || names_it(words.fix) ||
         absl::c_any_of(rule.findings, [&](const RuleFinding& finding) {
           return names_it(finding.why) || names_it(finding.fix);
         });
}

}  // namespace

absl::string_view ErrorCodeMeaning(absl::string_view code) {
  const auto* const found = absl::c_find_if(
      kMeanings, [code](const CodeMeaning& row) { return row.code == code; });
  return found == std::end(kMeanings) ? "" : found->meaning;
}

std::vector<const Rule*> RulesOfErrorCode(absl::string_view code) {
  std::vector<const Rule*> rules;
  for (const Rule& rule : RuleCatalogue()) {
    if (NamesCode(rule, code)) rules.push_back(&rule);
  }
  return rules;
}

}  // namespace clusterd
