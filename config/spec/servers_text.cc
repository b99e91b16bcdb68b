// Servers and devices as cluster.yaml has them, all written out.
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/spec/spec_loader.h"
#include "config/values/number_list.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

using Field = const std::string& (DeviceSpec::*)() const;

// "[a, b, none]": one field of a server's devices.
std::string FieldList(const ServerSpec& server, Field field) {
  return absl::StrCat(
      "[",
      absl::StrJoin(server.devices(), ", ",
                    [field](std::string* out, const DeviceSpec& device) {
                      const std::string& value = (device.*field)();
                      absl::StrAppend(out, value.empty() ? "none" : value);
                    }),
      "]");
}

void AppendFieldByHost(const ClusterSpec& spec, absl::string_view key,
                       Field field, std::string* out) {
  absl::StrAppend(out, "  ", key, ":\n");
  for (const ServerSpec& server : spec.servers()) {
    absl::StrAppend(out, "    ", YamlName(server.host()), ": ",
                    FieldList(server, field), "\n");
  }
}

std::string IdsText(const ServerSpec& server) {
  return FoldIds(Each<uint32_t>(server.devices(), &DeviceSpec::id));
}

bool HaveSameIds(const ClusterSpec& spec) {
  return absl::c_all_of(spec.servers(), [&](const ServerSpec& server) {
    return IdsText(server) == IdsText(spec.servers(0));
  });
}

// One value if all devices agree, one list if all servers do, or many lists.
void AppendField(const ClusterSpec& spec, absl::string_view key, Field field,
                 std::string* out) {
  std::set<std::string> lists, values;
  for (const ServerSpec& server : spec.servers()) {
    lists.insert(FieldList(server, field));
    for (const DeviceSpec& device : server.devices()) {
      values.insert((device.*field)());
    }
  }
  // The empty one, which no device needs written, sorts first.
  if (values.empty() || values.rbegin()->empty()) return;
  // Equal lists of other devices are not equal.
  if ((lists.size() > 1 || !HaveSameIds(spec)) && values.size() > 1) {
    return AppendFieldByHost(spec, key, field, out);
  }
  absl::StrAppend(out, "  ", key, ": ",
                  values.size() == 1 ? *values.begin() : *lists.begin(), "\n");
}

void AppendIds(const ClusterSpec& spec, std::string* out) {
  if (HaveSameIds(spec)) {
    return absl::StrAppend(out, "  ids: ", IdsText(spec.servers(0)), "\n");
  }
  absl::StrAppend(out, "  ids:\n");
  for (const ServerSpec& server : spec.servers()) {
    absl::StrAppend(out, "    ", YamlName(server.host()), ": ", IdsText(server),
                    "\n");
  }
}

}  // namespace

std::string YamlName(absl::string_view name) {
  if (!absl::EqualsIgnoreCase(name, "null")) return std::string(name);
  return absl::StrCat("\"", name, "\"");
}

void AppendServers(const ClusterSpec& spec, std::string* out) {
  absl::StrAppend(out, "servers:\n");
  for (const ServerSpec& server : spec.servers()) {
    absl::StrAppend(out, "  - hosts: ", YamlName(server.host()),
                    "\n    address: ", server.address(), "\n");
    if (server.rack().empty()) continue;
    absl::StrAppend(out, "    rack: ", YamlName(server.rack()), "\n");
  }
  absl::StrAppend(out, "devices:\n");
  if (spec.servers().empty()) return;
  AppendIds(spec, out);
  if (spec.roce_unused()) return;
  AppendField(spec, "netmask", &DeviceSpec::netmask, out);
  AppendFieldByHost(spec, "addresses", &DeviceSpec::address, out);
  AppendField(spec, "gateway", &DeviceSpec::gateway, out);
  AppendField(spec, "detect_address", &DeviceSpec::detect_address, out);
  AppendField(spec, "switch", &DeviceSpec::switch_name, out);
}

}  // namespace clusterd
