// Steps that several commands of the tool share.
#ifndef TESTS_SIM_TOOL_COMMAND_STEPS_H_
#define TESTS_SIM_TOOL_COMMAND_STEPS_H_

#include <map>
#include <string>
#include <vector>

#include "tests/sim/tool/commands.h"
#include "tests/sim/tool/failure.h"

namespace clusterd {
namespace sim {

// Longest text that the tool takes for an address; its buffer holds one more. A
// longer one ends in Generic(1), before anything is checked.
inline constexpr size_t kMaxAddressChars = 19;

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

// Whether `a` and `b` have the same network part.
bool SameSubnet(uint32_t a, uint32_t b, uint32_t mask);

// The gateway stored in hccn.conf. Generic(1) if it is longer than any address.
Outcome ReadStoredGateway(ToolContext& context,
                          std::optional<std::string>* gateway);
// Drops stored routes of the device whose gateway is outside the new subnet.
// Generic(244) if a stored route cannot be read.
Outcome DropForeignRoutes(ToolContext& context, uint32_t address,
                          uint32_t mask);

// Gives the device its stored routes that it can reach.
Outcome RecoverRoutes(ToolContext& context);
// What a device does when its address changes: live routes, and the gateway,
// that are outside its new subnet go.
void DropUnreachable(ToolContext& context);

// Changes the device, then the file: a failure of the second leaves the first.
Outcome ChangeAndStore(ToolContext& context, const std::string& name,
                       const std::string& conf_key, const std::string& value);

// True if the next line of input is exactly "y" or "Y".
bool AskYes(ToolContext& context, const std::string& question);

}  // namespace sim
}  // namespace clusterd

#endif  // TESTS_SIM_TOOL_COMMAND_STEPS_H_
