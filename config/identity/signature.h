// Texts that a controller signs with the key of its certificate, so that a
// reader can prove later that the controller wrote them.
#ifndef CONFIG_IDENTITY_SIGNATURE_H_
#define CONFIG_IDENTITY_SIGNATURE_H_

#include <memory>
#include <string>
#include <utility>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"

struct evp_pkey_st;  // EVP_PKEY of OpenSSL.

namespace clusterd {

// Signs with one key. Safe for concurrent use.
class TextSigner {
 public:
  // InvalidArgument if the key, PEM, cannot be read.
  static absl::StatusOr<TextSigner> Create(absl::string_view key_pem);

  // With SHA-256. InvalidArgument if the key cannot sign.
  absl::StatusOr<std::string> Sign(absl::string_view text) const;

 private:
  explicit TextSigner(std::shared_ptr<evp_pkey_st> key)
      : key_(std::move(key)) {}

  std::shared_ptr<evp_pkey_st> key_;
};

// Keeps the certificates that it read last, and whether they form a chain: both
// take OpenSSL 3.0 longer than to verify a text. Safe for concurrent use.
class SignatureVerifier {
 public:
  // OK if `certificate_pem`, with its chain, was issued by `ca_pem`, is valid
  // at `now` and names the controller of `cluster`, and its key made the
  // signature over `text`; PermissionDenied otherwise, and why.
  absl::Status Verify(absl::string_view text, absl::string_view signature,
                      absl::string_view certificate_pem,
                      absl::string_view ca_pem, absl::string_view cluster,
                      absl::Time now) ABSL_LOCKS_EXCLUDED(mutex_);

 private:
  struct Certificates;
  std::shared_ptr<const Certificates> Read(absl::string_view certificate_pem,
                                           absl::string_view ca_pem,
                                           absl::Time now)
      ABSL_LOCKS_EXCLUDED(mutex_);

  absl::Mutex mutex_;
  std::shared_ptr<const Certificates> last_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_SIGNATURE_H_
