// The devices of a machine in memory. They run the simulated hccn_tool of
// tests/sim/tool in this process, with its texts, statuses, order of checks and
// file edits, on hccn.conf in a fake file system. Tests can add faults.
#ifndef TESTS_SUPPORT_APPLY_FAKE_DEVICES_H_
#define TESTS_SUPPORT_APPLY_FAKE_DEVICES_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "daemon/host/command/command_runner.h"
#include "tests/sim/tool/device_state.h"
#include "tests/support/host/fake_file_system.h"

namespace clusterd {

// One thread.
class FakeDevices {
 public:
  // Faults of set commands for a device.
  enum class Fault {
    kNone,
    kDeviceRefuses,  // Fails; routes are gone from hccn.conf already.
    kActsAndFails,   // Device changed, file cannot be written, status 4.
    kSuccessChangesNothing,
    kSuccessLosesKey,  // Device changed, the file lacks the value.
    kHangs,            // Killed at the deadline, nothing changed.
    kHangsHalfWay,     // Killed with the device changed, the file not.
    kBusy,             // "busy", status 11.
    kSpeaksNoUtf8,     // Fails with a message in GBK.
    kSilent,           // The device no longer answers.
  };

  // One device's values, as tests read and change them.
  struct Device {
    std::string address;  // Empty: none.
    std::string netmask;
    std::string gateway;
    std::string detect = "0.0.0.0";
    std::string mtu = "1500";
    std::string pfc = "0,0,0,0,0,0,0,0";
    std::string roce_port = "-1";  // Chosen by the device.
    std::string dscp = "0:0";      // As SettingText.
    bool tls = true;
    std::set<std::string> routes;  // "172.16.0.0 10.0.0.253 255.255.0.0"
    Fault fault = Fault::kNone;
    int faults_left = -1;  // Further runs with the fault; -1: all.
  };

  // hccn.conf is the file in `files`, which must outlive this object.
  explicit FakeDevices(FakeFileSystem* files);

  // As product.h names them, e.g. "A1-SMP"; by default one that compares
  // addresses and keeps a gateway per device.
  void SetProduct(const std::string& name) { state_.Set("product", name); }
  Device& device(uint32_t id) { return devices_[id]; }
  std::vector<uint32_t> ids() const;
  // The device with its settings in hccn.conf too.
  void Add(uint32_t id, const Device& device);

  // hccn_tool with this command line. `half`: killed with the device changed
  // and the file not.
  CommandResult RunTool(const std::vector<std::string>& argv, bool half);
  // A query that writes to a copy of hccn.conf instead (Command::instead).
  CommandResult RunOverCopy(const std::vector<std::string>& argv);

  // The devices lose their values and restore those of hccn.conf. The tool's
  // own notes in the file (tls_ca_recovered and the like) are left out.
  void Boot();

  bool IsSilent(uint32_t id) const;
  // All values of a device, as text.
  std::string State(uint32_t id) const;

 private:
  // The outcome of the tool's edits of hccn.conf.
  enum class Edits {
    kKept,
    kLost,
    // These three act once the device has changed:
    kRefusedAfterDevice,
    kLostAfterDevice,
    kKilledAfterDevice,
  };
  class StateInMemory;
  class ConfInMemory;

  // `script`: keys of the devices' state for only this run.
  CommandResult Run(const std::vector<std::string>& argv, Edits edits,
                    const std::map<std::string, std::string>& script);
  Fault TakeFault(uint32_t id, bool half);
  // `state_` with the tests' changes of `devices_`, and the reverse.
  sim::DeviceState Now() const;
  void Take(const sim::DeviceState& state);

  FakeFileSystem* const files_;
  std::map<uint32_t, Device> devices_;
  // Further values of the devices.
  sim::DeviceState state_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_APPLY_FAKE_DEVICES_H_
