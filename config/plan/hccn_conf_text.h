// /etc/hccn.conf as text: one `key_<device>=value` a line, the first one wins,
// a write deletes every line of its key and appends:
//   address_0=10.20.0.17
//   netmask_0=255.255.255.0
//   route_address_172.16.0.0_netmask_255.255.0.0_0=gateway_10.20.0.1
// Edits that keep every other line as it is. Text in, text out; the file itself
// is changed by daemon/host/change/saved_file.h.
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

inline constexpr char kHccnConfFile[] = "/etc/hccn.conf";

// "address_3". Routes carry the device at the end as well.
std::string HccnConfKey(absl::string_view key, uint32_t device);

// Whether the key, without a device, is that of a route: "route_address_…" or
// "ip_route".
bool IsRouteKey(absl::string_view key);

// What the tool reads for a key ("address_3"): the value of the first line that
// starts with "address_3=". A carriage return at its end is left off. nullopt:
// no such line.
std::optional<std::string> HccnConfValue(absl::string_view text,
                                         absl::string_view full_key);

// A route line whose value lacks the "gateway_" that the tool wants, with it;
// nullopt: not such a line, or not repairable without guessing.
std::optional<std::string> RepairedRouteLine(absl::string_view line);

// The entry as a repair leaves it: without blanks and the carriage return at
// the end of its line, which a host sends as the two characters "\r", and a
// route with its "gateway_".
HccnConf::Entry RepairedEntry(HccnConf::Entry entry);

// Whether RepairHccnConf can remove this problem.
bool IsRepairable(const HccnConf::Problem& problem);

// A problem that stops the tool and that no program should repair.
std::optional<FindingValue> WhyConfStops(const HccnConf& conf);

// The text without the problems that IsRepairable names: a final newline is
// added, carriage returns at line ends go, and blanks there of what a recovery
// takes, of a repeated key the first line stays (the tool obeys it; ip_route
// and ip_rule lines may repeat), a route value gets its "gateway_". Everything
// else, comments and unknown keys too, stays byte for byte. Empty text stays
// empty.
std::string RepairHccnConf(absl::string_view text);

// What the file should be after a command of the tool that made `after` out of
// `before`: `after`, unless lines were lost that `may_vanish` does not name, by
// key ("gateway_3") or whole ("ip_route_3=add …"). Lost lines then stand where
// they stood, and what the tool added comes last. A key that has another value
// afterwards is not lost: somebody else set it. The tool's delete of
// "gateway_0=" also takes "IPv6gateway_0=" and comments that contain it.
std::string WithLostLines(absl::string_view before, absl::string_view after,
                          const std::set<std::string>& may_vanish);

// `text` with those lines of `now` that are the tool's own and that it lacks;
// they replace its lines of the same keys. A recovery may have run since `text`
// was saved, and what the tool noted then holds whatever else is put back.
std::string WithToolsOwnLines(absl::string_view text, absl::string_view now);

}  // namespace clusterd

#endif  // CONFIG_PLAN_HCCN_CONF_TEXT_H_
