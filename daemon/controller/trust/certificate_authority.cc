#include "daemon/controller/trust/certificate_authority.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "config/identity/pem_objects.h"
#include "config/identity/regular_file.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"

namespace clusterd {
namespace {

// The longest common name in X.520; nothing here uses it.
constexpr size_t kMaxCommonName = 64;
constexpr int kSerialBits = 127;

absl::StatusOr<std::string> ReadKey(const std::string& path) {
  struct stat found = {};
  if (stat(path.c_str(), &found) != 0) return FileStatus(path, errno);
  if (found.st_uid != geteuid() && found.st_uid != 0) {
    return DeniedWords("msg-trust-key-owner", path, found.st_uid, geteuid());
  }
  return ReadRegularFile(path, kMaxPemBytes, S_IRWXG | S_IRWXO, "0600");
}

// Sets the validity from `from` to `to`, and the issuer's name `issuer`.
bool SetBasics(X509* certificate, const X509_NAME* issuer, absl::Time from,
               absl::Time to) {
  // Serials are positive and have the full length.
  const Owned<BIGNUM> serial(BN_new());
  return serial &&
         BN_rand(serial.get(), kSerialBits, BN_RAND_TOP_ONE,
                 BN_RAND_BOTTOM_ANY) == 1 &&
         BN_to_ASN1_INTEGER(serial.get(), X509_get_serialNumber(certificate)) !=
             nullptr &&
         X509_set_version(certificate, 2) == 1 &&
         X509_set_issuer_name(certificate, issuer) == 1 &&
         ASN1_TIME_set(X509_getm_notBefore(certificate), absl::ToTimeT(from)) !=
             nullptr &&
         ASN1_TIME_set(X509_getm_notAfter(certificate), absl::ToTimeT(to)) !=
             nullptr;
}

bool SetSubject(X509* certificate, absl::string_view name) {
  const absl::string_view cut = name.substr(0, kMaxCommonName);
  return X509_NAME_add_entry_by_txt(
             X509_get_subject_name(certificate), "CN", MBSTRING_ASC,
             reinterpret_cast<const unsigned char*>(cut.data()),
             static_cast<int>(cut.size()), -1, 0) == 1;
}

bool AddExtension(X509* certificate, X509* issuer, int nid,
                  const std::string& value) {
  X509V3_CTX context;
  X509V3_set_ctx_nodb(&context);
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  const Owned<X509_EXTENSION> extension(
      X509V3_EXT_conf_nid(nullptr, &context, nid, value.c_str()));
  return extension && X509_add_ext(certificate, extension.get(), -1) == 1;
}

}  // namespace

absl::StatusOr<std::unique_ptr<CertificateAuthority>>
CertificateAuthority::Open(const std::string& folder, absl::Time now) {
  const std::string root_path = absl::StrCat(folder, "/root.crt");
  const std::string path = absl::StrCat(folder, "/intermediate.crt");
  const std::string key_path = absl::StrCat(folder, "/intermediate.key");
  ASSIGN_OR_RETURN(std::string roots,
                   ReadRegularFile(root_path, kMaxRootsBytes));
  ASSIGN_OR_RETURN(std::string own, ReadRegularFile(path));
  ASSIGN_OR_RETURN(const std::string key_pem, ReadKey(key_path));
  const std::string bundles_path = absl::StrCat(folder, "/roots.bundle");
  auto bundles_text = ReadRegularFile(bundles_path, kMaxBundleBytes);
  if (absl::IsNotFound(bundles_text.status())) bundles_text = "";
  RETURN_IF_ERROR(bundles_text.status());
  auto bundles = ReadRootBundles(*bundles_text);
  RETURN_IF_ERROR(About(bundles_path, bundles.status()));
  RETURN_IF_ERROR(About(root_path, CheckHasCertificate(roots)));
  RETURN_IF_ERROR(About(key_path, CheckKeyBelongs(own, key_pem)));
  std::unique_ptr<CertificateAuthority> authority(new CertificateAuthority());
  authority->certificate_ = FirstOf(own, PEM_read_bio_X509);
  authority->key_ = FirstOf(key_pem, PEM_read_bio_PrivateKey);
  if (X509_check_ca(authority->certificate_.get()) != 1) {
    return InvalidWords("msg-trust-not-a-ca", path);
  }
  const absl::Status issued = CheckChain(own, roots, now);
  if (!issued.ok()) {
    return PreconditionWords("msg-trust-ca-not-issued", path, root_path,
                             MessageWords(issued));
  }
  authority->root_bundles_ = *std::move(bundles_text);
  if (!bundles->empty()) authority->newest_bundle_ = std::move(bundles->back());
  authority->not_after_ =
      TimeOf(X509_get0_notAfter(authority->certificate_.get()))
          .value_or(absl::InfinitePast());
  // Ignores the rest of the file.
  authority->intermediate_pem_ = SplitCertificates(own).front().pem;
  for (const NamedCertificate& root : SplitCertificates(roots)) {
    authority->roots_pem_.append(root.pem);
    if (authority->ca_hash_.empty() && IsSignedBy(own, root.pem)) {
      authority->ca_hash_ = absl::StrCat("sha256:", root.spki_sha256);
    }
  }
  return authority;
}

absl::Status CertificateAuthority::CheckBundle(const TlsFiles& tls,
                                               const std::string& cluster,
                                               absl::Time now) const {
  if (newest_bundle_.number == 0) return absl::OkStatus();
  ASSIGN_OR_RETURN(const TlsPem own, ReadTlsFiles(tls));
  const std::string& roots = newest_bundle_.roots_pem;
  if (newest_bundle_.cluster == cluster &&
      CheckChain(own.certificate, roots, now).ok() &&
      CheckChain(intermediate_pem_, roots, now).ok()) {
    return absl::OkStatus();
  }
  return PreconditionWords("msg-trust-bundle-not-ours", newest_bundle_.number,
                           cluster, tls.certificate);
}

absl::StatusOr<std::string> CertificateAuthority::Issue(
    const SpiffeId& id, absl::string_view public_key_der, absl::Time now,
    absl::Duration life) const {
  if (now >= not_after_) {
    return PreconditionWords("msg-trust-ca-ended", UtcText(not_after_));
  }
  X509* const issuer = certificate_.get();
  const auto* der =
      reinterpret_cast<const unsigned char*>(public_key_der.data());
  const Owned<EVP_PKEY> public_key(
      d2i_PUBKEY(nullptr, &der, static_cast<long>(public_key_der.size())));
  const Owned<X509> leaf(X509_new());
  const std::string uri = id.ToString();
  const EVP_MD* const digest =
      EVP_PKEY_is_a(key_.get(), "ED25519") == 1 ? nullptr : EVP_sha256();
  const bool made =
      public_key && leaf &&
      SetBasics(leaf.get(), X509_get_subject_name(issuer),
                now - kClockAllowance, std::min(now + life, not_after_)) &&
      SetSubject(leaf.get(), id.name) &&
      X509_set_pubkey(leaf.get(), public_key.get()) == 1 &&
      AddExtension(leaf.get(), issuer, NID_basic_constraints,
                   "critical,CA:FALSE") &&
      AddExtension(leaf.get(), issuer, NID_key_usage,
                   "critical,digitalSignature") &&
      AddExtension(leaf.get(), issuer, NID_ext_key_usage, "clientAuth") &&
      AddExtension(leaf.get(), issuer, NID_authority_key_identifier, "keyid") &&
      // A valid id has no character that would add a second name.
      ParseSpiffeId(uri).ok() &&
      AddExtension(leaf.get(), issuer, NID_subject_alt_name,
                   absl::StrCat("URI:", uri)) &&
      X509_sign(leaf.get(), key_.get(), digest) > 0;
  ERR_clear_error();
  std::string pem = made ? PemOf(leaf.get()) : "";
  if (pem.empty()) {
    return InternalWords("msg-trust-not-issued");
  }
  return pem;
}

bool CertificateAuthority::HasIssued(absl::string_view certificate_pem) const {
  const Owned<X509> certificate = FirstOf(certificate_pem, PEM_read_bio_X509);
  const bool issued =
      certificate &&
      X509_verify(certificate.get(), X509_get0_pubkey(certificate_.get())) == 1;
  ERR_clear_error();
  return issued;
}

}  // namespace clusterd
