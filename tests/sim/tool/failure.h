// Failures of the vendor's tool: one line, the stream it goes to, and the exit
// status. They are those of the published tool (hicann/driver ef377e95,
// hccn/ascend910B). The status is the low byte of an internal code, so several
// failures share one.
#ifndef TESTS_SIM_TOOL_FAILURE_H_
#define TESTS_SIM_TOOL_FAILURE_H_

#include <optional>
#include <string>

namespace clusterd::sim {

struct Failure {
  int status = 1;
  std::string text;  // Empty: nothing is printed.
  bool to_stdout = false;
  // The usage of the command follows on standard output.
  bool with_usage = false;
  // "Enter [ hccn_tool -h ] for more details." follows on standard error.
  bool with_hint = false;
};

// nullopt: the command succeeded.
using Outcome = std::optional<Failure>;

namespace failures {

// Arguments.
Failure WrongMajorType();
Failure WrongArgumentCount();  // The line's: none, or too many.
Failure UnknownCommand();
Failure WrongDeviceId();
Failure WrongParameterCount();
Failure UnknownOption();
Failure WrongParameters();
Failure OutOfRange(const std::string& what);
Failure WrongEnableValue();
Failure TooManyPriorities(int most);

// Values.
Failure InvalidAddress();
Failure Conflict();
Failure GatewayOutside();
Failure GatewayWithoutAddress();
Failure InvalidMac();
Failure InvalidLength();
Failure Broadcast();
Failure DefaultRoute();
Failure MtuTooSmallForIpv6();
Failure RouteAbsent();

// The device.
Failure CommandFailed();  // "Command execute failed!", 1
Failure DeviceAbsent();
Failure HealthUnknown();
Failure Busy();
Failure PermissionDenied();
Failure LinkDown();
Failure LockTimeout();
Failure Occupied();
Failure NoAddress();
Failure NoGateway();
Failure NoCertificate();
Failure NotSupported();
Failure NoIpv6();
Failure Aborted();

// hccn.conf.
Failure ConfMissing();
Failure ConfUnreadable();
Failure ConfUnwritable();
Failure ConfFull();
Failure ConfUnparsable();

// "Cmd execute failed!" with the low byte of a code without a text.
Failure Generic(int status);
// A status without output.
Failure Silent(int status);

}  // namespace failures
}  // namespace clusterd::sim

#endif  // TESTS_SIM_TOOL_FAILURE_H_
