#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "daemon/agent/apply/journal.h"

// A good prefix does not depend on the bytes after it.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view bytes(reinterpret_cast<const char*>(data), size);
  const auto text = clusterd::ParseJournal(bytes);
  if (!text.ok()) return 0;
  if (text->good_bytes > size) std::abort();
  const auto again = clusterd::ParseJournal(bytes.substr(0, text->good_bytes));
  if (!again.ok() || again->entries.size() != text->entries.size()) {
    std::abort();
  }
  (void)clusterd::SummariseJournal(text->entries);
  return 0;
}
