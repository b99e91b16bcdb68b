// Every spec that loads is written back to the same spec; any other text yields
// a message that names the file.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "config/spec/spec_loader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<clusterd::ClusterSpec> spec =
      clusterd::LoadSpec("cluster.yaml", text);
  if (!spec.ok()) {
    if (!absl::StartsWith(spec.status().message(), "cluster.yaml:")) {
      std::abort();
    }
    return 0;
  }
  absl::StatusOr<clusterd::ClusterSpec> again =
      clusterd::LoadSpec("again", clusterd::SpecToYaml(*spec));
  if (!again.ok()) std::abort();
  again->set_digest(spec->digest());
  if (again->SerializeAsString() != spec->SerializeAsString()) std::abort();
  return 0;
}
