#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "config/launch/rank_table.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<clusterd::RankTable> table =
      clusterd::ParseRankTable(text);
  if (!table.ok()) return 0;
  // Every accepted table has servers, and all of them have devices.
  if (table->servers.empty()) std::abort();
  for (const clusterd::RankTableServer& server : table->servers) {
    if (server.devices.empty()) std::abort();
  }
  return 0;
}
