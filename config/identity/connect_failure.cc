#include "config/identity/connect_failure.h"

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// "… last error: UNKNOWN: ipv4:127.0.0.1:1: Tls handshake failed: …" is cut to
// what stands behind the address. The texts are those of gRPC 1.51.
absl::string_view LastError(absl::string_view message) {
  // Behind the mark stand the code and the address.
  static const LazyRE2 kForm = {R"((?s).*?last error: (?:.*?: ){0,2}(.*))",
                                RE2::Latin1};
  absl::string_view last;
  return HasForm(message, *kForm, &last) ? last : message;
}

absl::string_view After(absl::string_view text, absl::string_view mark) {
  const size_t at = text.find(mark);
  return at == absl::string_view::npos ? text : text.substr(at + mark.size());
}

constexpr char kNotSigned[] =
    "wrong certificate: not signed by our CA ($1), or not valid now";
constexpr char kClosed[] =
    "closed the connection before any answer ($0); it may not trust our "
    "certificate ($2), or be ending";

// What gRPC and OpenSSL say, and what that means; the first row with a text
// that is in theirs.
struct FailureWords {
  const char* theirs;
  // In it $0 is what they say behind `after`, $1 our CA, $2 our certificate.
  const char* ours;
  const char* after;
};

// Of a connection that could not be made.
constexpr FailureWords kConnectWords[] = {
    {"Custom verification check failed", "wrong certificate: $0",
     "UNAUTHENTICATED: "},
    {"wrong version number",
     "does not speak TLS; another program may be listening there", ""},
    {"certificate verify failed", kNotSigned, ""},
    // OpenSSL says this when a signature was made by another key.
    {"EVP lib", kNotSigned, ""},
    {"handshake failed", "no TLS connection: $0", "handshake failed: "},
    {"Socket closed", kClosed, ""},
    {"Connection reset", kClosed, ""},
    {"Broken pipe", kClosed, ""},
    {"", "not reachable: $0", "Failed to connect to remote host: "}};

// Of a call that has or needs none.
constexpr FailureWords kCallWords[] = {
    {"DNS resolution failed", "host name not resolved: $0", "is_balancer=0: "},
    {"Socket closed", "the connection broke: $0", ""},
    {"Connection reset", "the connection broke: $0", ""},
    {"Broken pipe", "the connection broke: $0", ""},
    {"", "$0", ""}};

}  // namespace

std::string UnavailableReason(absl::string_view message,
                              const TlsFiles& named) {
  const bool is_connect = absl::StartsWith(message, "failed to connect");
  const absl::string_view reason = is_connect ? LastError(message) : message;
  const absl::Span<const FailureWords> rows =
      is_connect ? absl::MakeSpan(kConnectWords) : absl::MakeSpan(kCallWords);
  const auto words = absl::c_find_if(rows, [reason](const FailureWords& row) {
    return absl::StrContains(reason, row.theirs);
  });
  return absl::Substitute(words->ours, After(reason, words->after), named.ca,
                          named.certificate);
}

absl::Status CheckOneCluster(const TlsFiles& files) {
  const absl::StatusOr<TlsPem> pem = ReadTlsFiles(files);
  if (!pem.ok() || IsSignedBy(pem->certificate, pem->ca)) {
    return absl::OkStatus();
  }
  return absl::FailedPreconditionError(absl::StrCat(
      "the CA in ", files.ca, " did not sign the certificate in ",
      files.certificate,
      ": one of them is of another cluster; put both there as "
      "deploy/certificates.sh made them for this one, which is noticed within "
      "a minute"));
}

}  // namespace clusterd
