// Why a call over mutual TLS could not be made, in words for who runs the
// program that made it, out of what gRPC 1.51 and OpenSSL 3 say.
#ifndef CONFIG_IDENTITY_CONNECT_FAILURE_H_
#define CONFIG_IDENTITY_CONNECT_FAILURE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "config/identity/tls_credentials.h"

namespace clusterd {

// `message` is that of a call that ended as Unavailable. `named` has what the
// files are called there: paths, or the options that name them.
//   cannot connect   the system's own reason, what to look at
//   bad certificate  which side refused which certificate
//   all else         the message
std::string UnavailableReason(absl::string_view message, const TlsFiles& named);

// FailedPrecondition, with what to do, if `ca` signed no certificate in the
// chain of `certificate`: one of the two files is of another cluster. Ok also
// where the files cannot be read, which is told elsewhere.
absl::Status CheckOneCluster(const TlsFiles& files);

}  // namespace clusterd

#endif  // CONFIG_IDENTITY_CONNECT_FAILURE_H_
