// Posts JSON to a web server: one request on a connection of its own. A server
// with TLS must have a certificate for the name in the URL, by the CAs that the
// system trusts or, where that variable is set, those in SSL_CERT_FILE. Nothing
// is followed that the server points to.
#ifndef DAEMON_CONTROLLER_NOTIFY_WEBHOOK_H_
#define DAEMON_CONTROLLER_NOTIFY_WEBHOOK_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "config/spec/schedule_spec.h"

namespace clusterd {

struct WebhookPost {
  WebhookUrl url;
  std::string token;  // Printable ASCII; empty: none. Stands in no message.
  absl::string_view body;
  absl::Duration deadline;
  const char* resolv_conf = "/etc/resolv.conf";
  const char* root = "";  // Of the system's CAs.
};

// The file with the CAs that the system trusts, where it is not one that
// OpenSSL looks for: a release has OpenSSL in it, which looks where the
// distribution keeps them that it was built on. Empty: OpenSSL finds its own
// file or folder, SSL_CERT_FILE or SSL_CERT_DIR is set, or there is none.
std::string SystemCaBundle(const std::string& root);

// OK for a status of 2xx. Unavailable where another try may do: no connection,
// no answer by the deadline, 5xx, 429, a certificate that is not trusted, which
// may be renewed meanwhile. FailedPrecondition for every other status.
// Cancelled: `stop` (of a StopSignal) can be read.
absl::Status PostWebhook(const WebhookPost& post, int stop);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_NOTIFY_WEBHOOK_H_
