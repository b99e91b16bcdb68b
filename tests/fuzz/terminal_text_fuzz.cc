// No text, however hostile, leaves the sanitiser with a byte that a terminal
// obeys.
#include "config/words/quoted_text.h"
#include "config/words/terminal.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

void RequireNoControls(absl::string_view text, bool newlines) {
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    Require(byte >= 0x20 || newlines);
    Require(byte != 0x7f);
    // C1 controls as UTF-8: 0xc2 0x80 to 0xc2 0x9f.
    const bool c1 = byte == 0xc2 && i + 1 < text.size() &&
                    static_cast<uint8_t>(text[i + 1]) < 0xa0;
    Require(!c1);
  }
}

FUZZ_BYTES(terminal_text, 1, "tests/testdata/client/hostile/*") {
  for (const bool utf8 : {false, true}) {
    const std::string safe = SafeText(bytes, utf8);
    RequireNoControls(safe, /*newlines=*/false);
    Require(SafeText(safe, utf8) == safe);
    const std::string cut = CutText(safe, 20, utf8);
    Require(TextColumns(cut) <= 20);
    for (const std::string& line : WrapText(safe, 30)) {
      // A command in backquotes is never broken.
      Require(line.find(' ') == std::string::npos ||
              line.find('`') != line.rfind('`') || TextColumns(line) <= 30 ||
              line.front() == ' ');
    }
  }
  RequireNoControls(PrintableText(bytes, bytes.size()), /*newlines=*/false);
  RequireNoControls(ShellQuoted(bytes), /*newlines=*/false);
  RequireNoControls(SafeJson(bytes), /*newlines=*/true);
}

}  // namespace
}  // namespace clusterd
