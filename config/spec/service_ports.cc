#include "config/spec/service_ports.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/values/port_set.h"

namespace clusterd {

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
