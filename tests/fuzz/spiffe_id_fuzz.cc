// Ids that parse are written back as the same text, or without "/role/viewer".
#include "config/identity/certificate.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

void clusterd::FuzzText(const std::string& text) {
  const absl::StatusOr<SpiffeId> id = ParseSpiffeId(text);
  if (!id.ok()) return;
  const std::string written = id->ToString();
  Require(written == text || written + "/role/viewer" == text);
  Require(*ParseSpiffeId(written) == *id);
}
