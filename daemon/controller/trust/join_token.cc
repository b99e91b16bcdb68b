#include "daemon/controller/trust/join_token.h"

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "config/values/sha256.h"
#include "config/values/text_form.h"
#include "openssl/crypto.h"
#include "openssl/rand.h"

namespace clusterd {
namespace {

constexpr int kIdBytes = 4;
constexpr int kSecretBytes = 16;

}  // namespace

std::string JoinToken::ToString() const {
  return absl::StrCat("cj1.", id, ".", secret);
}

std::string JoinToken::SecretDigest() const { return Sha256(secret); }

absl::StatusOr<JoinToken> NewJoinToken() {
  unsigned char bytes[kIdBytes + kSecretBytes];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
    return absl::InternalError("OpenSSL has no random numbers");
  }
  const std::string hex = absl::BytesToHexString(
      {reinterpret_cast<const char*>(bytes), sizeof(bytes)});
  OPENSSL_cleanse(bytes, sizeof(bytes));
  return JoinToken{hex.substr(0, 2 * kIdBytes), hex.substr(2 * kIdBytes)};
}

absl::StatusOr<JoinToken> ParseJoinToken(absl::string_view text) {
  static const LazyRE2 kForm = {"cj1\\.([0-9a-f]{8})\\.([0-9a-f]{32})"};
  JoinToken token;
  if (HasForm(text, *kForm, &token.id, &token.secret)) return token;
  return absl::InvalidArgumentError(
      "token: is none, expected the whole of what clusterctl token create "
      "printed: cj1., 8 digits, a dot, 32 digits");
}

bool SameDigest(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

}  // namespace clusterd
