// Text of a state comes back from what was read of it, and names a product
// without running away.
#include <stdlib.h>

#include <string>

#include "tests/sim/tool/device_state.h"
#include "tests/sim/tool/product.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using clusterd::sim::DeviceState;
  const DeviceState state = DeviceState::Parse(
      absl::string_view(reinterpret_cast<const char*>(data), size));
  const DeviceState again = DeviceState::Parse(state.Text());
  if (again.values() != state.values()) abort();
  for (const auto& [key, value] : state.values()) {
    (void)value;
    state.Number(key);
  }
  clusterd::sim::ProductOf(state);
  return 0;
}
