// -cfg: gives the devices the values of hccn.conf, as at boot.
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <algorithm>
#include <functional>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd::sim {
namespace {

enum RecoveryStatus { kNone = 0, kBegun = 1, kFailed = 2, kSucceeded = 3 };
constexpr const char* kStatusNames[] = {"NONE", "START", "FAIL", "SUCCESS"};
constexpr char kRecoveryFailed[] =
    "Recovery failed. Check '/var/log/hccn_tool/hccn_config.log' for "
    "details.\n";
// After the first try, a second apart.
constexpr int kRetries = 3;
constexpr size_t kMaxLineChars = 383;

using Value = std::optional<std::string>;

bool IsDetectAddress(const std::string& text) {
  return StrictIpv4(text).has_value() && LooseIpv4(text) != 0xffffffff;
}

// Products whose tool recovers a value.
enum class On { kAll, kOnlyA1, kNotA1, kRetimer };

bool IsOn(On where, const ToolContext& context) {
  const Product& product = context.product();
  const bool is_a1 = product.build == Product::Build::kA1;
  switch (where) {
    case On::kAll:
      return true;
    case On::kOnlyA1:
      return is_a1;
    case On::kNotA1:
      return !is_a1;
    case On::kRetimer:
      // The second die of an A3 module leaves it to the first.
      return HasRetimer(product) && (!IsA3(product) || context.device < 8);
  }
  return false;
}

bool IsPausable(const std::string& text) {
  return ReadPfcBitmap(text, 8) == PfcBitmap::kGood;
}

// One value that is checked separately and given to the device.
struct StoredValue {
  const char* conf_key;
  // Key of the device state; null if no query shows it.
  const char* name;
  size_t max_chars;
  bool (*valid)(const std::string&);
  On on = On::kAll;
};
constexpr StoredValue kBeforeModules[] = {
    {"udhcpc_enable", nullptr, kMaxDhcpChars, nullptr},
    {"udhcpc_ipv6_enable", nullptr, kMaxDhcpChars, nullptr},
    {"mac_addr", "mac", kMacAddressChars, IsMacAddress},
    {"mtu", "mtu", 4, IsMtu},
    {"dscp_tc", "dscp_tc", kMaxLineChars, IsDscpMap},
    {"static_speed", nullptr, 6, IsSpeed},
    {"bw_limit", "bw_limit", 6, IsBandwidth},
    {"roce_port", "roce_port", 5, IsUdpPortText},
    {"bitmap", "bitmap", 15, IsPausable},
    {"tc_cfg", nullptr, kMaxLineChars, IsBufferPlan},
    {"prio_tc", "prio_tc", 15, IsPriorityMap},
    {"encoding", nullptr, 4, IsFecMode, On::kOnlyA1},
    {"dcqcn_cnp_dscp", nullptr, 29, IsCnpDscp},
};
constexpr StoredValue kTlsSwitch = {"tls_enable", "tls", 29, IsSwitch};
constexpr StoredValue kPortIdType = {"lldp_portid_type", nullptr, 9,
                                     IsPortIdType};
constexpr StoredValue kAfterModules[] = {
    {"cw_bad_cnt_thd_high_limit", nullptr, 2, IsBadCodewordLimit},
    {"down_fault_time", nullptr, kMaxLineChars, IsDownFaultTime},
    {"scdr_reset_delay_time", nullptr, kMaxLineChars, IsCdrDelay, On::kRetimer},
    {"cdr_reset_switch", nullptr, 7, IsCdrSwitch, On::kRetimer},
    {"tsa", nullptr, kMaxLineChars, IsTsaMap, On::kNotA1},
    {"tcbw", nullptr, kMaxLineChars, IsBandwidthShare, On::kNotA1},
    {"mem_reserve", nullptr, kMaxLineChars, IsMemoryReserve, On::kNotA1},
};
constexpr StoredValue kDetect = {"netdetect", "netdetect", kMaxAddressChars,
                                 IsDetectAddress};

// Right by its form, and not for this product.
Outcome CheckForProduct(ToolContext& context, const StoredValue& row,
                        const std::string& value) {
  const int most = MaxPausing(context.product());
  const bool too_many = row.valid == IsPausable &&
                        ReadPfcBitmap(value, most) == PfcBitmap::kTooMany;
  return too_many ? Outcome(failures::TooManyPriorities(most)) : std::nullopt;
}

Outcome RecoverValue(ToolContext& context, const StoredValue& row) {
  Value value;
  if (!IsOn(row.on, context)) return std::nullopt;
  if (Outcome failure =
          ReadLimited(context, row.conf_key, row.max_chars, &value)) {
    return failure;
  }
  if (!value || row.valid == nullptr) return std::nullopt;
  const bool is_port = row.valid == IsUdpPortText;
  const bool chooses_port = is_port && absl::StartsWith(*value, "-1");
  if (is_port && !chooses_port) return GiveRocePort(context, *value);
  if (!chooses_port && !row.valid(*value)) return failures::CommandFailed();
  if (Outcome failure = CheckForProduct(context, row, *value)) return failure;
  if (Outcome failure = context.AskToChange()) return failure;
  if (row.name == nullptr) return std::nullopt;
  // The switch is stored as a number, however it is spelled.
  const std::string kept = row.valid == IsSwitch
                               ? absl::StrCat(atoi(value->c_str()))
                           : chooses_port ? "-1"
                                          : *value;
  context.driver->Change(row.name, context.device, kept);
  return std::nullopt;
}

// The tool stores it again, which moves the line to the end of the file.
Outcome RecoverPortIdType(ToolContext& context) {
  Value value;
  if (Outcome failure = RecoverValue(context, kPortIdType)) return failure;
  if (Outcome failure = ReadLimited(context, kPortIdType.conf_key,
                                    kPortIdType.max_chars, &value)) {
    return failure;
  }
  return value ? context.conf->Write(context.Key(kPortIdType.conf_key), *value)
               : std::nullopt;
}

// Ports of the other modes than one port for all.
Outcome RecoverPortMode(ToolContext& context) {
  constexpr size_t kMaxModeChars = 19, kMaxListChars = 199;
  Value mode, count, ports;
  if (context.product().build == Product::Build::kA1) return std::nullopt;
  if (Outcome failure =
          ReadLimited(context, "udp_port_mode", kMaxModeChars, &mode)) {
    return failure;
  }
  if (!mode) return std::nullopt;
  const bool by_code = *mode == "code:nslb_dp";
  if (!by_code && *mode != "multi_qp") return failures::WrongParameters();
  for (auto [name, value] :
       {std::make_pair("multi_qp_count", &count),
        std::make_pair(by_code ? "nslb_dp_listen_port" : "multi_qp_udp_ports",
                       &ports)}) {
    if (Outcome failure = ReadLimited(context, name, kMaxListChars, value)) {
      return failure;
    }
  }
  if (by_code) {
    if (!ports || !IsNumberIn(*ports, 10000, 57999)) {
      return failures::WrongParameters();
    }
    context.Change("udp_mode", "code");
    context.Change("udp_ports", *ports);
    return std::nullopt;
  }
  if (!count || !ports || count->size() > 2 || !IsNumberIn(*count, 2, 32)) {
    return failures::WrongParameters();
  }
  const auto list = PortListText(*ports, atoi(count->c_str()));
  if (!list) return failures::WrongParameters();
  context.Change("udp_mode", "multi_qp");
  context.Change("udp_ports", *list);
  return std::nullopt;
}

// DCQCN parameters: both the parameters and their mode are needed.
Outcome RecoverDcqcn(ToolContext& context) {
  constexpr struct {
    const char* key;
    long last;
  } kRows[] = {
      {"dcqcn_f", 255},     {"dcqcn_g_shift", 15},   {"dcqcn_al", 255},
      {"dcqcn_tkp", 15},    {"dcqcn_ai", 65535},     {"dcqcn_tmp", 15},
      {"dcqcn_alp", 65535}, {"dcqcn_cnp_time", 255}, {"dcqcn_alp_shift", 15},
  };
  constexpr size_t kMaxChars = 29;
  Value mode;
  if (Outcome failure =
          ReadLimited(context, "dcqcn_alg_mode", kMaxChars, &mode)) {
    return failure;
  }
  if (!mode) return std::nullopt;
  bool any = false;
  for (const auto& row : kRows) {
    Value value;
    if (Outcome failure = ReadLimited(context, row.key, kMaxChars, &value)) {
      return failure;
    }
    if (!value) continue;
    any = true;
    if (value->empty() || !IsNumberIn(*value, 0, row.last)) {
      return failures::WrongParameters();
    }
  }
  const bool good = !any || IsSwitch(*mode);
  return good ? std::nullopt : Outcome(failures::WrongParameters());
}

// Needs both parts.
Outcome RecoverAddress(ToolContext& context) {
  Value address, netmask;
  if (Outcome failure =
          ReadLimited(context, "address", kMaxAddressChars, &address)) {
    return failure;
  }
  if (!address) return std::nullopt;
  if (Outcome failure =
          ReadLimited(context, "netmask", kMaxAddressChars, &netmask)) {
    return failure;
  }
  if (!netmask) return std::nullopt;
  if (Outcome failure = CheckNewAddress(context, *address, *netmask)) {
    return failure;
  }
  if (Outcome failure = DropForeignRoutes(context, LooseIpv4(*address),
                                          LooseIpv4(*netmask))) {
    return failure;
  }
  return ApplyAddress(context, *address, *netmask);
}

// Calls `valid` with the text between the first "=" and the next "=" of every
// line that holds `part`. CommandFailed at the first one that is not valid.
Outcome CheckLines(ToolContext& context, const std::string& part,
                   bool (*valid)(const std::string&)) {
  std::string text;
  if (Outcome failure = context.conf->ReadAll(&text)) return failure;
  bool all = true;
  ForEachConfLine(text, [&](const std::string& line) {
    if (!all || !absl::StrContains(line, part)) return;
    const std::vector<std::string> parts =
        absl::StrSplit(absl::StripSuffix(line, "\n"), '=');
    all = parts.size() > 1 && valid(parts[1]);
  });
  return all ? std::nullopt : Outcome(failures::CommandFailed());
}

// "… table 100" at the end; without it the main table.
bool HasGoodTable(const std::string& text) {
  constexpr char kTable[] = " table ";
  const size_t at = text.find(kTable);
  return at == std::string::npos ||
         atol(text.c_str() + at + sizeof(kTable) - 1) <= 255;
}
bool IsIpRule(const std::string& text) {
  return (absl::StartsWith(text, "add from ") ||
          absl::StartsWith(text, "add to ")) &&
         HasGoodTable(text);
}
bool IsIpRoute(const std::string& text) {
  unsigned first = 0;
  return sscanf(text.c_str(), "add %u", &first) == 1 && HasGoodTable(text);
}
bool IsNeighbour(const std::string& text) {
  unsigned port = 0;
  return sscanf(text.c_str(), "-i eth%u", &port) == 1;
}

Outcome RecoverIpRules(ToolContext& context) {
  return CheckLines(context, context.Key("ip_rule") + "=", IsIpRule);
}

// The tool looks for the stored value anywhere in the file.
Outcome RecoverNeighbours(ToolContext& context) {
  if (RecoversDhcp(context)) return std::nullopt;
  Value value;
  if (Outcome failure = ReadLimited(context, "arp", kMaxLineChars, &value)) {
    return failure;
  }
  return value ? CheckLines(context, *value, IsNeighbour) : std::nullopt;
}

// One of the keys of ARP announcements, which is stored again as it was.
Outcome RecoverAnnouncement(ToolContext& context, const char* key,
                            Outcome (*check)(const std::string&)) {
  constexpr size_t kMaxChars = 5;
  Value value;
  if (Outcome failure = ReadLimited(context, key, kMaxChars, &value)) {
    return failure;
  }
  if (!value) return std::nullopt;
  uint32_t address = 0, mask = 0;
  if (Outcome failure =
          ReadDeviceAddress(context, failures::NoAddress(), &address, &mask)) {
    return failure;
  }
  if (Outcome failure = check(*value)) return failure;
  if (Outcome failure = context.AskToChange()) return failure;
  return context.conf->Write(context.Key(key), *value);
}

// Once per device the tool hands the driver's CA files over, and notes it. The
// files come with the driver package; without them the item fails.
Outcome RecoverCaFiles(ToolContext& context) {
  constexpr size_t kMaxChars = 29;
  Value done;
  constexpr char kKey[] = "tls_ca_recovered";
  if (Outcome failure = ReadLimited(context, kKey, kMaxChars, &done)) {
    return failure;
  }
  if (done && !IsNumberIn(*done, 0, 1)) return failures::UnknownOption();
  if (done && atoi(done->c_str()) == 1) return std::nullopt;
  if (!context.server->has_install_info ||
      context.driver->Setting("ca_files").value_or("0") != "1") {
    return failures::CommandFailed();
  }
  return context.conf->Write(context.Key(kKey), "1");
}

// A+K boards note, at every boot and at the end of the file, how often optical
// modules are reset.
Outcome RecoverModuleResets(ToolContext& context) {
  if (!NotesModuleResets(context.product())) return std::nullopt;
  constexpr size_t kMaxChars = 2;
  struct Limit {
    const char* key;
    const char* usual;
    int last;
  };
  constexpr Limit kLimits[] = {{"xsfp_reset_max_times", "0", 30},
                               {"xsfp_reset_wait_times", "7", 40}};
  std::vector<std::string> values;
  for (const Limit& row : kLimits) {
    Value value;
    if (Outcome failure = ReadLimited(context, row.key, kMaxChars, &value)) {
      return failure;
    }
    values.push_back(value.value_or(row.usual));
    if (!IsNumberIn(values.back(), 0, row.last)) {
      return failures::UnknownOption();
    }
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (Outcome failure =
            context.conf->Write(context.Key(kLimits[i].key),
                                absl::StrCat(atoi(values[i].c_str())))) {
      return failure;
    }
  }
  return std::nullopt;
}

bool Succeeds(ToolContext& context, const char* name,
              const std::function<Outcome(ToolContext&)>& item) {
  for (int retries = 0;; ++retries) {
    Outcome failure = item(context);
    if (!failure) return true;
    context.server->log(absl::StrCat("device ", context.device,
                                     ": recovery of ", name, ": ",
                                     failure->text));
    if (retries == kRetries) return false;
    const long wait = context.driver->retry_ms();
    timespec left{wait / 1000, (wait % 1000) * 1000000};
    nanosleep(&left, nullptr);
  }
}

bool Succeeds(ToolContext& context, const StoredValue& row) {
  return Succeeds(context, row.conf_key, [&row](ToolContext& of_device) {
    return RecoverValue(of_device, row);
  });
}

// Recovers the part without the address. A limit that is too long is ignored.
bool RecoverCommon(ToolContext& context) {
  bool all = true;
  for (const StoredValue& row : kBeforeModules) {
    Value value;
    const bool ignored =
        row.valid == IsBandwidth &&
        ReadLimited(context, row.conf_key, row.max_chars, &value).has_value();
    if (!ignored && !Succeeds(context, row)) all = false;
  }
  if (!Succeeds(context, "dcqcn", RecoverDcqcn)) all = false;
  if (!Succeeds(context, "xsfp_reset", RecoverModuleResets)) all = false;
  if (!Succeeds(context, kTlsSwitch)) all = false;
  if (!Succeeds(context, "tls_ca", RecoverCaFiles)) all = false;
  if (!Succeeds(context, "lldp_portid", RecoverPortIdType)) all = false;
  for (const StoredValue& row : kAfterModules) {
    if (!Succeeds(context, row)) all = false;
  }
  if (!Succeeds(context, "udp_port_mode", RecoverPortMode)) all = false;
  return all;
}

// Gives up the rest if the address cannot be recovered.
bool RecoverIpv4(ToolContext& context) {
  struct Item {
    const char* name;
    Outcome (*recover)(ToolContext&);
  };
  constexpr Item kItems[] = {
      {"gateway", RecoverGateway},   {"ip_rule", RecoverIpRules},
      {"arp", RecoverNeighbours},    {"route", RecoverRoutes},
      {"ip_route", RecoverIpRoutes}, {"send_arp", RecoverAnnouncements},
  };
  if (!Succeeds(context, "address", RecoverAddress)) return false;
  bool all = Succeeds(context, kDetect);
  for (const Item& item : kItems) {
    if (!Succeeds(context, item.name, item.recover)) all = false;
  }
  return all;
}

// The second address, which boards of the 9000 do not have.
Outcome RecoverIpv6(ToolContext& context) {
  constexpr size_t kMaxChars = 45;
  if (Is9000(context.product())) return std::nullopt;
  Value address, prefix;
  for (auto [name, value] : {std::make_pair("IPv6address", &address),
                             std::make_pair("IPv6netmask", &prefix)}) {
    if (Outcome failure = ReadLimited(context, name, kMaxChars, value)) {
      return failure;
    }
    if (!value->has_value()) return std::nullopt;
  }
  const int length = atoi(prefix->c_str());
  if (!IsIpv6(*address)) return failures::InvalidAddress();
  if (length < 0 || length > 128) return failures::WrongParameters();
  context.Change("ip6", *address);
  context.Change("prefix", absl::StrCat(length));
  return std::nullopt;
}

bool RecoverIpv6Items(ToolContext& context) {
  constexpr StoredValue kItems[] = {
      {"IPv6netdetect", nullptr, 45, IsIpv6},
      {"IPv6gateway", nullptr, 45, IsIpv6},
  };
  if (!Succeeds(context, "IPv6address", RecoverIpv6)) return false;
  bool all = true;
  for (const StoredValue& row : kItems) {
    if (!Is9000(context.product()) && !Succeeds(context, row)) all = false;
  }
  return all;
}

// Conditions that must hold before any device is touched.
Outcome RequireRecovery(ToolContext& context) {
  if (!context.driver->privileged()) return failures::PermissionDenied();
  Outcome failure = context.conf->RequireFile();
  if (failure) context.terminal->Out(kRecoveryFailed);
  return failure;
}

}  // namespace

