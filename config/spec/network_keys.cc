#include "config/spec/network_keys.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "absl/strings/str_replace.h"
#include "config/spec/product_profile.h"
#include "config/spec/yaml_keys.inc"
#include "config/values/number_list.h"
#include "config/values/port_set.h"
#include "config/values/setting.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

// The range of `-udp -s port` (hccn_tool usage, hicann/driver 05354178, cmd.c).
constexpr uint32_t kMinRocePort = 4097;
constexpr uint32_t kMaxRocePort = 65535;
// HCCL environment variable reference, HCCL_RDMA_TC and HCCL_RDMA_SL.
constexpr uint32_t kMaxTrafficClass = 255;
constexpr uint32_t kMaxServiceLevel = 7;

}  // namespace

absl::StatusOr<std::string> ParsePfc(const std::string& text) {
  static const LazyRE2 kForm = {"[01](?:,[01]){7}"};
  if (HasForm(text, *kForm)) return text;
  return InvalidWords("msg-spec-pfc", text);
}

absl::StatusOr<std::string> ParseDscpToTc(const std::string& text) {
  ASSIGN_OR_RETURN(const DscpClasses classes, ParseDscpClasses(text));
  return SettingText(MapValue(classes));
}

absl::StatusOr<uint32_t> ParseRocePort(const std::string& text) {
  uint32_t port = 0;
  if (ParseDigits(text, &port) && port >= kMinRocePort &&
      port <= kMaxRocePort) {
    return port;
  }
  return InvalidWords("msg-spec-roce-port", text, kMinRocePort, kMaxRocePort);
}

void LoadLossless(const YamlValue& value, ClusterSpec* spec) {
  if (value.node() == nullptr) return;
  const YamlMap map(value.node(), "lossless", kClusterKeys, value.mistakes());
  LosslessSpec* const lossless = spec->mutable_lossless();
  const YamlValue pfc = map["pfc"];
  lossless->set_pfc(pfc.Parsed(ParsePfc).value_or(""));
  const auto profile = FindProductProfile(spec->product(), spec->mode());
  const auto on = absl::c_count(lossless->pfc(), '1');
  if (profile.ok() && on > MostPausing(**profile)) {
    pfc.Wrong("msg-spec-too-many-priorities", on, MostPausing(**profile));
  }
  lossless->set_dscp_to_tc(
      map["dscp_to_tc"].Parsed(ParseDscpToTc).value_or(""));
  lossless->set_roce_port(
      map["roce_port"].Number(kMinRocePort, kMaxRocePort).value_or(0));
}

void LoadRdma(const YamlMap& map, HcclSpec* hccl) {
  const YamlValue given = map["rdma_tc"];
  const auto traffic_class = given.Number(0, kMaxTrafficClass);
  if (traffic_class.has_value() && *traffic_class % 4 != 0) {
    given.Wrong("msg-spec-wrong-value", *traffic_class,
                Worded("spec-multiple-of-4"));
  } else if (traffic_class.has_value()) {
    hccl->set_rdma_tc(*traffic_class);
  }
  const auto level = map["rdma_sl"].Number(0, kMaxServiceLevel);
  if (level.has_value()) hccl->set_rdma_sl(*level);
}

std::string LosslessText(const LosslessSpec& lossless) {
  std::string text;
  const auto add = [&text](absl::string_view key, const auto& value) {
    absl::StrAppend(&text, text.empty() ? "lossless:\n" : "", "  ", key, ": ",
                    value, "\n");
  };
  // Quoted: YAML 1.1 reads 33:1 as a number of base 60.
  if (!lossless.pfc().empty()) add("pfc", "\"" + lossless.pfc() + "\"");
  if (!lossless.dscp_to_tc().empty()) {
    add("dscp_to_tc", "\"" + lossless.dscp_to_tc() + "\"");
  }
  if (lossless.roce_port() != 0) add("roce_port", lossless.roce_port());
  return text;
}

std::string RdmaText(const HcclSpec& hccl) {
  return absl::StrCat(
      hccl.has_rdma_tc() ? absl::StrCat("  rdma_tc: ", hccl.rdma_tc(), "\n")
                         : "",
      hccl.has_rdma_sl() ? absl::StrCat("  rdma_sl: ", hccl.rdma_sl(), "\n")
                         : "");
}

void LoadServicePorts(const YamlValue& value, ServicePorts* ports) {
  if (value.node() == nullptr) return;
  PortSet all;
  for (const YamlValue& item : value.Items()) {
    const auto each = item.Parsed(
        [](const std::string& text) { return PortSet::Parse(text); });
    if (!each.has_value()) continue;
    if (each->empty() || each->Contains(0)) {
      item.Wrong("msg-spec-no-port");
    }
    all.Add(*each);
  }
  // A host takes 64 in total.
  constexpr size_t kMaxRanges = 32;
  if (all.ranges().size() > kMaxRanges) {
    value.Wrong("msg-spec-too-many-ranges", all.ranges().size(), kMaxRanges);
  }
  for (const auto& [first, last] : all.ranges()) {
    ObserveRequest::PortRange* const range = ports->Add();
    range->set_first(first);
    range->set_last(last);
  }
}

std::string ServicePortsText(const ServicePorts& ports) {
  PortSet all;
  for (const auto& each : ports) all.Add(each.first(), each.last());
  if (all.empty()) return "";
  return absl::StrCat(
      "ports: [", absl::StrReplaceAll(all.ToString(), {{",", ", "}}), "]\n");
}

}  // namespace clusterd
