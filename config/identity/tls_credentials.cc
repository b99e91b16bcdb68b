#include "config/identity/tls_credentials.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <functional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"
#include "grpcpp/security/tls_credentials_options.h"

namespace clusterd {
namespace {

namespace tls = ::grpc::experimental;

constexpr size_t kMaxPemBytes = 1 << 20;

class FileDescriptor {
 public:
  explicit FileDescriptor(int fd) : fd_(fd) {}
  ~FileDescriptor() {
    if (fd_ >= 0) close(fd_);
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  int get() const { return fd_; }

 private:
  const int fd_;
};

absl::Status InFile(const std::string& path, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(path, ": ", status.message()));
}

absl::Status SystemError(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  return absl::PermissionDeniedError(message);
}

absl::StatusOr<std::string> ReadPem(const std::string& path, bool secret) {
  if (path.empty()) {
    return absl::InvalidArgumentError(
        "certificate files: a path is empty, expected ca, cert and key");
  }
  // O_NONBLOCK: a FIFO in the file's place must not hang the start.
  const FileDescriptor fd(
      open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (fd.get() < 0) return SystemError(path, errno);
  struct stat info = {};
  if (fstat(fd.get(), &info) != 0) return SystemError(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a regular file"));
  }
  if (secret && (info.st_mode & S_IRWXO) != 0) {
    return absl::PermissionDeniedError(
        absl::StrCat(path, ": others have access to the private key (mode ",
                     absl::StrFormat("%04o", info.st_mode & 07777),
                     "), expected 0600 or 0640"));
  }
  std::string text;
  char buffer[16384];
  for (;;) {
    const ssize_t count = read(fd.get(), buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMaxPemBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": over ", kMaxPemBytes, " bytes"));
    }
  }
}

// Lets only the controller of one cluster be at the other end.
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
    const std::string& cluster) {
  tls::TlsChannelCredentialsOptions options;
  options.set_certificate_provider(std::move(provider));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_verify_server_certs(true);
  options.set_certificate_verifier(
      tls::ExternalCertificateVerifier::Create<ControllerVerifier>(cluster));
  // The verifier above looks at the SPIFFE id; addresses are not names here.
  options.set_check_call_host(false);
  return tls::TlsCredentials(options);
}

}  // namespace

absl::StatusOr<TlsPem> ReadTlsFiles(const TlsFiles& files) {
  TlsPem pem;
  absl::StatusOr<std::string> ca = ReadPem(files.ca, /*secret=*/false);
  if (!ca.ok()) return ca.status();
  absl::StatusOr<std::string> certificate =
      ReadPem(files.certificate, /*secret=*/false);
  if (!certificate.ok()) return certificate.status();
  absl::StatusOr<std::string> key = ReadPem(files.key, /*secret=*/true);
  if (!key.ok()) return key.status();

  const absl::Status has_ca = CheckHasCertificate(*ca);
  if (!has_ca.ok()) return InFile(files.ca, has_ca);
  const absl::StatusOr<CertificateInfo> info = ParseCertificate(*certificate);
  if (!info.ok()) return InFile(files.certificate, info.status());
  const absl::Status belongs = CheckKeyBelongs(*certificate, *key);
  if (!belongs.ok()) return InFile(files.key, belongs);
  const absl::Time now = absl::Now();
  if (now < info->not_before || now > info->not_after) {
    return absl::FailedPreconditionError(
        absl::StrCat(files.certificate, ": not valid now, only from ",
                     absl::FormatTime(absl::RFC3339_sec, info->not_before,
                                      absl::UTCTimeZone()),
                     " to ",
                     absl::FormatTime(absl::RFC3339_sec, info->not_after,
                                      absl::UTCTimeZone())));
  }
  return TlsPem{*std::move(ca), *std::move(certificate), *std::move(key)};
}

absl::StatusOr<SpiffeId> ReadOwnIdentity(const TlsFiles& files,
                                         const std::string& cluster,
                                         IdentityKind kind) {
  const absl::StatusOr<TlsPem> pem = ReadTlsFiles(files);
  if (!pem.ok()) return pem.status();
  absl::StatusOr<CertificateInfo> info = ParseCertificate(pem->certificate);
  if (!info.ok()) return InFile(files.certificate, info.status());
  if (info->id.cluster != cluster || info->id.kind != kind) {
    return absl::PermissionDeniedError(absl::StrCat(
        files.certificate, ": is ", info->id.ToString(), ", expected a ",
        KindName(kind), " of cluster \"", cluster, "\""));
  }
  return std::move(info->id);
}

absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const TlsFiles& files, unsigned refresh_seconds) {
  const absl::StatusOr<TlsPem> pem = ReadTlsFiles(files);
  if (!pem.ok()) return pem.status();
  tls::TlsServerCredentialsOptions options(
      std::make_shared<tls::FileWatcherCertificateProvider>(
          files.key, files.certificate, files.ca, refresh_seconds));
  options.watch_root_certs();
  options.watch_identity_key_cert_pairs();
  options.set_cert_request_type(
      GRPC_SSL_REQUEST_AND_REQUIRE_CLIENT_CERTIFICATE_AND_VERIFY);
  // Who the client is gets decided per call; see peer_identity.h.
  options.set_certificate_verifier(
      std::make_shared<tls::NoOpCertificateVerifier>());
  options.set_check_call_host(false);
  return tls::TlsServerCredentials(options);
}

absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>>
MakeChannelCredentials(const TlsFiles& files, const std::string& cluster,
                       unsigned refresh_seconds) {
  if (!IsClusterName(cluster)) {
    return absl::InvalidArgumentError(
        absl::StrCat("cluster name \"", cluster,
                     "\": expected lower-case letters, digits, \".\", \"-\" or "
                     "\"_\""));
  }
  const absl::StatusOr<TlsPem> pem = ReadTlsFiles(files);
  if (!pem.ok()) return pem.status();
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

}  // namespace clusterd
