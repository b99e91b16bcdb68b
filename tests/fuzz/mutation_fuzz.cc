// Every value that a parser reads in a damaged answer of the vendor's tool is
// in that answer.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "tests/readers/invented_values.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const std::vector<std::string> invented = clusterd::InventedValues(text);
  for (const std::string& value : invented) {
    std::fprintf(stderr, "not in the text: %s\n", value.c_str());
  }
  if (!invented.empty()) std::abort();
  return 0;
}
