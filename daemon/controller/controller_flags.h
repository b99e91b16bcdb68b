// The command line of clusterd-controller. Every option has a default.
#ifndef DAEMON_CONTROLLER_CONTROLLER_FLAGS_H_
#define DAEMON_CONTROLLER_CONTROLLER_FLAGS_H_

#include <optional>
#include <string>

#include "absl/time/time.h"
#include "config/identity/tls_credentials.h"
#include "daemon/controller/jobs/drain_brake.h"

namespace clusterd {

struct ControllerFlags {
  std::string cluster;  // Empty: the certificate's.
  std::string spec = "/etc/clusterd/cluster.yaml";
  bool learn = false;  // Start even if cluster.yaml does not exist yet.
  std::string listen = "0.0.0.0:7443";
  // The state folder; created, mode 0700, if its parent exists.
  std::string state = "/var/lib/clusterd-controller";
  std::string port_file;  // Empty: none.
  std::string crl;        // Revocation lists; empty: none.
  TlsFiles tls = {"/etc/clusterd/ca.crt", "/etc/clusterd/controller.crt",
                  "/etc/clusterd/controller.key"};
  DrainLimits drain;
  // Folder of the intermediate CA for hosts' certificates; empty: the site has
  // its own PKI.
  std::string ca_dir;
  std::string enrol_listen;  // Empty: the port after that of `listen`.
  // Empty: 127.0.0.1, and the port two after that of `listen`; "off": none.
  std::string status_listen;
  absl::Duration leaf_life = absl::Hours(30 * 24);
};

// Returns nullopt if the program should continue; otherwise its exit status: 0
// after --help and --version, 3 after wrong usage. All output has been printed.
std::optional<int> ParseControllerFlags(int argc, const char* const* argv,
                                        ControllerFlags* flags);

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_CONTROLLER_FLAGS_H_
