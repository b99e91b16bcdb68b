// Each device's own addresses: device IP, gateway, detect address.
// subnet_rules.cc compares devices with each other.
#include "absl/strings/str_cat.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"

namespace clusterd {
namespace {

// A subnet of 31 or 32 bits has no network and broadcast address.
bool IsEdge(Ipv4Address address, const Ipv4Subnet& subnet) {
  return subnet.prefix_length() < 31 &&
         (address == subnet.network() || address == subnet.broadcast());
}

// "is the network address of 192.168.100.0/24".
// REQUIRES: IsEdge(address, subnet).
std::string EdgeText(Ipv4Address address, const Ipv4Subnet& subnet) {
  return absl::StrCat("is the ",
                      address == subnet.network() ? "network" : "broadcast",
                      " address of ", subnet.ToString());
}

// Another host of the subnet.
bool IsNeighbour(Ipv4Address address, const Ipv4Interface& own) {
  return address != own.address() && own.subnet().Contains(address) &&
         !IsEdge(address, own.subnet());
}

// What is wrong with using the address at all on this product, e.g. "lies in
// 192.168.1.0/24: …"; empty if nothing is.
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

std::string WhyNotAllowed(const Ipv4Interface& interface,
                          const ProductProfile& profile) {
  if (interface.prefix_length() == 0) return "has netmask 0.0.0.0";
  std::string why = WhyNotUsable(interface.address(), profile);
  if (why.empty() && IsEdge(interface.address(), interface.subnet())) {
    why = EdgeText(interface.address(), interface.subnet());
  }
  return why;
}

// Of a device whose address is wrong: the plan where `follows_plan`, else words
// for people who then choose one.
FindingText PlanText(FindingText text, const DeviceView& device,
                     bool follows_plan, absl::string_view otherwise) {
  if (follows_plan) {
    return std::move(text)
        .Expected(device.planned->ToString())
        .DeviceCommand(SetPlanned(device));
  }
  return std::move(text).Fix(otherwise).DeviceCommand(
      "-ip -s address <address> netmask <netmask>");
}

// What is set is not what it should be: the planned one is.
FindingText UnlikePlanText(State state, absl::string_view observed,
                           const AddressKind& kind, const DeviceView& device) {
  FindingText text(state, observed);
  const std::optional<Ipv4Address>& planned = device.*kind.planned;
  if (planned.has_value()) {
    text.expected = planned->ToString();
    text.device_command = SetCommand(kind, *planned);
    return text;
  }
  const std::string subnet = device.Address().subnet().ToString();
  text.expected = absl::StrCat("another host's address in ", subnet);
  text.fix =
      absl::StrCat("choose the router's address in ", subnet, ", write it as ",
                   kind.name, " of the device into cluster.yaml and set it");
  text.device_command = absl::StrCat(kind.command, "<address>");
  return text;
}

// For what is set as planned and does not fit: to set it again would change
// nothing. `planned_fits`: it would fit the device's planned address.
FindingText MisfitText(absl::string_view observed, const AddressKind& kind,
                       const DeviceView& device, bool planned_fits) {
  FindingText text(FAIL, observed);
  if (planned_fits && !device.HasPlannedAddress()) {
    text.expected =
        absl::StrCat(kind.name, " ", (device.*kind.planned)->ToString(),
                     " with the planned address ", device.planned->ToString());
    text.fix = "repair what device-ip-planned reports, then check again";
    text.caused_by = "device-ip-planned";
    return text;
  }
  text.expected = absl::StrCat("a ", kind.name, " that suits the device");
  text.fix = absl::StrCat("it is set as planned: plan another ", kind.name,
                          " in cluster.yaml and set it");
  text.device_command = absl::StrCat(kind.command, "<address>");
  return text;
}

// Why the gateway cannot route for the device; empty if it can. REQUIRES: set.
std::string WhyNoRoute(const DeviceView& device) {
  const Ipv4Interface own = device.Address();
  const Ipv4Address gateway = *device.gateway;
  if (IsNeighbour(gateway, own)) return "";
  const std::string named = absl::StrCat("gateway ", gateway.ToString(), " ");
  if (gateway == own.address()) {
    return absl::StrCat(named, "is the device's own address");
  }
  if (!own.subnet().Contains(gateway)) {
    return absl::StrCat(named, "is outside the device's subnet ",
                        own.subnet().ToString());
  }
  return absl::StrCat(named, EdgeText(gateway, own.subnet()));
}

void JudgeGateway(const DeviceView& device, RuleReport& report) {
  const std::optional<Ipv4Address>& planned = device.planned_gateway;
  if (device.gateway.IsUnset()) {
    if (!planned.has_value()) return;
    report.Add(device,
               UnlikePlanText(WARN, "no gateway is set", kGateway, device));
    return;
  }
  const Ipv4Address gateway = *device.gateway;
  const std::string broken = WhyNoRoute(device);
  if (broken.empty() && planned.value_or(gateway) == gateway) return;
  if (broken.empty()) {
    report.Add(
        device,
        UnlikePlanText(WARN, absl::StrCat("gateway is ", gateway.ToString()),
                       kGateway, device));
  } else if (planned == gateway) {
    const bool planned_fits =
        device.planned.has_value() && IsNeighbour(gateway, *device.planned);
    report.Add(device, MisfitText(broken, kGateway, device, planned_fits));
  } else {
    report.Add(device, UnlikePlanText(FAIL, broken, kGateway, device));
  }
}

// Why the detect address cannot tell anything; empty if it can.
std::string WhyNoDetection(const ClusterView& view, const DeviceView& device,
                           const Ipv4Interface& own) {
  if (device.detect_address.IsUnset()) {
    return "no detect address is set (0.0.0.0)";
  }
  const Ipv4Address detect = *device.detect_address;
  const std::string named =
      absl::StrCat("detect address ", detect.ToString(), " ");
  if (detect == own.address()) {
    return absl::StrCat(named, "is the device's own address");
  }
  const std::string unusable = WhyNotUsable(detect, view.profile());
  if (!unusable.empty()) return absl::StrCat(named, unusable);
  if (IsEdge(detect, own.subnet())) {
    return absl::StrCat(named, EdgeText(detect, own.subnet()));
  }
  if (!own.subnet().Contains(detect) && device.gateway.IsUnset()) {
    return absl::StrCat(named, "is outside the device's subnet ",
                        own.subnet().ToString(), ", and no gateway is set");
  }
  return "";
}

// For a detect address that is as planned and cannot tell anything.
FindingText SetAsPlannedText(const ClusterView& view, const DeviceView& device,
                             const std::string& broken) {
  const bool planned_fits =
      device.planned.has_value() &&
      WhyNoDetection(view, device, *device.planned).empty();
  FindingText text = MisfitText(broken, kDetectAddress, device, planned_fits);
  const Ipv4Address detect = *device.detect_address;
  // Through the planned gateway it can be reached from outside the subnet.
  const bool needs_gateway = text.caused_by.empty() &&
                             device.gateway.IsUnset() &&
                             device.planned_gateway.has_value() &&
                             !device.Address().subnet().Contains(detect) &&
                             WhyNotUsable(detect, view.profile()).empty();
  if (!needs_gateway) return text;
  return FindingText(FAIL, broken)
      .Expected("gateway ", device.planned_gateway->ToString(), " is set")
      .Fix("repair what gateway reports, then check again")
      .CausedBy("gateway");
}

void JudgeDetectAddress(const ClusterView& view, const DeviceView& device,
                        RuleReport& report) {
  const Ipv4Interface own = device.Address();
  const Ipv4Address detect = *device.detect_address;
  const std::optional<Ipv4Address>& planned = device.planned_detect;
  // An address of the subnet that may be used: what nearly every device has.
  const bool plain = device.detect_address.IsSet() &&
                     IsNeighbour(detect, own) &&
                     WhyNotUsable(detect, view.profile()).empty();
  if (plain && planned.value_or(detect) == detect) return;
  const std::string broken = plain ? "" : WhyNoDetection(view, device, own);
  if (!broken.empty()) {
    report.Add(device,
               planned == detect && device.detect_address.IsSet()
                   ? SetAsPlannedText(view, device, broken)
                   : UnlikePlanText(FAIL, broken, kDetectAddress, device));
    return;
  }
  if (planned == detect && device.gateway.IsSet()) return;
  std::string observed = absl::StrCat("detect address is ", detect.ToString());
  if (!plain) {
    if (!report.Knows(device,
                      "gateway to the detect address outside the subnet",
                      device.gateway)) {
      return;
    }
    absl::StrAppend(&observed, ", outside the device's subnet ",
                    own.subnet().ToString(),
                    ": a probe then tests the gateway as well");
  }
  report.Add(device, UnlikePlanText(WARN, observed, kDetectAddress, device));
}

}  // namespace

void CheckDeviceIpSet(const ClusterView&, RuleReport& report) {
  report.ForEachKnown(
      "address", &DeviceView::addresses, [&](const DeviceView& device) {
        report.Judged(device);
        if (device.HasAddress()) return;
        report.Add(device,
                   PlanText(FindingText(FAIL, "no address is set"), device,
                            device.planned.has_value(),
                            "plan an address in cluster.yaml and set it"));
      });
}

// Devices that the spec plans no address for are not judged.
void CheckDeviceIpPlanned(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!device.planned.has_value()) return;
    report.Judged(device);
    if (device.HasPlannedAddress()) return;
    std::string live;
    for (const Ipv4Interface& interface : device.interfaces()) {
      absl::StrAppend(&live, live.empty() ? "" : ", ", interface.ToString());
    }
    report.Add(device, FindingText(FAIL, live)
                           .Expected(device.planned->ToString())
                           .DeviceCommand(SetPlanned(device)));
  });
  for (const ServerSpec& server : view.spec().servers()) {
    for (const DeviceSpec& device : server.devices()) {
      if (!device.address().empty()) return;
    }
  }
  report.ExplainSkip("the spec plans no addresses");
}

