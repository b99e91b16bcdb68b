// The fuzz targets, which one program runs (fuzz_test.cc). A target is a
// function that gets any bytes, and ends the process (require.h) where the code
// under test breaks a promise. It registers itself, with its effort and its
// corpus:
//   FUZZ_TEXT(ipv4, 1, "tests/testdata/spec/address/*") { … text … }
#ifndef TESTS_FUZZ_FUZZ_TARGET_H_
#define TESTS_FUZZ_FUZZ_TARGET_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

struct FuzzTarget {
  std::string name;
  // How many times as long as the shortest target it runs: more than 1 for
  // several readers.
  int effort = 1;
  // Patterns of glob(3) for its first inputs, one a file.
  std::vector<std::string> corpus;
  void (*run)(absl::string_view input) = nullptr;
  // Like LLVMFuzzerCustomMutator; null: any bytes change.
  size_t (*mutate)(uint8_t* data, size_t size, size_t max_size,
                   unsigned seed) = nullptr;
};

// Returns true. Two targets of one name end the process.
bool RegisterFuzzTarget(FuzzTarget target);

// Sorted by name.
const std::vector<FuzzTarget>& FuzzTargets();

// Null if there is none of this name.
const FuzzTarget* FindFuzzTarget(absl::string_view name);

}  // namespace clusterd

// A target whose input is `bytes`, a view of exactly them: AddressSanitizer
// finds a reader that goes on behind the last one.
#define FUZZ_BYTES(name, effort, ...)                                  \
  static void Fuzz_##name(absl::string_view bytes);                    \
  [[maybe_unused]] static const bool is_registered_##name =            \
      RegisterFuzzTarget({#name, effort, {__VA_ARGS__}, Fuzz_##name}); \
  static void Fuzz_##name(absl::string_view bytes)

// A target whose input is `text`.
#define FUZZ_TEXT(name, effort, ...)                                   \
  static void Fuzz_##name(const std::string& text);                    \
  [[maybe_unused]] static const bool is_registered_##name =            \
      RegisterFuzzTarget(                                              \
          {#name, effort, {__VA_ARGS__}, [](absl::string_view input) { \
             Fuzz_##name(std::string(input));                          \
           }});                                                        \
  static void Fuzz_##name(const std::string& text)

#endif  // TESTS_FUZZ_FUZZ_TARGET_H_
