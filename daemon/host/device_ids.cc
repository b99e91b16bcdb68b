#include "daemon/host/device_ids.h"

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "daemon/host/file_reader.h"
#include "daemon/host/missing.h"
#include "daemon/host/npu_smi_mapping.h"
#include "daemon/host/program_path.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace {

constexpr absl::string_view kNpuSmi[] = {"/usr/local/sbin/npu-smi",
                                         "/usr/local/bin/npu-smi"};

absl::StatusOr<std::vector<uint32_t>> IdsFromNodes(const HostPaths& paths) {
  const absl::StatusOr<std::vector<std::string>> names =
      FileReader(paths.root).List("/dev");
  if (!names.ok()) return names.status();
  std::vector<uint32_t> ids;
  for (const std::string& name : *names) {
    const std::optional<uint32_t> id = DeviceIdOfNode(name);
    if (id.has_value()) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

absl::StatusOr<std::vector<uint32_t>> IdsFromNpuSmi(const std::string& npu_smi,
                                                    CommandRunner* runner,
                                                    const TimeBudget& budget) {
  constexpr absl::string_view kCommand = "`npu-smi info -m`";
  const absl::StatusOr<CommandResult> result =
      runner->Run({{npu_smi, "info", "-m"}, budget.ForCommand()});
  if (!result.ok()) return result.status();
  if (result->timed_out) {
    return absl::DeadlineExceededError(absl::StrCat(
        kCommand, ": no answer in ", budget.CutBy(result->elapsed)));
  }
  if (result->exit_status != 0 || result->signal != 0 || result->output_cut) {
    return absl::UnavailableError(
        absl::StrCat(kCommand, ": status ", result->exit_status, " and ",
                     QuotedText(absl::StrCat(result->standard_error,
                                             result->standard_output))));
  }
  const absl::StatusOr<std::vector<uint32_t>> ids =
      ParseNpuSmiMapping(result->standard_output);
  if (ids.ok()) return ids;
  return absl::InvalidArgumentError(
      absl::StrCat(kCommand, ": ", ids.status().message()));
}

void SetIds(const std::vector<uint32_t>& ids, absl::string_view source,
            DeviceIdsFact* fact) {
  for (const uint32_t id : ids) fact->mutable_value()->add_ids(id);
  fact->mutable_value()->set_source(std::string(source));
}

}  // namespace

std::optional<uint32_t> DeviceIdOfNode(absl::string_view name) {
  uint32_t id = 0;
  if (!absl::ConsumePrefix(&name, "davinci") || name.empty() ||
      name.size() > 2 ||
      !std::all_of(name.begin(), name.end(),
                   [](char c) { return absl::ascii_isdigit(c); }) ||
      !absl::SimpleAtoi(name, &id)) {
    return {};
  }
  return id;
}

DeviceIdsFact ReadDeviceIds(const HostPaths& paths, CommandRunner* runner,
                            const TimeBudget& budget) {
  DeviceIdsFact fact;
  const absl::StatusOr<std::vector<uint32_t>> nodes = IdsFromNodes(paths);
  if (nodes.ok() && !nodes->empty()) {
    SetIds(*nodes, "/dev/davinci*", &fact);
    return fact;
  }
  const absl::StatusOr<std::string> npu_smi = FindProgram(paths.root, kNpuSmi);
  if (absl::IsNotFound(npu_smi.status())) {
    SetMissing(nodes.ok() || absl::IsNotFound(nodes.status())
                   ? MakeMissing(Missing::ABSENT,
                                 "no node /dev/davinci<N>, and no npu-smi")
                   : MissingFor(nodes.status()),
               &fact);
    return fact;
  }
  const absl::StatusOr<std::vector<uint32_t>> ids =
      npu_smi.ok() ? IdsFromNpuSmi(*npu_smi, runner, budget) : npu_smi.status();
  if (!ids.ok()) {
    SetMissing(MissingFor(ids.status()), &fact);
  } else if (ids->empty()) {
    SetMissing(MakeMissing(Missing::ABSENT,
                           "no node /dev/davinci<N>, and `npu-smi info -m` "
                           "lists no device"),
               &fact);
  } else {
    SetIds(*ids, "npu-smi info -m", &fact);
  }
  return fact;
}

}  // namespace clusterd
