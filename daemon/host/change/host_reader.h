// Reads the machine back: what apply compares with its plan before the first
// step, and with the step's wish after every command. Changes nothing.
// In production a thin wrapper around the observer; it must take the same
// per-device turn that observation takes, since hccn_tool does not support two
// runs on one device.
#ifndef DAEMON_HOST_CHANGE_HOST_READER_H_
#define DAEMON_HOST_CHANGE_HOST_READER_H_

#include <cstdint>

#include "proto/facts.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

class HostReader {
 public:
  virtual ~HostReader() = default;

  // Every fact that config/plan/named_facts.h names, as an observation for this
  // spec would give it.
  virtual HostFacts ReadHost() = 0;

  // address, gateway, detect_address and tls of one device, as the tool says
  // now. A fact that could not be read is missing, with its reason. tls must
  // not be asked of the tool while hccn.conf has no tls_enable key: that query
  // writes the key.
  virtual DeviceFacts ReadDevice(uint32_t device) = 0;

  // Its state now, and what it lets in if it is active.
  virtual FirewallFacts ReadFirewall(FirewallProgram program) = 0;
};

}  // namespace clusterd

#endif  // DAEMON_HOST_CHANGE_HOST_READER_H_
