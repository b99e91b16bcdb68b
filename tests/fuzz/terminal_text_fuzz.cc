// No text, however hostile, leaves the sanitiser with a byte that a terminal
// obeys.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "absl/strings/string_view.h"
#include "config/words/quoted_text.h"
#include "config/words/terminal.h"

namespace {

void Require(bool condition) {
  if (!condition) std::abort();
}

void RequirePrintable(absl::string_view text, bool newlines) {
  for (size_t i = 0; i < text.size(); ++i) {
    const uint8_t byte = static_cast<uint8_t>(text[i]);
    Require(byte >= 0x20 || (newlines && byte < 0x20));
    Require(byte != 0x7f);
    // C1 controls as UTF-8: 0xc2 0x80 to 0xc2 0x9f.
    const bool c1 = byte == 0xc2 && i + 1 < text.size() &&
                    static_cast<uint8_t>(text[i + 1]) < 0xa0;
    Require(!c1);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const absl::string_view text(reinterpret_cast<const char*>(data), size);
  for (const bool utf8 : {false, true}) {
    const std::string safe = clusterd::SafeText(text, utf8);
    RequirePrintable(safe, /*newlines=*/false);
    Require(clusterd::SafeText(safe, utf8) == safe);
    const std::string cut = clusterd::CutText(safe, 20, utf8);
    Require(clusterd::TextColumns(cut) <= 20);
    for (const std::string& line : clusterd::WrapText(safe, 30)) {
      // A command in backquotes is never broken.
      Require(line.find(' ') == std::string::npos ||
              line.find('`') != line.rfind('`') ||
              clusterd::TextColumns(line) <= 30 || line.front() == ' ');
    }
  }
  RequirePrintable(clusterd::PrintableText(text, size), /*newlines=*/false);
  RequirePrintable(clusterd::ShellQuoted(text), /*newlines=*/false);
  RequirePrintable(clusterd::SafeJson(text), /*newlines=*/true);
  return 0;
}
