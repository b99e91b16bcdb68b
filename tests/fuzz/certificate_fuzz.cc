// A certificate is read or refused; the identity that comes out is a valid one.
#include "absl/time/time.h"
#include "config/identity/certificate.h"
#include "config/identity/revocation_list.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(certificate, 1, "tests/testdata/identity/*.pem") {
  const absl::StatusOr<CertificateInfo> info = ParseCertificate(text);
  Require(!info.ok() || ParseSpiffeId(info->id.ToString()).ok());
  CheckKeyBelongs(text, text).IgnoreError();
  const auto lists = RevocationLists::Parse({text}, text);
  const auto key = ReadCertificateKey(text);
  if (lists.ok() && key.ok()) {
    lists->Check(*key, absl::UnixEpoch()).IgnoreError();
  }
}

}  // namespace
}  // namespace clusterd
