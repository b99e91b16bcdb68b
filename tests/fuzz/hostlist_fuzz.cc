// Every list that expands has only host names, and folds back to the same set.
#include <algorithm>

#include "config/values/hostlist.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(hostlist, 1, "tests/testdata/spec/hostlist/*.txt") {
  auto names = ExpandHostlist(text, 2000);
  if (!names.ok()) return;
  for (const std::string& name : *names) Require(IsHostName(name));
  auto again = ExpandHostlist(FoldHostlist(*names));
  Require(again.ok());
  std::sort(names->begin(), names->end());
  std::sort(again->begin(), again->end());
  Require(*names == *again);
}

}  // namespace
}  // namespace clusterd
