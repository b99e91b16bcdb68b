#include "config/spec/device_plan_checks.h"

#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "config/spec/address_pattern.h"

namespace clusterd {
namespace {

absl::Status CheckReserved(Ipv4Address address, const ProductProfile* product) {
  if (product == nullptr) return absl::OkStatus();
  for (const ReservedSubnet& reserved : product->reserved) {
    if (!reserved.subnet.Contains(address)) continue;
    return absl::InvalidArgumentError(absl::StrCat(
        "address \"", address.ToString(), "\" is in ",
        reserved.subnet.ToString(), ", which hccn_tool refuses on ",
        product->name, product->mode.empty() ? "" : " ", product->mode, ": ",
        reserved.why));
  }
  return absl::OkStatus();
}

// Who has an address: a server, or one of its devices.
struct Owner {
  size_t server = 0;
  size_t index = 0;
  bool is_device = false;
  TextPosition position;
};

class DuplicateFinder {
 public:
  DuplicateFinder(const DevicePlan& plan, const ServerGroups& groups,
                  Mistakes* mistakes)
      : plan_(plan), groups_(groups), mistakes_(mistakes) {
    owners_.reserve(groups.servers.size() * (1 + plan.ids.size()));
  }

  void Find() {
    for (size_t s = 0; s < groups_.servers.size(); ++s) {
      const PlannedServer& server = groups_.servers[s];
      if (!server.address.IsUnset()) {
        Add(server.address, {s, 0, false, server.position});
      }
    }
    for (size_t s = 0; s < plan_.devices.size(); ++s) {
      for (size_t k = 0; k < plan_.devices[s].size(); ++k) {
        const PlannedDevice& device = plan_.devices[s][k];
        if (!device.address.has_value()) continue;
        Add(device.address->address(), {s, k, true, device.position});
      }
    }
    CheckGateways();
  }

 private:
  std::string Name(const Owner& owner) const {
    const std::string& host = groups_.servers[owner.server].host;
    if (!owner.is_device) return absl::StrCat("server ", host);
    return absl::StrCat(host, " device ", plan_.ids[owner.index]);
  }

  void Add(Ipv4Address address, const Owner& owner) {
    const auto [first, is_new] = owners_.try_emplace(address, owner);
    if (is_new) return;
    mistakes_->AddOnce(
        owner.position, "twice",
        absl::StrCat(Name(owner), ": address \"", address.ToString(),
                     "\" is also that of ", Name(first->second), " at ",
                     ToString(first->second.position)));
  }

  void CheckGateways() {
    for (size_t s = 0; s < plan_.devices.size(); ++s) {
      for (size_t k = 0; k < plan_.devices[s].size(); ++k) {
        const PlannedDevice& device = plan_.devices[s][k];
        if (!device.gateway.has_value()) continue;
        const auto owner = owners_.find(*device.gateway);
        if (owner == owners_.end()) continue;
        mistakes_->AddOnce(
            owner->second.position, "gateway",
            absl::StrCat(Name(owner->second), ": address \"",
                         device.gateway->ToString(),
                         "\" is also the gateway of ", Name({s, k, true, {}})));
      }
    }
  }

  const DevicePlan& plan_;
  const ServerGroups& groups_;
  Mistakes* const mistakes_;
  absl::flat_hash_map<Ipv4Address, Owner> owners_;
};

}  // namespace

void CheckAddresses(const DevicePlan& plan, const ProductProfile* product,
                    const ServerGroups& groups, Mistakes* mistakes) {
  for (size_t s = 0; s < plan.devices.size(); ++s) {
    for (size_t k = 0; k < plan.devices[s].size(); ++k) {
      const PlannedDevice& device = plan.devices[s][k];
      if (!device.address.has_value()) continue;
      absl::Status status = CheckUsableAddress(device.address->address(),
                                               device.address->prefix_length());
      if (status.ok()) {
        status = CheckReserved(device.address->address(), product);
      }
      if (status.ok()) continue;
      mistakes->AddOnce(device.position, "refused",
                        absl::StrCat(groups.servers[s].host, " device ",
                                     plan.ids[k], ": ", status.message()));
    }
  }
  DuplicateFinder(plan, groups, mistakes).Find();
}

absl::Status CheckGateway(Ipv4Address gateway, const PlannedDevice& device) {
  // Without an address, or without its mask, there is a mistake already.
  if (!device.address.has_value() || device.address->prefix_length() > 30) {
    return absl::OkStatus();
  }
  const Ipv4Subnet subnet = device.address->subnet();
  if (!subnet.Contains(gateway)) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address \"", gateway.ToString(),
        "\" is outside of the device's subnet ", subnet.ToString()));
  }
  if (gateway == device.address->address()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address \"", gateway.ToString(), "\" is the device's own"));
  }
  return CheckUsableAddress(gateway, subnet.prefix_length());
}

absl::Status CheckDetectAddress(Ipv4Address detect_address,
                                const PlannedDevice& device,
                                const ProductProfile* product) {
  const bool judged =
      device.address.has_value() && device.address->prefix_length() <= 30;
  const bool inside =
      judged && device.address->subnet().Contains(detect_address);
  absl::Status status = CheckUsableAddress(
      detect_address, inside ? device.address->prefix_length() : 32);
  if (!status.ok()) return status;
  if (judged && detect_address == device.address->address()) {
    return absl::InvalidArgumentError(
        absl::StrCat("address \"", detect_address.ToString(),
                     "\" is the device's own, which detects nothing"));
  }
  if (judged && !inside && !device.gateway.has_value() &&
      !device.gateway_unknown) {
    return absl::InvalidArgumentError(absl::StrCat(
        "address \"", detect_address.ToString(),
        "\" is outside of the device's subnet ",
        device.address->subnet().ToString(), " and the device has no gateway"));
  }
  return CheckReserved(detect_address, product);
}

}  // namespace clusterd
