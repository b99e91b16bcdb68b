// Each device's own addresses: device IP, gateway, detect address.
// subnet_rules.cc compares devices with each other.
#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/spec/product_profile.h"
#include "config/values/ipv4.h"

namespace clusterd {
namespace {

// "is the network address of 192.168.100.0/24"; empty if it is neither that
// nor the broadcast address. A subnet of 31 or 32 bits has none of the two.
std::string EdgeText(Ipv4Address address, const Ipv4Subnet& subnet) {
  const bool is_network = address == subnet.network();
  const bool is_edge = is_network || address == subnet.broadcast();
  if (!is_edge || subnet.prefix_length() >= 31) return "";
  return absl::StrCat("is the ", is_network ? "network" : "broadcast",
                      " address of ", subnet.ToString());
}

// Why the address is not another host of the subnet; empty if it is.
std::string WhyNoNeighbour(Ipv4Address address, const Ipv4Interface& own) {
  if (address == own.address()) return "is the device's own address";
  if (own.subnet().Contains(address)) return EdgeText(address, own.subnet());
  return absl::StrCat("is outside the device's subnet ",
                      own.subnet().ToString());
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
  const std::string why = WhyNotUsable(interface.address(), profile);
  return why.empty() ? EdgeText(interface.address(), interface.subnet()) : why;
}

// What is set is not what it should be: the planned one is.
FindingText UnlikePlan(absl::string_view observed, const AddressKind& kind,
                       const DeviceView& device, const RuleReport& report) {
  const std::optional<Ipv4Address>& planned = device.*kind.planned;
  return planned.has_value()
             ? report.Text("not-as-planned", observed, kind.command,
                           planned->ToString())
             : report.Text("not-planned", observed, kind.command, kind.name,
                           device.Address().subnet().ToString());
}

void AddWarning(absl::string_view observed, const AddressKind& kind,
                const DeviceView& device, RuleReport& report) {
  FindingText text = UnlikePlan(observed, kind, device, report);
  text.state = WARN;
  report.Add(device, std::move(text));
}

// `fits_plan`: beside the device's planned address it would do.
void AddFailure(absl::string_view observed, const AddressKind& kind,
                const DeviceView& device, bool fits_plan, RuleReport& report) {
  const Ipv4Address live = *(device.*kind.live);
  if (live.IsUnset() || device.*kind.planned != live) {
    report.Add(device, UnlikePlan(observed, kind, device, report));
  } else if (fits_plan && !device.HasPlannedAddress()) {
    report.Add(device, "suits-planned-address", observed, kind.name,
               live.ToString(), device.planned->ToString());
  } else {
    report.Add(device, "does-not-suit", observed, kind.command, kind.name);
  }
}

void JudgeGateway(const DeviceView& device, RuleReport& report) {
  const Ipv4Address gateway = *device.gateway;
  if (gateway.IsUnset()) {
    if (!device.planned_gateway.has_value()) return;
    AddWarning("no gateway is set", kGateway, device, report);
    return;
  }
  const std::string broken = WhyNoNeighbour(gateway, device.Address());
  if (!broken.empty()) {
    const bool fits_plan = device.planned.has_value() &&
                           WhyNoNeighbour(gateway, *device.planned).empty();
    AddFailure(absl::StrCat("gateway ", gateway.ToString(), " ", broken),
               kGateway, device, fits_plan, report);
  } else if (device.planned_gateway.value_or(gateway) != gateway) {
    AddWarning(absl::StrCat("gateway is ", gateway.ToString()), kGateway,
               device, report);
  }
}

// Whether a lower device is told to get the gateway for both.
bool WaitsForAnother(const ClusterView& view, const DeviceView& device) {
  const auto& devices = device.host->devices;
  return device.gateway.IsUnset() &&
         absl::c_any_of(devices, [&](const DeviceView& other) {
           return other.id < device.id && other.HasAddress() &&
                  ShareGateway(view.profile(), other.id, device.id) &&
                  other.planned_gateway && other.gateway.IsUnset();
         });
}

// False, with the finding added, where another device may have the gateway for
// both, and whether it does is not known.
bool KnowsSharing(const ClusterView& view, const DeviceView& device,
                  RuleReport& report) {
  if (!device.gateway.IsUnset() || !device.planned_gateway) return true;
  for (const DeviceView& other : device.host->devices) {
    const std::string what =
        absl::StrCat("gateway of device ", other.id, ", which may serve both");
    if (ShareGateway(view.profile(), other.id, device.id) &&
        !report.Knows(device, what, other.gateway)) {
      return false;
    }
  }
  return true;
}

// Why the detect address cannot tell anything to a device with the address
// `own`, and with a gateway or without; empty if it can.
std::string WhyNoDetection(const ClusterView& view, Ipv4Address detect,
                           const Ipv4Interface& own, bool has_gateway) {
  if (detect.IsUnset()) return "no detect address is set (0.0.0.0)";
  std::string why = WhyNoNeighbour(detect, own);
  if (detect != own.address()) {
    const std::string unusable = WhyNotUsable(detect, view.profile());
    const bool inside = own.subnet().Contains(detect);
    if (!inside) why = has_gateway ? "" : why + ", and no gateway is set";
    if (!unusable.empty()) why = unusable;
  }
  return why.empty()
             ? ""
             : absl::StrCat("detect address ", detect.ToString(), " ", why);
}

// REQUIRES: it cannot tell anything, which `broken` says.
void AddNoDetection(const ClusterView& view, const DeviceView& device,
                    const std::string& broken, RuleReport& report) {
  const auto does = [&](const Ipv4Interface& own, bool has_gateway) {
    return WhyNoDetection(view, *device.detect_address, own, has_gateway)
        .empty();
  };
  const bool fits_plan = device.planned.has_value() &&
                         does(*device.planned, !device.gateway.IsUnset());
  // Through the planned gateway it can be reached from outside the subnet.
  const bool waits_for_gateway =
      device.planned_detect == *device.detect_address &&
      device.planned_gateway.has_value() && does(device.Address(), true) &&
      (!fits_plan || device.HasPlannedAddress());
  if (waits_for_gateway) {
    report.Add(device, "waits-for-gateway", broken,
               device.planned_gateway->ToString());
  } else if (device.detect_address.IsUnset() && !device.planned_detect) {
    AddWarning(broken, kDetectAddress, device, report);
  } else {
    AddFailure(broken, kDetectAddress, device, fits_plan, report);
  }
}

void JudgeDetectAddress(const ClusterView& view, const DeviceView& device,
                        RuleReport& report) {
  const Ipv4Interface own = device.Address();
  const Ipv4Address detect = *device.detect_address;
  const std::optional<Ipv4Address>& planned = device.planned_detect;
  const bool by_other = GatewayKeeper(view, device) != nullptr;
  const std::string broken =
      WhyNoDetection(view, detect, own, by_other || !device.gateway.IsUnset());
  if (!broken.empty()) return AddNoDetection(view, device, broken, report);
  const bool is_inside = own.subnet().Contains(detect);
  if (is_inside && planned.value_or(detect) == detect) return;
  std::string observed = absl::StrCat("detect address is ", detect.ToString());
  if (!is_inside) {
    const bool wanted =
        planned == detect && (by_other || device.gateway.IsSet());
    if (wanted ||
        !report.Knows(device,
                      "gateway to the detect address outside the subnet",
                      device.gateway)) {
      return;
    }
    absl::StrAppend(&observed, ", outside the device's subnet ",
                    own.subnet().ToString(),
                    ": a probe then tests the gateway as well");
  }
  AddWarning(observed, kDetectAddress, device, report);
}

}  // namespace

void CheckDeviceIpSet(const ClusterView&, RuleReport& report) {
  report.ForEachKnown(
      "address", &DeviceView::addresses, [&](const DeviceView& device) {
        const std::string& ipv6 = device.facts->ipv6_address().value();
        if (!device.HasAddress() && !ipv6.empty()) {
          return report.Add(device, "ipv6-only", PrintableText(ipv6));
        }
        report.Judged(device);
        if (device.HasAddress()) return;
        if (device.planned.has_value()) {
          report.Add(device, "none-as-planned", device.planned->ToString(),
                     SetPlanned(device));
        } else {
          report.Add(device, "none");
        }
      });
}

// Devices that the spec plans no address for are not judged.
void CheckDeviceIpPlanned(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!device.planned.has_value()) return;
    report.Judged(device);
    if (device.HasPlannedAddress()) return;
    const std::string live =
        absl::StrJoin(device.interfaces(), ", ",
                      [](std::string* out, const Ipv4Interface& interface) {
                        *out += interface.ToString();
                      });
    report.Add(device, "another", live, device.planned->ToString(),
               SetPlanned(device));
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
      if (device.planned.value_or(interface) != interface) {
        report.Add(device, "live", interface.ToString(), why,
                   device.planned->ToString(), SetPlanned(device));
      } else {
        report.Add(device, "planned", interface.ToString(), why);
      }
    }
  });
}

// | gateway is                               | state |
// |------------------------------------------|-------|
// | own, network or broadcast address        | fail  |
// | outside the device's subnet              | fail  |
// | not set, and the spec names one          | warn  |
// | in the subnet, and the spec names another| warn  |
// | that of a device that shares it, or none | pass  |
void CheckGateway(const ClusterView& view, RuleReport& report) {
  report.ForEachAddress([&](const DeviceView& device) {
    if (!report.Knows(device, "gateway", device.gateway)) return;
    const bool by_other =
        GatewayKeeper(view, device) != nullptr || WaitsForAnother(view, device);
    if (!by_other && !KnowsSharing(view, device, report)) return;
    report.Judged(device);
    if (!by_other) JudgeGateway(device, report);
  });
}

// | detect address is                              | state |
// |------------------------------------------------|-------|
// | not set, and the spec names none               | warn  |
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
