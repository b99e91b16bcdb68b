#include "config/identity/tls_credentials.h"

#include <openssl/ssl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <set>
#include <thread>

#include "absl/algorithm/container.h"
#include "absl/base/attributes.h"
#include "absl/base/thread_annotations.h"
#include "absl/strings/match.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/clock.h"
#include "absl/types/span.h"
#include "config/identity/pem_objects.h"
#include "config/identity/regular_file.h"
#include "config/values/owned_fd.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "grpc/grpc_security_constants.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"

namespace clusterd {
namespace {

namespace tls = ::grpc::experimental;

// The interval at which gRPC reads a server's files in memory.
constexpr unsigned kMemoryRefreshSeconds = 1;

absl::StatusOr<std::string> ReadPem(const std::string& path,
                                    bool secret = false) {
  if (path.empty()) {
    return InvalidWords("msg-trust-path-empty");
  }
  return secret ? ReadRegularFile(path, kMaxPemBytes, S_IRWXO, "0600 or 0640")
                : ReadRegularFile(path);
}

// Accepts only the controller of one cluster as the peer.
class ControllerVerifier final : public tls::ExternalCertificateVerifier {
 public:
  explicit ControllerVerifier(std::string cluster)
      : cluster_(std::move(cluster)) {}

  bool Verify(tls::TlsCustomVerificationCheckRequest* request,
              std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    std::vector<std::string> uris;
    for (const grpc::string_ref& uri : request->uri_names()) {
      uris.emplace_back(uri.data(), uri.size());
    }
    const absl::StatusOr<SpiffeId> id = ParseUriNames(uris);
    if (!id.ok()) {
      *sync_status = Refused(std::string(id.status().message()));
    } else if (id->kind != IdentityKind::kController ||
               id->cluster != cluster_) {
      *sync_status = Refused(absl::StrCat("the other end is ", id->ToString()));
    } else {
      *sync_status = grpc::Status::OK;
    }
    return true;  // Decided; the callback is for those who answer later.
  }

  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  grpc::Status Refused(const std::string& what) const {
    return grpc::Status(
        grpc::StatusCode::UNAUTHENTICATED,
        absl::StrCat(what, ", expected spiffe://", cluster_, "/controller"));
  }

  const std::string cluster_;
};

std::shared_ptr<grpc::ChannelCredentials> ForController(
    std::shared_ptr<tls::CertificateProviderInterface> provider,
    const std::string& cluster, bool shows_certificate = true) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::move(provider));
  options.watch_root_certs();
  if (shows_certificate) options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<ControllerVerifier>(cluster));
  // The verifier above checks the SPIFFE id; addresses are not names here.
  options.set_check_call_host(false);
  return tls::TlsCredentials(options);
}

// OpenSSL's threads and ours share it; held for reading during a call.
ABSL_CONST_INIT absl::Mutex ended_mutex(absl::kConstInit);
// Never deleted: those threads may run until the process ends.
std::function<bool(const std::string& pem)>* const admits_ended
    ABSL_PT_GUARDED_BY(ended_mutex) =
        new std::function<bool(const std::string& pem)>();

// OpenSSL's verdict on one certificate of a chain, but for the end of the
// lowest: then it continues with the checks that it has not made yet.
int VerifyButForTheEnd(int is_good, X509_STORE_CTX* chain) {
  if (is_good == 1 ||
      X509_STORE_CTX_get_error(chain) != X509_V_ERR_CERT_HAS_EXPIRED ||
      X509_STORE_CTX_get_error_depth(chain) != 0) {
    return is_good;
  }
  const std::string pem = PemOf(X509_STORE_CTX_get_current_cert(chain));
  absl::ReaderMutexLock lock(&ended_mutex);
  if (*admits_ended == nullptr || !(*admits_ended)(pem)) return 0;
  X509_STORE_CTX_set_error(chain, X509_V_OK);
  return 1;
}

constexpr size_t kMostRefused = 1000;
ABSL_CONST_INIT absl::Mutex refused_mutex(absl::kConstInit);
std::set<std::string>* const refused_clients ABSL_PT_GUARDED_BY(refused_mutex) =
    new std::set<std::string>();  // Never deleted, as above.

