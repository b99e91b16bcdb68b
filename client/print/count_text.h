// Numbers with their noun: "1 step", "3 steps".
#ifndef CLIENT_PRINT_COUNT_TEXT_H_
#define CLIENT_PRINT_COUNT_TEXT_H_

#include <cstddef>
#include <string>

namespace clusterd {

std::string CountOf(size_t count, const char* one, const char* many);

}  // namespace clusterd

#endif  // CLIENT_PRINT_COUNT_TEXT_H_
