#include "config/report/finding_blocks.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// It cannot be told, and another rule says why.
bool FollowsFromACause(const Finding& finding) {
  return KnownState(finding.state()) == UNKNOWN && !finding.caused_by().empty();
}

// One block per state that the rule has findings in.
void AddBlocks(const RuleResult& rule, std::vector<FindingBlock>& blocks) {
  for (const State state : {WARN, UNKNOWN, FAIL}) {
    FindingBlock block;
    block.rule = rule.rule();
    block.state = state;
    block.downgraded = true;
    for (const Finding& finding : rule.findings()) {
      if (KnownState(finding.state()) != state) continue;
      if (FollowsFromACause(finding)) continue;
      block.findings.push_back(&finding);
      block.downgraded = block.downgraded && finding.downgraded();
    }
    if (!block.findings.empty()) blocks.push_back(std::move(block));
  }
}

// By state; what follows from another rule stands before the roots of trouble.
std::pair<int, bool> Weight(const FindingBlock& block) {
  const bool is_root = absl::c_any_of(
      block.findings,
      [](const Finding* finding) { return finding->caused_by().empty(); });
  return {block.state, is_root};
}

void ChooseShown(std::vector<FindingBlock>& blocks, size_t limit,
                 size_t limit_per_rule) {
  size_t left = limit - std::min(limit, blocks.size());
  // The worst blocks stand last and choose first.
  for (auto block = blocks.rbegin(); block != blocks.rend(); ++block) {
    const size_t wanted = std::min(block->findings.size(), limit_per_rule);
    const size_t extra = wanted > 0 ? std::min(wanted - 1, left) : 0;
    block->shown = 1 + extra;
    left -= extra;
  }
}

}  // namespace

FindingOverview ArrangeFindings(const Report& report, int limit,
                                int limit_per_rule) {
  FindingOverview overview;
  FirstMet<std::string, CauseGroup> causes;
  for (const RuleResult& rule : report.rules()) {
    AddBlocks(rule, overview.blocks);
    for (const Finding& finding : rule.findings()) {
      if (!FollowsFromACause(finding)) continue;
      CauseGroup& group = causes[finding.caused_by()];
      group.cause = finding.caused_by();
      group.subjects.MergeFrom(finding.subjects());
      if (group.rules.empty() || group.rules.back() != rule.rule()) {
        group.rules.push_back(rule.rule());
      }
    }
  }
  for (const auto& [cause, group] : causes) overview.causes.push_back(group);
  absl::c_stable_sort(overview.blocks,
                      [](const FindingBlock& a, const FindingBlock& b) {
                        return Weight(a) < Weight(b);
                      });
  ChooseShown(overview.blocks, std::max(limit, 0), std::max(limit_per_rule, 0));
  return overview;
}

}  // namespace clusterd
