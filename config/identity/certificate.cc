#include "config/identity/certificate.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/ascii.h"
#include "config/identity/pem_objects.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

std::vector<std::string> UriNames(X509* certificate) {
  std::vector<std::string> uris;
  const Owned<GENERAL_NAMES> names(static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr)));
  ERR_clear_error();
  if (!names) return uris;
  for (int i = 0; i < sk_GENERAL_NAME_num(names.get()); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names.get(), i);
    if (name->type != GEN_URI) continue;
    uris.push_back(BytesOf(name->d.uniformResourceIdentifier));
  }
  return uris;
}

// Empty for a key that OpenSSL does not know.
std::string SpkiHex(X509* certificate) {
  EVP_PKEY* const key = X509_get0_pubkey(certificate);
  return key == nullptr ? "" : Sha256Hex(PublicKeyDer(key));
}

constexpr size_t kMaxUriBytes = 1024;
constexpr size_t kMaxClusterBytes = 255;
constexpr size_t kMaxNameBytes = 253;

// Indexed by the kinds and roles of the enumerations.
constexpr absl::string_view kKindNames[] = {"controller", "host", "user"};
constexpr absl::string_view kRoleNames[] = {"hook", "viewer", "operator",
                                            "admin"};
// Names of our own programs in histories and journals: a user of that name
// would pass for them.
constexpr absl::string_view kOurNames[] = {"clusterd", "clusterd-controller"};

bool IsName(absl::string_view name) {
  static const LazyRE2 kForm = {"[A-Za-z0-9._-]+"};
  return name.size() <= kMaxNameBytes && name != "." && name != ".." &&
         HasForm(name, *kForm);
}

// The peer chose the text: it is cut and escaped for messages.
absl::Status Malformed(absl::string_view uri, const FindingValue& what) {
  return InvalidWords("msg-trust-id-not-valid",
                      absl::CHexEscape(uri.substr(0, 200)), what);
}

// Returns the first certificate in the text, valid until this thread asks for
// another; null if there is none. The cache matters: a call asks for its own
// several times, and OpenSSL 3.0 takes longer to read one than to sign, since
// it tries every decoder for the key.
X509* FirstCertificate(absl::string_view pem) {
  thread_local std::string last;
  thread_local Owned<X509> certificate;
  if (certificate == nullptr || last != pem) {
    certificate = FirstOf(pem, PEM_read_bio_X509);
    last = std::string(pem);
  }
  return certificate.get();
}

}  // namespace

std::string ChainTrouble(X509* certificate,
                         const std::vector<Owned<X509>>& between,
                         const std::vector<Owned<X509>>& authorities,
                         std::optional<absl::Time> now) {
  const Owned<X509_STORE> store(X509_STORE_new());
  const Owned<STACK_OF(X509)> untrusted(sk_X509_new_null());
  const Owned<X509_STORE_CTX> check(X509_STORE_CTX_new());
  if (!store || !untrusted || !check) return "no memory";
  const absl::Cleanup forgets = [] { ERR_clear_error(); };
  for (const Owned<X509>& authority : authorities) {
    X509_STORE_add_cert(store.get(), authority.get());
  }
  for (const Owned<X509>& each : between) {
    sk_X509_push(untrusted.get(), each.get());
  }
  if (X509_STORE_CTX_init(check.get(), store.get(), certificate,
                          untrusted.get()) != 1) {
    return "cannot be checked";
  }
  // The bundle may hold an intermediate without the root above it.
  X509_VERIFY_PARAM* const how = X509_STORE_CTX_get0_param(check.get());
  X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_PARTIAL_CHAIN);
  if (now) {
    X509_VERIFY_PARAM_set_time(how, absl::ToTimeT(*now));
  } else {
    X509_VERIFY_PARAM_set_flags(how, X509_V_FLAG_NO_CHECK_TIME);
  }
  if (X509_verify_cert(check.get()) == 1) return "";
  return X509_verify_cert_error_string(X509_STORE_CTX_get_error(check.get()));
}

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
      "(?:/role/(hook|viewer|operator|admin))?",
      RE2::Latin1};
  if (uri.size() > kMaxUriBytes) return Malformed(uri, Worded("id-too-long"));
  SpiffeId id;
  absl::string_view kind;
  absl::string_view role;
  if (!HasForm(uri, *kForm, &id.cluster, &kind, &id.name, &role)) {
    static const LazyRE2 kOtherRole = {"spiffe://[^/]+/user/[^/]+/role/([^/]+)",
                                       RE2::Latin1};
    if (!HasForm(uri, *kOtherRole, &role)) {
      return Malformed(uri, Worded("id-unknown-shape"));
    }
    return Malformed(
        uri, Worded("id-unknown-role", absl::CHexEscape(role.substr(0, 64)),
                    DidYouMeanWords(role, kRoleNames)));
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
    return Malformed(uri, Worded("id-unknown-shape"));
  }
  if (!IsClusterName(id.cluster)) {
    return Malformed(uri, Worded("id-bad-cluster"));
  }
  if (!is_controller && !IsName(id.name)) {
    return Malformed(uri, Worded("id-bad-name"));
  }
  if (id.kind == IdentityKind::kUser &&
      absl::c_linear_search(kOurNames, absl::AsciiStrToLower(id.name))) {
    return Malformed(uri, Worded("id-our-name"));
  }
  return id;
}

