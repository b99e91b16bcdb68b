// Names and values are pieces of the text, and no name is empty or repeated.
#include <cstdint>
#include <cstdlib>
#include <set>
#include <string>

#include "daemon/host/hccn_output.h"
#include "daemon/host/hccn_query/hccn_named_values.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto is_inside = [&text](absl::string_view piece) {
    return piece.empty() ||
           (piece.data() >= text.data() &&
            piece.data() + piece.size() <= text.data() + text.size());
  };
  const auto values =
      clusterd::ParseHccnNamedValues(clusterd::HccnDataLines(text));
  if (!values.ok()) return 0;
  std::set<absl::string_view> names;
  for (const clusterd::HccnNamedValue& named : *values) {
    if (named.name.empty() || !names.insert(named.name).second) std::abort();
    if (!is_inside(named.name) || !is_inside(named.value)) std::abort();
  }
  return 0;
}
