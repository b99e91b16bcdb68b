// A certificate authority for tests and simulated clusters: makes EC P-256
// certificates in memory. Not for real clusters: its key is unprotected.
#ifndef TESTS_SUPPORT_CONFIG_TEST_AUTHORITY_H_
#define TESTS_SUPPORT_CONFIG_TEST_AUTHORITY_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/identity/certificate.h"

namespace clusterd {

// Times count from now.
struct IssueOptions {
  absl::Duration valid_from = -absl::Hours(1);
  absl::Duration valid_until = absl::Hours(24 * 60);
  // The certificate names the key that signed it (authorityKeyIdentifier).
  bool names_key = false;
};

// Safe for concurrent use.
class TestAuthority {
 public:
  // A new authority with a key of its own. If one host knows two, their names
  // must differ: OpenSSL finds an issuer by name.
  static std::unique_ptr<TestAuthority> Create(
      const char* name = "clusterd test authority",
      const IssueOptions& options = {-absl::Hours(24 * 365),
                                     absl::Hours(24 * 365)});
  // An authority whose certificate and key are known. InvalidArgument if they
  // are not PEM or not a pair.
  static absl::StatusOr<std::unique_ptr<TestAuthority>> FromPem(
      absl::string_view certificate_pem, absl::string_view key_pem);

  ~TestAuthority();
  TestAuthority(const TestAuthority&) = delete;
  TestAuthority& operator=(const TestAuthority&) = delete;

  const std::string& certificate_pem() const { return certificate_pem_; }
  std::string KeyPem() const;

  // A list of these revoked certificates, in PEM; with extensions by their NIDs
  // and OpenSSL values: {NID_crl_number, "7"}.
  using ListExtensions = std::vector<std::pair<int, std::string>>;
  std::string RevocationList(const std::vector<std::string>& revoked_pems,
                             const IssueOptions& options = {},
                             const ListExtensions& extensions = {}) const;
  // A list whose entries name another CA as their issuer.
  std::string IndirectList(const std::vector<std::string>& revoked_pems) const;
  // A CA issued by this one, with a key of its own.
  std::unique_ptr<TestAuthority> MakeBelow(
      const char* name, const IssueOptions& options = {}) const;

  // A bundle of roots that this one has signed, as deploy/certificates.sh roots
  // makes it. `number` and `cluster` may be invalid.
  std::string RootBundle(const std::string& cluster, const std::string& number,
                         const std::string& roots_pem) const;

  // A certificate with these URI names and a new key, and the authority's own
  // certificate as ca.
  TlsPem Issue(const std::vector<std::string>& uri_names,
               const IssueOptions& options = {}) const;

 private:
  struct Keys;
  std::string SignedList(const std::vector<std::string>& revoked_pems,
                         const IssueOptions& options,
                         const ListExtensions& extensions,
                         bool is_indirect) const;
  explicit TestAuthority(std::unique_ptr<Keys> keys);

  const std::unique_ptr<Keys> keys_;
  const std::string certificate_pem_;
};

// Signs like a controller with that key.
absl::StatusOr<std::string> SignText(absl::string_view key_pem,
                                     absl::string_view text);

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONFIG_TEST_AUTHORITY_H_
