// Structured fuzzing of messages: an input is a message in the text form of
// Protobuf, so that a corpus is readable, and a mutation changes its fields,
// not its bytes. A target registers itself (fuzz_target.h):
//   FUZZ_MESSAGE(hub_tasks, 2, HubInput, "tests/testdata/messages/hub-*") { … }
// Its `input` is the message, serialised and parsed as by a network.
#ifndef TESTS_FUZZ_MESSAGES_MESSAGE_INPUT_H_
#define TESTS_FUZZ_MESSAGES_MESSAGE_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <random>

#include "absl/strings/string_view.h"
#include "google/protobuf/message.h"
#include "tests/fuzz/fuzz_target.h"

namespace clusterd {

// False: no such message, or one that no peer could send.
bool ReadInput(absl::string_view text, google::protobuf::Message* message);

// One to eight changes of fields, at any depth.
void MutateMessage(google::protobuf::Message* message, std::mt19937& random);

// Like LLVMFuzzerCustomMutator; `message` is an empty one of the type.
size_t MutateInput(uint8_t* data, size_t size, size_t max_size, unsigned seed,
                   google::protobuf::Message* message);

}  // namespace clusterd

// A target whose input is the message `input`.
#define FUZZ_MESSAGE(name, effort, Type, ...)                               \
  static void Fuzz_##name(const Type& input);                               \
  [[maybe_unused]] static const bool is_registered_##name =                 \
      RegisterFuzzTarget(                                                   \
          {#name,                                                           \
           effort,                                                          \
           {__VA_ARGS__},                                                   \
           [](absl::string_view text) {                                     \
             Type input;                                                    \
             if (ReadInput(text, &input)) Fuzz_##name(input);               \
           },                                                               \
           [](uint8_t* data, size_t size, size_t max_size, unsigned seed) { \
             Type input;                                                    \
             return MutateInput(data, size, max_size, seed, &input);        \
           }});                                                             \
  static void Fuzz_##name(const Type& input)

#endif  // TESTS_FUZZ_MESSAGES_MESSAGE_INPUT_H_
