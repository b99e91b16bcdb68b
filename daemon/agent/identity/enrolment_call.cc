#include "daemon/agent/identity/enrolment_call.h"

#include <chrono>
#include <memory>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/identity/connect_failure.h"
#include "config/identity/grpc_status.h"
#include "config/identity/plain_messages.h"
#include "config/identity/signing_request.h"
#include "config/identity/tls_credentials.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "grpcpp/channel.h"
#include "grpcpp/client_context.h"
#include "grpcpp/resource_quota.h"
#include "proto/trust.grpc.pb.h"

namespace clusterd {
namespace {

constexpr std::chrono::seconds kCallTimeout(20);
constexpr int kTriesWhereNobodyAnswers = 3;
constexpr size_t kMaxAnswerBytes = 1 << 20;
constexpr size_t kWireMemoryBytes = 16 << 20;
constexpr size_t kMaxToldBytes = 1000;

constexpr char kHintToJoin[] =
    "the port is open while a token lives, which an admin makes with "
    "clusterctl token create";
constexpr char kHintToRenew[] =
    "a certificate that has ended is taken there only if its key is on record: "
    "where it is not, an admin runs clusterctl certificates reset, and this "
    "host joins again";

std::shared_ptr<grpc::Channel> ChannelTo(
    const std::string& address,
    const std::shared_ptr<grpc::ChannelCredentials>& credentials) {
  grpc::ChannelArguments arguments;
  // The verified connection shares nothing with the other one.
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_ENABLE_RETRIES, 0);
  arguments.SetMaxReceiveMessageSize(static_cast<int>(kMaxAnswerBytes));
  // gRPC reads a message to its end before it is too long.
  grpc::ResourceQuota memory("enrolment");
  memory.Resize(kWireMemoryBytes);
  arguments.SetResourceQuota(memory);
  return OpenChannel(address, credentials, arguments);
}

// What came of a call, in words for whoever looks after this host.
absl::Status Explained(const std::string& address, const grpc::Status& status,
                       const char* hint) {
  const absl::Status plain = ToAbslStatus(status);
  if (plain.ok()) return plain;
  std::string reason(plain.message());
  if (absl::IsUnavailable(plain)) {
    reason = absl::StrCat(
        UnavailableReason(plain.message(), {"of --ca-hash", "", ""}), "; ",
        hint);
  } else if (absl::IsDeadlineExceeded(plain)) {
    reason = absl::StrCat("no answer in ", kCallTimeout.count(), "s");
  } else if (absl::IsUnimplemented(plain)) {
    reason =
        "does not take hosts that join, expected the port that clusterctl "
        "token create names (--enrol-port)";
  }
  return absl::Status(plain.code(),
                      absl::StrCat("controller ", address, ": ",
                                   PrintableText(reason, kMaxToldBytes)));
}

template <typename Stub, typename Request, typename Answer>
absl::StatusOr<Answer> Ask(Stub& stub, const std::string& address,
                           grpc::Status (Stub::*call)(grpc::ClientContext*,
                                                      const Request&, Answer*),
                           const Request& request,
                           const char* hint = kHintToJoin) {
  grpc::ClientContext context;
  context.set_deadline(std::chrono::system_clock::now() + kCallTimeout);
  Answer answer;
  RETURN_IF_ERROR(
      Explained(address, (stub.*call)(&context, request, &answer), hint));
  return answer;
}

template <typename Asking>
auto Patiently(const CallPatience& patience, bool has_answered,
               const Asking& ask) {
  auto answer = ask();
  for (int tries = 1;
       tries < patience.tries && MayPass(answer.status(), tries, has_answered);
       ++tries) {
    // Spread, so that a thousand hosts do not knock in one instant.
    patience.wait(absl::Seconds(1 + 2 * patience.random()));
    answer = ask();
  }
  return answer;
}

}  // namespace

bool MayPass(const absl::Status& status, int tries, bool has_answered) {
  const bool is_late = absl::IsDeadlineExceeded(status);
  if (absl::IsResourceExhausted(status) || (is_late && has_answered)) {
    return true;
  }
  return (is_late || absl::IsUnavailable(status)) &&
         tries < kTriesWhereNobodyAnswers;
}