Outcome RecoverGateway(ToolContext& context) {
  if (RecoversDhcp(context)) return std::nullopt;
  Value gateway;
  if (Outcome failure =
          ReadLimited(context, "gateway", kMaxAddressChars, &gateway)) {
    return failure;
  }
  if (!gateway) return std::nullopt;
  // The tool does not check here that it is in the device's subnet.
  if (!StrictIpv4(*gateway)) return failures::InvalidAddress();
  return ApplyGateway(context, *gateway);
}

Outcome RecoverIpRoutes(ToolContext& context) {
  return CheckLines(context, context.Key("ip_route") + "=", IsIpRoute);
}

Outcome RecoverAnnouncements(ToolContext& context) {
  if (RecoversDhcp(context, /*or_ipv6=*/true)) return std::nullopt;
  if (Outcome failure = RecoverAnnouncement(
          context, "send_arp_period", [](const std::string& value) -> Outcome {
            constexpr long kAny = 100000, kMaxSeconds = 3600;
            if (!IsNumberIn(value, -kAny, kAny)) {
              return failures::UnknownOption();
            }
            const bool good = IsNumberIn(value, 1, kMaxSeconds);
            return good ? std::nullopt : Outcome(failures::WrongParameters());
          })) {
    return failure;
  }
  return RecoverAnnouncement(
      context, "send_arp_status", [](const std::string& value) -> Outcome {
        const bool good = value == "0" || value == "1";
        return good ? std::nullopt : Outcome(failures::WrongParameters());
      });
}