void KeepRefused(const SSL* ssl) {
  char random[SSL3_RANDOM_SIZE];
  SSL_get_client_random(ssl, reinterpret_cast<unsigned char*>(random),
                        sizeof(random));
  absl::MutexLock lock(&refused_mutex);
  if (refused_clients->size() >= kMostRefused) refused_clients->clear();
  refused_clients->emplace(random, sizeof(random));
}

// OpenSSL calls it instead of its own verification of a chain. Only a gRPC
// server of ours requires certificates and has no callback of its own.
int VerifyChain(X509_STORE_CTX* chain, void*) {
  const SSL* const ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(chain, SSL_get_ex_data_X509_STORE_CTX_idx()));
  if ((SSL_get_verify_mode(ssl) & SSL_VERIFY_FAIL_IF_NO_PEER_CERT) != 0 &&
      SSL_get_verify_callback(ssl) == nullptr) {
    X509_STORE_CTX_set_verify_cb(chain, &VerifyButForTheEnd);
  }
  if (X509_verify_cert(chain) == 1) return 1;
  if (SSL_is_server(ssl)) KeepRefused(ssl);
  return 0;
}

// gRPC has no option for either, and hands out no SSL_CTX; but OpenSSL calls
// back for each new one, before gRPC sets it up, and gRPC leaves both alone:
// - the verification of ended certificates;
// - that OpenSSL frees the buffers of a silent connection, which is what hosts'
//   connections are. It is 8 kB a host (tests/bench/README.md).
// OpenSSL 3.2 calls back for a new SSL too early for this.
void SetUpContexts() {
  static const int index = SSL_CTX_get_ex_new_index(
      0, nullptr,
      [](void* made, void*, CRYPTO_EX_DATA*, int, long, void*) {
        SSL_CTX* const context = static_cast<SSL_CTX*>(made);
        SSL_CTX_set_mode(context, SSL_MODE_RELEASE_BUFFERS);
        SSL_CTX_set_cert_verify_callback(context, &VerifyChain, nullptr);
      },
      nullptr, nullptr);
  // Without memory for the index, connections cost what they did, and no ended
  // certificate is tolerated.
  (void)index;
}

// The files from which gRPC reads a server's certificate. gRPC 1.51 ends every
// new handshake of a server whose key and certificate do not match, or are not
// PEM (tls_security_connector.cc drops the factory before it makes the next),
// and its own watcher takes whatever stands in the files. So it watches two
// files in memory, which only get what ReadPairOf took: the key never reaches
// another disk, and a file is replaced as a whole, key and certificate in one.
struct Shown {
  MemoryFile pair;
  MemoryFile roots;

  absl::Status Replace(const TlsPem& pem) {
    if (roots.Replace(pem.ca) &&
        pair.Replace(absl::StrCat(pem.key, "\n", pem.certificate))) {
      return absl::OkStatus();
    }
    return Unavailable("certificates: kept in memory: ", std::strerror(errno));
  }
};

// The last good set of a server's files, which it checks on a thread of its
// own. It is a verifier that accepts every peer that TLS accepted, because gRPC
// keeps a verifier as long as it shows the pair.
class ServerPair final : public tls::ExternalCertificateVerifier {
 public:
  // `shown` holds `first`, which came from `files`.
  ServerPair(TlsFiles files, SpiffeId self, TlsPem first,
             std::shared_ptr<Shown> shown, absl::Duration interval,
             CertificatesRefused refused)
      : files_(std::move(files)),
        self_(std::move(self)),
        shown_(std::move(shown)),
        interval_(interval),
        refused_(std::move(refused)),
        last_(std::move(first)),
        thread_([this] { Run(); }) {}
  ~ServerPair() override {
    {
      absl::MutexLock lock(&mutex_);
      stop_ = true;
    }
    thread_.join();
  }

  bool Verify(tls::TlsCustomVerificationCheckRequest*,
              std::function<void(grpc::Status)>,
              grpc::Status* sync_status) override {
    *sync_status = grpc::Status::OK;
    return true;
  }
  void Cancel(tls::TlsCustomVerificationCheckRequest*) override {}

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_) {
    absl::MutexLock lock(&mutex_);
    while (!mutex_.AwaitWithTimeout(absl::Condition(&stop_), interval_)) Load();
  }

  void Load() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    absl::StatusOr<TlsPem> read = ReadPairOf(self_, files_);
    absl::Status status = read.status();
    if (status.ok() && !(*read == last_)) status = shown_->Replace(*read);
    if (status.ok()) last_ = *std::move(read);
    std::string trouble(status.message());
    if (!trouble.empty() && trouble != reported_ && refused_) refused_(trouble);
    reported_ = std::move(trouble);
  }

  const TlsFiles files_;
  const SpiffeId self_;
  const std::shared_ptr<Shown> shown_;
  const absl::Duration interval_;
  const CertificatesRefused refused_;
  absl::Mutex mutex_;
  TlsPem last_ ABSL_GUARDED_BY(mutex_);
  std::string reported_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Last: uses the rest.
};

