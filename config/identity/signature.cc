#include "config/identity/signature.h"

#include <algorithm>
#include <cstddef>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/identity/certificate.h"
#include "config/identity/pem_objects.h"

namespace clusterd {
namespace {

// The peer partly chooses what the controller signs with this key in a TLS
// handshake. This prefix marks our texts, as in TLS 1.3 (RFC 8446, 4.4.3):
// longer than the 32 bytes that a TLS 1.2 client chooses at the front.
std::string Framed(absl::string_view text) {
  return absl::StrCat(std::string(64, ' '), "clusterd, signed text",
                      absl::string_view("\0", 1), text);
}

// A chain is the leaf and a few intermediates.
constexpr size_t kMaxCertificateBytes = 64 << 10;
constexpr size_t kMaxSignatureBytes = 4096;

const unsigned char* Bytes(absl::string_view text) {
  return reinterpret_cast<const unsigned char*>(text.data());
}

absl::Status Refused(const FindingValue& why) {
  return DeniedWords("msg-trust-signature", why);
}

}  // namespace

bool IsMadeBy(EVP_PKEY* key, absl::string_view signature,
              absl::string_view text) {
  const Owned<EVP_MD_CTX> digest(EVP_MD_CTX_new());
  const bool good =
      digest &&
      EVP_DigestVerifyInit(digest.get(), nullptr, EVP_sha256(), nullptr, key) ==
          1 &&
      EVP_DigestVerify(digest.get(), Bytes(signature), signature.size(),
                       Bytes(text), text.size()) == 1;
  ERR_clear_error();
  return good;
}

absl::StatusOr<TextSigner> TextSigner::Create(absl::string_view key_pem) {
  std::shared_ptr<EVP_PKEY> key = FirstOf(key_pem, PEM_read_bio_PrivateKey);
  if (key) return TextSigner(std::move(key));
  return InvalidWords("msg-trust-no-private-key");
}

absl::StatusOr<std::string> TextSigner::Sign(absl::string_view text) const {
  const std::string framed = Framed(text);
  const Owned<EVP_MD_CTX> digest(EVP_MD_CTX_new());
  // The longest signature of this key.
  size_t size = static_cast<size_t>(EVP_PKEY_get_size(key_.get()));
  std::string signature(size, '\0');
  const bool good =
      digest &&
      EVP_DigestSignInit(digest.get(), nullptr, EVP_sha256(), nullptr,
                         key_.get()) == 1 &&
      EVP_DigestSign(digest.get(),
                     reinterpret_cast<unsigned char*>(&signature[0]), &size,
                     Bytes(framed), framed.size()) == 1;
  ERR_clear_error();
  if (!good) {
    return InvalidWords("msg-trust-key-cannot-sign");
  }
  signature.resize(size);
  return signature;
}

struct SignatureVerifier::Certificates {
  const std::string certificate_pem;
  const std::string ca_pem;
  absl::StatusOr<CertificateInfo> info;
  std::vector<Owned<X509>> chain;
  std::vector<Owned<X509>> authorities;
  // The chain's defect under the authorities when it was read.
  const absl::Time read_at;
  const std::string trouble;
  // The first end of all these, after which the chain is not valid.
  const absl::Time ends;

  std::string TroubleAt(absl::Time now) const {
    if (trouble.empty() && now >= read_at && now < ends) return "";
    return ChainTrouble(chain[0].get(), chain, authorities, now);
  }
};

std::shared_ptr<const SignatureVerifier::Certificates> SignatureVerifier::Read(
    absl::string_view certificate_pem, absl::string_view ca_pem,
    absl::Time now) {
  {
    absl::MutexLock lock(&mutex_);
    if (last_ != nullptr && last_->certificate_pem == certificate_pem &&
        last_->ca_pem == ca_pem) {
      return last_;
    }
  }
  std::vector<Owned<X509>> chain = AllCertificates(certificate_pem);
  std::vector<Owned<X509>> authorities = AllCertificates(ca_pem);
  std::string trouble =
      chain.empty() ? "none"
                    : ChainTrouble(chain[0].get(), chain, authorities, now);
  absl::Time ends = absl::InfiniteFuture();
  for (const auto* certificates : {&chain, &authorities}) {
    for (const Owned<X509>& each : *certificates) {
      ends = std::min(ends, TimeOf(X509_get0_notAfter(each.get()))
                                .value_or(absl::InfinitePast()));
    }
  }
  auto read = std::make_shared<const Certificates>(
      Certificates{std::string(certificate_pem), std::string(ca_pem),
                   ParseCertificate(certificate_pem), std::move(chain),
                   std::move(authorities), now, std::move(trouble), ends});
  absl::MutexLock lock(&mutex_);
  last_ = read;
  return read;
}

absl::Status SignatureVerifier::Verify(absl::string_view text,
                                       absl::string_view signature,
                                       absl::string_view certificate_pem,
                                       absl::string_view ca_pem,
                                       absl::string_view cluster,
                                       absl::Time now) {
  if (certificate_pem.size() > kMaxCertificateBytes ||
      signature.size() > kMaxSignatureBytes) {
    return Refused(Worded("signature-too-long"));
  }
  const auto certificates = Read(certificate_pem, ca_pem, now);
  const absl::StatusOr<CertificateInfo>& info = certificates->info;
  if (!info.ok()) return Refused(MessageWords(info.status()));
  if (info->id.kind != IdentityKind::kController ||
      info->id.cluster != cluster) {
    return Refused(Worded("signature-of", info->id.ToString(), cluster));
  }
  const std::vector<Owned<X509>>& chain = certificates->chain;
  const std::string trouble = certificates->TroubleAt(now);
  ERR_clear_error();
  if (!trouble.empty()) {
    return Refused(Worded("msg-trust-chain", Term(trouble)));
  }
  const bool good =
      IsMadeBy(X509_get0_pubkey(chain[0].get()), signature, Framed(text));
  return good ? absl::OkStatus() : Refused(Worded("signature-not-over-this"));
}

}  // namespace clusterd
