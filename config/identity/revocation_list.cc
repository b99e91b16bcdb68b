#include "config/identity/revocation_list.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <tuple>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "config/identity/pem_objects.h"
#include "config/identity/regular_file.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

// A million entries.
constexpr size_t kMaxListBytes = size_t{64} << 20;
constexpr size_t kMaxFiles = 64;
// A cRLNumber of 20 bytes, in hex: RFC 5280, 5.2.3.
constexpr size_t kMaxNumberDigits = 40;

std::string NameDer(const X509_NAME* name) {
  return DerOf(name, i2d_X509_NAME);
}

absl::StatusOr<absl::Time> TimeNamed(const ASN1_TIME* asn1, const char* what) {
  if (const auto time = TimeOf(asn1)) return *time;
  return absl::InvalidArgumentError(absl::StrCat("has no ", what));
}

std::vector<Owned<X509_CRL>> AllLists(absl::string_view pem) {
  std::vector<Owned<X509_CRL>> all;
  constexpr absl::string_view kBegin = "-----BEGIN X509 CRL";
  for (size_t at = pem.find(kBegin); at != absl::string_view::npos;
       at = pem.find(kBegin, at + 1)) {
    // Null for one that cannot be read: the caller counts.
    all.push_back(FirstOf(pem.substr(at), PEM_read_bio_X509_CRL));
  }
  return all;
}

bool MaySignLists(X509* ca) {
  return X509_check_ca(ca) > 0 && (X509_get_key_usage(ca) & KU_CRL_SIGN) != 0;
}

// The CAs of the bundle, and those beside the lists that they have signed.
std::vector<Owned<X509>> Signers(const std::vector<std::string>& texts,
                                 absl::string_view ca_pem) {
  std::vector<Owned<X509>> signers = AllCertificates(ca_pem);
  std::vector<Owned<X509>> beside;
  for (const std::string& text : texts) {
    for (Owned<X509>& each : AllCertificates(text)) {
      beside.push_back(std::move(each));
    }
  }
  const auto is_below_one = [&signers](const Owned<X509>& each) {
    return X509_check_ca(each.get()) > 0 &&
           std::any_of(signers.begin(), signers.end(), [&](const auto& above) {
             return X509_check_issued(above.get(), each.get()) == X509_V_OK &&
                    X509_verify(each.get(), X509_get0_pubkey(above.get())) == 1;
           });
  };
  // One that is found may have signed the next.
  auto found = std::find_if(beside.begin(), beside.end(), is_below_one);
  while (found != beside.end()) {
    signers.push_back(std::move(*found));
    beside.erase(found);
    found = std::find_if(beside.begin(), beside.end(), is_below_one);
  }
  ERR_clear_error();
  return signers;
}

// But for the entries. InvalidArgument for no lastUpdate, or a cRLNumber that
// RFC 5280 does not allow.
absl::StatusOr<ListAge> AgeOf(const X509_CRL* list) {
  ListAge age;
  ASSIGN_OR_RETURN(age.begins, TimeNamed(X509_CRL_get0_lastUpdate(list),
                                         "begin (lastUpdate)"));
  int found = 0;
  const Owned<ASN1_INTEGER> number(static_cast<ASN1_INTEGER*>(
      X509_CRL_get_ext_d2i(list, NID_crl_number, &found, nullptr)));
  if (number == nullptr && found == -1) return age;
  const std::string digits = number ? SerialText(number.get()) : "";
  // BN_bn2hex writes whole bytes, and a zero as "0".
  age.number =
      digits == "0" ? digits : std::string(absl::StripPrefix(digits, "0"));
  if (digits.empty() || digits[0] == '-' || digits.size() > kMaxNumberDigits) {
    return absl::InvalidArgumentError(
        "has a cRLNumber that is none, expected one of 1 to 20 bytes");
  }
  return age;
}

// Empty for null.
std::string BytesOf(const ASN1_OCTET_STRING* text) {
  if (text == nullptr) return "";
  return std::string(reinterpret_cast<const char*>(ASN1_STRING_get0_data(text)),
                     static_cast<size_t>(ASN1_STRING_length(text)));
}

CertificateKey KeyOf(X509* certificate) {
  const X509_NAME* const issuer = X509_get_issuer_name(certificate);
  return {NameDer(issuer), BytesOf(X509_get0_authority_key_id(certificate)),
          NameText(issuer, "a CA without a name"),
          SerialText(X509_get0_serialNumber(certificate))};
}

// The key in ListAges. A list's own word about its CA's key does not count: a
// CA may leave it out of the next list.
std::string AgeKeyOf(X509* ca) {
  return absl::StrCat(NameDer(X509_get_subject_name(ca)),
                      Sha256(PublicKeyDer(X509_get0_pubkey(ca))));
}

// InvalidArgument if it is not all that its CA has taken back, and no more.
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
  return absl::InvalidArgumentError(
      "is of a part of its CA's certificates (issuingDistributionPoint, "
      "delta), "
      "names other CAs, or has a critical extension, expected a whole list of "
      "its CA");
}

std::string Moment(absl::Time time) {
  return absl::FormatTime(absl::RFC3339_sec, time, absl::UTCTimeZone());
}

std::string AgeText(const ListAge& age) {
  return absl::StrCat(
      age.number.empty() ? "" : absl::StrCat("number 0x", age.number, " "),
      "of ", Moment(age.begins), " with ", age.entries, " entries");
}

