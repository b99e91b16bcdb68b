#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "daemon/host/npu_smi/npu_smi_report.h"
#include "daemon/host/npu_smi/npu_smi_table.h"

namespace {

// A number that is in the text, leading zeros aside.
void ExpectInText(const std::string& text, uint64_t number) {
  if (!absl::StrContains(text, std::to_string(number))) std::abort();
}

void CheckTable(const std::string& text) {
  const absl::StatusOr<clusterd::NpuSmiInfo> info =
      clusterd::ParseNpuSmiInfo(text);
  if (!info.ok()) return;
  if (info->chips.empty()) std::abort();
  for (const clusterd::NpuSmiChip& chip : info->chips) {
    ExpectInText(text, chip.npu);
    if (chip.phy_id.has_value()) ExpectInText(text, *chip.phy_id);
    if (chip.health.empty()) std::abort();
  }
  for (const clusterd::NpuSmiProcess& process : info->processes) {
    ExpectInText(text, process.pid);
    if (clusterd::UseOfNpu(*info, process.npu) != clusterd::NpuUse::kInUse) {
      std::abort();
    }
  }
}

}  // namespace

// Never a crash, never a value that is not in the text.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  std::string text(reinterpret_cast<const char*>(data), size);
  // The lines of a golden input that say where it is from.
  while (absl::StartsWith(text, "#") && absl::StrContains(text, "\n")) {
    text.erase(0, text.find('\n') + 1);
  }
  CheckTable(text);
  const absl::StatusOr<clusterd::NpuSmiHealth> health =
      clusterd::ParseNpuSmiHealth(text);
  if (health.ok() && health->status == clusterd::NpuSmiHealth::Status::kOk &&
      !absl::StrContains(text, "OK")) {
    std::abort();
  }
  const absl::StatusOr<std::vector<uint32_t>> ids =
      clusterd::ParseNpuSmiList(text);
  if (ids.ok()) {
    for (const uint32_t id : *ids) ExpectInText(text, id);
  }
  const absl::StatusOr<clusterd::NpuSmiSuperPod> pod =
      clusterd::ParseNpuSmiSuperPod(text);
  if (pod.ok()) ExpectInText(text, pod->id);
  if (clusterd::ParseNpuSmiBoard(text).ok() && !absl::StrContains(text, "0x")) {
    std::abort();
  }
  return 0;
}