// The shared part of both kinds of servers: their files, and gRPC's source.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> ServerOf(
    const TlsFiles& files, unsigned refresh_seconds, bool wants_clients,
    CertificatesRefused refused) {
  SetUpContexts();
  ASSIGN_OR_RETURN(TlsPem pem, ReadTlsFiles(files));
  ASSIGN_OR_RETURN(CertificateInfo info, ParseCertificate(pem.certificate));
  auto shown = std::make_shared<Shown>();
  RETURN_IF_ERROR(shown->Replace(pem));
  tls::TlsServerCredentialsOptions options(
      std::make_shared<tls::FileWatcherCertificateProvider>(
          shown->pair.path(), shown->pair.path(),
          wants_clients ? shown->roots.path() : "", kMemoryRefreshSeconds));
  if (wants_clients) options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  // RequirePeer decides about the client's identity on each call.
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<ServerPair>(
          files, std::move(info.id), std::move(pem), std::move(shown),
          absl::Seconds(refresh_seconds), std::move(refused)));
  options.set_check_call_host(false);
  options.set_cert_request_type(
      wants_clients ? GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY
                    : GRPC_SSL_DONT_REQUEST_CLIENT_CERTIFICATE);
  return tls::TlsServerCredentials(options);
}

// "… last error: UNKNOWN: ipv4:127.0.0.1:1: Tls handshake failed: …" is cut to
// the text after the address. The texts are those of gRPC 1.51.
absl::string_view LastError(absl::string_view message) {
  // The code and the address follow the mark.
  static const LazyRE2 kForm = {R"((?s).*?last error: (?:.*?: ){0,2}(.*))",
                                RE2::Latin1};
  absl::string_view last;
  return HasForm(message, *kForm, &last) ? last : message;
}

absl::string_view After(absl::string_view text, absl::string_view mark) {
  const size_t at = text.find(mark);
  return at == absl::string_view::npos ? text : text.substr(at + mark.size());
}

// Messages of gRPC and OpenSSL, and their meaning; the first row whose text is
// in theirs applies.
struct FailureWords {
  const char* theirs;
  // Its values: what they say behind `after`, our CA and our certificate.
  const char* row;
  const char* after;
};

// For a connection that could not be made.
constexpr FailureWords kConnectWords[] = {
    {"Custom verification check failed", "msg-call-wrong-certificate",
     "UNAUTHENTICATED: "},
    {"wrong version number", "msg-call-no-tls", ""},
    {"certificate verify failed", "msg-call-not-signed", ""},
    // OpenSSL says this when a signature was made by another key.
    {"EVP lib", "msg-call-not-signed", ""},
    {"handshake failed", "msg-call-handshake-failed", "handshake failed: "},
    {"Socket closed", "msg-call-closed", ""},
    {"Connection reset", "msg-call-closed", ""},
    {"Broken pipe", "msg-call-closed", ""},
    {"", "msg-call-not-reachable", "Failed to connect to remote host: "}};

// For calls with or without a connection; others have the peer's own message.
constexpr FailureWords kCallWords[] = {
    {"DNS resolution failed", "msg-call-name-not-resolved", "is_balancer=0: "},
    {"Socket closed", "msg-call-broken", ""},
    {"Connection reset", "msg-call-broken", ""},
    {"Broken pipe", "msg-call-broken", ""}};

}  // namespace

