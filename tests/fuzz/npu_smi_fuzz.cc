// Readers of npu-smi: never a crash, never a value that is not in the text.
#include <string>

#include "daemon/host/npu_smi/device_ids.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

void CheckTable(const std::string& text) {
  const auto memories = ParseNpuSmiMemory(text);
  if (!memories.ok()) return;
  Require(!memories->empty());
  for (const auto& [chip, memory] : *memories) {
    RequireIn(text, std::to_string(memory.used_mb()));
    RequireIn(text, std::to_string(memory.total_mb()));
    for (const uint32_t pid : memory.pids()) {
      RequireIn(text, std::to_string(pid));
    }
  }
}

void CheckHealth(const std::string& text) {
  const absl::StatusOr<ChipHealth> health = ParseNpuSmiHealth(text);
  if (!health.ok()) return;
  if (health->health() == ChipHealth::OK) RequireIn(text, "OK");
  Require(health->error_codes_size() <= 128);
  for (const std::string& code : health->error_codes()) {
    Require(!code.empty());
    // Beside OK, codes have the documented form.
    if (health->health() == ChipHealth::OK) Require(code.size() <= 8);
  }
}

void CheckChip(const std::string& text) {
  const absl::StatusOr<MemoryErrors> errors = ParseNpuSmiEcc(text);
  if (errors.ok()) {
    RequireIn(text, std::to_string(errors->double_bit()));
  }
  const absl::StatusOr<std::string> word = ParseNpuSmiCompatibility(text);
  if (word.ok()) RequireIn(text, *word);
  const absl::StatusOr<SuperPodPlace> place = ParseNpuSmiSuperPod(text);
  if (place.ok()) RequireIn(text, std::to_string(place->sdid()));
  const absl::StatusOr<HccsLinks> links = ParseNpuSmiHccs(text);
  if (!links.ok()) return;
  RequireIn(text, links->ok() ? "OK" : "NOK");
  Require(links->lanes_size() <= 64);
}

// Ids are of two digits at most.
void CheckMapping(const std::string& text) {
  const auto map = ParseNpuSmiMapping(text);
  if (!map.ok()) return;
  for (const auto& [id, place] : map->chips) Require(id <= 99);
}

FUZZ_TEXT(npu_smi, 2, "tests/testdata/host/npu_smi/*",
          "tests/testdata/npu_smi/*.txt") {
  const std::string answer = WithoutOrigin(text);
  CheckTable(answer);
  CheckHealth(answer);
  CheckChip(answer);
  CheckMapping(answer);
}

}  // namespace
}  // namespace clusterd