absl::Status CheckCaHash(const std::string& text) {
  static const LazyRE2 kForm = {"sha256:[0-9a-f]{64}"};
  if (HasForm(text, *kForm)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("--ca-hash: ", QuotedText(text),
                   ", expected \"sha256:\" and 64 digits 0-9 and a-f, as "
                   "clusterctl token create prints"));
}

absl::StatusOr<TrustedRoots> FetchRoots(
    const std::string& address, const std::vector<std::string>& ca_hashes,
    const CallPatience& patience) {
  const auto stub = Enrolment::NewStub(
      ChannelTo(address, MakeUnverifiedChannelCredentials()));
  ASSIGN_OR_RETURN(const RootsResponse answer,
                   Patiently(patience, /*has_answered=*/false, [&] {
                     return Ask(*stub, address, &Enrolment::Stub::Roots,
                                RootsRequest());
                   }));
  TrustedRoots trusted;
  std::vector<std::string> shown;
  for (const NamedCertificate& root : SplitCertificates(answer.roots_pem())) {
    shown.push_back(absl::StrCat("sha256:", root.spki_sha256));
    if (absl::c_linear_search(ca_hashes, shown.back())) {
      trusted.roots_pem.append(root.pem);
    }
  }
  if (trusted.roots_pem.empty()) {
    return absl::PermissionDeniedError(absl::StrCat(
        "controller ", address, ": its CA is ",
        shown.empty() ? "none" : absl::StrJoin(shown, ", "), ", expected ",
        absl::StrJoin(ca_hashes, ", "),
        " (--ca-hash): this is another cluster's controller, or somebody in "
        "between; the token was not sent"));
  }
  if (!IsClusterName(answer.cluster())) {
    return absl::InvalidArgumentError(
        absl::StrCat("controller ", address, ": names its cluster ",
                     QuotedText(answer.cluster()), ", which is no name"));
  }
  trusted.cluster = answer.cluster();
  return trusted;
}

absl::StatusOr<Enrolled> AskToJoin(const std::string& address,
                                   const TrustedRoots& roots,
                                   const JoinRequest& request,
                                   const CallPatience& patience) {
  return Patiently(patience, /*has_answered=*/true, [&] {
    // Anew: a connection is good for a few calls.
    const auto stub = Enrolment::NewStub(ChannelTo(
        address,
        MakeChannelCredentialsFromRoots(roots.roots_pem, roots.cluster)));
    return Ask(*stub, address, &Enrolment::Stub::Join, request);
  });
}

absl::StatusOr<Enrolled> AskToRenewLate(const std::string& controller,
                                        const std::string& cluster,
                                        const TlsPem& pair) {
  RenewLateRequest request;
  ASSIGN_OR_RETURN(*request.mutable_signing_request(),
                   MakeSigningRequest(pair.key));
  const auto stub = Trust::NewStub(
      ChannelTo(controller, MakeChannelCredentialsFromPem(pair, cluster)));
  return Ask(*stub, controller, &Trust::Stub::RenewLate, request, kHintToRenew);
}

absl::StatusOr<TlsPem> CheckedPair(const Enrolled& answer,
                                   const std::string& cluster,
                                   const Roots& roots,
                                   const std::string& key_pem, absl::Time now) {
  const auto wrong = [&roots](absl::string_view what) {
    return absl::PermissionDeniedError(JoinParts(
        "; ", {absl::StrCat("the certificate that the controller sent: ", what),
               absl::StrJoin(roots.news, "; ")}));
  };
  const absl::Status belongs =
      CheckKeyBelongs(answer.certificate_pem(), key_pem);
  if (!belongs.ok()) return wrong(belongs.message());
  ASSIGN_OR_RETURN(const CertificateInfo info,
                   ParseCertificate(answer.certificate_pem()));
  const SpiffeId expected{cluster, IdentityKind::kHost, answer.name()};
  if (!(info.id == expected)) {
    return wrong(absl::StrCat("is ", info.id.ToString(), ", expected ",
                              expected.ToString()));
  }
  if (now < info.not_before) {
    return wrong(absl::StrCat("is good from ", UtcText(info.not_before),
                              " on, and this host's clock says ", UtcText(now),
                              "; set the clock"));
  }
  const absl::Status issued =
      CheckChain(answer.certificate_pem(), roots.pem, now);
  if (!issued.ok()) return wrong(issued.message());
  return TlsPem{roots.pem, answer.certificate_pem(), key_pem, roots.bundle};
}

}  // namespace clusterd
