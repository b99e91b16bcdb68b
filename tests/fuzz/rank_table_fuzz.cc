// Every accepted table has servers, and all of them have devices.
#include "config/launch/rank_table.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_BYTES(rank_table, 1, "tests/testdata/launch/super_pod.json",
           "tests/testdata/launch/two_servers.json") {
  const absl::StatusOr<RankTable> table = ParseRankTable(bytes);
  if (!table.ok()) return;
  Require(!table->servers.empty());
  for (const RankTableServer& server : table->servers) {
    Require(!server.devices.empty());
  }
}

}  // namespace
}  // namespace clusterd
