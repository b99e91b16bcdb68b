// Structured fuzzing of messages: an input is a message in the text form of
// Protobuf, so that a corpus is readable, and a mutation changes its fields,
// not its bytes. A target defines its fuzzer's two functions with
//   CLUSTERD_FUZZ_MESSAGE(HostInput) { …; return 0; }
// in which `input` is the message, serialised and parsed as by a network.
#ifndef TESTS_FUZZ_MESSAGES_MESSAGE_INPUT_H_
#define TESTS_FUZZ_MESSAGES_MESSAGE_INPUT_H_

#include <cstddef>
#include <cstdint>
#include <random>

#include "google/protobuf/message.h"

namespace clusterd {

// False: no such message, or one that no peer could send.
bool ReadInput(const uint8_t* data, size_t size,
               google::protobuf::Message* message);

// One to eight changes of fields, at any depth.
void MutateMessage(google::protobuf::Message* message, std::mt19937& random);

// Like LLVMFuzzerCustomMutator; `message` is an empty one of the type.
size_t MutateInput(uint8_t* data, size_t size, size_t max_size, unsigned seed,
                   google::protobuf::Message* message);

}  // namespace clusterd

#define CLUSTERD_FUZZ_MESSAGE(Type)                                           \
  static int FuzzOne(const clusterd::Type& input);                            \
  extern "C" size_t LLVMFuzzerCustomMutator(uint8_t* data, size_t size,       \
                                            size_t max_size, unsigned seed) { \
    clusterd::Type message;                                                   \
    return clusterd::MutateInput(data, size, max_size, seed, &message);       \
  }                                                                           \
  extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {   \
    clusterd::Type message;                                                   \
    return clusterd::ReadInput(data, size, &message) ? FuzzOne(message) : 0;  \
  }                                                                           \
  static int FuzzOne(const clusterd::Type& input)

#endif  // TESTS_FUZZ_MESSAGES_MESSAGE_INPUT_H_
