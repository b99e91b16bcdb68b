#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/plan/sysctl_file.h"

// Editing twice is editing once, and no value gets through that is not
// canonical.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  clusterd::SysctlFileChange change;
  change.add_settings()->set_key(clusterd::kSomaxconnKey);
  change.mutable_settings(0)->set_to("65535");
  const std::string once = clusterd::EditSysctlFile(text, change);
  if (clusterd::EditSysctlFile(once, change) != once) std::abort();
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
