// Every spec that loads is written back to the same spec; any other text yields
// a message that names the file.
#include "absl/strings/match.h"
#include "config/spec/spec_loader.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(spec_loader, 1, "tests/testdata/spec/cluster/*.yaml") {
  const absl::StatusOr<ClusterSpec> spec = LoadSpec("cluster.yaml", text);
  if (!spec.ok()) {
    return Require(absl::StartsWith(spec.status().message(), "cluster.yaml:"));
  }
  absl::StatusOr<ClusterSpec> again = LoadSpec("again", SpecToYaml(*spec));
  Require(again.ok());
  again->set_digest(spec->digest());
  Require(again->SerializeAsString() == spec->SerializeAsString());
}

}  // namespace
}  // namespace clusterd
