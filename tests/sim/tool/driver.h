// The device side of one server: values of the devices, and the ways they fail.
// Calls come in two kinds, as in the vendor's library. A mailbox call has a
// number; the state may set its return code (`rc.0x5.0=16`) and the device's
// answer (`res.0x5.0=-16`). A library call has a name (`rc.set_ip.0=4`,
// `hang.get_ip=1`).
#ifndef TESTS_SIM_TOOL_DRIVER_H_
#define TESTS_SIM_TOOL_DRIVER_H_

#include <sys/types.h>

#include <optional>
#include <string>

#include "tests/sim/tool/device_state.h"
#include "tests/sim/tool/failure.h"
#include "tests/sim/tool/product.h"

namespace clusterd::sim {

// Mailbox numbers, as far as records of the vendor's tool show them.
enum class Mailbox {
  kGetLldp = 0x2,
  kSetGateway = 0x3,
  kGetGateway = 0x5,
  kGetMac = 0x6,
  kGetLink = 0x8,
  kGetMtu = 0xa,
  kGetOptical = 0x13,
  kGetVnic = 0x1f,
  kGetProcess = 0x20,
  kGetDetect = 0x22,
  kGetLinkStat = 0x2c,
  kGetAddress = 0x3a,
  kGetSpeed = 0x85,
  kPing = 0x9f,
  kHccsPing = 0xa0,
};

// The driver library's code for "no address".
inline constexpr long kNoDevice = 1;

class Driver {
 public:
  // The devices accept changes of this user if it is 0, or the state's
  // `root_uid`.
  Driver(StateFile file, uid_t uid);

  bool privileged() const { return privileged_; }
  const Product& product() const { return product_; }

  // The device's answer before any command: its delay, its hang, "busy" as
  // often as the state says.
  Outcome Begin(int device);
  // Alive and answering. DeviceAbsent, HealthUnknown.
  Outcome RequireHealth(int device);

  // The failure the tool reports for a mailbox call, if any.
  Outcome Ask(Mailbox call, int device) const;
  // The same for a call whose number no record shows: the state's answer for
  // any number that is not a Mailbox.
  Outcome AskUnlisted(int device) const;
  // For calls that change the device: also PermissionDenied.
  Outcome AskToChange(int device) const;
  // The raw code of a library call, 0 on success; hangs if the state says so.
  long LibraryCode(const std::string& call, int device) const;
  // The same as the tool reports it.
  Outcome CallLibrary(const std::string& call, int device) const;

  std::optional<std::string> Value(const std::string& name, int device) const;
  std::optional<long> Number(const std::string& name, int device) const;
  std::optional<std::string> Setting(const std::string& key) const;
  // Takes effect at once, for this and every other run.
  void Change(const std::string& name, int device, const std::string& value);
  void Erase(const std::string& name, int device);

  // Time the tool waits between tries; `retry.ms` of the state.
  int retry_ms() const;

 private:
  void HangIf(const std::string& key) const;

  StateFile file_;
  DeviceState state_;
  bool privileged_;
  Product product_;
};

}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_DRIVER_H_
