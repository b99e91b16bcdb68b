#include "daemon/controller/trust/join_token.h"

#include <arpa/inet.h>

#include <algorithm>
#include <iterator>

#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/values/sha256.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "openssl/crypto.h"
#include "openssl/rand.h"

namespace clusterd {
namespace {

constexpr int kIdBytes = 4;
constexpr int kSecretBytes = 16;

// "ipv6:2001:db8::/64"; addresses other than IPv6 stay unchanged.
std::string CountedAs(const std::string& address) {
  if (!absl::StartsWith(address, "ipv6:")) return address;
  // gRPC escapes brackets, and a zone may follow.
  const std::string text = absl::StrReplaceAll(
      address.substr(5), {{"%5B", ""}, {"%5D", ""}, {"[", ""}, {"]", ""}});
  in6_addr bytes = {};
  if (inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &bytes) !=
      1) {
    return address;
  }
  std::fill(std::begin(bytes.s6_addr) + 8, std::end(bytes.s6_addr), 0);
  char network[INET6_ADDRSTRLEN] = "";
  inet_ntop(AF_INET6, &bytes, network, sizeof(network));
  return absl::StrCat("ipv6:", network, "/64");
}

}  // namespace

std::string JoinToken::ToString() const {
  return absl::StrCat("cj1.", id, ".", secret);
}

std::string JoinToken::SecretDigest() const { return Sha256(secret); }

absl::StatusOr<JoinToken> NewJoinToken() {
  unsigned char bytes[kIdBytes + kSecretBytes];
  if (RAND_bytes(bytes, sizeof(bytes)) != 1) {
    return InternalWords("msg-trust-no-random-numbers");
  }
  const std::string hex = absl::BytesToHexString(
      {reinterpret_cast<const char*>(bytes), sizeof(bytes)});
  OPENSSL_cleanse(bytes, sizeof(bytes));
  return JoinToken{hex.substr(0, 2 * kIdBytes), hex.substr(2 * kIdBytes)};
}

absl::StatusOr<JoinToken> ParseJoinToken(absl::string_view text) {
  static const LazyRE2 kForm = {"cj1\\.([0-9a-f]{8})\\.([0-9a-f]{32})"};
  JoinToken token;
  if (HasForm(text, *kForm, &token.id, &token.secret)) return token;
  return InvalidWords("msg-trust-token-not-valid");
}

bool SameDigest(absl::string_view a, absl::string_view b) {
  return a.size() == b.size() &&
         CRYPTO_memcmp(a.data(), b.data(), a.size()) == 0;
}

std::string AddressOf(const std::string& peer) {
  return peer.substr(0, peer.rfind(':'));
}

absl::Status JoinLimits::Take(const std::string& peer, absl::Time now) {
  const std::string address = CountedAs(AddressOf(peer));
  absl::MutexLock lock(&mutex_);
  const AllowanceLimits of_one = {each_.burst,
                                  1 / absl::ToDoubleSeconds(each_.then_every)};
  if (addresses_.size() >= kMaxAddresses &&
      (now - forgot_at_ >= absl::Seconds(1) || now < forgot_at_)) {
    // Addresses with a full allowance are forgotten.
    forgot_at_ = now;
    for (auto it = addresses_.begin(); it != addresses_.end();) {
      const bool is_full = it->second.Refill(of_one, now) >= each_.burst;
      it = is_full ? addresses_.erase(it) : next(it);
    }
  }
  Allowance* own = nullptr;
  if (addresses_.size() < kMaxAddresses || addresses_.count(address) > 0) {
    own = &addresses_[address];
  }
  const bool of_all = all_.Refill({kAllPerSecond, kAllPerSecond}, now) < 1;
  if (of_all || (own != nullptr && own->Refill(of_one, now) < 1)) {
    return ExhaustedWords(
        of_all ? "msg-trust-too-many-of-all" : "msg-trust-too-many-of-one",
        absl::FormatDuration(of_all ? absl::Seconds(1) : each_.then_every));
  }
  all_.Use();
  if (own != nullptr) own->Use();
  return absl::OkStatus();
}

}  // namespace clusterd
