#include "client/print/verdict.h"

#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/print/state_word.h"
#include "config/version/version.h"

namespace clusterd {

State SupportedVerdict(const Report& report) {
  if (!report.error().empty()) return UNKNOWN;
  if (report.schema_version() != kReportSchemaVersion) return UNKNOWN;
  State verdict = KnownState(report.verdict());
  if (verdict == SKIPPED) verdict = UNKNOWN;
  bool judged = false;
  for (const RuleResult& rule : report.rules()) {
    if (rule.state() == SKIPPED) continue;
    judged = true;
    verdict = WorseState(verdict, rule.state());
  }
  if (!judged || report.hosts().empty()) verdict = WorseState(verdict, UNKNOWN);
  for (const HostStatus& host : report.hosts()) {
    if (!host.no_facts_reason().empty()) verdict = WorseState(verdict, UNKNOWN);
  }
  return verdict;
}

Counts CountRules(const Report& report) {
  Counts counts;
  for (const RuleResult& rule : report.rules()) {
    switch (KnownState(rule.state())) {
      case PASS:
        counts.set_pass(counts.pass() + 1);
        break;
      case SKIPPED:
        counts.set_skipped(counts.skipped() + 1);
        break;
      case WARN:
        counts.set_warn(counts.warn() + 1);
        break;
      case FAIL:
        counts.set_fail(counts.fail() + 1);
        break;
      default:
        counts.set_unknown(counts.unknown() + 1);
    }
  }
  return counts;
}

std::string CountsText(const Counts& counts) {
  const std::vector<std::pair<uint32_t, const char*>> parts = {
      {counts.fail(), "failed"},     {counts.unknown(), "unknown"},
      {counts.warn(), "warned"},     {counts.pass(), "passed"},
      {counts.skipped(), "skipped"},
  };
  std::vector<std::string> texts;
  for (const auto& [count, word] : parts) {
    if (count > 0) texts.push_back(absl::StrCat(count, " ", word));
  }
  return texts.empty() ? "no rule was judged" : absl::StrJoin(texts, ", ");
}

}  // namespace clusterd
