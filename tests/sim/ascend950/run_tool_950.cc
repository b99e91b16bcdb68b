#include "tests/sim/ascend950/run_tool_950.h"

#include <map>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "tests/sim/tool/device_state.h"
#include "tests/sim/tool/driver.h"
#include "tests/sim/tool/hccn_conf.h"
#include "tests/sim/tool/ipv4_text.h"

namespace clusterd {
namespace sim {
namespace {

// Status, text and stream; the status is the low byte of the tool's code.
struct Answer {
  int status = 0;
  std::string out;
  std::string err;
};

Answer Data(const std::string& line) { return {0, line + "\n", ""}; }
Answer Error(int status, const std::string& line) {
  return {status, "", line + "\n"};
}
Answer NotPublished(const std::string& what) {
  return Error(kNotPublished,
               absl::StrCat("simulated Ascend 950 hccn_tool: ", what,
                            ": what the tool answers is not published"));
}

Answer Busy() { return {1, "hccn_tool is busy, please try again.\n", ""}; }
Answer NotRoot() {
  return Error(2, "permission denied: pls check this cmd run permission.");
}

struct Request {
  std::string mode;
  std::string command;
  std::map<std::string, std::string> options;  // "-i" -> "0"
  int device = -1;
  std::string device_name() const {
    const auto name = options.find("-d");
    return name == options.end() ? "" : name->second;
  }
};

struct Port {
  int udie = 0;
  int port = 0;
  std::string type;
  std::string link;
};

class Tool {
 public:
  Tool(const ToolEnvironment& environment, const Request& request)
      : environment_(environment),
        request_(request),
        device_(request.device),
        driver_(StateFile(environment.root + "/var/lib/hccn_sim/state"),
                environment.uid == 0),
        conf_(environment.root + "/etc/hccn.conf") {}

  Answer Run() {
    if (!HasDevice(driver_.product(), device_)) {
      return NotPublished("a device that is not there");
    }
    if (driver_.Begin(device_).has_value()) return Busy();
    if (request_.mode == "-s") return Set();
    if (request_.mode == "-g") return Get();
    return NotPublished(request_.mode);
  }

 private:
  Answer Get() {
    const std::string& command = request_.command;
    if (command == "-dev_info") return GetDeviceInfo();
    if (command == "-link") return GetLink();
    if (command == "-net_health") return GetNetHealth();
    if (command == "-netdetect") {
      return Data("netdetect addr: " + Text("netdetect", "0.0.0.0"));
    }
    if (command == "-tls") return GetTls();
    if (command == "-cfg_recovery") return GetRecoveryStatus();
    if (const std::optional<Answer> wrong = CheckBond()) return *wrong;
    if (command == "-ip") return GetAddress();
    if (command == "-gateway") return GetGateway();
    if (command == "-mtu") return Data("mtu:" + Text("mtu", "1500"));
    if (command == "-lldp") return GetLldp();
    return NotPublished(command);
  }

  Answer Set() {
    if (request_.command == "-cfg_recovery") return Recover();
    if (request_.command != "-gateway") return NotPublished(request_.command);
    if (const std::optional<Answer> wrong = CheckBond()) return *wrong;
    return SetGateway();
  }

  std::string Text(const std::string& name, const std::string& fallback) const {
    return driver_.Value(name, device_).value_or(fallback);
  }

  int bond() const {
    return static_cast<int>(driver_.Number("bond", device_).value_or(device_));
  }

  std::optional<Answer> CheckBond() const {
    const std::string name = request_.device_name();
    const std::string expected = absl::StrCat("expected 'bond", bond(), "'.");
    const std::string hint = absl::StrCat(
        "\nEnter [ hccn_tool -h ", request_.command, " ] for more details.");
    std::string text;
    int number = 0;
    if (name.empty()) {
      text = "Device name is empty, " + expected;
    } else if (!absl::StartsWith(name, "bond")) {
      text = "Command is only applicable to bond devices, " + expected;
    } else if (!absl::SimpleAtoi(name.substr(4), &number) || number < 0) {
      text = "Invalid bond device name format, " + expected;
    } else if (number != bond()) {
      text = absl::StrCat("Bond device ID mismatch: name='bond", number, "', ",
                          expected);
    } else {
      return std::nullopt;
    }
    return Error(14, text + hint);
  }