bool RecoverDevice(ToolContext& context) {
  bool all = RecoverCommon(context);
  if (!RecoverIpv4(context)) all = false;
  if (!RecoverIpv6Items(context)) all = false;
  context.Change("cfg_status", absl::StrCat(all ? kSucceeded : kFailed));
  return all;
}

namespace {

// An interrupted recovery has begun, and reports nothing more.
bool BeginAndRecover(ToolContext& context) {
  context.Change("cfg_status", absl::StrCat(kBegun));
  return RecoverDevice(context);
}

}  // namespace

Outcome Recover(ToolContext& context, const Arguments&) {
  if (Outcome failure = RequireRecovery(context)) return failure;
  if (BeginAndRecover(context)) return std::nullopt;
  context.terminal->Out(kRecoveryFailed);
  return failures::Generic(1);
}

Outcome RecoverAll(ToolContext& context, const Arguments&) {
  if (Outcome failure = RequireRecovery(context)) return failure;
  bool all = true;
  for (int device : context.product().devices) {
    // A device that is gone gets no line, but fails too.
    if (context.driver->RequireHealth(device)) {
      all = false;
      continue;
    }
    ToolContext one = context;
    one.device = device;
    if (BeginAndRecover(one)) {
      context.terminal->Out(
          absl::StrCat("dev:", device, " recovery success\n"));
    } else {
      context.terminal->Err(absl::StrCat("dev:", device, " recovery fail\n"));
      all = false;
    }
  }
  if (all) return std::nullopt;
  context.terminal->Out(kRecoveryFailed);
  return failures::CommandFailed();
}

Outcome GetRecoveryStatus(ToolContext& context, const Arguments&) {
  const long status = context.Number("cfg_status", kNone);
  const bool known = status >= kNone && status <= kSucceeded;
  return context.Print(absl::StrCat(
      "config status:", known ? kStatusNames[status] : "FAULT", "\n"));
}

}  // namespace clusterd::sim
