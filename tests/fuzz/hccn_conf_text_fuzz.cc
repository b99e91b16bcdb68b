#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/plan/hccn_conf_text.h"

// A repair is complete: repeating it changes nothing. Restored lines are there:
// restoring them again changes nothing.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::string once = clusterd::RepairHccnConf(text);
  if (clusterd::RepairHccnConf(once) != once) std::abort();
  const std::string before = text.substr(0, size / 2);
  const std::string after = text.substr(size / 2);
  const std::string whole =
      clusterd::WithLostLines(before, after, {"address_0"});
  if (clusterd::WithLostLines(before, whole, {"address_0"}) != whole) {
    std::abort();
  }
  (void)clusterd::HccnConfValue(text, "address_0");
  return 0;
}
