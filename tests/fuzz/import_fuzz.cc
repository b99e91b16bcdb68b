// Every import makes a file that loads, or is refused with its reason; only
// host names and addresses of a file get into it.
#include "config/learn/import.h"
#include "config/learn/spec_writer.h"
#include "config/spec/spec_loader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(import, 1, "tests/testdata/launch/inventory_file",
          "tests/testdata/launch/slurm.conf",
          "tests/testdata/launch/two_servers.json") {
  ImportOptions options;
  options.cluster = "demo";
  options.product = "atlas-a2";
  options.netmask = "255.255.255.0";
  const auto seen = ImportCluster({{"file", text}}, options);
  ParseHostsFile({"file", text}).status().IgnoreError();
  if (!seen.ok() || seen->hosts.size() > 200) return;
  const auto written = WriteSpec(*seen);
  if (!written.ok() || written->pattern.empty()) return;
  Require(LoadSpec("file", written->yaml).ok());
}

}  // namespace
}  // namespace clusterd
