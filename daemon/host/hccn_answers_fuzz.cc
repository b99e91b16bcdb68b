// No input crashes a parser of one-line answers, and each parser that accepts a
// text is the only one that does.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/hccn_answers.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const int accepted = clusterd::ParseHccnGateway(text).ok() +
                       clusterd::ParseHccnNetdetect(text).ok() +
                       clusterd::ParseHccnNetHealth(text).ok() +
                       clusterd::ParseHccnLink(text).ok() +
                       clusterd::ParseHccnMtu(text).ok() +
                       clusterd::ParseHccnTls(text, 0).ok();
  if (accepted > 1) std::abort();
  return 0;
}
