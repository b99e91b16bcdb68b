// What a server shows, and whom it believes: the last good set of its three
// files. gRPC 1.51 ends every new handshake of a server whose key and
// certificate are no pair, or are no PEM (tls_security_connector.cc drops the
// factory before it makes the next), and its own watcher takes whatever stands
// in the files. So it watches two files in memory, which only get what
// ReadPairOf took: the key never stands on another disk, and a file there is
// replaced as a whole, key and certificate in one.
#ifndef CONFIG_IDENTITY_SERVER_PAIR_H_
#define CONFIG_IDENTITY_SERVER_PAIR_H_

#include <functional>
#include <memory>
#include <string>
#include <thread>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "config/values/owned_fd.h"
#include "grpcpp/security/tls_certificate_provider.h"
#include "grpcpp/security/tls_certificate_verifier.h"

namespace clusterd {

// Readable by path while it lives; the path stays when the text is replaced.
class MemoryFile {
 public:
  // Unavailable, with the system's reason; then it is as before.
  absl::Status Replace(const std::string& text);
  // REQUIRES: Replace was OK once.
  std::string path() const;

 private:
  OwnedFd fd_;
};

// Looks at the files on a thread of its own. It is a verifier, which lets
// everybody through whom TLS let through, because that is what gRPC keeps as
// long as it shows the pair.
class ServerPair final
    : public ::grpc::experimental::ExternalCertificateVerifier {
 public:
  // Where gRPC reads what is shown.
  struct Shown {
    MemoryFile pair;
    MemoryFile roots;

    absl::Status Replace(const TlsPem& pem);
  };

  // `shown` holds `first`, which came from `files`.
  ServerPair(TlsFiles files, SpiffeId self, TlsPem first,
             std::shared_ptr<Shown> shown, absl::Duration interval,
             CertificatesRefused refused);
  ~ServerPair() override;

  bool Verify(::grpc::experimental::TlsCustomVerificationCheckRequest* request,
              std::function<void(::grpc::Status)> callback,
              ::grpc::Status* sync_status) override;
  void Cancel(
      ::grpc::experimental::TlsCustomVerificationCheckRequest*) override {}

 private:
  void Run() ABSL_LOCKS_EXCLUDED(mutex_);
  void Look() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const TlsFiles files_;
  const SpiffeId self_;
  const std::shared_ptr<Shown> shown_;
  const absl::Duration interval_;
  const CertificatesRefused refused_;
  absl::Mutex mutex_;
  TlsPem last_ ABSL_GUARDED_BY(mutex_);
  std::string told_ ABSL_GUARDED_BY(mutex_);
  bool stop_ ABSL_GUARDED_BY(mutex_) = false;
  std::thread thread_;  // Last: uses the rest.
};

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_SERVER_PAIR_H_
