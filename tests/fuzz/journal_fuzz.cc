// A good prefix does not depend on the bytes after it.
#include "daemon/agent/apply/journal.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_BYTES(journal, 1, "tests/testdata/agent/*.journal") {
  const auto text = ParseJournal(bytes);
  if (!text.ok()) return;
  Require(text->good_bytes <= bytes.size());
  const auto again = ParseJournal(bytes.substr(0, text->good_bytes));
  Require(again.ok() && again->entries.size() == text->entries.size());
  (void)SummariseJournal(text->entries);
}

}  // namespace
}  // namespace clusterd
