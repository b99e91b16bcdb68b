#include "client/connection/rpc_client.h"

#include <sys/eventfd.h>
#include <unistd.h>

#include <chrono>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/string_view.h"
#include "absl/strings/substitute.h"
#include "absl/types/span.h"
#include "config/identity/grpc_status.h"
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
    "wrong certificate: not signed by our CA (--ca), or not valid now";
constexpr char kClosed[] =
    "closed the connection before any answer ($0); it may not trust our "
    "certificate (--cert), or be ending";

// What gRPC and OpenSSL say, and what that means; the first row with a text
// that is in theirs.
struct FailureWords {
  const char* theirs;
  const char* ours;   // In it $0 is what they say behind
  const char* after;  // this.
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
    {"", "not reachable: $0", "Failed to connect to remote host: "}};

// Of a call that has or needs none.
constexpr FailureWords kCallWords[] = {
    {"DNS resolution failed", "host name not resolved: $0", "is_balancer=0: "},
    {"Socket closed", "the connection broke: $0", ""},
    {"Connection reset", "the connection broke: $0", ""},
    {"", "$0", ""}};

std::string UnavailableReason(absl::string_view message) {
  const bool is_connect = absl::StartsWith(message, "failed to connect");
  const absl::string_view reason = is_connect ? LastError(message) : message;
  const absl::Span<const FailureWords> rows =
      is_connect ? absl::MakeSpan(kConnectWords) : absl::MakeSpan(kCallWords);
  const auto words = absl::c_find_if(rows, [reason](const FailureWords& row) {
    return absl::StrContains(reason, row.theirs);
  });
  return absl::Substitute(words->ours, After(reason, words->after));
}

}  // namespace

Interrupt::Interrupt() : descriptor_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}

Interrupt::~Interrupt() {
  if (descriptor_ >= 0) close(descriptor_);
}

bool Interrupt::Fire() {
  std::shared_ptr<grpc::ClientContext> context;
  {
    absl::MutexLock lock(&mutex_);
    if (fired_) return false;
    fired_ = true;
    context = watched_.lock();
  }
  if (descriptor_ >= 0) eventfd_write(descriptor_, 1);
  if (context != nullptr) context->TryCancel();
  return true;
}

bool Interrupt::fired() const {
  absl::MutexLock lock(&mutex_);
  return fired_;
}

void Interrupt::Watch(const std::shared_ptr<grpc::ClientContext>& context) {
  {
    absl::MutexLock lock(&mutex_);
    watched_ = context;
  }
  if (fired()) context->TryCancel();
}

std::shared_ptr<grpc::ClientContext> NewCallContext(absl::Duration timeout,
                                                    Interrupt& interrupt) {
  auto context = std::make_shared<grpc::ClientContext>();
  context->set_deadline(std::chrono::system_clock::now() +
                        absl::ToChronoMilliseconds(timeout));
  interrupt.Watch(context);
  return context;
}

absl::Status ExplainCall(const grpc::Status& status, const std::string& peer,
                         absl::Duration timeout, const Interrupt& interrupt) {
  if (status.error_code() == grpc::StatusCode::CANCELLED && interrupt.fired()) {
    return absl::CancelledError("interrupted");
  }
  const absl::Status plain = ToAbslStatus(status);
  std::string reason(plain.message());
  if (plain.code() == absl::StatusCode::kUnavailable) {
    reason = UnavailableReason(plain.message());
  } else if (plain.code() == absl::StatusCode::kDeadlineExceeded) {
    reason = absl::StrCat("no answer in ", absl::FormatDuration(timeout),
                          " (--timeout)");
  } else if (plain.code() == absl::StatusCode::kUnimplemented) {
    reason = absl::StrCat(
        "does not know this request; it may be older than "
        "this clusterctl: ",
        plain.message());
  } else if (reason.empty()) {
    reason = absl::StatusCodeToString(plain.code());
  }
  return absl::Status(plain.code(), absl::StrCat(peer, ": ", reason));
}

}  // namespace clusterd
