// Readers of npu-smi: never a crash, never a value that is not in the text.
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/host/npu_smi/device_ids.h"
#include "daemon/host/npu_smi/npu_smi_output.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

void CheckTable(const std::string& text) {
  const absl::StatusOr<NpuSmiInfo> info = ParseNpuSmiInfo(text);
  if (!info.ok()) return;
  Require(!info->chips.empty());
  for (const NpuSmiChip& chip : info->chips) {
    RequireIn(text, std::to_string(chip.npu));
    if (chip.phy_id.has_value()) RequireIn(text, std::to_string(*chip.phy_id));
    Require(!chip.health.empty());
  }
  for (const NpuSmiProcess& process : info->processes) {
    RequireIn(text, std::to_string(process.pid));
    Require(UseOfNpu(*info, process.npu) == NpuUse::kInUse);
  }
}

void CheckHealth(const std::string& text) {
  const absl::StatusOr<NpuSmiHealth> health = ParseNpuSmiHealth(text);
  if (!health.ok()) return;
  if (health->status == NpuSmiHealth::Status::kOk) RequireIn(text, "OK");
  for (const std::string& code : health->error_codes) RequireIn(text, code);
}

// Ids are of two digits at most.
void CheckMapping(const std::string& text) {
  const absl::StatusOr<std::set<uint32_t>> ids = ParseNpuSmiMapping(text);
  if (!ids.ok()) return;
  for (const uint32_t id : *ids) Require(id <= 99);
}

}  // namespace
}  // namespace clusterd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text = clusterd::WithoutOrigin(
      std::string(reinterpret_cast<const char*>(data), size));
  clusterd::CheckTable(text);
  clusterd::CheckHealth(text);
  clusterd::CheckMapping(text);
  return 0;
}
