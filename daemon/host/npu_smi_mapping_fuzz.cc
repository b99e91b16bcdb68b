// Ids are ascending, each once, and of two digits at most.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/npu_smi_mapping.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<std::vector<uint32_t>> ids =
      clusterd::ParseNpuSmiMapping(text);
  if (!ids.ok()) return 0;
  for (size_t i = 0; i < ids->size(); ++i) {
    if ((*ids)[i] > 99 || (i > 0 && (*ids)[i] <= (*ids)[i - 1])) std::abort();
  }
  return 0;
}
