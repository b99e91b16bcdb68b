#include "tests/sim/fault.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/nearest_word.h"
#include "tests/sim/fault/fault_rows.h"

namespace clusterd::sim {
namespace {

constexpr char kAscend950[] = "ascend-950";

const FaultRow* FindRow(const std::string& key, bool of_device) {
  for (const FaultRow& row : FaultRows()) {
    if (row.key.key == key && row.key.of_device == of_device) return &row;
  }
  return nullptr;
}

bool IsOneOf(Servers servers, const std::string& product) {
  switch (servers) {
    case Servers::kNotAscend950:
    case Servers::kChanged:
      return product != kAscend950;
    case Servers::kSuperPod:
      return product == "A3-superpod";
    case Servers::kAll:
      break;
  }
  return true;
}

// Empty: it is one of those that are there.
std::string WhyNotThere(const std::string& what, const std::string& name,
                        const std::vector<std::string>& there) {
  if (absl::c_linear_search(there, name)) return "";
  return absl::StrCat("no ", what, " \"", name, "\", expected one of ",
                      absl::StrJoin(there, " "));
}

// Empty: a fault of the kind acts on the server.
std::string WhyItCannotAct(const FaultKey& key, const ServerKind& server) {
  const bool in_namespaces = server.mode == Mode::kNamespaces;
  const std::string& why =
      in_namespaces ? key.not_in_namespaces : key.not_side_by_side;
  const std::string where = in_namespaces ? "in namespaces" : "side by side";
  if (!why.empty()) return absl::StrCat("cannot act ", where, ": ", why);
  if (!IsOneOf(key.servers, server.product)) {
    return absl::StrCat("cannot act on ", NotOn(key.servers));
  }
  if (in_namespaces && !key.program.empty() &&
      access(key.program.c_str(), X_OK) != 0) {
    return absl::StrCat("cannot act in namespaces: ", key.program,
                        " is not installed on this machine");
  }
  return "";
}

// Empty if the server has the part that the value names. The fault's own
// additions count for the next one.
std::string WhyTheValueCannotAct(const Fault& fault, ServerKind& server) {
  const auto part = [&fault](char separator, size_t index) {
    const std::vector<std::string> parts =
        absl::StrSplit(fault.value, absl::MaxSplits(separator, 1));
    return parts[index];
  };
  if (fault.key == "device") {
    std::vector<std::string> ids;
    for (const int id : server.devices) ids.push_back(absl::StrCat(id));
    return WhyNotThere("device", part('-', 1), ids);
  }
  if (fault.key == "interface") server.interfaces.push_back(part('/', 0));
  if (fault.key == "interface_down") {
    return WhyNotThere("interface", fault.value, server.interfaces);
  }
  if (fault.key != "state") return "";
  const std::string name = part('=', 0);
  const bool is_950 = server.product == kAscend950;
  if (ReadsStateKey(is_950, name)) return "";
  return absl::StrCat(
      "cannot act on ", is_950 ? "an" : "a server that is not an",
      " Ascend 950: its hccn_tool does not read \"", name, "\"");
}

std::string UnknownKey(const std::string& key, bool of_device) {
  std::vector<absl::string_view> known;
  for (const FaultRow& row : FaultRows()) {
    if (row.key.of_device == of_device) known.push_back(row.key.key);
  }
  const std::string nearest = NearestWord(key, known);
  return absl::StrCat(
      "unknown key \"", key, "\" of ", of_device ? "a device" : "the host",
      nearest.empty() ? "" : absl::StrCat(", did you mean \"", nearest, "\"?"),
      ", expected one of ", absl::StrJoin(known, " "));
}

// Empty if the fault is well formed.
std::string ParseFault(const std::string& text, ServerKind& server,
                       Fault* fault) {
  const std::vector<int>& devices = server.devices;
  const size_t colon = text.find(':');
  const size_t equals = text.find('=');
  if (colon == std::string::npos || equals == std::string::npos ||
      equals < colon || colon == 0 || equals == colon + 1) {
    return "expected DEVICE:KEY=VALUE or host:KEY=VALUE";
  }
  const std::string target = text.substr(0, colon);
  fault->key = text.substr(colon + 1, equals - colon - 1);
  fault->value = text.substr(equals + 1);
  const bool of_device = target != "host";
  if (of_device &&
      (!IsNumber(target) || !absl::SimpleAtoi(target, &fault->device) ||
       std::find(devices.begin(), devices.end(), fault->device) ==
           devices.end())) {
    return absl::StrCat("no device \"", target, "\", expected host or one of ",
                        absl::StrJoin(devices, " "));
  }
  const FaultRow* row = FindRow(fault->key, of_device);
  if (row == nullptr) return UnknownKey(fault->key, of_device);
  if (fault->value.find('\n') != std::string::npos ||
      !row->valid(fault->value)) {
    return absl::StrCat(fault->key, " is \"", fault->value, "\", expected ",
                        row->key.values);
  }
  const std::string why = WhyItCannotAct(row->key, server);
  return why.empty() ? WhyTheValueCannotAct(*fault, server) : why;
}

}  // namespace

const std::vector<FaultRow>& FaultRows() {
  static const auto* const rows = [] {
    auto* all = new std::vector<FaultRow>(DeviceRows());
    const std::vector<FaultRow> more = ServerRows();
    all->insert(all->end(), more.begin(), more.end());
    return all;
  }();
  return *rows;
}

const std::vector<FaultKey>& FaultKeys() {
  static const auto* const keys = [] {
    auto* all = new std::vector<FaultKey>;
    for (const FaultRow& row : FaultRows()) all->push_back(row.key);
    return all;
  }();
  return *keys;
}

std::string NotOn(Servers servers) {
  switch (servers) {
    case Servers::kNotAscend950:
      return "an Ascend 950: clusterd does not ask its npu-smi, whose command "
             "line is not published";
    case Servers::kChanged:
      return "an Ascend 950: clusterd changes nothing on its devices";
    case Servers::kSuperPod:
      return "a server outside an Atlas A3 super pod: its npu-smi has no such "
             "value";
    case Servers::kAll:
      break;
  }
  return "";
}

absl::StatusOr<std::vector<Fault>> ParseFaults(
    absl::Span<const std::string> texts, const ServerKind& of) {
  ServerKind server = of;
  std::vector<Fault> faults;
  std::vector<std::string> mistakes;
  for (const std::string& text : texts) {
    Fault fault;
    const std::string mistake = ParseFault(text, server, &fault);
    if (mistake.empty()) {
      faults.push_back(fault);
    } else {
      mistakes.push_back(absl::StrCat("fault \"", text, "\": ", mistake));
    }
  }
  if (mistakes.empty()) return faults;
  return absl::InvalidArgumentError(absl::StrJoin(mistakes, "\n"));
}

absl::Status ApplyFault(const Fault& fault, const HostFolder& folder) {
  const FaultRow* row = FindRow(fault.key, fault.device >= 0);
  if (row == nullptr) {
    return absl::InvalidArgumentError(UnknownKey(fault.key, fault.device >= 0));
  }
  return row->act(folder, fault.device, fault.value);
}

Mode ModeOf(const HostFolder& folder) {
  std::error_code error;
  return std::filesystem::equivalent(folder.Path(""), "/", error)
             ? Mode::kNamespaces
             : Mode::kSideBySide;
}

}  // namespace clusterd::sim
