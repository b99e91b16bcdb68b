#include <utility>

#include "absl/strings/str_cat.h"
#include "config/rules/catalogue_parts.h"

namespace clusterd {
namespace {

// Tool, devices and their file.
std::vector<RuleInfo> PresenceRules() {
  return {
      {"hccn-tool", "device", "hccn_tool runs, answers and fits the product",
       "The tool is absent, may not be run, has the command line of another "
       "product generation, or did not answer in time or was busy for a "
       "device. "
       "What depends on it is then unknown, never passed.",
       "Everything about the devices' network comes from this tool: without "
       "its "
       "answer nobody knows whether training can start.",
       "Install the Ascend driver (the tool is "
       "/usr/local/Ascend/driver/tools/hccn_tool), in a container mount the "
       "tool "
       "and the driver's libraries; for a hanging device look at "
       "/var/log/hccn_tool/.",
       "unknown",
       "hccn_tool source, hicann/driver ef377e95; "
       "https://github.com/gpustack/runtime/pull/28",
       true},
      {"device-count", "device", "the host has the devices of the spec",
       "A device of the spec, or of the product where the spec lists none, is "
       "not there, or there is one more. Ids are compared as they are, never "
       "assumed to be 0 to N-1.",
       "A job that counts on the device does not start: a rank has no device, "
       "and HCCL refuses a job whose servers bring other numbers of devices "
       "than "
       "its rank table says.",
       "Look at ls /dev/davinci* and npu-smi info on the host; in a container "
       "mount the device nodes; correct cluster.yaml if the server is built "
       "otherwise.",
       "fail",
       "HCCL user guide, constraints.md; "
       "https://github.com/vllm-project/vllm-ascend/pull/1075",
       true},
      {"hccn-conf", "device", "/etc/hccn.conf can be read and written safely",
       "The file is missing, is no regular text file, or is in a state that "
       "ruins the tool's next write or the recovery at boot: no final newline, "
       "CRLF, a malformed route line, a key twice, a line over 383 bytes, more "
       "than 1,024,000 bytes. A line that the tool ignores is a warning.",
       "The driver sets every device from this file at boot. A missing final "
       "newline joins two lines at the next write, CRLF makes recovery fail, "
       "and "
       "of a repeated key the tool obeys the first. A service that reads the "
       "file then has no or a wrong device IP.",
       "Let hccn_tool write the file. Where it must be edited by hand, hold "
       "its "
       "lock and keep the inode: flock /etc/hccn.conf COMMAND; never sed -i, "
       "never rename over it.",
       "fail", kToolSource, true},
  };
}

std::vector<RuleInfo> PortRules() {
  return {
      {"link", "device", "the network port's link is UP",
       "hccn_tool -i N -link -g says DOWN.",
       "No frame leaves the device: EI0009, transport init error, \"The "
       "network "
       "port is down\".",
       "Check cable, optical module and switch port; on the switch, whether a "
       "400GE port is split.",
       "fail", "HCCL communication source, hcomm 8958adbf, error_code.cc",
       true},
      {"net-health", "device", "the device reaches its detect address",
       "hccn_tool -i N -net_health -g says anything but Success. Init without "
       "a "
       "detect address means \"not configured\", not a broken link. Detect ip "
       "set is asked again by clusterd; if it stays, the answer is unknown.",
       "The device's own probe to its detect address fails, so its traffic to "
       "other servers will not arrive either: EI0006, getting socket times "
       "out.",
       "It depends on the code; the finding says which and what to do.", "fail",
       kTrainingGuide, true},
      {"lldp", "device", "the device hears its neighbour by LLDP",
       "hccn_tool -i N -lldp -g is empty although the link is up. With the "
       "link "
       "down the finding is link, and this one is skipped.",
       "A port that hears nothing from its switch is cabled to something else, "
       "or the switch port is not set up (LLDP off, a port not split).",
       "Turn LLDP on at the switch port; check where the cable ends.", "fail",
       kTrainingGuide, true},
  };
}

}  // namespace

std::vector<RuleInfo> DeviceRules() {
  std::vector<RuleInfo> rules = PresenceRules();
  for (RuleInfo& rule : PortRules()) rules.push_back(std::move(rule));
  return rules;
}

}  // namespace clusterd
