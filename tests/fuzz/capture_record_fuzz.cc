// Reads records from hostile text, and arranges their conditions on paper.
#include <string>

#include "tests/sim/capture_record.h"
#include "tests/sim/run_setup.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const auto record = clusterd::sim::ParseCaptureRecord(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  if (record.ok()) clusterd::sim::SetupOf(*record);
  return 0;
}
