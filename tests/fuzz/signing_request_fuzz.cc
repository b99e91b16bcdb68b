// A signing request is read or refused; the key that comes out has a digest.
#include "config/identity/signing_request.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

void clusterd::FuzzText(const std::string& text) {
  const auto asked = ReadSigningRequest(text);
  if (!asked.ok()) return;
  Require(!asked->public_key_der.empty() && asked->spki_sha256.size() == 64);
}
