#include "client/print/count_text.h"

#include "absl/strings/str_cat.h"

namespace clusterd {

std::string CountOf(size_t count, const char* one, const char* many) {
  return absl::StrCat(count, " ", count == 1 ? one : many);
}

}  // namespace clusterd