absl::StatusOr<TlsPem> ReadTlsFiles(const TlsFiles& files) {
  TlsPem pem;
  ASSIGN_OR_RETURN(pem.ca, ReadPem(files.ca));
  ASSIGN_OR_RETURN(pem.certificate, ReadPem(files.certificate));
  ASSIGN_OR_RETURN(pem.key, ReadPem(files.key, /*secret=*/true));
  RETURN_IF_ERROR(About(files.ca, CheckHasCertificate(pem.ca)));
  RETURN_IF_ERROR(
      About(files.certificate, CheckHasCertificate(pem.certificate)));
  const auto info = ParseCertificate(pem.certificate);
  RETURN_IF_ERROR(About(files.certificate, info.status()));
  RETURN_IF_ERROR(About(files.key, CheckKeyBelongs(pem.certificate, pem.key)));
  const absl::Time now = absl::Now();
  if (now >= info->not_before && now <= info->not_after) return pem;
  return PreconditionWords("msg-trust-not-valid-now", files.certificate,
                           UtcText(info->not_before), UtcText(info->not_after));
}

absl::StatusOr<TlsPem> ReadPairOf(const SpiffeId& self, const TlsFiles& files) {
  absl::StatusOr<TlsPem> pair = ReadTlsFiles(files);
  // A pair that is replaced between two reads looks like a mismatch.
  if (!pair.ok()) pair = ReadTlsFiles(files);
  RETURN_IF_ERROR(pair.status());
  ASSIGN_OR_RETURN(const CertificateInfo info,
                   ParseCertificate(pair->certificate));
  if (!(info.id == self)) {
    return DeniedWords("msg-trust-other-identity", files.certificate,
                       info.id.ToString(), self.ToString());
  }
  RETURN_IF_ERROR(About(files.certificate,
                        CheckChain(pair->certificate, pair->ca, absl::Now())));
  return pair;
}

std::vector<FindingValue> EndingCertificates(const TlsFiles& files,
                                             absl::Time now,
                                             absl::string_view noticed) {
  const std::pair<const std::string&, const char*> kinds[] = {
      {files.certificate, "make-certificate"}, {files.ca, "make-ca"}};
  std::vector<FindingValue> lines;
  for (const auto& [path, what_to_do] : kinds) {
    const auto pem = ReadPem(path);
    if (!pem.ok()) continue;
    for (const auto& [subject, end] : CertificateEnds(*pem)) {
      const absl::Duration left = end - now;
      if (left > kCertificateNotice) continue;
      const auto hours = absl::ToInt64Hours(left);
      lines.push_back(Worded(
          left > absl::ZeroDuration() ? "msg-trust-certificate-ends"
                                      : "msg-trust-certificate-ended",
          subject, path, UtcText(end), Worded(what_to_do), Worded(noticed),
          hours > 72 ? Counted(hours / 24, "day")
                     : ToFindingValue(absl::StrCat(hours, " h"))));
    }
  }
  return lines;
}

std::vector<std::pair<std::string, absl::Time>> FirstEnds(
    const std::vector<std::pair<std::string, std::string>>& files) {
  std::vector<std::pair<std::string, absl::Time>> ends;
  for (const auto& [name, path] : files) {
    absl::Time first = absl::InfiniteFuture();
    for (const CertificateEnd& each :
         CertificateEnds(ReadPem(path).value_or(""))) {
      first = std::min(first, each.not_after);
    }
    if (first < absl::InfiniteFuture()) ends.emplace_back(name, first);
  }
  return ends;
}

absl::StatusOr<SpiffeId> ReadOwnIdentity(const TlsFiles& files,
                                         const std::string& cluster,
                                         IdentityKind kind) {
  ASSIGN_OR_RETURN(const TlsPem pem, ReadTlsFiles(files));
  ASSIGN_OR_RETURN(CertificateInfo info, ParseCertificate(pem.certificate));
  const std::string& expected = cluster.empty() ? info.id.cluster : cluster;
  if (info.id.cluster != expected || info.id.kind != kind) {
    return DeniedWords("msg-trust-other-kind", files.certificate,
                       info.id.ToString(), Term(KindName(kind)), expected);
  }
  return std::move(info.id);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const TlsFiles& files, unsigned refresh_seconds,
    CertificatesRefused refused) {
  return ServerOf(files, refresh_seconds, /*wants_clients=*/true,
                  std::move(refused));
}

void AdmitEndedCertificates(
    std::function<bool(const std::string& pem)> admits) {
  absl::MutexLock lock(&ended_mutex);
  *admits_ended = std::move(admits);
}

