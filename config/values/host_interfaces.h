// Finds the interface of a host that carries an address, and the firewalld zone
// of that interface.
#ifndef CONFIG_VALUES_HOST_INTERFACES_H_
#define CONFIG_VALUES_HOST_INTERFACES_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"

namespace clusterd {

// nullptr: none has it, or the interfaces are not known.
const HostInterface* FindInterface(const HostFacts& facts,
                                   absl::string_view address);

// nullptr: the default zone, which has every interface that no other one names.
// NotFound: no interface has the address. Unavailable: zones or interfaces are
// not known. Points into `facts`.
absl::StatusOr<const FirewallZone*> FindOtherZone(const HostFacts& facts,
                                                  absl::string_view address);

}  // namespace clusterd

#endif  // CONFIG_VALUES_HOST_INTERFACES_H_
