// A certificate is read or refused; the identity that comes out is a valid one.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/time/time.h"
#include "config/identity/certificate.h"
#include "config/identity/revocation_list.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<clusterd::CertificateInfo> info =
      clusterd::ParseCertificate(text);
  if (info.ok() && !clusterd::ParseSpiffeId(info->id.ToString()).ok()) {
    std::abort();
  }
  clusterd::CheckKeyBelongs(text, text).IgnoreError();
  const auto lists = clusterd::RevocationLists::Parse({text}, text);
  const auto key = clusterd::ReadCertificateKey(text);
  if (lists.ok() && key.ok()) {
    lists->Check(*key, absl::UnixEpoch()).IgnoreError();
  }
  return 0;
}
