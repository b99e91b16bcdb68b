// Keys of cluster.yaml about checks that the controller starts automatically,
// and about notifiers that run when the verdict of one changes:
//   schedule:
//     - name: links
//       every: 10m
//       hosts: node[01-12]       # all
//       only: [link, net-health] # as check --only, --skip and --downgrade
//   notify:
//     - command: [/usr/local/bin/page, --team, hpc]
//       deadline: 20s            # of one try; 10s
// And about failures that are accepted until a moment:
//   waivers:
//     - rule: link               # maintenance: the hosts are out of service
//       hosts: node07            # all
//       devices: 3               # all, and the host itself
//       reason: cable is ordered
//       owner: ann
//       until: 2026-12-01T10:00Z
#ifndef CONFIG_SPEC_SCHEDULE_SPEC_H_
#define CONFIG_SPEC_SCHEDULE_SPEC_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "config/spec/device_plan.h"
#include "config/spec/yaml_document.h"
#include "proto/spec.pb.h"

namespace clusterd {

// All record mistakes. `groups`: the servers of the file. `rules`: the names of
// all rules; empty: any valid name.
void LoadSchedule(const YamlValue& value, const ServerGroups& groups,
                  absl::Span<const absl::string_view> rules, ClusterSpec* spec);
// `devices`: the ids of all servers' devices; empty: they are not known.
void LoadWaivers(const YamlValue& value, const ServerGroups& groups,
                 absl::Span<const absl::string_view> rules,
                 absl::Span<const uint32_t> devices, ClusterSpec* spec);
void LoadNotify(const YamlValue& value, ClusterSpec* spec);

// Ids such as "0-3,7" of a waiver of the rule; `known`: the ids of all hosts.
// InvalidArgument for others, if any is known, for maintenance, and for a rule
// whose findings name no device.
absl::StatusOr<std::vector<uint32_t>> ParseWaivedDevices(
    const std::string& text, absl::string_view rule,
    absl::Span<const uint32_t> known);

// The keys as text; empty if none was given.
std::string ScheduleText(const ClusterSpec& spec);

// Parses a moment in UTC: "2026-12-01", which is its first second, or
// "2026-12-01T10:00Z". InvalidArgument, quoting it, for other texts.
absl::StatusOr<absl::Time> ParseUtcTime(const std::string& text);

}  // namespace clusterd

#endif  // CONFIG_SPEC_SCHEDULE_SPEC_H_
