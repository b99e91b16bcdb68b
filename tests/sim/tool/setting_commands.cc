// -mtu, -mac, -shaping, -pfc, -dscp_to_tc
#include <stdlib.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tests/sim/tool/command_steps.h"
#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/device_values.h"

namespace clusterd {
namespace sim {
namespace {

constexpr int kMinIpv6Mtu = 1280;
constexpr int kMaxDscp = 63;

Outcome TakeOne(const Arguments& arguments, const std::string& keyword,
                std::string* value) {
  std::map<std::string, std::string> values;
  Outcome failure = TakeKeywords(arguments, {keyword}, &values);
  *value = values[keyword];
  return failure;
}

}  // namespace

Outcome GetMtu(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = driver.Ask(Mailbox::kGetMtu, context.device)) {
    return failure;
  }
  context.terminal->Out(absl::StrCat(
      "mtu:", driver.Value("mtu", context.device).value_or("1500"), "\n"));
  return std::nullopt;
}

Outcome SetMtu(ToolContext& context, const Arguments& arguments) {
  std::string size;
  if (Outcome failure = TakeOne(arguments, "size", &size)) return failure;
  if (!IsDigits(size)) return failures::WrongParameters();
  if (!IsMtu(size)) return failures::OutOfRange("mtu");
  if (atoi(size.c_str()) < kMinIpv6Mtu &&
      !AskYes(context,
              "[WARNING] The minimum limit of mtu in IPv6 protocol is 1280 "
              "bytes. If the mtu is configured to be less than 1280, it will "
              "result in the loss of IPv6 addresses and the inability to use "
              "the IPv6 protocol.\nAre you sure you want to continue?(y/n)")) {
    return failures::Aborted();
  }
  return ChangeAndStore(context, "mtu", "mtu", size);
}

Outcome GetMac(ToolContext& context, const Arguments&) {
  Driver& driver = *context.driver;
  if (Outcome failure = driver.Ask(Mailbox::kGetMac, context.device)) {
    return failure;
  }
  const std::string usual =
      absl::StrFormat("6c:b1:58:00:00:%02x", context.device + 1);
  context.terminal->Out(absl::StrCat(
      "mac addr: ", driver.Value("mac", context.device).value_or(usual), "\n"));
  return std::nullopt;
}

Outcome SetMac(ToolContext& context, const Arguments& arguments) {
  std::string mac;
  if (Outcome failure = TakeOne(arguments, "mac", &mac)) return failure;
  // Facts name this text and its status, not the command. Among the commands
  // with that status, a text that does not fit is all that is left for it.
  if (mac.size() > kMacAddressChars) return failures::InvalidLength();
  if (!IsMacAddress(mac)) return failures::InvalidMac();
  return ChangeAndStore(context, "mac", "mac_addr", mac);
}

Outcome GetShaping(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  context.terminal->Out(absl::StrCat(
      "bw_limit[",
      context.driver->Value("bw_limit", context.device).value_or("200000"),
      " Mbps], bw_max[200000 Mbps]\n"));
  return std::nullopt;
}

Outcome SetShaping(ToolContext& context, const Arguments& arguments) {
  std::string limit;
  if (Outcome failure = TakeOne(arguments, "bw_limit", &limit)) return failure;
  if (limit.empty() || !IsDigits(limit)) return failures::WrongParameters();
  return ChangeAndStore(context, "bw_limit", "bw_limit", limit);
}

Outcome GetPfc(ToolContext& context, const Arguments&) {
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  std::string bits = context.driver->Value("bitmap", context.device)
                         .value_or("0,0,0,0,0,0,0,0");
  std::replace(bits.begin(), bits.end(), ',', ' ');
  context.terminal->Out(absl::StrCat(
      "PFC configuration:\npriority   0 1 2 3 4 5 6 7\nenabled    ", bits,
      "\n"));
  return std::nullopt;
}

Outcome SetPfc(ToolContext& context, const Arguments& arguments) {
  std::string bitmap;
  if (Outcome failure = TakeOne(arguments, "bitmap", &bitmap)) return failure;
  if (!IsPfcBitmap(bitmap)) return failures::WrongParameters();
  return ChangeAndStore(context, "bitmap", "bitmap", bitmap);
}

Outcome GetDscpToTc(ToolContext& context, const Arguments& arguments) {
  std::string dscp;
  if (Outcome failure = TakeOne(arguments, "dscp", &dscp)) return failure;
  if (dscp.empty() || !IsDigits(dscp)) return failures::WrongParameters();
  const int value = atoi(dscp.c_str());
  if (dscp.size() > 3 || value > kMaxDscp) {
    Failure failure = failures::OutOfRange("dscp");
    failure.status = 9;
    return failure;
  }
  if (Outcome failure = context.driver->AskUnlisted(context.device)) {
    return failure;
  }
  context.terminal->Out(absl::StrFormat("dscp      tc\n%4d%8d\n", value, 0));
  return std::nullopt;
}

}  // namespace sim
}  // namespace clusterd
