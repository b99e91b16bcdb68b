// Mutual TLS for gRPC out of three PEM files; there is no other mode. Each side
// requires a certificate of the cluster's CA from the other. A client also
// requires that the other end is the controller of its cluster, by SPIFFE id
// and not by host name, so no host's certificate passes for the controller. New
// connections use renewed files within a refresh interval; a server takes only
// a valid set, and otherwise keeps the last one. TLS 1.2 or 1.3.
#ifndef CONFIG_IDENTITY_TLS_CREDENTIALS_H_
#define CONFIG_IDENTITY_TLS_CREDENTIALS_H_

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/identity/certificate.h"
#include "config/words/words.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/security/server_credentials.h"

namespace clusterd {

// Paths of PEM files.
struct TlsFiles {
  std::string ca;           // Certificates that may sign others; a bundle.
  std::string certificate;  // Own certificate, then intermediates.
  // Own private key: a regular file that only owner and group may read.
  std::string key;
};

// The interval between checks of the files for a renewal.
inline constexpr unsigned kTlsRefreshSeconds = 60;

// Reads and checks the three files. An error names the file: NotFound if it is
// not there; PermissionDenied if it cannot be read, or if others may read the
// key; InvalidArgument if it is not PEM or one of its certificates is cut
// short, if key and certificate do not belong together, or if the certificate
// has no SPIFFE id; FailedPrecondition if the certificate is not valid now.
absl::StatusOr<TlsPem> ReadTlsFiles(const TlsFiles& files);

// A replacement set of files: errors as ReadTlsFiles, and PermissionDenied if
// the certificate is not of `self` or does not lead to the CA now.
absl::StatusOr<TlsPem> ReadPairOf(const SpiffeId& self, const TlsFiles& files);

// A certificate without automatic renewal is reported this long before its end.
inline constexpr absl::Duration kCertificateNotice = absl::Hours(30 * 24);
// The same with automatic renewal, at half of its life, when renewal is late.
inline constexpr absl::Duration kRenewedNotice = absl::Hours(48);

// A line for each certificate in the two files that ends within
// kCertificateNotice of `now`, or has ended: its subject, the file, the end and
// the remedy. `noticed`: the words for when a new one counts. Other checks
// report unreadable files.
std::vector<FindingValue> EndingCertificates(
    const TlsFiles& files, absl::Time now,
    absl::string_view noticed = "noticed-within-a-minute");

// The earliest end of the certificates in each readable PEM file that has one,
// by the name that stands before its path.
std::vector<std::pair<std::string, absl::Time>> FirstEnds(
    const std::vector<std::pair<std::string, std::string>>& files);

// The identity in the certificate of `files`; an empty `cluster` accepts any.
// Errors as ReadTlsFiles, and PermissionDenied for another cluster or kind.
absl::StatusOr<SpiffeId> ReadOwnIdentity(const TlsFiles& files,
                                         const std::string& cluster,
                                         IdentityKind kind);

// Receives why files were refused while a server runs, once for each reason, on
// a thread of its own, until gRPC has released the credentials: a moment after
// the server's end.
using CertificatesRefused = std::function<void(const std::string& why)>;

// Credentials for a server that every client must show a certificate to.
// Errors as ReadTlsFiles.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>> MakeServerCredentials(
    const TlsFiles& files, unsigned refresh_seconds = kTlsRefreshSeconds,
    CertificatesRefused refused = nullptr);

// Sets the predicate for ended certificates, PEM, that pass the handshake with
// servers of this process; any other defect of one, or of those above it, is
// still refused. Null, the initial state, admits none. The server decides on
// each call what such a peer may call. `admits` is called on any thread, and
// never after another one was set.
void AdmitEndedCertificates(std::function<bool(const std::string& pem)> admits);

// Why a handshake failed with a server of this process, of the client whose
// ClientHello has this random (RFC 8446, 4.1.2). Known for about the last
// hundred refused certificates; otherwise the likely cause.
std::string WhyHandshakeFailed(const std::string& random);

// Credentials for connecting to spiffe://`cluster`/controller. Errors as
// ReadTlsFiles; InvalidArgument also if `cluster` is not a valid cluster name.
absl::StatusOr<std::shared_ptr<grpc::ChannelCredentials>>
MakeChannelCredentials(const TlsFiles& files, const std::string& cluster,
                       unsigned refresh_seconds = kTlsRefreshSeconds);

// The same from memory, never renewed and not checked beforehand.
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentialsFromPem(
    const TlsPem& pem, const std::string& cluster);

// For hosts that have no certificate yet: a server's, that asks clients for
// none; errors as ReadTlsFiles.
absl::StatusOr<std::shared_ptr<grpc::ServerCredentials>>
MakeOneSidedServerCredentials(const TlsFiles& files,
                              unsigned refresh_seconds = kTlsRefreshSeconds);
// A client's that shows none, and requires that the other end is
// spiffe://`cluster`/controller by these roots.
std::shared_ptr<grpc::ChannelCredentials> MakeChannelCredentialsFromRoots(
    const std::string& ca_pem, const std::string& cluster);
// A client's that accepts any server. Send no secrets over it, and trust
// nothing from it that has not been compared.
std::shared_ptr<grpc::ChannelCredentials> MakeUnverifiedChannelCredentials();

// The peer of a call that a server has received: read from the certificate,
// PEM, that TLS has verified, never from a message, header or address.
// Unauthenticated for one without exactly one SPIFFE id of ours;
// PermissionDenied if it is of another cluster or of another kind than `kind`.
// The messages are for the peer.
absl::StatusOr<CertificateInfo> RequirePeer(absl::string_view pem,
                                            const std::string& cluster,
                                            IdentityKind kind);

// PermissionDenied, for the user to read, naming both roles if the user's is
// not enough for `call`.
absl::Status RequireRole(const SpiffeId& user, Role needed,
                         absl::string_view call);

// Explains why a call over mutual TLS failed to the user of the calling
// program, from what gRPC 1.51 and OpenSSL 3 say. `failure` is that of a call
// that ended as Unavailable. `named` has the files' names there: paths, or the
// options that name them.
//   cannot connect   the system's own reason, what to check
//   bad certificate  which side refused which certificate
//   all else         the same error
absl::Status ExplainUnavailable(const absl::Status& failure,
                                const TlsFiles& named);

// FailedPrecondition, with the remedy, if `ca` signed no certificate in the
// chain of `certificate`: one of the two files is of another cluster. OK also
// if the files cannot be read, which other checks report.
absl::Status CheckOneCluster(const TlsFiles& files);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_TLS_CREDENTIALS_H_
