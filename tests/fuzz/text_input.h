// A fuzz target whose input is a text. It includes this file and defines
//   void clusterd::FuzzText(const std::string& text) { … }
#ifndef TESTS_FUZZ_TEXT_INPUT_H_
#define TESTS_FUZZ_TEXT_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace clusterd {

// Ends the process where the reader under test breaks a promise (require.h).
void FuzzText(const std::string& text);

}  // namespace clusterd

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  clusterd::FuzzText(std::string(reinterpret_cast<const char*>(data), size));
  return 0;
}

#endif  // TESTS_FUZZ_TEXT_INPUT_H_