X509* SignerOf(X509_CRL* list, const std::vector<Owned<X509>>& signers) {
  for (const Owned<X509>& each : signers) {
    if (X509_NAME_cmp(X509_get_subject_name(each.get()),
                      X509_CRL_get_issuer(list)) == 0 &&
        MaySignLists(each.get()) &&
        X509_CRL_verify(list, X509_get0_pubkey(each.get())) == 1) {
      return each.get();
    }
  }
  return nullptr;
}

}  // namespace

absl::StatusOr<CertificateKey> ReadCertificateKey(absl::string_view pem) {
  const Owned<X509> certificate = FirstOf(pem, PEM_read_bio_X509);
  if (!certificate) {
    return absl::InvalidArgumentError(
        "no certificate, expected PEM text with \"BEGIN CERTIFICATE\"");
  }
  return KeyOf(certificate.get());
}

absl::StatusOr<RevocationLists> RevocationLists::Parse(
    const std::vector<std::string>& texts, absl::string_view ca_pem) {
  const std::vector<Owned<X509>> signers = Signers(texts, ca_pem);
  RevocationLists result;
  for (const std::string& text : texts) {
    for (const Owned<X509_CRL>& each : AllLists(text)) {
      if (each == nullptr) {
        return absl::InvalidArgumentError(
            "a list that cannot be read, expected PEM text of an X.509 CRL");
      }
      List list;
      const X509_NAME* const issuer = X509_CRL_get_issuer(each.get());
      list.issuer_text = NameText(issuer, "a CA without a name");
      const std::string name = absl::StrCat("the list of ", list.issuer_text);
      const auto age = AgeOf(each.get());
      const auto ends =
          TimeNamed(X509_CRL_get0_nextUpdate(each.get()), "end (nextUpdate)");
      STACK_OF(X509_REVOKED)* const entries = X509_CRL_get_REVOKED(each.get());
      for (const absl::Status& status :
           {age.status(), ends.status(), CheckWhole(each.get(), entries)}) {
        if (status.ok()) continue;
        return absl::InvalidArgumentError(
            absl::StrCat(name, ": ", status.message()));
      }
      list.age = *age;
      list.ends = *ends;
      X509* const signer = SignerOf(each.get(), signers);
      if (signer == nullptr) {
        ERR_clear_error();
        return absl::PermissionDeniedError(absl::StrCat(
            name,
            ": is signed by none of our CAs, nor by one below them whose "
            "certificate is beside it"));
      }
      for (int i = 0; i < sk_X509_REVOKED_num(entries); ++i) {
        list.serials.insert(SerialText(
            X509_REVOKED_get0_serialNumber(sk_X509_REVOKED_value(entries, i))));
      }
      list.age.entries = list.serials.size();
      list.issuer = NameDer(issuer);
      list.issuer_key_id = BytesOf(X509_get0_subject_key_id(signer));
      List& kept = result.lists_[AgeKeyOf(signer)];
      if (kept.issuer_text.empty() || IsOlder(kept.age, list.age)) {
        kept = std::move(list);
      }
    }
  }
  ERR_clear_error();
  if (result.lists_.empty()) {
    return absl::InvalidArgumentError(
        "no list, expected PEM text with \"BEGIN X509 CRL\"");
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

std::string RevocationLists::Trouble(const List& list, absl::Time now) {
  if (now >= list.ends) {
    return absl::StrCat("the list of ", list.issuer_text, ": ended at ",
                        Moment(list.ends), ", expected a newer one");
  }
  if (now < list.age.begins) {
    return absl::StrCat("the list of ", list.issuer_text, ": begins at ",
                        Moment(list.age.begins), ", expected one in force");
  }
  return "";
}

absl::Status RevocationLists::Check(const CertificateKey& key,
                                    absl::Time now) const {
  std::string trouble = absl::StrCat("no list of ", key.issuer_text,
                                     " by the key that issued the certificate");
  bool is_covered = false;
  for (const auto& [ca, list] : lists_) {
    if (!Covers(list, key)) continue;
    if (list.issuer_is_revoked || list.serials.contains(key.serial)) {
      return absl::PermissionDeniedError(
          absl::StrCat(list.issuer_is_revoked ? "the CA " : "the certificate ",
                       list.issuer_is_revoked ? list.issuer_text : key.serial,
                       " is revoked"));
    }
    std::string own = Trouble(list, now);
    if (!is_covered || !own.empty()) trouble = std::move(own);
    is_covered = true;
  }
  return trouble.empty() ? absl::OkStatus()
                         : absl::FailedPreconditionError(trouble);
}

std::string RevocationLists::NotInForce(absl::Time now) const {
  std::vector<std::string> troubles;
  for (const auto& [issuer, list] : lists_) {
    std::string trouble = Trouble(list, now);
    if (!trouble.empty()) troubles.push_back(std::move(trouble));
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
    return absl::FailedPreconditionError(absl::StrCat(
        "the list of ", list.issuer_text, ": is ", AgeText(list.age),
        ", and one was read before that is ", AgeText(before->second),
        "; take the CA's newest, or have it make one with a higher number"));
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
      return absl::NotFoundError(
          absl::StrCat(path, ": ", files.size(),
                       " files *.pem and *.crl, expected 1 to ", kMaxFiles));
    }
  } else {
    files.push_back(path);
  }
  std::vector<std::string> texts;
  for (const std::string& file : files) {
    ASSIGN_OR_RETURN(std::string text, ReadRegularFile(file, kMaxListBytes));
    texts.push_back(std::move(text));
  }
  return texts;
}

}  // namespace clusterd
