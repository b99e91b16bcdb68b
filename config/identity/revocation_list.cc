#include "config/identity/revocation_list.h"

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <optional>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "config/identity/pem_objects.h"
#include "config/identity/regular_file.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"

namespace clusterd {
namespace {

// A million entries.
constexpr size_t kMaxListBytes = size_t{64} << 20;
constexpr size_t kMaxFiles = 64;
// A cRLNumber of 20 bytes, in hex: RFC 5280, 5.2.3.
constexpr size_t kMaxNumberDigits = 40;

constexpr char kNoName[] = "a CA without a name";

absl::Status Lacks(const char* field) {
  return InvalidWords("crl-lacks", field);
}

// The CAs of the bundle, and those beside the lists that lead to one of them.
// Their own ends do not matter: each list says how long it counts.
std::vector<Owned<X509>> Signers(const std::vector<std::string>& texts,
                                 absl::string_view ca_pem) {
  std::vector<Owned<X509>> signers = AllCertificates(ca_pem);
  std::vector<Owned<X509>> beside;
  for (const std::string& text : texts) {
    absl::c_move(AllCertificates(text), std::back_inserter(beside));
  }
  std::vector<Owned<X509>> below;
  for (const Owned<X509>& each : beside) {
    if (X509_check_ca(each.get()) <= 0 ||
        !ChainTrouble(each.get(), beside, signers, std::nullopt).empty()) {
      continue;
    }
    X509_up_ref(each.get());
    below.emplace_back(each.get());
  }
  absl::c_move(below, std::back_inserter(signers));
  return signers;
}

// The number for ListAge. InvalidArgument if RFC 5280 does not allow it.
absl::StatusOr<std::string> NumberOf(const X509_CRL* list) {
  int found = 0;
  const Owned<ASN1_INTEGER> number(static_cast<ASN1_INTEGER*>(
      X509_CRL_get_ext_d2i(list, NID_crl_number, &found, nullptr)));
  if (number == nullptr && found == -1) return "";
  const std::string digits = SerialText(number.get());
  if (digits.empty() || digits[0] == '-' || digits.size() > kMaxNumberDigits) {
    return InvalidWords("crl-number-not-valid");
  }
  return digits == "0" ? digits : std::string(absl::StripPrefix(digits, "0"));
}

CertificateKey KeyOf(X509* certificate) {
  X509_NAME* const issuer = X509_get_issuer_name(certificate);
  return {DerOf(issuer, i2d_X509_NAME),
          BytesOf(X509_get0_authority_key_id(certificate)),
          NameText(issuer, kNoName),
          SerialText(X509_get0_serialNumber(certificate))};
}

// The key in ListAges. The list's own id of its CA's key does not count: a CA
// may leave it out of the next list.
std::string AgeKeyOf(X509* ca) {
  return absl::StrCat(DerOf(X509_get_subject_name(ca), i2d_X509_NAME),
                      Sha256(PublicKeyDer(X509_get0_pubkey(ca))));
}

// InvalidArgument if it does not have exactly all that its CA has revoked.
absl::Status CheckWhole(const X509_CRL* list, STACK_OF(X509_REVOKED) * all) {
  bool whole = X509_CRL_get_ext_by_critical(list, 1, -1) < 0;
  for (const int part : {NID_issuing_distribution_point, NID_delta_crl}) {
    whole = whole && X509_CRL_get_ext_by_NID(list, part, -1) < 0;
  }
  for (int i = 0; i < sk_X509_REVOKED_num(all); ++i) {
    const X509_REVOKED* const entry = sk_X509_REVOKED_value(all, i);
    whole = whole && X509_REVOKED_get_ext_by_critical(entry, 1, -1) < 0 &&
            X509_REVOKED_get_ext_by_NID(entry, NID_certificate_issuer, -1) < 0;
  }
  if (whole) return absl::OkStatus();
  return InvalidWords("crl-not-whole");
}

FindingValue AgeWords(const ListAge& age) {
  return Worded(age.number.empty() ? "crl-age" : "crl-age-with-number",
                UtcText(age.begins), age.entries, age.number);
}

X509* SignerOf(X509_CRL* list, const std::vector<Owned<X509>>& signers) {
  for (const Owned<X509>& each : signers) {
    if (X509_NAME_cmp(X509_get_subject_name(each.get()),
                      X509_CRL_get_issuer(list)) == 0 &&
        X509_check_ca(each.get()) > 0 &&
        (X509_get_key_usage(each.get()) & KU_CRL_SIGN) != 0 &&
        X509_CRL_verify(list, X509_get0_pubkey(each.get())) == 1) {
      return each.get();
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<CertificateKey> ReadCertificateKey(absl::string_view pem) {
  const Owned<X509> certificate = FirstOf(pem, PEM_read_bio_X509);
  if (!certificate) return NoCertificate();
  return KeyOf(certificate.get());
}

absl::StatusOr<RevocationLists> RevocationLists::Parse(
    const std::vector<std::string>& texts, absl::string_view ca_pem) {
  const std::vector<Owned<X509>> signers = Signers(texts, ca_pem);
  const absl::Cleanup forgets = [] { ERR_clear_error(); };
  RevocationLists result;
  for (const std::string& text : texts) {
    for (const Owned<X509_CRL>& each :
         AllOf(text, "-----BEGIN X509 CRL", PEM_read_bio_X509_CRL)) {
      if (each == nullptr) {
        return InvalidWords("msg-trust-crl-not-readable");
      }
      X509_NAME* const issuer = X509_CRL_get_issuer(each.get());
      List list;
      list.issuer_text = NameText(issuer, kNoName);
      const auto begins = TimeOf(X509_CRL_get0_lastUpdate(each.get()));
      const auto ends = TimeOf(X509_CRL_get0_nextUpdate(each.get()));
      const auto number = NumberOf(each.get());
      STACK_OF(X509_REVOKED)* const entries = X509_CRL_get_REVOKED(each.get());
      for (const absl::Status& status :
           {begins ? number.status() : Lacks("lastUpdate"),
            ends ? absl::OkStatus() : Lacks("nextUpdate"),
            CheckWhole(each.get(), entries)}) {
        if (status.ok()) continue;
        return InvalidWords("msg-trust-crl-not-valid", list.issuer_text,
                            MessageWords(status));
      }
      X509* const signer = SignerOf(each.get(), signers);
      if (signer == nullptr) {
        return DeniedWords("msg-trust-crl-not-signed", list.issuer_text);
      }
      for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
        list.serials.insert(SerialText(
            X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(entries, i))));
      }
      list.age = {*number, *begins, list.serials.size()};
      list.ends = *ends;
      list.issuer = DerOf(issuer, i2d_X509_NAME);
      list.issuer_key_id = BytesOf(X509_get0_subject_key_id(signer));
      List& kept = result.lists_[AgeKeyOf(signer)];
      if (kept.issuer_text.empty() || IsOlder(kept.age, list.age)) {
        kept = std::move(list);
      }
    }
  }
  if (result.lists_.empty()) {
    return InvalidWords("msg-trust-no-crl");
  }
  for (const Owned<X509>& signer : signers) {
    const auto own = result.lists_.find(AgeKeyOf(signer.get()));
    if (own == result.lists_.end()) continue;
    const CertificateKey key = KeyOf(signer.get());
    for (const auto& [above, list] : result.lists_) {
      own->second.issuer_is_revoked |=
          Covers(list, key) && list.serials.contains(key.serial);
    }
  }
  return result;
}

absl::Status RevocationLists::CheckInForce(const List& list, absl::Time now) {
  const bool has_ended = now >= list.ends;
  if (!has_ended && now >= list.age.begins) return absl::OkStatus();
  return PreconditionWords(
      has_ended ? "msg-trust-crl-ended" : "msg-trust-crl-not-begun",
      list.issuer_text, UtcText(has_ended ? list.ends : list.age.begins));
}

// OpenSSL finds the chains of those that sign lists. Its own search of lists
// (X509_V_FLAG_CRL_CHECK) does not keep what the header promises:
// - it verifies the whole list again for every certificate, which takes 4 ms
//   with 200,000 entries, and every open stream is checked every 20 s;
// - with X509_V_FLAG_CRL_CHECK_ALL it needs a list of every CA up to the root;
// - without that flag it takes a certificate below a revoked intermediate, and
//   it always takes one below a revoked CA that stands in the bundle;
// - it prefers the later lastUpdate to the higher number.
absl::Status RevocationLists::Check(const CertificateKey& key,
                                    absl::Time now) const {
  absl::Status status =
      PreconditionWords("msg-trust-crl-missing", key.issuer_text);
  bool is_covered = false;
  for (const auto& [ca, list] : lists_) {
    if (!Covers(list, key)) continue;
    if (list.issuer_is_revoked || list.serials.contains(key.serial)) {
      return DeniedWords(
          list.issuer_is_revoked ? "msg-trust-ca-revoked" : "msg-trust-revoked",
          list.issuer_is_revoked ? list.issuer_text : key.serial);
    }
    absl::Status own = CheckInForce(list, now);
    if (!is_covered || !own.ok()) status = std::move(own);
    is_covered = true;
  }
  return status;
}

std::string RevocationLists::NotInForce(absl::Time now) const {
  std::vector<std::string> troubles;
  for (const auto& [issuer, list] : lists_) {
    const absl::Status status = CheckInForce(list, now);
    if (!status.ok()) troubles.emplace_back(status.message());
  }
  return absl::StrJoin(troubles, "\n");
}

bool IsOlder(const ListAge& list, const ListAge& than) {
  if (!list.number.empty() && !than.number.empty() &&
      list.number != than.number) {
    return std::make_pair(list.number.size(), list.number) <
           std::make_pair(than.number.size(), than.number);
  }
  return std::tie(list.begins, list.entries) <
         std::tie(than.begins, than.entries);
}

absl::Status RevocationLists::CheckNotOlder(const ListAges& seen) const {
  for (const auto& [ca, list] : lists_) {
    const auto before = seen.find(ca);
    if (before == seen.end() || !IsOlder(list.age, before->second)) continue;
    return PreconditionWords("msg-trust-crl-older", list.issuer_text,
                             AgeWords(list.age), AgeWords(before->second));
  }
  return absl::OkStatus();
}

ListAges RevocationLists::Newest(ListAges seen) const {
  for (const auto& [ca, list] : lists_) {
    const auto [known, is_new] = seen.emplace(ca, list.age);
    if (is_new || !IsOlder(known->second, list.age)) continue;
    // A list without a number takes no number away.
    std::string number = std::move(known->second.number);
    known->second = list.age;
    if (list.age.number.empty()) known->second.number = std::move(number);
  }
  return seen;
}

size_t RevocationLists::revoked() const {
  size_t count = 0;
  for (const auto& [issuer, list] : lists_) count += list.serials.size();
  return count;
}

absl::StatusOr<std::vector<std::string>> ReadRevocationTexts(
    const std::string& path) {
  namespace fs = std::filesystem;
  std::error_code error;
  std::vector<std::string> files;
  if (fs::is_directory(path, error)) {
    for (fs::directory_iterator it(path, error), end; it != end && !error;
         it.increment(error)) {
      const std::string ending = it->path().extension();
      if (ending == ".pem" || ending == ".crl") files.push_back(it->path());
    }
    if (error) return FileStatus(path, error.value());
    std::sort(files.begin(), files.end());
    if (files.empty() || files.size() > kMaxFiles) {
      return NotFoundWords("msg-trust-crl-files", path, files.size(),
                           kMaxFiles);
    }
  } else {
    files.push_back(path);
  }
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(texts.emplace_back(),
                     ReadRegularFile(file, kMaxListBytes));
  }
  return texts;
}

}  // namespace clusterd
