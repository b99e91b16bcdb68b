// Ids that parse are written back as the same text, or without "/role/viewer".
#include "config/identity/certificate.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(spiffe_id, 1, "tests/testdata/identity/*.uri") {
  const absl::StatusOr<SpiffeId> id = ParseSpiffeId(text);
  if (!id.ok()) return;
  const std::string written = id->ToString();
  Require(written == text || written + "/role/viewer" == text);
  Require(*ParseSpiffeId(written) == *id);
}

}  // namespace
}  // namespace clusterd
