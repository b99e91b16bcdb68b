#include "config/rules/address_rules.h"

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// A subnet of 31 or 32 bits has no network and broadcast address.
bool HasEdges(const Ipv4Subnet& subnet) { return subnet.prefix_length() < 31; }

// "the network address of 192.168.100.0/24"; empty if it is neither edge.
std::string EdgeText(Ipv4Address address, const Ipv4Subnet& subnet) {
  if (!HasEdges(subnet)) return "";
  if (address == subnet.network()) {
    return absl::StrCat("the network address of ", subnet.ToString());
  }
  if (address == subnet.broadcast()) {
    return absl::StrCat("the broadcast address of ", subnet.ToString());
  }
  return "";
}

bool IsEdge(Ipv4Address address, const Ipv4Subnet& subnet) {
  return HasEdges(subnet) &&
         (address == subnet.network() || address == subnet.broadcast());
}

// Another host of the subnet.
bool IsNeighbour(Ipv4Address address, const Ipv4Interface& own) {
  return address != own.address() && own.subnet().Contains(address) &&
         !IsEdge(address, own.subnet());
}

std::string WhyNotAllowed(const Ipv4Interface& interface,
                          const ProductProfile& profile) {
  if (interface.prefix_length() == 0) return "has netmask 0.0.0.0";
  std::string why = WhyNotUsable(interface.address(), profile);
  if (!why.empty()) return why;
  const std::string edge = EdgeText(interface.address(), interface.subnet());
  return edge.empty() ? "" : absl::StrCat("is ", edge);
}

// The other address a device is given, as a command sets it.
struct Target {
  absl::string_view name;       // "gateway"
  absl::string_view arguments;  // "-gateway -s gateway "
  const std::optional<Ipv4Address>& planned;
};

FindingText TargetText(State state, std::string observed, const Target& target,
                       const Ipv4Subnet& subnet) {
  FindingText text;
  text.state = state;
  text.observed = std::move(observed);
  if (!target.planned.has_value()) {
    text.expected =
        absl::StrCat("another host's address in ", subnet.ToString());
    text.fix = absl::StrCat("choose the router's address in ",
                            subnet.ToString(), ", write it as ", target.name,
                            " of the device into cluster.yaml and set it");
    text.device_command = absl::StrCat(target.arguments, "<address>");
  } else {
    text.expected = target.planned->ToString();
    text.device_command = absl::StrCat(target.arguments, text.expected);
  }
  return text;
}

// For what is set as planned and does not fit: to set it again would change
// nothing. `planned_fits`: it would fit the device's planned address.
FindingText MisfitText(std::string observed, const Target& target,
                       const DeviceView& device, bool planned_fits) {
  FindingText text{FAIL, std::move(observed)};
  if (planned_fits && !device.HasPlannedAddress()) {
    text.expected =
        absl::StrCat(target.name, " ", target.planned->ToString(),
                     " with the planned address ", device.planned->ToString());
    text.fix = "repair what device-ip-planned reports, then check again";
    text.caused_by = "device-ip-planned";
    return text;
  }
  text.expected = absl::StrCat("a ", target.name, " that suits the device");
  text.fix = absl::StrCat("it is set as planned: plan another ", target.name,
                          " in cluster.yaml and set it");
  text.device_command = absl::StrCat(target.arguments, "<address>");
  return text;
}

void JudgeGateway(const HostView& host, const DeviceView& device,
                  RuleReport& report) {
  const Ipv4Interface own = device.Address();
  const Ipv4Subnet subnet = own.subnet();
  const Target target{"gateway", "-gateway -s gateway ",
                      device.planned_gateway};
  std::string observed;
  State state = FAIL;
  if (device.gateway_known == Known::kUnset) {
    if (!target.planned.has_value()) return;
    state = WARN;
    observed = "no gateway is set";
  } else if (device.gateway == own.address()) {
    observed = absl::StrCat("gateway ", device.gateway.ToString(),
                            " is the device's own address");
  } else if (!subnet.Contains(device.gateway)) {
    observed =
        absl::StrCat("gateway ", device.gateway.ToString(),
                     " is outside the device's subnet ", subnet.ToString());
  } else if (IsEdge(device.gateway, subnet)) {
    observed = absl::StrCat("gateway ", device.gateway.ToString(), " is ",
                            EdgeText(device.gateway, subnet));
  } else {
    if (target.planned.value_or(device.gateway) == device.gateway) return;
    state = WARN;
    observed = absl::StrCat("gateway is ", device.gateway.ToString());
  }
  if (device.gateway_known == Known::kYes && target.planned == device.gateway) {
    const bool planned_fits = device.planned.has_value() &&
                              IsNeighbour(device.gateway, *device.planned);
    report.Add(host, device.id,
               MisfitText(std::move(observed), target, device, planned_fits));
    return;
  }
  report.Add(host, device.id,
             TargetText(state, std::move(observed), target, subnet));
}