std::string WhyHandshakeFailed(const std::string& random) {
  absl::MutexLock lock(&refused_mutex);
  return refused_clients->count(random) > 0
             ? "its certificate is not signed by the CA that we read, or not "
               "valid now"
             : "it closed the connection in the middle; it may not trust our "
               "certificate, show none, or only look whether the port is open";
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>>
MakeChannelCredentials(const TlsFiles& files, const std::string& cluster,
                       unsigned refresh_seconds) {
  if (!IsClusterName(cluster)) {
    return InvalidWords("msg-trust-cluster-name", cluster);
  }
  ASSIGN_OR_RETURN(const TlsPem pem, ReadTlsFiles(files));
  return ForController(
      std::make_shared<tls::FileWatcherCertificateProvider>(
          files.key, files.certificate, files.ca, refresh_seconds),
      cluster);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentialsFromPem(
    const TlsPem& pem, const std::string& cluster) {
  return ForController(
      std::make_shared<tls::StaticDataCertificateProvider>(
          pem.ca,
          std::vector<tls::IdentityKeyCertPair>{{pem.key, pem.certificate}}),
      cluster);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>>
MakeOneSidedServerCredentials(const TlsFiles& files, unsigned refresh_seconds) {
  // Another server of the same program reports refused certificates.
  return ServerOf(files, refresh_seconds, /*wants_clients=*/false, nullptr);
}

std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentialsFromRoots(
    const std::string& ca_pem, const std::string& cluster) {
  return ForController(
      std::make_shared<tls::StaticDataCertificateProvider>(ca_pem), cluster,
      /*shows_certificate=*/false);
}

std::shared_ptr<grpc::ChannelCredentials> MakeUnverifiedChannelCredentials() {
  tls::TlsChannelCredentialsOptions options;
  options.set_verify_server_certs(false);
  options.set_certificate_verifier(
      std::make_shared<tls::NoOpCertificateVerifier>());
  options.set_check_call_host(false);
  return tls::TlsCredentials(options);
}

absl::StatusOr<CertificateInfo> RequirePeer(absl::string_view pem,
                                            const std::string& cluster,
                                            IdentityKind kind) {
  absl::StatusOr<CertificateInfo> peer = ParseCertificate(pem);
  if (!peer.ok()) {
    return WithWords(absl::UnauthenticatedError(""),
                     MessageWords(peer.status()));
  }
  const SpiffeId& id = peer->id;
  if (id.cluster != cluster) {
    return DeniedWords("msg-trust-other-cluster", id.ToString(), cluster);
  }
  if (id.kind == kind) return peer;
  return DeniedWords("msg-trust-wrong-kind", id.ToString(),
                     Term(KindName(id.kind)), Term(KindName(kind)));
}

absl::Status RequireRole(const SpiffeId& user, Role needed,
                         absl::string_view call) {
  if (user.role >= needed) return absl::OkStatus();
  return DeniedWords("msg-trust-role", call, user.ToString(),
                     RoleName(user.role), RoleName(needed));
}

absl::Status ExplainUnavailable(const absl::Status& failure,
                                const TlsFiles& named) {
  static const LazyRE2 kOtherEnd = {
      "(?s).*: the other end is (.*), expected (.*)", RE2::Latin1};
  const absl::string_view message = failure.message();
  const bool is_connect = absl::StartsWith(message, "failed to connect");
  const absl::string_view reason = is_connect ? LastError(message) : message;
  std::string peer;
  std::string expected;
  if (is_connect && HasForm(reason, *kOtherEnd, &peer, &expected)) {
    return UnavailableWords("msg-call-wrong-peer", peer, expected);
  }
  const absl::Span<const FailureWords> rows =
      is_connect ? absl::MakeSpan(kConnectWords) : absl::MakeSpan(kCallWords);
  const auto words = absl::c_find_if(rows, [reason](const FailureWords& row) {
    return absl::StrContains(reason, row.theirs);
  });
  if (words == rows.end()) return failure;
  return UnavailableWords(words->row, Term(After(reason, words->after)),
                          named.ca, named.certificate);
}

absl::Status CheckOneCluster(const TlsFiles& files) {
  const absl::StatusOr<TlsPem> pem = ReadTlsFiles(files);
  if (!pem.ok() || IsSignedBy(pem->certificate, pem->ca)) {
    return absl::OkStatus();
  }
  return PreconditionWords("msg-trust-two-clusters", files.ca,
                           files.certificate);
}

}  // namespace clusterd
