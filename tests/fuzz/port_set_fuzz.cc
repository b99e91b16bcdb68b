// Every set that parses is written back as the same set, sorted and merged.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/values/port_set.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto set = clusterd::PortSet::Parse(text);
  if (!set.ok()) return 0;
  const auto again = clusterd::PortSet::Parse(set->ToString());
  if (!again.ok() || *again != *set) std::abort();
  for (size_t i = 1; i < set->ranges().size(); ++i) {
    if (set->ranges()[i - 1].second + 1 >= set->ranges()[i].first) std::abort();
  }
  return 0;
}
