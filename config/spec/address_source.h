// Where the gateway or the detect address of every device comes from:
//   none                             no device has one
//   1                                host part in the device's own subnet
//   10.20.63.254                     the same for all; also patterns
//   [10.1.0.1, none, …]              one of these per device
//   {server0: [10.1.0.1, …], …}      one of these per host
// and for detect addresses also
//   gateway                          the device's own gateway
//   peer((n+1) % servers, d)         the address of another server's device
#ifndef CONFIG_SPEC_ADDRESS_SOURCE_H_
#define CONFIG_SPEC_ADDRESS_SOURCE_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "config/spec/address_pattern.h"
#include "config/spec/device_plan.h"
#include "config/spec/formula.h"
#include "config/spec/mistakes.h"
#include "config/spec/server_groups.h"
#include "config/spec/yaml_document.h"

namespace clusterd {

class AddressSource {
 public:
  enum class Use { kGateway, kDetectAddress };

  // Comes to nothing for any device.
  AddressSource() = default;

  // Records what is wrong; that part then comes to nothing.
  // `plan` has its ids set.
  static AddressSource Read(const YamlNode& node, absl::string_view subject,
                            Use use, const DevicePlan& plan,
                            const ServerGroups& groups, Mistakes* mistakes);

  // The part that decides about one device.
  const AddressSource& For(size_t server, size_t index) const;

  // Of the text it was read from.
  TextPosition position() const { return position_; }

  // Whether this part should come to an address.
  bool has_address() const { return kind_ != Kind::kNone; }
  // Whether a mistake about this part was recorded when it was read.
  bool wrong() const { return wrong_; }

  // For a part that For() gave. nullopt: none, or what it hangs on could not be
  // read. InvalidArgument if there is no such address.
  absl::StatusOr<std::optional<Ipv4Address>> Evaluate(
      size_t server, size_t index, const DevicePlan& plan,
      const ServerGroups& groups) const;

 private:
  enum class Kind {
    kNone,
    kHostPart,
    kPattern,
    kGateway,
    kPeer,
    kPerDevice,
    kPerServer,
  };

  static AddressSource ReadText(const YamlNode& node, absl::string_view subject,
                                Use use, const DevicePlan& plan,
                                Mistakes* mistakes);

  Kind kind_ = Kind::kNone;
  bool wrong_ = false;
  TextPosition position_;
  Formula formula_;                      // kHostPart; kPeer: the server.
  Formula device_formula_;               // kPeer: the device.
  std::vector<AddressPattern> pattern_;  // kPattern: one.
  // kPerDevice: by index; kPerServer: by server.
  std::vector<AddressSource> parts_;
};

}  // namespace clusterd

#endif  // CONFIG_SPEC_ADDRESS_SOURCE_H_
