#include "config/hccl/hccl_variables.h"

#include <cstdint>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/port_set.h"

namespace clusterd {
namespace {

bool IsNumber(absl::string_view value, uint64_t least, uint64_t most,
              uint64_t step = 1) {
  uint64_t number = 0;
  return absl::SimpleAtoi(value, &number) && number >= least &&
         number <= most && number % step == 0;
}

// "auto", or ports and ranges from 1 to 65535 without overlap.
bool IsPortRange(absl::string_view value) {
  if (value == "auto") return true;
  PortSet seen;
  for (const absl::string_view part : absl::StrSplit(value, ',')) {
    const absl::StatusOr<PortSet> ports = PortSet::Parse(part);
    if (!ports.ok() || ports->empty() || ports->Contains(0) ||
        seen.Minus(*ports) != seen) {
      return false;
    }
    seen.Add(*ports);
  }
  return true;
}

bool IsIfname(absl::string_view value) {
  absl::ConsumePrefix(&value, "^");
  absl::ConsumePrefix(&value, "=");
  for (const absl::string_view name : absl::StrSplit(value, ',')) {
    if (name.empty()) return false;
  }
  return true;
}

struct Row {
  absl::string_view name;
  bool (*is_one)(absl::string_view value);
  absl::string_view expected;
};

constexpr char kZeroOrOne[] = "0 or 1";
constexpr char kPorts[] =
    "auto, or ports and ranges from 1 to 65535 such as 60000-60031,61000, none "
    "twice";
bool IsSwitch(absl::string_view value) { return value == "0" || value == "1"; }

constexpr Row kRows[] = {
    {"HCCL_CONNECT_TIMEOUT",
     [](absl::string_view v) { return IsNumber(v, 120, 7200); },
     "120 to 7200 (seconds)"},
    {"HCCL_EXEC_TIMEOUT",
     [](absl::string_view v) { return IsNumber(v, 0, 2147483647); },
     "0 to 2147483647 (seconds)"},
    {"HCCL_HOST_SOCKET_PORT_RANGE", IsPortRange, kPorts},
    {"HCCL_IF_BASE_PORT",
     [](absl::string_view v) { return IsNumber(v, 1024, 65520); },
     "1024 to 65520"},
    {"HCCL_INTER_HCCS_DISABLE",
     [](absl::string_view v) { return v == "TRUE" || v == "FALSE"; },
     "TRUE or FALSE"},
    {"HCCL_INTRA_PCIE_ENABLE", IsSwitch, kZeroOrOne},
    {"HCCL_INTRA_ROCE_ENABLE", IsSwitch, kZeroOrOne},
    {"HCCL_NPU_SOCKET_PORT_RANGE", IsPortRange, kPorts},
    {"HCCL_RDMA_RETRY_CNT",
     [](absl::string_view v) { return IsNumber(v, 1, 7); }, "1 to 7"},
    {"HCCL_RDMA_SL", [](absl::string_view v) { return IsNumber(v, 0, 7); },
     "0 to 7"},
    {"HCCL_RDMA_TC", [](absl::string_view v) { return IsNumber(v, 0, 255, 4); },
     "a multiple of 4 from 0 to 252"},
    {"HCCL_SOCKET_FAMILY",
     [](absl::string_view v) { return v == "AF_INET" || v == "AF_INET6"; },
     "AF_INET or AF_INET6"},
    {"HCCL_SOCKET_IFNAME", IsIfname,
     "names separated by single commas, with ^, = or ^= in front of all"},
    {"HCCL_WHITELIST_DISABLE", IsSwitch, kZeroOrOne},
    {"HCCL_WHITELIST_FILE", [](absl::string_view v) { return v.size() < 4096; },
     "a path of less than 4096 bytes"},
};

}  // namespace

std::vector<HcclMistake> FindHcclMistakes(const HcclVariables& variables) {
  std::vector<HcclMistake> mistakes;
  for (const Row& row : kRows) {
    const auto found = variables.find(std::string(row.name));
    // HCCL takes an empty one for one that is not set.
    if (found == variables.end() || found->second.empty()) continue;
    if (row.is_one(found->second)) continue;
    mistakes.push_back(
        {found->first, found->second, std::string(row.expected)});
  }
  const auto is = [&variables](const char* name, absl::string_view value) {
    const auto found = variables.find(name);
    return found != variables.end() && found->second == value;
  };
  const auto file = variables.find("HCCL_WHITELIST_FILE");
  if (is("HCCL_WHITELIST_DISABLE", "0") &&
      (file == variables.end() || file->second.empty())) {
    mistakes.push_back({"HCCL_WHITELIST_DISABLE", "0",
                        "1, or the white list's path in HCCL_WHITELIST_FILE"});
  }
  if (is("HCCL_INTRA_ROCE_ENABLE", "1") && is("HCCL_INTRA_PCIE_ENABLE", "1")) {
    mistakes.push_back({"HCCL_INTRA_ROCE_ENABLE",
                        "1, and so is HCCL_INTRA_PCIE_ENABLE",
                        "1 for one of both at most"});
  }
  return mistakes;
}

bool MatchesSocketIfname(absl::string_view value, absl::string_view interface) {
  const bool other_ones = absl::ConsumePrefix(&value, "^");
  const bool exact = absl::ConsumePrefix(&value, "=");
  bool named = false;
  for (const absl::string_view name : absl::StrSplit(value, ',')) {
    if (name.empty()) continue;
    named |= exact ? absl::StartsWith(name, interface)
                   : absl::StartsWith(interface, name);
  }
  return named != other_ones;
}

}  // namespace clusterd
