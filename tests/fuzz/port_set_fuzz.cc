// Every set that parses is written back as the same set, sorted and merged.
#include "config/values/port_set.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(port_set, 1, "tests/testdata/spec/ports/*.txt") {
  const auto set = PortSet::Parse(text);
  if (!set.ok()) return;
  const auto again = PortSet::Parse(set->ToString());
  Require(again.ok() && *again == *set);
  for (size_t i = 1; i < set->ranges().size(); ++i) {
    Require(set->ranges()[i - 1].second + 1 < set->ranges()[i].first);
  }
}

}  // namespace
}  // namespace clusterd