  std::vector<Port> Ports() const {
    std::vector<Port> ports;
    for (const absl::string_view word : absl::StrSplit(
             Text("ports", "0/4/ETH/UP 0/5/ETH/UP"), ' ', absl::SkipEmpty())) {
      const std::vector<std::string> parts = absl::StrSplit(word, '/');
      Port port;
      if (parts.size() == 4 && absl::SimpleAtoi(parts[0], &port.udie) &&
          absl::SimpleAtoi(parts[1], &port.port)) {
        port.type = parts[2];
        port.link = parts[3];
        ports.push_back(port);
      }
    }
    return ports;
  }

  Answer GetDeviceInfo() const {
    Answer answer;
    const std::vector<Port> ports = Ports();
    const std::string bar =
        "+---------+---------+---------------------+-----------+-------------+"
        "------------+\n";
    if (!ports.empty()) {
      absl::StrAppend(&answer.out, bar,
                      "| UDie ID | Port ID | Speed Ability(Gbps) | Port Type | "
                      "Link Status | Media Type |\n",
                      bar);
      for (const Port& port : ports) {
        absl::StrAppendFormat(
            &answer.out, "| %-7d | %-7d | %-19d | %-9s | %-11s | %-10s |\n",
            port.udie, port.port, 400, port.type, port.link, "Electrical");
      }
      absl::StrAppend(&answer.out, bar);
    }
    AppendInterfaces(&answer.out);
    return answer;
  }

  static void AppendRow(const std::string& name, const std::string& address,
                        const std::string& mask, const std::string& mode,
                        const std::string& slave, std::string* out) {
    absl::StrAppendFormat(out, "| %-15s | %-42s | %-42s | %-9s | %-15s |\n",
                          name, address, mask, mode, slave);
  }

  // The bond is in the table only if it has an address.
  void AppendInterfaces(std::string* out) const {
    const std::string wide(44, '-');
    const std::string bar = absl::StrCat("+-----------------+", wide, "+", wide,
                                         "+-----------+-----------------+\n");
    absl::StrAppend(out, bar);
    AppendRow("Interface Name", "IP Address", "Netmask", "Bond Mode", "Slaves",
              out);
    absl::StrAppend(out, bar);
    AppendRow(absl::StrCat("end", device_, "v0"), "192.168.2.199",
              "255.255.255.0", "NA", "NA", out);
    absl::StrAppend(out, bar);
    if (Text("ip", "").empty()) return;
    AppendRow(absl::StrCat("bond", bond()), Text("ip", ""), Text("mask", ""),
              "8023.ad", Slave(0), out);
    AppendRow("", "", "", "", Slave(1), out);
    absl::StrAppend(out, bar);
  }

  std::string Slave(int number) const {
    return absl::StrCat("ethc", device_, "d0e", number);
  }

  Answer GetLink() const {
    const auto udie = request_.options.find("-u");
    const auto port = request_.options.find("-p");
    if (udie == request_.options.end() || port == request_.options.end()) {
      return NotPublished("-link without -u and -p");
    }
    for (const Port& known : Ports()) {
      if (absl::StrCat(known.udie) == udie->second &&
          absl::StrCat(known.port) == port->second) {
        return Data("link status: " + known.link);
      }
    }
    return Error(13,
                 "target port is invalid, please check.\n"
                 "Enter [ hccn_tool -h -link ] for more details.");
  }

  Answer GetNetHealth() const {
    static constexpr const char* kWords[] = {
        "Success",     "Socket fail",   "Receive timeout",
        "Unreachable", "Time exceeded", "Fault",
        "Init",        "Thread error",  "Detect ip set",
        "Unknown"};
    const long code = driver_.Number("net_health", device_).value_or(0);
    if (code < 0 || code > 9) return NotPublished("another net health code");
    return Data(absl::StrCat("net health status: ", kWords[code]));
  }

  Answer GetTls() const {
    if (environment_.uid != 0) return NotPublished("-tls for another user");
    return Data(absl::StrCat(
        "device ", device_, ", tls switch[", Text("tls", "0"),
        "](0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset), "
        "tls alarm time threshold[60]days"));
  }

  Answer GetRecoveryStatus() const {
    static constexpr const char* kWords[] = {"NONE", "START", "FAIL",
                                             "SUCCESS"};
    const long status = driver_.Number("cfg_status", device_).value_or(0);
    const bool known = status >= 0 && status <= 3;
    return Data(
        absl::StrCat("config status:", known ? kWords[status] : "FAULT"));
  }

  Answer GetAddress() const {
    if (Text("ip", "").empty()) {
      return Error(6, "Get ip failed, because no ip was preset there!");
    }
    return Data(absl::StrCat("ipaddr:", Text("ip", ""),
                             "\nnetmask:", Text("mask", "0.0.0.0")));
  }

