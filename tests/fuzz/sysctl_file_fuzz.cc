// Editing twice is editing once, and a value that is read has one spelling,
// which is read as the same value.
#include "config/plan/kernel_parameters.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(sysctl_file, 1, "tests/testdata/host/sysctl/*") {
  const std::string once = EditSysctlFile(text, kSomaxconnKey, "65535");
  Require(EditSysctlFile(once, kSomaxconnKey, "65535") == once);
  for (const KernelParameter& parameter : KernelParameters()) {
    const auto value = ParseSysctl(parameter, text);
    Require(!value.ok() ||
            ParseSysctl(parameter, SysctlText(*value)).value() == *value);
  }
}

}  // namespace
}  // namespace clusterd
