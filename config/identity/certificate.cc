#include "config/identity/certificate.h"

#include <algorithm>
#include <ctime>
#include <iterator>
#include <limits>
#include <memory>
#include <vector>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "openssl/bio.h"
#include "openssl/err.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace clusterd {
namespace {

struct Free {
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
  void operator()(GENERAL_NAMES* names) const { GENERAL_NAMES_free(names); }
};
template <typename T>
using Owned = std::unique_ptr<T, Free>;

// OpenSSL asks on the terminal unless it is given somebody who never answers.
int NoPassword(char*, int, int, void*) { return -1; }

Owned<BIO> OpenText(absl::string_view text) {
  if (text.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return nullptr;
  }
  return Owned<BIO>(
      BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Owned<X509> FirstCertificate(absl::string_view pem) {
  const Owned<BIO> text = OpenText(pem);
  Owned<X509> certificate;
  if (text) {
    certificate.reset(
        PEM_read_bio_X509(text.get(), nullptr, NoPassword, nullptr));
  }
  ERR_clear_error();
  return certificate;
}

std::vector<std::string> UriNames(X509* certificate) {
  std::vector<std::string> uris;
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  if (!names) return uris;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    const ASN1_STRING* uri = name->d.uniformResourceIdentifier;
    uris.emplace_back(reinterpret_cast<const char*>(ASN1_STRING_get0_data(uri)),
                      static_cast<size_t>(ASN1_STRING_length(uri)));
  }
  return uris;
}

bool ToTime(const ASN1_TIME* asn1, absl::Time* time) {
  std::tm tm = {};
  if (ASN1_TIME_to_tm(asn1, &tm) != 1) return false;
  *time = absl::FromTM(tm, absl::UTCTimeZone());
  return true;
}

absl::Status NoCertificate() {
  return absl::InvalidArgumentError(
      "no certificate, expected PEM text with \"BEGIN CERTIFICATE\"");
}

constexpr size_t kMaxUriBytes = 1024;
constexpr size_t kMaxClusterBytes = 255;
constexpr size_t kMaxNameBytes = 253;

// By the number of their kind and role in the enumerations.
constexpr absl::string_view kKindNames[] = {"controller", "host", "user"};
constexpr absl::string_view kRoleNames[] = {"viewer", "operator", "admin"};

bool HasOnlyNameCharacters(absl::string_view name) {
  return std::all_of(name.begin(), name.end(), [](unsigned char c) {
    return absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
  });
}

bool IsName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && name != "." &&
         name != ".." && HasOnlyNameCharacters(name);
}

// The peer chose the text: it is cut and escaped before anybody prints it.
absl::Status Malformed(absl::string_view uri, absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat(
      "SPIFFE id \"", absl::CHexEscape(uri.substr(0, 200)), "\": ", what,
      ", expected spiffe://CLUSTER/controller, "
      "spiffe://CLUSTER/host/NAME or "
      "spiffe://CLUSTER/user/NAME[/role/viewer|operator|admin]"));
}

}  // namespace

absl::string_view KindName(IdentityKind kind) {
  return kKindNames[static_cast<size_t>(kind)];
}

absl::string_view RoleName(Role role) {
  return kRoleNames[static_cast<size_t>(role)];
}

std::string SpiffeId::ToString() const {
  std::string text = absl::StrCat("spiffe://", cluster, "/", KindName(kind));
  if (kind != IdentityKind::kController) absl::StrAppend(&text, "/", name);
  if (kind == IdentityKind::kUser && role != Role::kViewer) {
    absl::StrAppend(&text, "/role/", RoleName(role));
  }
  return text;
}

bool IsClusterName(absl::string_view name) {
  return !name.empty() && name.size() <= kMaxClusterBytes &&
         HasOnlyNameCharacters(name) &&
         std::none_of(name.begin(), name.end(), absl::ascii_isupper);
}

absl::StatusOr<SpiffeId> ParseSpiffeId(absl::string_view uri) {
  if (uri.size() > kMaxUriBytes) return Malformed(uri, "too long");
  absl::string_view rest = uri;
  if (!absl::ConsumePrefix(&rest, "spiffe://")) {
    return Malformed(uri, "not a spiffe:// URI");
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(rest, '/');
  SpiffeId id;
  id.cluster = std::string(parts[0]);
  if (!IsClusterName(id.cluster)) return Malformed(uri, "bad cluster name");
  if (parts.size() == 2 && parts[1] == "controller") {
    id.kind = IdentityKind::kController;
    return id;
  }
  if (parts.size() < 3) return Malformed(uri, "unknown shape");
  if (!IsName(parts[2])) return Malformed(uri, "bad name");
  id.name = std::string(parts[2]);
  if (parts.size() == 3 && parts[1] == "host") {
    id.kind = IdentityKind::kHost;
    return id;
  }
  if (parts[1] != "user") return Malformed(uri, "unknown shape");
  id.kind = IdentityKind::kUser;
  if (parts.size() == 3) return id;
  if (parts.size() != 5 || parts[3] != "role") {
    return Malformed(uri, "unknown shape");
  }
  const auto role =
      std::find(std::begin(kRoleNames), std::end(kRoleNames), parts[4]);
  if (role == std::end(kRoleNames)) return Malformed(uri, "unknown role");
  id.role = static_cast<Role>(role - std::begin(kRoleNames));
  return id;
}

absl::StatusOr<SpiffeId> ParseUriNames(
    absl::Span<const std::string> uri_names) {
  if (uri_names.size() != 1) {
    return absl::InvalidArgumentError(absl::StrCat(
        "certificate: ", uri_names.size(),
        " URI names, expected exactly one, which is the SPIFFE id"));
  }
  return ParseSpiffeId(uri_names[0]);
}

absl::StatusOr<CertificateInfo> ParseCertificate(absl::string_view pem) {
  const Owned<X509> certificate = FirstCertificate(pem);
  if (!certificate) return NoCertificate();
  CertificateInfo info;
  ASSIGN_OR_RETURN(info.id, ParseUriNames(UriNames(certificate.get())));
  if (!ToTime(X509_get0_notBefore(certificate.get()), &info.not_before) ||
      !ToTime(X509_get0_notAfter(certificate.get()), &info.not_after)) {
    return absl::InvalidArgumentError("certificate: malformed validity");
  }
  return info;
}

absl::Status CheckKeyBelongs(absl::string_view certificate_pem,
                             absl::string_view key_pem) {
  const Owned<X509> certificate = FirstCertificate(certificate_pem);
  if (!certificate) return NoCertificate();
  const Owned<BIO> text = OpenText(key_pem);
  Owned<EVP_PKEY> key;
  if (text) {
    key.reset(
        PEM_read_bio_PrivateKey(text.get(), nullptr, NoPassword, nullptr));
  }
  const bool belongs =
      key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  if (!key) {
    return absl::InvalidArgumentError(
        "no private key, expected unencrypted PEM text with \"BEGIN PRIVATE "
        "KEY\"");
  }
  if (!belongs) {
    return absl::InvalidArgumentError(
        "the key is not the certificate's, expected a pair");
  }
  return absl::OkStatus();
}

absl::Status CheckHasCertificate(absl::string_view pem) {
  return FirstCertificate(pem) ? absl::OkStatus() : NoCertificate();
}

}  // namespace clusterd
