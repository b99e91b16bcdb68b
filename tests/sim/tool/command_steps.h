// Steps that several commands of the tool share.
#ifndef TESTS_SIM_TOOL_COMMAND_STEPS_H_
#define TESTS_SIM_TOOL_COMMAND_STEPS_H_

#include <map>
#include <string>
#include <vector>

#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/failure.h"

namespace clusterd::sim {

// Longest text that the tool takes for an address; its buffer holds one more. A
// longer one ends in Generic(1), before anything is checked.
inline constexpr size_t kMaxAddressChars = 19;
inline constexpr size_t kMaxDhcpChars = 3;

// Reads "keyword value" pairs in any order; of a repeated keyword the last
// counts. UnknownOption if another word stands where a keyword should.
Outcome TakeKeywords(const Arguments& arguments,
                     const std::vector<std::string>& keywords,
                     std::map<std::string, std::string>* values);

// Generic(1) if a value is longer than kMaxAddressChars.
Outcome CheckLengths(const std::map<std::string, std::string>& values);

// An address that the device may be given: Conflict first (reserved ranges and
// the device's siblings), then InvalidAddress for address and netmask.
Outcome CheckNewAddress(ToolContext& context, const std::string& address,
                        const std::string& netmask);
// Gives it to the device, without touching hccn.conf.
Outcome ApplyAddress(ToolContext& context, const std::string& address,
                     const std::string& netmask);
Outcome ApplyGateway(ToolContext& context, const std::string& gateway);

// True if `a` and `b` have the same network part.
bool SameSubnet(uint32_t a, uint32_t b, uint32_t mask);

// The value stored for the device under `name`. Generic(1) if it exceeds the
// tool's buffer.
Outcome ReadLimited(ToolContext& context, const std::string& name,
                    size_t max_chars, std::optional<std::string>* value);
// The device's address and mask; `if_none` if it has no address.
Outcome ReadDeviceAddress(ToolContext& context, const Failure& if_none,
                          uint32_t* address, uint32_t* mask);
// True if hccn.conf leaves the device to a DHCP server, whatever the value of
// the line: gateways, routes and neighbours are then not stored. The tool does
// not read a value of more than three characters there.
bool HasDhcp(const ToolContext& context);
// The same for the recovery, which has room for more, and of either kind of
// address: then it leaves them out.
bool RecoversDhcp(const ToolContext& context, bool or_ipv6 = false);

// One static route of hccn.conf, numbers as they were read.
struct StoredRoute {
  std::string address;
  std::string netmask;
  std::string gateway;
  unsigned device = 0;
};
std::string RouteKey(const ToolContext& context, const std::string& address,
                     const std::string& netmask);
// Routes of this device in the text of hccn.conf. Generic(244) at the first
// line that begins as a route of any device but is not one; `own` then holds
// the routes above it.
Outcome ScanRoutes(const ToolContext& context, const std::string& text,
                   std::vector<StoredRoute>* own);
// Drops stored routes of the device, of both kinds, whose gateway is outside
// the new subnet. Fails as ScanRoutes, or with ConfUnparsable.
Outcome DropForeignRoutes(ToolContext& context, uint32_t address,
                          uint32_t mask);

// Gives the device its stored gateway, routes and ARP announcements, in this
// order, as after each change of its address.
Outcome RecoverGateway(ToolContext& context);
Outcome RecoverRoutes(ToolContext& context);
Outcome RecoverIpRoutes(ToolContext& context);
Outcome RecoverAnnouncements(ToolContext& context);
// A device's change of address: live routes, and the gateway, that are outside
// its new subnet go.
void DropUnreachable(ToolContext& context);

// Changes the device, then the file: a failure of the second leaves the first.
Outcome ChangeAndStore(ToolContext& context, const std::string& name,
                       const std::string& conf_key, const std::string& value);

// True if the next line of input is exactly "y" or "Y".
bool AskYes(ToolContext& context, const std::string& question);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_COMMAND_STEPS_H_