// Why the detect address cannot tell anything; empty if it can.
std::string WhyNoDetection(const ClusterView& view, const DeviceView& device,
                           const Ipv4Interface& own) {
  if (device.detect_known == Known::kUnset) {
    return "no detect address is set (0.0.0.0)";
  }
  const std::string named =
      absl::StrCat("detect address ", device.detect.ToString());
  if (device.detect == own.address()) {
    return absl::StrCat(named, " is the device's own address");
  }
  const std::string unusable = WhyNotUsable(device.detect, view.profile());
  if (!unusable.empty()) return absl::StrCat(named, " ", unusable);
  if (IsEdge(device.detect, own.subnet())) {
    return absl::StrCat(named, " is ", EdgeText(device.detect, own.subnet()));
  }
  if (!own.subnet().Contains(device.detect) &&
      device.gateway_known == Known::kUnset) {
    return absl::StrCat(named, " is outside the device's subnet ",
                        own.subnet().ToString(), ", and no gateway is set");
  }
  return "";
}

bool DetectionIsPlain(const ClusterView& view, const DeviceView& device,
                      const Ipv4Interface& own) {
  return device.detect_known == Known::kYes &&
         IsNeighbour(device.detect, own) &&
         WhyNotUsable(device.detect, view.profile()).empty();
}

// For a detect address that is as planned and cannot tell anything.
FindingText SetAsPlannedText(const ClusterView& view, const DeviceView& device,
                             const std::string& broken, const Target& target) {
  const bool planned_fits =
      device.planned.has_value() &&
      WhyNoDetection(view, device, *device.planned).empty();
  FindingText text = MisfitText(broken, target, device, planned_fits);
  // Through the planned gateway it can be reached from outside the subnet.
  const bool needs_gateway =
      text.caused_by.empty() && device.gateway_known == Known::kUnset &&
      device.planned_gateway.has_value() &&
      !device.Address().subnet().Contains(device.detect) &&
      WhyNotUsable(device.detect, view.profile()).empty();
  if (needs_gateway) {
    text.expected =
        absl::StrCat("gateway ", device.planned_gateway->ToString(), " is set");
    text.fix = "repair what gateway reports, then check again";
    text.device_command.clear();
    text.caused_by = "gateway";
  }
  return text;
}

void JudgeDetect(const ClusterView& view, const HostView& host,
                 const DeviceView& device, RuleReport& report) {
  const Ipv4Interface own = device.Address();
  const Target target{"detect address", "-netdetect -s address ",
                      device.planned_detect};
  const bool as_planned = target.planned == device.detect;
  const bool plain = DetectionIsPlain(view, device, own);
  if (plain && (as_planned || !target.planned.has_value())) return;
  const std::string broken = plain ? "" : WhyNoDetection(view, device, own);
  if (!broken.empty() && as_planned && device.detect_known == Known::kYes) {
    report.Add(host, device.id, SetAsPlannedText(view, device, broken, target));
    return;
  }
  if (!broken.empty()) {
    report.Add(host, device.id, TargetText(FAIL, broken, target, own.subnet()));
    return;
  }
  if (as_planned && device.gateway_known == Known::kYes) return;
  if (!plain && device.gateway_known == Known::kNo) {
    report.AddUnknownAddress(host, device,
                             "gateway to the detect address outside the subnet",
                             device.facts->gateway());
    return;
  }
  std::string observed =
      absl::StrCat("detect address is ", device.detect.ToString());
  if (!plain) {
    absl::StrAppend(&observed, ", outside the device's subnet ",
                    own.subnet().ToString(),
                    ": a probe then tests the gateway as well");
  }
  report.Add(host, device.id,
             TargetText(WARN, std::move(observed), target, own.subnet()));
}

}  // namespace

