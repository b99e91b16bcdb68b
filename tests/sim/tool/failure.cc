#include "tests/sim/tool/failure.h"

namespace clusterd::sim {
namespace failures {
namespace {

Failure OnStderr(int status, const std::string& text) {
  Failure failure;
  failure.status = status;
  failure.text = text;
  return failure;
}

Failure OnStdout(int status, const std::string& text) {
  Failure failure = OnStderr(status, text);
  failure.to_stdout = true;
  return failure;
}

Failure WithHint(int status, const char* text) {
  Failure failure = OnStderr(status, text);
  failure.with_hint = true;
  return failure;
}

Failure WithUsage(int status, const std::string& text) {
  Failure failure;
  failure.status = status;
  failure.text = text;
  failure.with_usage = true;
  return failure;
}

}  // namespace

Failure WrongMajorType() {
  return WithHint(1,
                  "Get invalid major cmd type. The valid major cmd type should "
                  "be \"-a\" or \"-i\".");
}
Failure WrongArgumentCount() {
  return WithHint(2, "Get invalid major cmd number. Please check your input.");
}
Failure UnknownCommand() { return WithHint(3, "Get invalid major cmd."); }
Failure WrongDeviceId() { return OnStderr(4, "Get invalid device id."); }
Failure WrongParameterCount() {
  return WithUsage(4, "The total count of input parameters is wrong!");
}
Failure UnknownOption() { return WithUsage(3, "Get unknown option!"); }
Failure WrongParameters() { return WithUsage(1, "Get invalid parameters!"); }
Failure OutOfRange(const std::string& what) {
  return WithUsage(
      13, "The value of " + what + " you input is out of the valid range!");
}
Failure WrongEnableValue() {
  return WithUsage(16, "Get invalid enable value!");
}
Failure TooManyPriorities(int most) {
  return OnStdout(25,
                  "The number of pfc priority queues exceeds the maximum "
                  "value(" +
                      std::to_string(most) + ").");
}

Failure InvalidAddress() {
  return OnStderr(6, "The ip address you configured is invalid!");
}
Failure Conflict() {
  return OnStderr(7, "The ip address configured is conflicted!");
}
Failure GatewayOutside() {
  // "adress" is the vendor's spelling.
  return OnStderr(8,
                  "The segment of configured gateway doesn't match that of the "
                  "configured ip adress!");
}
Failure GatewayWithoutAddress() {
  return OnStderr(26,
                  "Unable to configure gateway, because ip is not configured!");
}
Failure InvalidMac() {
  return OnStderr(
      5, "The mac address you configured is invalid or saved by system");
}
Failure InvalidLength() { return OnStderr(5, "Get invalid input param len."); }
Failure Broadcast() {
  return OnStderr(37, "Can not config broadcast address!");
}

Failure DefaultRoute() {
  return OnStderr(35,
                  "Can not add or delete default route! Please use hccn_tool "
                  "gateway cfg cmd!");
}
Failure MtuTooSmallForIpv6() {
  return OnStderr(
      27, "Unable to configure IPV6 address, because mtu is less than 1280!");
}
Failure RouteAbsent() {
  return OnStdout(21, "Route not exist in routing table, can not delete!");
}

Failure CommandFailed() { return OnStderr(1, "Command execute failed!"); }
Failure DeviceAbsent() { return OnStderr(4, "The device is not exist!"); }
Failure HealthUnknown() {
  return OnStderr(3, "Get device health status failed!");
}
Failure Busy() { return OnStdout(11, "hccn_tool is busy, please try again."); }
Failure PermissionDenied() {
  return OnStderr(12, "permission denied: pls check this cmd run permission.");
}
Failure LinkDown() {
  return OnStderr(22, "Execute failed: Link status is down.");
}
Failure LockTimeout() {
  return OnStderr(25, "Get lock failed. Please try again.");
}
Failure Occupied() {
  return OnStderr(31, "The device is occupied. Please try again later.");
}
Failure NoAddress() {
  return OnStderr(13, "Get ipconf failed, because no ip was preset there!");
}
Failure NoGateway() {
  return OnStderr(2,
                  "Get gateway failed, because no gateway was preset there!");
}
Failure NoCertificate() {
  return OnStderr(14, "No certificate found, please set certs firstly!");
}
Failure NotSupported() {
  return OnStdout(13, "The command is not supported on this product.");
}
Failure NoIpv6() { return OnStdout(23, "This device does not support IPV6!"); }
Failure Aborted() { return OnStdout(22, "User aborts command."); }

Failure ConfMissing() {
  return OnStderr(29,
                  "The hccn.conf can't access, cmd execute failed! pls check "
                  "the conf file or cmd run permission.");
}
Failure ConfUnreadable() {
  return OnStderr(
      5, "Read file failed, cmd execute failed! pls check cmd run permission.");
}
Failure ConfUnwritable() {
  return OnStderr(4,
                  "Write configurations to config file failed. User "
                  "configurations cannot be persisted! pls check cmd run "
                  "permission.");
}
Failure ConfUnparsable() {
  return OnStderr(16,
                  "Parsing configurations from config file failed, pls check "
                  "the config file.");
}
Failure ConfFull() {
  return OnStderr(
      15, "The hccn.conf has no enough space to save user configurations.");
}

Failure Generic(int status) { return OnStderr(status, "Cmd execute failed!"); }
Failure Silent(int status) { return OnStderr(status, ""); }

}  // namespace failures
}  // namespace clusterd::sim
