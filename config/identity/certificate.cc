#include "config/identity/certificate.h"

#include <ctime>
#include <iterator>
#include <memory>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "config/identity/pem_objects.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "openssl/bio.h"
#include "openssl/err.h"
#include "openssl/evp.h"
#include "openssl/pem.h"
#include "openssl/x509.h"
#include "openssl/x509v3.h"

namespace clusterd {
namespace {

// "CN=clusterd CA of demo".
std::string NameText(const X509_NAME* name) {
  const Owned<BIO> text(BIO_new(BIO_s_mem()));
  char* bytes = nullptr;
  if (!text || X509_NAME_print_ex(text.get(), name, 0, XN_FLAG_RFC2253) < 0) {
    return "a certificate without a name";
  }
  const long size = BIO_get_mem_data(text.get(), &bytes);
  return std::string(bytes, static_cast<size_t>(size));
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

bool IsName(absl::string_view name) {
  static const LazyRE2 kForm = {"[A-Za-z0-9._-]+"};
  return name.size() <= kMaxNameBytes && name != "." && name != ".." &&
         HasForm(name, *kForm);
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
  static const LazyRE2 kForm = {"[a-z0-9._-]+"};
  return name.size() <= kMaxClusterBytes && HasForm(name, *kForm);
}

absl::StatusOr<SpiffeId> ParseSpiffeId(absl::string_view uri) {
  static const LazyRE2 kForm = {
      "spiffe://([^/]+)/(controller|host|user)(?:/([^/]+))?"
      "(?:/role/(viewer|operator|admin))?",
      RE2::Latin1};
  if (uri.size() > kMaxUriBytes) return Malformed(uri, "too long");
  SpiffeId id;
  absl::string_view kind;
  absl::string_view role;
  if (!HasForm(uri, *kForm, &id.cluster, &kind, &id.name, &role)) {
    return Malformed(uri, "unknown shape");
  }
  id.kind = static_cast<IdentityKind>(absl::c_find(kKindNames, kind) -
                                      std::begin(kKindNames));
  if (!role.empty()) {
    id.role = static_cast<Role>(absl::c_find(kRoleNames, role) -
                                std::begin(kRoleNames));
  }
  const bool is_controller = id.kind == IdentityKind::kController;
  if (is_controller != id.name.empty() ||
      (!role.empty() && id.kind != IdentityKind::kUser)) {
    return Malformed(uri, "unknown shape");
  }
  if (!IsClusterName(id.cluster)) return Malformed(uri, "bad cluster name");
  if (!is_controller && !IsName(id.name)) return Malformed(uri, "bad name");
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
  const Owned<X509> certificate = FirstOf(pem, PEM_read_bio_X509);
  if (!certificate) return NoCertificate();
  CertificateInfo info;
  ASSIGN_OR_RETURN(info.id, ParseUriNames(UriNames(certificate.get())));
  if (!ToTime(X509_get0_notBefore(certificate.get()), &info.not_before) ||
      !ToTime(X509_get0_notAfter(certificate.get()), &info.not_after)) {
    return absl::InvalidArgumentError("certificate: malformed validity");
  }
  return info;
}

std::vector<CertificateEnd> CertificateEnds(absl::string_view pem) {
  std::vector<CertificateEnd> ends;
  for (const Owned<X509>& certificate : AllCertificates(pem)) {
    CertificateEnd end;
    const auto id = ParseUriNames(UriNames(certificate.get()));
    end.subject = id.ok() ? id->ToString()
                          : NameText(X509_get_subject_name(certificate.get()));
    if (ToTime(X509_get0_notAfter(certificate.get()), &end.not_after)) {
      ends.push_back(std::move(end));
    }
  }
  return ends;
}

bool IsSignedBy(absl::string_view certificate_pem, absl::string_view ca_pem) {
  bool found = false;
  const std::vector<Owned<X509>> authorities = AllCertificates(ca_pem);
  for (const Owned<X509>& each : AllCertificates(certificate_pem)) {
    found = found || absl::c_any_of(authorities, [&](const Owned<X509>& ca) {
              return X509_verify(each.get(), X509_get0_pubkey(ca.get())) == 1;
            });
  }
  ERR_clear_error();
  return found;
}

absl::Status CheckKeyBelongs(absl::string_view certificate_pem,
                             absl::string_view key_pem) {
  const Owned<X509> certificate = FirstOf(certificate_pem, PEM_read_bio_X509);
  if (!certificate) return NoCertificate();
  const Owned<EVP_PKEY> key = FirstOf(key_pem, PEM_read_bio_PrivateKey);
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
  return FirstOf(pem, PEM_read_bio_X509) ? absl::OkStatus() : NoCertificate();
}

}  // namespace clusterd
