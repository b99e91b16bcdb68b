#include <cstdint>
#include <set>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "config/spec/spec_loader.h"

namespace clusterd {
namespace {

using Field = const std::string& (DeviceSpec::*)() const;

// A host or cluster may be called what YAML reads as nothing. Such names have
// no other character that needs quotes.
std::string NameText(absl::string_view name) {
  if (!absl::EqualsIgnoreCase(name, "null")) return std::string(name);
  return absl::StrCat("\"", name, "\"");
}

std::string Milliseconds(uint32_t ms) {
  return absl::FormatDuration(absl::Milliseconds(ms));
}

absl::string_view BoolName(bool value) { return value ? "true" : "false"; }

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
    absl::StrAppend(out, "    ", NameText(server.host()), ": ",
                    FieldList(server, field), "\n");
  }
}

// One value where all devices agree, one list where all servers do, else one
// list per server.
void AppendField(const ClusterSpec& spec, absl::string_view key, Field field,
                 std::string* out) {
  std::set<std::string> lists;
  std::set<std::string> values;
  for (const ServerSpec& server : spec.servers()) {
    lists.insert(FieldList(server, field));
    for (const DeviceSpec& device : server.devices()) {
      values.insert((device.*field)());
    }
  }
  // The empty one, which no device needs written, sorts first.
  if (values.empty() || values.rbegin()->empty()) return;
  if (lists.size() > 1 && values.size() > 1) {
    AppendFieldByHost(spec, key, field, out);
    return;
  }
  absl::StrAppend(out, "  ", key, ": ",
                  values.size() == 1 ? *values.begin() : *lists.begin(), "\n");
}

// "0-7", "1,4".
std::string IdList(const ServerSpec& server) {
  std::string list;
  for (int k = 0; k < server.devices_size();) {
    int end = k;
    while (end + 1 < server.devices_size() &&
           server.devices(end + 1).id() == server.devices(end).id() + 1) {
      ++end;
    }
    absl::StrAppend(&list, list.empty() ? "" : ",", server.devices(k).id());
    if (end > k) absl::StrAppend(&list, "-", server.devices(end).id());
    k = end + 1;
  }
  return list;
}

void AppendServers(const ClusterSpec& spec, std::string* out) {
  absl::StrAppend(out, "servers:\n");
  for (const ServerSpec& server : spec.servers()) {
    absl::StrAppend(out, "  - hosts: ", NameText(server.host()),
                    "\n    address: ", server.address(), "\n");
  }
}

void AppendDevices(const ClusterSpec& spec, std::string* out) {
  absl::StrAppend(out, "devices:\n");
  if (spec.servers().empty()) return;
  absl::StrAppend(out, "  ids: ", IdList(spec.servers(0)), "\n");
  AppendField(spec, "netmask", &DeviceSpec::netmask, out);
  AppendFieldByHost(spec, "addresses", &DeviceSpec::address, out);
  AppendField(spec, "gateway", &DeviceSpec::gateway, out);
  AppendField(spec, "detect_address", &DeviceSpec::detect_address, out);
}

void AppendHccl(const HcclSpec& hccl, std::string* out) {
  absl::StrAppend(out, "hccl:\n  base_port: ", hccl.base_port(), "\n");
  if (hccl.port_count_auto()) {
    absl::StrAppend(out, "  port_count: auto  # ", hccl.port_count(), "\n");
  } else {
    absl::StrAppend(out, "  port_count: ", hccl.port_count(), "\n");
  }
  if (!hccl.cann().empty()) absl::StrAppend(out, "  cann: ", hccl.cann(), "\n");
}

absl::string_view FirewallName(FirewallPolicy policy) {
  switch (policy) {
    case FIREWALL_OPEN_PORTS:
      return "open-ports";
    case FIREWALL_IGNORE:
      return "ignore";
    default:
      return "disabled";
  }
}

void AppendSettings(const ClusterSpec& spec, std::string* out) {
  absl::StrAppend(
      out, "kernel:\n  somaxconn: ", spec.kernel().somaxconn(),
      "\n  tcp_max_syn_backlog: ", spec.kernel().tcp_max_syn_backlog(),
      "\n  persistent: ", BoolName(spec.kernel().persistent()), "\n");
  absl::StrAppend(out, "firewall: ", FirewallName(spec.firewall()), "\n");
  absl::StrAppend(out, "deadlines:\n  command: ",
                  Milliseconds(spec.deadlines().command_ms()),
                  "\n  host: ", Milliseconds(spec.deadlines().host_ms()),
                  "\n  run: ", Milliseconds(spec.deadlines().run_ms()), "\n");
  if (spec.has_tls()) {
    absl::StrAppend(out, "tls: ", BoolName(spec.tls()), "\n");
  }
  if (spec.has_mtu()) absl::StrAppend(out, "mtu: ", spec.mtu(), "\n");
  if (spec.rendezvous_port() != 0) {
    absl::StrAppend(out, "rendezvous_port: ", spec.rendezvous_port(), "\n");
  }
  if (spec.ssh_port() != 0) {
    absl::StrAppend(out, "ssh_port: ", spec.ssh_port(), "\n");
  }
  absl::StrAppend(out, "allow_tls_query: ", BoolName(spec.allow_tls_query()),
                  "\n");
  if (!spec.enforce().empty()) absl::StrAppend(out, "enforce:\n");
  for (const std::string& kind : spec.enforce()) {
    absl::StrAppend(out, "  ", kind, ": true\n");
  }
}

}  // namespace

std::string SpecToYaml(const ClusterSpec& spec) {
  std::string out = absl::StrCat("version: ", spec.version(),
                                 "\nname: ", NameText(spec.name()),
                                 "\nproduct: ", spec.product(), "\n");
  if (!spec.mode().empty()) absl::StrAppend(&out, "mode: ", spec.mode(), "\n");
  AppendServers(spec, &out);
  AppendDevices(spec, &out);
  AppendHccl(spec.hccl(), &out);
  AppendSettings(spec, &out);
  return out;
}

}  // namespace clusterd