void CheckDeviceIpAllowed(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    report.Judged(device);
    for (const Ipv4Interface& interface : device.interfaces()) {
      const std::string why = WhyNotAllowed(interface, view.profile());
      if (why.empty()) continue;
      report.Add(
          device,
          PlanText(FindingText(FAIL, interface.ToString(), " ", why)
                       .Expected("an address of a network that carries it"),
                   device, device.planned.value_or(interface) != interface,
                   "plan another address in cluster.yaml and set it"));
    }
  });
}

// | gateway is                               | state |
// |------------------------------------------|-------|
// | own, network or broadcast address        | fail  |
// | outside the device's subnet              | fail  |
// | not set, and the spec names one          | warn  |
// | in the subnet, and the spec names another| warn  |
void CheckGateway(const ClusterView&, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!report.Knows(device, "gateway", device.gateway)) return;
    report.Judged(device);
    JudgeGateway(device, report);
  });
}

// | detect address is                              | state |
// |------------------------------------------------|-------|
// | not set, own, in an unusable range             | fail  |
// | the subnet's network or broadcast address      | fail  |
// | outside the subnet, no gateway is set          | fail  |
// | outside the subnet, a gateway is set           | warn  |
// | in the subnet, and the spec names another      | warn  |
// Outside the subnet and the planned one is what the spec wants: it passes with
// a gateway.
void CheckDetectAddress(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!report.Knows(device, "detect address", device.detect_address)) {
      return;
    }
    report.Judged(device);
    JudgeDetectAddress(view, device, report);
  });
}

}  // namespace clusterd
