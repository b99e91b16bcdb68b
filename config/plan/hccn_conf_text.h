// /etc/hccn.conf as text: one `key_<device>=value` a line, the first one wins,
// a write deletes every line of its key and appends:
//   address_0=10.20.0.17
//   netmask_0=255.255.255.0
//   route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.20.0.1
// Edits that keep every other line as it is. Text in, text out;
// daemon/host/change/file_system.h changes the file itself.
// Behaviour of the tool: hccn_tool source, hicann/driver ef377e95, cfg.c.
#ifndef CONFIG_PLAN_HCCN_CONF_TEXT_H_
#define CONFIG_PLAN_HCCN_CONF_TEXT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>

#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

// "address_3". Keys of routes also end in the device.
std::string HccnConfKey(absl::string_view key, uint32_t device);

// True for a route's key without a device: "route_address_…" or "ip_route".
bool IsRouteKey(absl::string_view key);

// The value that the tool reads for a key ("address_3"): from the first line
// that starts with "address_3=", without a final carriage return. nullopt:
// there is none.
std::optional<std::string> HccnConfValue(absl::string_view text,
                                         absl::string_view full_key);

// Adds the "gateway_" that the tool requires to the value of a route line;
// nullopt: it is another line, or a repair would have to guess.
std::optional<std::string> RepairedRouteLine(absl::string_view line);

// Repairs the entry: removes blanks and the carriage return (from a host: the
// two characters "\r") at the end of its line; adds a route's "gateway_".
HccnConf::Entry RepairedEntry(HccnConf::Entry entry);

// The words of the repair of such a problem; nullptr: it has none.
const char* RepairOf(HccnConf::Problem::Kind kind);

// True if RepairHccnConf can remove this problem.
bool IsRepairable(const HccnConf::Problem& problem);

// A problem that stops the tool and that no program should repair.
std::optional<FindingValue> WhyConfStops(const HccnConf& conf);

// Removes the problems that IsRepairable names. Adds a final newline; removes
// carriage returns at line ends, and blanks there in what a recovery takes.
// Keeps the first line of a repeated key, which the tool obeys; ip_route and
// ip_rule lines may repeat. A route value gets its "gateway_". Everything else,
// comments and unknown keys too, stays byte for byte. Empty text stays empty.
std::string RepairHccnConf(absl::string_view text);

// Corrects the file after a tool command that turned `before` into `after`.
// Lines that were lost and are not in `may_vanish`, by key ("gateway_3") or
// whole ("ip_route_3=add …"), return to their place; added lines come last. A
// key with another value in `after` was set by another program. When the tool
// deletes "gateway_0=", it also drops "IPv6gateway_0=" and comments with it.
std::string WithLostLines(absl::string_view before, absl::string_view after,
                          const std::set<std::string>& may_vanish);

// Adds to `text` the tool's own lines of `now` that it lacks, replacing its
// lines of the same keys. A recovery may have run since `text` was saved, and
// the tool's notes stay valid whatever is restored.
std::string WithToolsOwnLines(absl::string_view text, absl::string_view now);

}  // namespace clusterd

#endif  // CONFIG_PLAN_HCCN_CONF_TEXT_H_
