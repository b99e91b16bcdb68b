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
#include "tests/sim/tool/device_values.h"
#include "tests/sim/tool/driver.h"
#include "tests/sim/tool/hccn_conf.h"

namespace clusterd::sim {
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
// The simulation's own words, so that they are not taken for the vendor's.
Answer NotModelled(const std::string& what) {
  return Error(kNotModelled,
               absl::StrCat("simulated Ascend 950 hccn_tool: ", what,
                            ": not modelled; this is no answer of the "
                            "vendor's tool"));
}
Answer Done() { return Data("Cmd executed successfully!"); }

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

// The devices' virtual NICs and the host's side of them: in these subnets the
// tool calls a new address conflicted. The device's is the one that -dev_info
// of its reference shows.
constexpr char kDeviceVnic[] = "192.168.2.199";
constexpr char kHostVnic[] = "192.168.1.199";
constexpr char kVnicMask[] = "255.255.255.0";

bool InSubnetOf(uint32_t address, const std::string& other,
                const std::string& netmask) {
  const uint32_t mask = LooseIpv4(netmask);
  return (address & mask) == (LooseIpv4(other) & mask);
}

struct Port {
  int udie = 0;
  int port = 0;
  std::string type;
  std::string link;
};

class Tool {
 public:
  Tool(const ToolServer& server, const Request& request)
      : request_(request),
        device_(request.device),
        driver_(server.state, server.uid),
        conf_(server.conf) {}

  Answer Run() {
    if (!HasDevice(driver_.product(), device_)) {
      return NotModelled("a device that is not there");
    }
    if (driver_.Begin(device_).has_value()) return Busy();
    if (driver_.RequireHealth(device_).has_value()) {
      return NotModelled("a device that the driver knows no more");
    }
    if (const std::optional<std::string> text = driver_.Value("say", device_)) {
      return {0, *text, ""};
    }
    if (request_.mode == "-s") return Set();
    if (request_.mode == "-g") return Get();
    return NotModelled(request_.mode);
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
    if (command == "-process") return GetProcess();
    if (command == "-cfg_recovery") return GetRecoveryStatus();
    if (const std::optional<Answer> wrong = CheckBond()) return *wrong;
    if (command == "-ip") return GetAddress();
    if (command == "-gateway") return GetGateway();
    if (command == "-mtu") return Data("mtu:" + Text("mtu", "1500"));
    if (command == "-lldp") return GetLldp();
    return NotModelled(command);
  }

  Answer Set() {
    const std::string& command = request_.command;
    if (command == "-cfg_recovery") return Recover();
    if (command == "-netdetect") return SetDetectAddress();
    if (command == "-tls") return SetTls();
    if (command != "-ip" && command != "-gateway") return NotModelled(command);
    if (const std::optional<Answer> wrong = CheckBond()) return *wrong;
    return command == "-ip" ? SetAddress() : SetGateway();
  }

  std::string Text(const std::string& name, const std::string& fallback) const {
    return driver_.Value(name, device_).value_or(fallback);
  }

  // The tool names a bond, and the lines of hccn.conf, after the device's slot.
  int slot() const {
    return static_cast<int>(driver_.Number("bond", device_).value_or(device_));
  }

  std::optional<Answer> CheckBond() const {
    const std::string name = request_.device_name();
    const std::string expected = absl::StrCat("expected 'bond", slot(), "'.");
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
    } else if (number != slot()) {
      text = absl::StrCat("Bond device ID mismatch: name='bond", number, "', ",
                          expected);
    } else {
      return std::nullopt;
    }
    return Error(14, text + hint);
  }

