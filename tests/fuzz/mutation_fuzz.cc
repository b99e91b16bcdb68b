// Every value that a parser reads in a damaged answer of the vendor's tool is
// in that answer.
#include <cstdio>

#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"
#include "tests/readers/invented_values.h"

namespace clusterd {
namespace {

FUZZ_TEXT(mutation, 4, "tests/readers/capture_seeds/*",
          "tests/readers/seeds/*.txt", "tests/testdata/host/hccn_query/*") {
  const std::vector<std::string> invented = InventedValues(text);
  for (const std::string& value : invented) {
    std::fprintf(stderr, "not in the text: %s\n", value.c_str());
  }
  Require(invented.empty());
}

}  // namespace
}  // namespace clusterd
