// Reads ufw's state from its own words:
//   Status: active
//   Logging: on (low)
//   Default: deny (incoming), allow (outgoing), disabled (routed)
//   New profiles: skip
//
//   To                         Action      From
//   --                         ------      ----
//   60000:60031/tcp            ALLOW IN    10.77.0.0/16
//   22/tcp (OpenSSH)           LIMIT IN    Anywhere
// That is `ufw status verbose` of ufw 0.36.2. Its exit status never tells
// active from inactive, nor does systemd, whose unit stays "active" after `ufw
// disable`. Text in, value out: runs nothing. Rules outside ufw (before.rules)
// are not seen.
#ifndef DAEMON_HOST_FIREWALL_UFW_OUTPUT_H_
#define DAEMON_HOST_FIREWALL_UFW_OUTPUT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// From the first line. InvalidArgument, quoting it, if it is neither.
absl::StatusOr<bool> ParseUfwActive(absl::string_view status_output);

// What an active ufw lets in over IPv4, from `ufw status verbose`:
//   ALLOW IN, any or given port, any source or address    an entry
//   default allow (incoming)                              all ports
//   LIMIT, DENY, REJECT                                   off what comes after
//   IPv6, outgoing and routed rules; rules for the        nothing
//   loopback interface; protocols but TCP and UDP
// InvalidArgument, quoting the row, for what an AllowedPort cannot say: a rule
// for one interface, destination address or source port, and a LIMIT, DENY or
// REJECT that takes some of its sources from an ALLOW after it.
absl::StatusOr<AllowedFact::Allowed> ParseUfwAllowed(
    absl::string_view status_verbose_output);

// Whether /etc/ufw/ufw.conf has ufw start at boot: ENABLED=yes. InvalidArgument
// if there is no such line or another value.
absl::StatusOr<bool> ParseUfwConf(absl::string_view text);

}  // namespace clusterd

#endif  // DAEMON_HOST_FIREWALL_UFW_OUTPUT_H_
