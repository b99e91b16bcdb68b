// Reads /etc/hccn.conf as the vendor's tool reads it:
//   address_0=10.20.0.17
//   route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.20.0.1
// Each line is `key_<device>=value`, nothing trimmed; `#` in column 0 begins a
// comment, and the first of equal keys wins. A line over 383 bytes is read as
// several (hccn_tool source, hicann/driver ef377e95, cfg.c). Opens no file.
#ifndef DAEMON_HOST_HCCN_HCCN_CONF_H_
#define DAEMON_HOST_HCCN_HCCN_CONF_H_

#include <cstddef>
#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

inline constexpr size_t kHccnConfMaxLineBytes = 383;
inline constexpr size_t kHccnConfMaxBytes = 1024000;
inline constexpr size_t kHccnConfMaxEntries = 10000;

// Returns entries, problems and checksum; `mode` stays 0. Each error in the
// file is a problem in the result:
//   last byte is not a newline          NO_FINAL_NEWLINE: the next write by the
//                                       tool joins two lines
//   line ends in \r                     CARRIAGE_RETURN; the entry keeps it;
//                                       none of a good route
//   `route_` and no route               MALFORMED_ROUTE: `-ip -s` fails with
//                                       244, and every recovery at boot
//   a key again                         DUPLICATE_KEY, at the later line
//   blanks after a value                TRAILING_BLANK: the recovery fails
//   a value that no device takes        BAD_VALUE: the same
//   no `=`, no key, blanks around key or value, a control character
//                                       MALFORMED_LINE
//   over 383 bytes                      LINE_TOO_LONG
//   over 1,024,000 bytes                FILE_TOO_LARGE
// At most 100 problems are kept. InvalidArgument for more than
// kHccnConfMaxEntries entries, which the tool's own files never have.
absl::StatusOr<HccnConf> ParseHccnConf(absl::string_view text);

// Returns the value that the tool uses, or nullptr. Points into `conf`.
const std::string* FindHccnConfValue(const HccnConf& conf,
                                     const std::string& key, uint32_t device);

}  // namespace clusterd

#endif  // DAEMON_HOST_HCCN_HCCN_CONF_H_