absl::StatusOr<SpiffeId> ParseUriNames(
    absl::Span<const std::string> uri_names) {
  if (uri_names.size() == 1) return ParseSpiffeId(uri_names[0]);
  return InvalidWords("msg-trust-uri-names", uri_names.size());
}

absl::StatusOr<CertificateInfo> ParseCertificate(absl::string_view pem) {
  X509* const certificate = FirstCertificate(pem);
  if (certificate == nullptr) return NoCertificate();
  CertificateInfo info;
  ASSIGN_OR_RETURN(info.id, ParseUriNames(UriNames(certificate)));
  const auto begin = TimeOf(X509_get0_notBefore(certificate));
  const auto end = TimeOf(X509_get0_notAfter(certificate));
  if (!begin || !end) {
    return InvalidWords("msg-trust-validity");
  }
  info.not_before = *begin;
  info.not_after = *end;
  info.serial = SerialText(X509_get0_serialNumber(certificate));
  info.spki_sha256 = SpkiHex(certificate);
  ERR_clear_error();
  return info;
}

std::string CertificateSerial(absl::string_view pem) {
  X509* const certificate = FirstCertificate(pem);
  if (certificate == nullptr) return "";
  return absl::AsciiStrToUpper(SerialText(X509_get0_serialNumber(certificate)));
}

std::vector<CertificateEnd> CertificateEnds(absl::string_view pem) {
  std::vector<CertificateEnd> ends;
  for (const Owned<X509>& certificate : AllCertificates(pem)) {
    const auto end = TimeOf(X509_get0_notAfter(certificate.get()));
    if (!end) continue;
    const auto id = ParseUriNames(UriNames(certificate.get()));
    ends.push_back({id.ok() ? id->ToString()
                            : NameText(X509_get_subject_name(certificate.get()),
                                       "a certificate without a name"),
                    *end});
  }
  return ends;
}

bool IsSignedBy(absl::string_view certificate_pem, absl::string_view ca_pem) {
  const absl::Cleanup forgets = [] { ERR_clear_error(); };
  const std::vector<Owned<X509>> authorities = AllCertificates(ca_pem);
  return absl::c_any_of(
      AllCertificates(certificate_pem), [&](const auto& each) {
        return absl::c_any_of(authorities, [&](const auto& ca) {
          return X509_verify(each.get(), X509_get0_pubkey(ca.get())) == 1;
        });
      });
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
    return InvalidWords("msg-trust-no-private-key");
  }
  if (belongs) return absl::OkStatus();
  return InvalidWords("msg-trust-not-a-pair");
}

std::vector<NamedCertificate> SplitCertificates(absl::string_view pem) {
  std::vector<NamedCertificate> all;
  for (const Owned<X509>& each : AllCertificates(pem)) {
    all.push_back({PemOf(each.get()), SpkiHex(each.get())});
  }
  ERR_clear_error();
  return all;
}

absl::Status CheckChain(absl::string_view certificate_pem,
                        absl::string_view ca_pem, absl::Time now) {
  const std::vector<Owned<X509>> chain = AllCertificates(certificate_pem);
  if (chain.empty()) return NoCertificate();
  const std::string trouble =
      ChainTrouble(chain[0].get(), chain, AllCertificates(ca_pem), now);
  if (trouble.empty()) return absl::OkStatus();
  return DeniedWords("msg-trust-chain", Term(trouble));
}

absl::Status CheckHasCertificate(absl::string_view pem) {
  const std::vector<Owned<X509>> begun = BegunCertificates(pem);
  const auto cut = static_cast<size_t>(absl::c_count(begun, nullptr));
  if (cut == begun.size()) return NoCertificate();
  if (cut == 0) return absl::OkStatus();
  return InvalidWords("msg-trust-cut-short", begun.size(), begun.size() - cut);
}

}  // namespace clusterd