  std::vector<Port> Ports() const {
    const bool no_link = driver_.Number("link", device_).value_or(1) == 0;
    std::vector<Port> ports;
    for (const absl::string_view word : absl::StrSplit(
             Text("ports", "0/4/ETH/UP 0/5/ETH/UP"), ' ', absl::SkipEmpty())) {
      const std::vector<std::string> parts = absl::StrSplit(word, '/');
      Port port;
      if (parts.size() == 4 && absl::SimpleAtoi(parts[0], &port.udie) &&
          absl::SimpleAtoi(parts[1], &port.port)) {
        port.type = parts[2];
        port.link = port.type == "ETH" && no_link ? "DOWN" : parts[3];
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
    AppendRow(absl::StrCat("end", device_, "v0"), kDeviceVnic, kVnicMask, "NA",
              "NA", out);
    absl::StrAppend(out, bar);
    if (Text("ip", "").empty()) return;
    AppendRow(absl::StrCat("bond", slot()), Text("ip", ""), Text("mask", ""),
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
      return NotModelled("-link without -u and -p");
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
    constexpr long kSuccess = 0;
    constexpr long kInit = 6;
    const bool has_target = Text("netdetect", "0.0.0.0") != "0.0.0.0";
    const long code = driver_.Number("net_health", device_)
                          .value_or(has_target ? kSuccess : kInit);
    if (code < 0 || code > 9) return NotModelled("another net health code");
    return Data(absl::StrCat("net health status: ", kWords[code]));
  }

  Answer GetTls() const {
    if (!driver_.privileged()) return NotModelled("-tls for another user");
    return Data(absl::StrCat(
        "device ", device_, ", tls switch[", Text("tls", "0"),
        "](0:disable, 1:enable), tls preconfigured[1](0:non-preset, 1:preset), "
        "tls alarm time threshold[60]days"));
  }

  Answer GetProcess() const {
    const bool exists = driver_.Number("process", device_).value_or(0) != 0;
    return Data(
        absl::StrCat("device hccp process: ", exists ? "exist" : "not exist"));
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
    conf_.Read(absl::StrCat(key, "_", slot()), &value);
    return value;
  }

  std::optional<uint32_t> AddressOption(const std::string& name) const {
    const auto option = request_.options.find(name);
    if (option == request_.options.end()) return std::nullopt;
    return StrictIpv4(option->second);
  }

  // A device that takes its address from DHCP stores nothing in the file.
  bool StoresAddresses() const {
    return !ConfValue("udhcpc_enable").has_value();
  }

  // The device has taken the values; the file gets them last.
  Answer Store(const std::map<std::string, std::string>& lines) {
    for (const auto& [key, value] : lines) {
      if (conf_.Write(absl::StrCat(key, "_", slot()), value).has_value()) {
        return Error(
            18,
            "Cmd executed successfully, but persistent configuration failed.");
      }
    }
    return Done();
  }

  Answer Recover() {
    if (!driver_.privileged()) return NotRoot();
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
    return Done();
  }

  Answer SetAddress() {
    if (!driver_.privileged()) return NotRoot();
    const std::optional<uint32_t> address = AddressOption("-address");
    const std::optional<uint32_t> netmask = AddressOption("-netmask");
    if (!address.has_value() || !netmask.has_value() ||
        !IsContiguousMask(*netmask)) {
      return NotModelled("-ip without a valid -address and -netmask");
    }
    if (InSubnetOf(*address, kDeviceVnic, kVnicMask) ||
        InSubnetOf(*address, kHostVnic, kVnicMask)) {
      return Error(4, "The ip address configured is conflicted!");
    }
    const std::string& address_text = request_.options.at("-address");
    const std::string& netmask_text = request_.options.at("-netmask");
    driver_.Change("ip", device_, address_text);
    driver_.Change("mask", device_, netmask_text);
    if (!StoresAddresses()) return Done();
    return Store({{"address", address_text}, {"netmask", netmask_text}});
  }

  Answer SetGateway() {
    if (!driver_.privileged()) return NotRoot();
    const std::optional<std::string> address = ConfValue("address");
    const std::optional<std::string> netmask = ConfValue("netmask");
    if (!address.has_value() || !netmask.has_value()) {
      return NotModelled("-gateway without an address in hccn.conf");
    }
    const std::optional<uint32_t> gateway = AddressOption("-address");
    if (!gateway.has_value()) {
      return NotModelled("-gateway without a valid -address");
    }
    if (!InSubnetOf(*gateway, *address, *netmask)) {
      return Error(
          7,
          "The segment of configured gateway doesn't match that of the "
          "configured ip address!");
    }
    const std::string& text = request_.options.at("-address");
    driver_.Change("gateway", device_, text);
    return StoresAddresses() ? Store({{"gateway", text}}) : Done();
  }

  Answer SetDetectAddress() {
    if (!driver_.privileged()) return NotRoot();
    if (!AddressOption("-address").has_value()) {
      return NotModelled("-netdetect without a valid -address");
    }
    const std::string& text = request_.options.at("-address");
    driver_.Change("netdetect", device_, text);
    return Store({{"netdetect", text}});
  }

  Answer SetTls() {
    if (!driver_.privileged()) return NotRoot();
    const auto option = request_.options.find("-enable");
    if (option == request_.options.end() ||
        (option->second != "0" && option->second != "1")) {
      return NotModelled("-tls without -enable 0 or 1");
    }
    driver_.Change("tls", device_, option->second);
    return Store({{"tls_enable", option->second}});
  }

  const Request& request_;
  const int device_;
  Driver driver_;
  HccnConf conf_;
};

// nullopt: the line is understood and in `request`.
std::optional<Answer> ParseRequest(const std::vector<std::string>& words,
                                   Request* request) {
  constexpr char kGlobalHint[] = "\nEnter [ hccn_tool -h ] for more details.";
  if (words.empty()) {
    return Error(1, absl::StrCat("Please specify a mode.", kGlobalHint));
  }
  request->mode = words[0];
  if (words[0] == "-h") return NotModelled("the help text");
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
      return NotModelled("options without values or twice");
    }
  }
  const auto device = request->options.find("-i");
  if (device == request->options.end() ||
      !absl::SimpleAtoi(device->second, &request->device)) {
    return NotModelled("a command line without a device id");
  }
  return std::nullopt;
}

}  // namespace

int RunTool950(const std::vector<std::string>& arguments,
               const ToolServer& server, Terminal* terminal) {
  Request request;
  std::optional<Answer> answer = ParseRequest(arguments, &request);
  if (!answer.has_value()) answer = Tool(server, request).Run();
  terminal->Out(answer->out);
  terminal->Err(answer->err);
  terminal->Flush();
  return answer->status;
}

}  // namespace clusterd::sim
