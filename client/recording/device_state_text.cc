#include "client/recording/device_state_text.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

std::string Escaped(absl::string_view value) {
  std::string out;
  for (const char c : value) {
    switch (c) {
      case '\n':
        out += "\\n";
        break;
      case '\t':
        out += "\\t";
        break;
      case ';':
      case '\\':
        out += '\\';
        out += c;
        break;
      default:
        out += c;
    }
  }
  return out;
}

class StateText {
 public:
  explicit StateText(uint32_t device) : device_(device) {}

  void Set(absl::string_view key, absl::string_view value) {
    if (value.empty()) return;
    absl::StrAppend(&text_, text_.empty() ? "" : "; ", key, ".", device_, "=",
                    Escaped(value));
  }
  const std::string& text() const { return text_; }

 private:
  uint32_t device_;
  std::string text_;
};

}  // namespace

std::string DeviceStateText(const DeviceFacts& device,
                            absl::string_view lldp_output) {
  StateText state(device.id());
  if (device.address().value().settings_size() > 0) {
    // Boards with several ports report one pair each; the simulated tool
    // repeats the one it has.
    const Ipv4Setting& setting = device.address().value().settings(0);
    state.Set("ip", setting.address());
    state.Set("mask", setting.netmask());
  }
  state.Set("gateway", device.gateway().value());
  if (device.detect_address().value() != "0.0.0.0") {
    state.Set("netdetect", device.detect_address().value());
  }
  if (device.net_health().value() != NET_HEALTH_UNSPECIFIED) {
    // The vendor's codes count from 0, this enum from 1.
    state.Set("net_health", absl::StrCat(device.net_health().value() - 1));
  }
  if (device.link().value() != LinkFact::LINK_UNSPECIFIED) {
    state.Set("link", device.link().value() == LinkFact::UP ? "1" : "0");
  }
  if (device.mtu().has_value()) {
    state.Set("mtu", absl::StrCat(device.mtu().value()));
  }
  if (device.tls().has_value()) {
    state.Set("tls", device.tls().value().enabled() ? "1" : "0");
  }
  // The tool adds one newline to what the device gave it.
  state.Set("lldp", lldp_output.substr(
                        0, lldp_output.empty() ? 0 : lldp_output.size() - 1));
  return state.text();
}

std::string NearestProduct(const HostFacts& facts) {
  const std::string& series = facts.identity().npu_series().value();
  if (facts.hccn_tool().generation() == NpuToolFacts::ASCEND_950) {
    return "Ascend-950";
  }
  if (absl::StartsWith(series, "A1")) return "A1-SMP";
  if (absl::StartsWith(series, "A3")) return "A3-no-pod";
  for (const uint32_t id : facts.device_ids().value().ids()) {
    if (id > 7) return "A2-Box16";
  }
  return "A2";
}

}  // namespace clusterd
