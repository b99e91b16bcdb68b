#include "daemon/host/npu_smi/device_ids.h"

#include <set>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/command/program_path.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/npu_smi/chip_answers.h"

namespace clusterd {
namespace {

constexpr absl::string_view kNpuSmi[] = {"/usr/local/sbin/npu-smi",
                                         "/usr/local/bin/npu-smi"};

constexpr size_t kLogicIdColumn = 2;
constexpr size_t kPhysicalIdColumn = 3;

// Two digits at most: hccn_tool takes no more.
std::optional<uint32_t> ParseId(absl::string_view digits) {
  uint32_t id = 0;
  if (digits.size() > 2 || !ParseDigits(digits, &id)) return {};
  return id;
}

absl::Status UnexpectedMapping(absl::string_view line) {
  return InvalidArgument("unexpected ", QuotedText(line));
}

absl::StatusOr<std::set<uint32_t>> IdsFromNodes(const FileReader& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List("/dev"));
  std::set<uint32_t> ids;
  for (const std::string& name : names) {
    const std::optional<uint32_t> id = DeviceIdOfNode(name);
    if (id.has_value()) ids.insert(*id);
  }
  return ids;
}

absl::StatusOr<std::set<uint32_t>> IdsFromNpuSmi(const std::string& npu_smi,
                                                 const HostAccess& host) {
  ASSIGN_OR_RETURN(const ChipMap map, ReadNpuSmiMapping(npu_smi, host));
  std::set<uint32_t> ids;
  for (const auto& [id, place] : map.chips) ids.insert(id);
  return ids;
}

absl::StatusOr<DeviceIdsFact::Ids> FindIds(const HostAccess& host) {
  DeviceIdsFact::Ids found;
  absl::StatusOr<std::set<uint32_t>> ids = IdsFromNodes(host.files());
  if (ids.ok() && !ids->empty()) {
    found.set_source("/dev/davinci*");
  } else {
    const absl::StatusOr<std::string> npu_smi = LocateNpuSmi(host.paths);
    if (absl::IsNotFound(npu_smi.status())) {
      if (!ids.ok() && !absl::IsNotFound(ids.status())) return ids.status();
      return absl::NotFoundError("no node /dev/davinci<N>, and no npu-smi");
    }
    ids = npu_smi.ok() ? IdsFromNpuSmi(*npu_smi, host) : npu_smi.status();
    found.set_source("npu-smi info -m");
  }
  if (!ids.ok()) return ids.status();
  if (ids->empty()) {
    return absl::NotFoundError(
        "no node /dev/davinci<N>, and `npu-smi info -m` lists no device");
  }
  for (const uint32_t id : *ids) found.add_ids(id);
  return found;
}

}  // namespace

std::optional<uint32_t> DeviceIdOfNode(absl::string_view name) {
  if (!absl::ConsumePrefix(&name, "davinci")) return {};
  return ParseId(name);
}

absl::StatusOr<ChipMap> ParseNpuSmiMapping(absl::string_view output) {
  ChipMap map;
  size_t column = 0;
  for (const absl::string_view line : NpuSmiDataLines(output)) {
    if (column == 0) {
      if (!absl::StrContains(line, "NPU ID") ||
          !absl::StrContains(line, "Chip Logic ID")) {
        return UnexpectedMapping(line);
      }
      map.physical = absl::StrContains(line, "Chip Phy-ID");
      column = map.physical ? kPhysicalIdColumn : kLogicIdColumn;
      continue;
    }
    std::vector<absl::string_view> words =
        absl::StrSplit(line, absl::ByAnyChar(" \t\r"), absl::SkipEmpty());
    words.resize(kPhysicalIdColumn + 1);
    if (words[kLogicIdColumn] == "-") continue;
    const std::optional<uint32_t> id = ParseId(words[column]);
    ChipPlace place;
    if (!id.has_value() || !ParseId(words[kLogicIdColumn]).has_value() ||
        !ParseDigits(words[0], &place.card) ||
        !ParseDigits(words[1], &place.chip)) {
      return UnexpectedMapping(line);
    }
    map.chips.emplace(*id, place);
  }
  if (column == 0) return UnexpectedMapping(output);
  return map;
}

absl::StatusOr<std::string> RunNpuSmi(std::vector<std::string> argv,
                                      const HostAccess& host) {
  const std::string name = absl::StrCat(
      "`npu-smi ", absl::StrJoin(argv.begin() + 1, argv.end(), " "), "`: ");
  Command command = {std::move(argv), host.budget->ForCommand()};
  command.needs_driver = true;
  ASSIGN_OR_RETURN(CommandResult result, host.runner->Run(command));
  if (result.timed_out) {
    return DeadlineExceeded(name, "no answer in ",
                            host.budget->CutBy(result.elapsed));
  }
  if (result.output_cut) return Unavailable(name, "endless output");
  const absl::Status failure = NpuSmiFailure(result);
  if (failure.ok()) return std::move(result.standard_output);
  return Unavailable(name, failure.message());
}

absl::StatusOr<ChipMap> ReadNpuSmiMapping(const std::string& npu_smi,
                                          const HostAccess& host) {
  ASSIGN_OR_RETURN(const std::string output,
                   RunNpuSmi({npu_smi, "info", "-m"}, host));
  absl::StatusOr<ChipMap> map = ParseNpuSmiMapping(output);
  if (map.ok()) return map;
  return InFront("`npu-smi info -m`", map.status());
}

absl::StatusOr<std::string> LocateNpuSmi(const HostPaths& paths) {
  return FindProgram(paths.root, kNpuSmi);
}

DeviceIdsFact ReadDeviceIds(const HostAccess& host) {
  return MakeFact<DeviceIdsFact>(FindIds(host));
}

}  // namespace clusterd
