// A repair is complete: repeating it changes nothing. Restored lines are there:
// restoring them again changes nothing.
#include "config/plan/hccn_conf_text.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(hccn_conf_text, 1, "tests/testdata/host/conf/*") {
  const std::string once = RepairHccnConf(text);
  Require(RepairHccnConf(once) == once);
  const std::string before = text.substr(0, text.size() / 2);
  const std::string after = text.substr(text.size() / 2);
  const std::string whole = WithLostLines(before, after, {"address_0"});
  Require(WithLostLines(before, whole, {"address_0"}) == whole);
  (void)HccnConfValue(text, "address_0");
}

}  // namespace
}  // namespace clusterd
