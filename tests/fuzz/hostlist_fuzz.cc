// Every list that expands has only host names, and folds back to the same set.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/values/hostlist.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  absl::StatusOr<std::vector<std::string>> names =
      clusterd::ExpandHostlist(text, 2000);
  if (!names.ok()) return 0;
  for (const std::string& name : *names) {
    if (!clusterd::IsHostName(name)) std::abort();
  }
  absl::StatusOr<std::vector<std::string>> again =
      clusterd::ExpandHostlist(clusterd::FoldHostlist(*names));
  if (!again.ok()) std::abort();
  std::sort(names->begin(), names->end());
  std::sort(again->begin(), again->end());
  if (*names != *again) std::abort();
  return 0;
}
