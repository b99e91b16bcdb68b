#include "daemon/controller/run_turns.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "config/words/message.h"

namespace clusterd {
namespace {

size_t ShareOf(size_t limit, size_t part) {
  return std::max<size_t>(1, limit / part);
}

}  // namespace

RunTurns::RunPtr RunTurns::Join(const std::string& key, const std::string& who,
                                const RunPtr& fresh) {
  const auto own_calls = callers_of_.find(who);
  if (callers_ >= limits_.callers ||
      (own_calls != callers_of_.end() &&
       own_calls->second >= ShareOf(limits_.callers, 4))) {
    return nullptr;
  }
  RunPtr joined;
  size_t waiting = 0;
  size_t own = 0;
  for (const RunPtr& run : runs_) {
    if (run->begun()) continue;
    if (run->key == key) joined = run;
    ++waiting;
    own += run->maker == who ? 1 : 0;
  }
  if (joined == nullptr) {
    if (waiting >= limits_.waiting || own >= ShareOf(limits_.waiting, 4)) {
      return nullptr;
    }
    joined = fresh;
    joined->key = key;
    joined->maker = who;
    runs_.push_back(joined);
  }
  ++joined->callers[who];
  ++callers_of_[who];
  ++callers_;
  return joined;
}

absl::Status RunTurns::WhyFull(const std::string& who) const {
  return ExhaustedWords("msg-hub-queue-full", limits_.waiting, limits_.callers,
                        who);
}

bool RunTurns::Leave(const RunPtr& run, const std::string& who) {
  --callers_;
  if (--callers_of_[who] == 0) callers_of_.erase(who);
  if (--run->callers[who] == 0) run->callers.erase(who);
  if (!run->callers.empty()) return false;
  runs_.remove(run);
  return true;
}

bool RunTurns::MayBegin(const Run& run) const {
  return !run.begun() && absl::c_none_of(runs_, [&run](const RunPtr& other) {
    return other->asks && other->key == run.key;
  });
}

RunTurns::RunPtr RunTurns::TakeNext() {
  std::map<std::string, size_t> begun;  // By user.
  size_t all = 0;
  for (const RunPtr& run : runs_) {
    if (!run->begun()) continue;
    ++begun[run->payer];
    ++all;
  }
  if (all >= limits_.at_once) return nullptr;
  RunPtr next;
  std::string payer;
  size_t fewest = ShareOf(limits_.at_once, 2);
  for (const RunPtr& run : runs_) {
    if (!MayBegin(*run)) continue;
    // All callers share the run, so charge the one with the fewest runs.
    for (const auto& [who, calls] : run->callers) {
      if (begun[who] >= fewest) continue;
      fewest = begun[who];
      payer = who;
      next = run;
    }
  }
  if (next == nullptr) return nullptr;
  next->payer = payer;
  next->asks = true;
  return next;
}

uint32_t RunTurns::PlaceOf(const Run& run) const {
  if (run.begun()) return 0;
  uint32_t place = 1;
  for (const RunPtr& other : runs_) {
    if (other.get() == &run) break;
    if (!other->begun()) ++place;
  }
  return place;
}

}  // namespace clusterd
