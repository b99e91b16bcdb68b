#include "config/plan/plan_fold.h"

#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/plan_text.h"
#include "config/spec/change_kind.h"

namespace clusterd {
namespace {

std::string FoldKey(const BlockedChange& blocked) {
  return absl::StrCat("blocked\n", ChangeKindName(blocked.kind()), "\n",
                      BlockedText(blocked));
}

struct Line {
  std::vector<std::string> hosts;
  const PlanStep* step = nullptr;
  const BlockedChange* blocked = nullptr;
};

// Every distinct line, in the order in which it is first met.
std::vector<Line> DistinctLines(const ClusterPlan& plan) {
  std::vector<Line> lines;
  std::map<std::string, size_t> index;
  const auto line_of = [&](const std::string& key) -> Line& {
    const auto [found, is_new] = index.emplace(key, lines.size());
    if (is_new) lines.emplace_back();
    return lines[found->second];
  };
  for (const HostPlan& host : plan.hosts()) {
    for (const PlanStep& step : host.steps()) {
      Line& line = line_of(FoldKey(step));
      if (line.step == nullptr) line.step = &step;
      line.hosts.push_back(host.host());
    }
    for (const BlockedChange& blocked : host.blocked()) {
      Line& line = line_of(FoldKey(blocked));
      if (line.blocked == nullptr) line.blocked = &blocked;
      line.hosts.push_back(host.host());
    }
  }
  return lines;
}

}  // namespace

std::string FoldKey(const PlanStep& step) {
  return absl::StrCat("step\n", ChangeKindName(step.kind()), "\n",
                      StepText(step), "\n",
                      absl::StrJoin(step.consequences(), "\n"));
}

std::string FoldKey(const HostPlan& plan) {
  std::string key;
  for (const PlanStep& step : plan.steps()) {
    absl::StrAppend(&key, FoldKey(step), "\n\n");
  }
  for (const BlockedChange& blocked : plan.blocked()) {
    absl::StrAppend(&key, FoldKey(blocked), "\n\n");
  }
  return absl::StrCat(key, absl::StrJoin(plan.notes(), "\n"));
}

std::vector<PlanFold> FoldPlan(const ClusterPlan& plan) {
  std::vector<PlanFold> folds;
  std::map<std::vector<std::string>, size_t> index;
  for (Line& line : DistinctLines(plan)) {
    const auto [found, is_new] = index.emplace(line.hosts, folds.size());
    if (is_new) {
      folds.emplace_back();
      folds.back().hosts = std::move(line.hosts);
    }
    PlanFold& fold = folds[found->second];
    if (line.step != nullptr) fold.steps.push_back(line.step);
    if (line.blocked != nullptr) fold.blocked.push_back(line.blocked);
  }
  return folds;
}

std::vector<std::string> HostsInOrder(const ClusterPlan& plan) {
  std::vector<std::string> hosts;
  for (const HostPlan& host : plan.hosts()) {
    if (host.steps().empty() && host.blocked().empty()) {
      hosts.push_back(host.host());
    }
  }
  return hosts;
}

}  // namespace clusterd