  Answer GetGateway() const {
    const std::string gateway = Text("gateway", "");
    if (gateway.empty()) {
      return Error(5,
                   "Get gateway failed, because no gateway was preset there!");
    }
    return Data("default gateway:" + gateway);
  }

  Answer GetLldp() const {
    const std::string first = Text("lldp", "");
    const std::string second = Text("lldp_second", first);
    return {0,
            absl::StrCat("[dev_name:", Slave(0), "] LLDP neighbor info:\n",
                         first, "\n[dev_name:", Slave(1),
                         "] LLDP neighbor info:\n", second, "\n"),
            ""};
  }

  std::optional<std::string> ConfValue(const std::string& key) const {
    std::optional<std::string> value;
    conf_.Read(absl::StrCat(key, "_", device_), &value);
    return value;
  }

  Answer Recover() {
    if (environment_.uid != 0) return NotRoot();
    const struct {
      const char* key;
      const char* name;
    } kItems[] = {{"address", "ip"},      {"netmask", "mask"},
                  {"gateway", "gateway"}, {"netdetect", "netdetect"},
                  {"mtu", "mtu"},         {"tls_enable", "tls"}};
    for (const auto& item : kItems) {
      const std::optional<std::string> value = ConfValue(item.key);
      if (value.has_value()) driver_.Change(item.name, device_, *value);
    }
    driver_.Change("cfg_status", device_, "3");
    return Data("Cmd executed successfully!");
  }

  Answer SetGateway() {
    if (environment_.uid != 0) return NotRoot();
    const auto option = request_.options.find("-address");
    const std::optional<std::string> address = ConfValue("address");
    const std::optional<std::string> netmask = ConfValue("netmask");
    if (option == request_.options.end() || !address.has_value() ||
        !netmask.has_value()) {
      return NotPublished("-gateway without an address on either side");
    }
    const std::optional<uint32_t> gateway = StrictIpv4(option->second);
    if (!gateway.has_value()) return NotPublished("an invalid gateway");
    const uint32_t mask = LooseIpv4(*netmask);
    if ((*gateway & mask) != (LooseIpv4(*address) & mask)) {
      return Error(
          7,
          "The segment of configured gateway doesn't match that of the "
          "configured ip address!");
    }
    driver_.Change("gateway", device_, option->second);
    if (conf_.Write(absl::StrCat("gateway_", device_), option->second)
            .has_value()) {
      return Error(
          18,
          "Cmd executed successfully, but persistent configuration failed.");
    }
    return Data("Cmd executed successfully!");
  }

  const ToolEnvironment& environment_;
  const Request& request_;
  const int device_;
  Driver driver_;
  HccnConf conf_;
};

// Nothing: the line is understood and in `request`.
std::optional<Answer> ParseRequest(const std::vector<std::string>& words,
                                   Request* request) {
  constexpr char kGlobalHint[] = "\nEnter [ hccn_tool -h ] for more details.";
  if (words.empty()) {
    return Error(1, absl::StrCat("Please specify a mode.", kGlobalHint));
  }
  request->mode = words[0];
  if (words[0] == "-h") return NotPublished("the help text");
  if (words[0] != "-g" && words[0] != "-s" && words[0] != "-t") {
    return Error(2, absl::StrCat("Please specify a valid mode.", kGlobalHint));
  }
  if (words.size() < 2) {
    return Error(3, absl::StrCat("Please specify a cmd.\nEnter [ hccn_tool -h ",
                                 words[0], " ] for more details."));
  }
  request->command = words[1];
  for (size_t i = 2; i < words.size(); i += 2) {
    if (i + 1 == words.size() || !absl::StartsWith(words[i], "-") ||
        !request->options.emplace(words[i], words[i + 1]).second) {
      return NotPublished("options without values or twice");
    }
  }
  const auto device = request->options.find("-i");
  if (device == request->options.end() ||
      !absl::SimpleAtoi(device->second, &request->device)) {
    return NotPublished("a command line without a device id");
  }
  return std::nullopt;
}

}  // namespace

int RunTool950(const std::vector<std::string>& arguments,
               const ToolEnvironment& environment, Terminal* terminal) {
  Request request;
  std::optional<Answer> answer = ParseRequest(arguments, &request);
  if (!answer.has_value()) answer = Tool(environment, request).Run();
  terminal->Out(answer->out);
  terminal->Err(answer->err);
  terminal->Flush();
  return answer->status;
}

}  // namespace sim
}  // namespace clusterd
