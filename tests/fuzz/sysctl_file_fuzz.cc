#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/plan/setting_rows.h"

// Editing twice is editing once, and no value gets through that is not
// canonical.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string once =
      clusterd::EditSysctlFile(text, clusterd::kSomaxconnKey, "65535");
  if (clusterd::EditSysctlFile(once, clusterd::kSomaxconnKey, "65535") !=
      once) {
    std::abort();
  }
  for (const char* const key :
       {clusterd::kReservedPortsKey, clusterd::kSomaxconnKey}) {
    const auto value = clusterd::CanonicalSysctlValue(key, text);
    if (value.ok() &&
        clusterd::CanonicalSysctlValue(key, *value).value_or("x") != *value) {
      std::abort();
    }
  }
  return 0;
}
