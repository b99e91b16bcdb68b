#include "config/identity/root_bundle.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/escaping.h"
#include "config/identity/certificate.h"
#include "config/identity/pem_objects.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

constexpr absl::string_view kHead = "clusterd roots of ";
// Bounds the log lines of a sender of thousands.
constexpr size_t kMaxNews = 32;

// An intermediate is not a root, a controller's least of all.
bool IsRoot(const Owned<X509>& certificate) {
  return X509_check_ca(certificate.get()) == 1 &&
         X509_self_signed(certificate.get(), /*verify_signature=*/1) == 1;
}

bool IsSignedByRoot(const RootBundle& bundle, absl::string_view roots_pem,
                    absl::Time now) {
  const absl::string_view text = bundle.text;
  time_t time = absl::ToTimeT(now);
  return absl::c_any_of(AllCertificates(roots_pem), [&](const auto& root) {
    return IsRoot(root) &&
           X509_cmp_time(X509_get0_notAfter(root.get()), &time) > 0 &&
           IsMadeBy(X509_get0_pubkey(root.get()), bundle.signature,
                    text.substr(0, text.rfind("signature ")));
  });
}

absl::StatusOr<RootBundle> ParseBundle(absl::string_view text) {
  static const LazyRE2 kForm = {
      "clusterd roots of ([a-z0-9._-]{1,255})\nnumber ([1-9][0-9]{0,17})\n"
      "((?s:.*))signature ([A-Za-z0-9+/=]+)\n",
      RE2::Latin1};
  RootBundle bundle;
  absl::string_view signature;
  const bool is_read =
      HasForm(text, *kForm, &bundle.cluster, &bundle.number, &bundle.roots_pem,
              &signature) &&
      absl::Base64Unescape(signature, &bundle.signature) &&
      CheckHasCertificate(bundle.roots_pem).ok() &&
      absl::c_all_of(AllCertificates(bundle.roots_pem), IsRoot);
  ERR_clear_error();
  bundle.text = std::string(text);
  if (is_read) return bundle;
  return InvalidWords("msg-trust-bundle-not-valid");
}

// Why the host refuses this bundle; no words: it has taken it.
FindingValue TakeBundle(const RootBundle& bundle, absl::string_view cluster,
                        absl::Time now, uint64_t* number, Roots* held) {
  if (bundle.text == held->bundle) {
    // An older ca.crt may have been restored beside it.
    held->pem = bundle.roots_pem;
    return {};
  }
  if (bundle.cluster != cluster) {
    return Worded("bundle-of-cluster", bundle.number, bundle.cluster);
  }
  if (bundle.number <= *number) {
    return Worded("bundle-not-above", bundle.number, *number);
  }
  if (!IsSignedByRoot(bundle, held->pem, now)) {
    return Worded("bundle-not-signed", bundle.number);
  }
  *number = bundle.number;
  held->pem = bundle.roots_pem;
  held->bundle = bundle.text;
  return {};
}

// A line for each that is in `some` and not in `others`.
void AddNews(absl::string_view row, const std::vector<std::string>& some,
             const std::vector<std::string>& others,
             std::vector<FindingValue>* news) {
  for (const std::string& hash : some) {
    if (absl::c_binary_search(others, hash)) continue;
    if (news->size() == kMaxNews) return;
    news->push_back(Worded(row, hash));
  }
}

}  // namespace

absl::StatusOr<std::vector<RootBundle>> ReadRootBundles(
    absl::string_view text) {
  std::vector<RootBundle> bundles;
  if (text.size() > kMaxBundleBytes) {
    return InvalidWords("msg-trust-bundle-too-long", kMaxBundleBytes >> 10);
  }
  while (!text.empty()) {
    const size_t next = std::min(text.find(kHead, 1), text.size());
    ASSIGN_OR_RETURN(bundles.emplace_back(), ParseBundle(text.substr(0, next)));
    text.remove_prefix(next);
  }
  return bundles;
}

Roots TakeRootBundles(const Roots& held, absl::string_view bundles,
                      absl::string_view unsigned_pem, absl::string_view cluster,
                      absl::Time now) {
  Roots roots{held.pem, held.bundle};
  FindingValue refused;
  const auto own = ReadRootBundles(held.bundle);
  const auto sent = ReadRootBundles(bundles);
  if (!own.ok()) {
    // Without this check an old bundle would count as new.
    refused = Worded("bundle-damaged");
  } else if (!sent.ok()) {
    refused = MessageWords(sent.status());
  } else {
    uint64_t number = own->empty() ? 0 : own->back().number;
    for (const RootBundle& bundle : *sent) {
      refused = TakeBundle(bundle, cluster, now, &number, &roots);
    }
  }
  const std::vector<std::string> before = RootHashes(held.pem);
  const std::vector<std::string> after = RootHashes(roots.pem);
  AddNews("root-added", after, before, &roots.news);
  AddNews("root-removed", before, after, &roots.news);
  if (!refused.words().empty()) {
    roots.news.push_back(Worded("msg-trust-roots-not-taken", refused));
  }
  AddNews("msg-trust-root-not-signed",
          RootHashes(unsigned_pem.substr(0, kMaxBundleBytes)), after,
          &roots.news);
  return roots;
}

std::vector<std::string> RootHashes(absl::string_view pem) {
  // The cache matters: the same text comes with every host's facts.
  thread_local std::string last;
  thread_local std::vector<std::string> hashes;
  if (last == pem) return hashes;
  last = std::string(pem);
  hashes.clear();
  for (const NamedCertificate& root : SplitCertificates(pem)) {
    hashes.push_back(absl::StrCat("sha256:", root.spki_sha256));
  }
  absl::c_sort(hashes);
  hashes.erase(std::unique(hashes.begin(), hashes.end()), hashes.end());
  return hashes;
}

}  // namespace clusterd
