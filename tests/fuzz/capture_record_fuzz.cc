// Reads records from hostile text, and arranges their conditions on paper.
#include "tests/fuzz/fuzz_target.h"
#include "tests/sim/capture_record.h"
#include "tests/sim/run_setup.h"

namespace clusterd {
namespace {

FUZZ_BYTES(capture_record, 1, "tests/testdata/hccn_tool/records/*.json") {
  const auto record = sim::ParseCaptureRecord(bytes);
  if (record.ok()) sim::SetupOf(*record);
}

}  // namespace
}  // namespace clusterd
