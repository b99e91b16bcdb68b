// A signing request is read or refused; the key that comes out has a digest.
#include "config/identity/signing_request.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(signing_request, 1, "tests/testdata/identity/*.csr") {
  const auto asked = ReadSigningRequest(text);
  if (!asked.ok()) return;
  Require(!asked->public_key_der.empty() && asked->spki_sha256.size() == 64);
}

}  // namespace
}  // namespace clusterd
