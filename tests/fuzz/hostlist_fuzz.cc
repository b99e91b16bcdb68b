// Every list that expands has only host names, and folds back to the same set.
#include <algorithm>

#include "config/values/hostlist.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

void clusterd::FuzzText(const std::string& text) {
  auto names = ExpandHostlist(text, 2000);
  if (!names.ok()) return;
  for (const std::string& name : *names) Require(IsHostName(name));
  auto again = ExpandHostlist(FoldHostlist(*names));
  Require(again.ok());
  std::sort(names->begin(), names->end());
  std::sort(again->begin(), again->end());
  Require(*names == *again);
}