std::string WhyNotUsable(Ipv4Address address, const ProductProfile& profile) {
  if (address.IsLoopback()) return "is a loopback address";
  if (address.IsMulticast()) return "is a multicast address";
  if (address.IsClassE()) return "is a class E address";
  for (const ReservedSubnet& reserved : profile.reserved) {
    if (reserved.subnet.Contains(address)) {
      return absl::StrCat("lies in ", reserved.subnet.ToString(), ": ",
                          reserved.why);
    }
  }
  return "";
}

void CheckDeviceIpSet(const ClusterView& view, RuleReport& report) {
  ForEachDevice(
      view, report, [&](const HostView& host, const DeviceView& device) {
        if (device.address_known == Known::kNo) {
          report.AddUnknownAddress(host, device);
          return;
        }
        report.Judged(host, 1);
        if (device.address_known == Known::kYes) return;
        FindingText text{FAIL, "no address is set"};
        if (device.planned.has_value()) {
          text.expected = device.planned->ToString();
          text.device_command = SetPlannedAddress(device);
        } else {
          text.fix = "plan an address in cluster.yaml and set it";
          text.device_command = "-ip -s address <address> netmask <netmask>";
        }
        report.Add(host, device.id, std::move(text));
      });
}

void CheckDeviceIpPlanned(const ClusterView& view, RuleReport& report) {
  ForEachAddress(
      view, report, [&](const HostView& host, const DeviceView& device) {
        if (!device.planned.has_value()) return;
        report.Judged(host, 1);
        if (device.HasPlannedAddress()) return;
        std::string live;
        for (const Ipv4Interface& interface : device.interfaces) {
          absl::StrAppend(&live, live.empty() ? "" : ", ",
                          interface.ToString());
        }
        report.Add(host, device.id,
                   {FAIL, std::move(live), device.planned->ToString(), "",
                    SetPlannedAddress(device)});
      });
  bool any_planned = false;
  for (const ServerSpec& server : view.spec().servers()) {
    for (const DeviceSpec& device : server.devices()) {
      any_planned = any_planned || !device.address().empty();
    }
    if (any_planned) break;
  }
  if (!any_planned) report.ExplainSkip("the spec plans no addresses");
}

void CheckDeviceIpAllowed(const ClusterView& view, RuleReport& report) {
  ForEachAddress(
      view, report, [&](const HostView& host, const DeviceView& device) {
        report.Judged(host, 1);
        for (const Ipv4Interface& interface : device.interfaces) {
          const std::string why = WhyNotAllowed(interface, view.profile());
          if (why.empty()) continue;
          FindingText text;
          text.observed = absl::StrCat(interface.ToString(), " ", why);
          if (device.planned.has_value() && *device.planned != interface) {
            text.expected = device.planned->ToString();
            text.device_command = SetPlannedAddress(device);
          } else {
            text.expected = "an address of a network that carries it";
            text.fix = "plan another address in cluster.yaml and set it";
            text.device_command = "-ip -s address <address> netmask <netmask>";
          }
          report.Add(host, device.id, std::move(text));
        }
      });
}

void CheckGateway(const ClusterView& view, RuleReport& report) {
  ForEachAddress(view, report,
                 [&](const HostView& host, const DeviceView& device) {
                   if (device.gateway_known == Known::kNo) {
                     report.AddUnknownAddress(host, device, "gateway",
                                              device.facts->gateway());
                     return;
                   }
                   report.Judged(host, 1);
                   JudgeGateway(host, device, report);
                 });
}

void CheckDetectAddress(const ClusterView& view, RuleReport& report) {
  ForEachAddress(view, report,
                 [&](const HostView& host, const DeviceView& device) {
                   if (device.detect_known == Known::kNo) {
                     report.AddUnknownAddress(host, device, "detect address",
                                              device.facts->detect_address());
                     return;
                   }
                   report.Judged(host, 1);
                   JudgeDetect(view, host, device, report);
                 });
}

}  // namespace clusterd
