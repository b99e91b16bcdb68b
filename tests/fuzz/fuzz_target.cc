#include "tests/fuzz/fuzz_target.h"

#include <algorithm>
#include <utility>

#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

// Before main, targets register in the order of their files.
std::vector<FuzzTarget>& Registered() {
  static auto* const targets = new std::vector<FuzzTarget>();
  return *targets;
}

bool IsBefore(const FuzzTarget& target, absl::string_view name) {
  return target.name < name;
}

}  // namespace

bool RegisterFuzzTarget(FuzzTarget target) {
  Require(FindFuzzTarget(target.name) == nullptr);
  std::vector<FuzzTarget>& all = Registered();
  const auto at =
      std::lower_bound(all.begin(), all.end(), target.name, IsBefore);
  all.insert(at, std::move(target));
  return true;
}

const std::vector<FuzzTarget>& FuzzTargets() { return Registered(); }

const FuzzTarget* FindFuzzTarget(absl::string_view name) {
  const std::vector<FuzzTarget>& all = Registered();
  const auto at = std::lower_bound(all.begin(), all.end(), name, IsBefore);
  return at != all.end() && at->name == name ? &*at : nullptr;
}

}  // namespace clusterd
