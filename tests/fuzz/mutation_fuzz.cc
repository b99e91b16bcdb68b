// Every value that a parser reads in a damaged answer of the vendor's tool is
// in that answer.
#include <cstdio>

#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"
#include "tests/readers/invented_values.h"

void clusterd::FuzzText(const std::string& text) {
  const std::vector<std::string> invented = InventedValues(text);
  for (const std::string& value : invented) {
    std::fprintf(stderr, "not in the text: %s\n", value.c_str());
  }
  Require(invented.empty());
}
