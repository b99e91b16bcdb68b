#include "daemon/host/ascend950/command_line.h"

namespace clusterd {
namespace ascend950 {
namespace {

struct Form {
  const char* command;
  bool needs_bond;
};

Form FormOf(Query query) {
  switch (query) {
    case Query::kDeviceInfo:
      return {"-dev_info", false};
    case Query::kNetHealth:
      return {"-net_health", false};
    case Query::kDetectAddress:
      return {"-netdetect", false};
    case Query::kTls:
      return {"-tls", false};
    case Query::kRecoveryStatus:
      return {"-cfg_recovery", false};
    case Query::kAddress:
      return {"-ip", true};
    case Query::kGateway:
      return {"-gateway", true};
    case Query::kMtu:
      return {"-mtu", true};
    case Query::kLldp:
      return {"-lldp", true};
  }
  return {"", false};
}

}  // namespace

std::vector<std::string> QueryArguments(Query query, uint32_t device,
                                        const std::string& bond) {
  const Form form = FormOf(query);
  std::vector<std::string> arguments = {"-g", form.command, "-i",
                                        std::to_string(device)};
  if (form.needs_bond) {
    arguments.push_back("-d");
    arguments.push_back(bond);
  }
  return arguments;
}

std::vector<std::string> LinkArguments(uint32_t device, uint32_t udie,
                                       uint32_t port) {
  return {"-g", "-link",
          "-i", std::to_string(device),
          "-u", std::to_string(udie),
          "-p", std::to_string(port)};
}

std::vector<std::string> RecoveryArguments(uint32_t device) {
  return {"-s", "-cfg_recovery", "-i", std::to_string(device)};
}

}  // namespace ascend950
}  // namespace clusterd
