// Editing twice is editing once, and no value gets through that is not
// canonical.
#include "config/plan/setting_rows.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

void clusterd::FuzzText(const std::string& text) {
  const std::string once = EditSysctlFile(text, kSomaxconnKey, "65535");
  Require(EditSysctlFile(once, kSomaxconnKey, "65535") == once);
  for (const char* const key : {kReservedPortsKey, kSomaxconnKey}) {
    const auto value = CanonicalSysctlValue(key, text);
    Require(!value.ok() ||
            CanonicalSysctlValue(key, *value).value_or("x") == *value);
  }
}
