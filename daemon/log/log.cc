#include "daemon/log/log.h"

#include <unistd.h>

#include <cerrno>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace clusterd {

std::string FormatLogLine(LogLevel level, bool with_level,
                          absl::string_view text) {
  std::string line;
  if (with_level) absl::StrAppend(&line, "<", static_cast<int>(level), ">");
  for (const char c : text) {
    if (line.size() + 8 > kMaxLogLineBytes) {
      line += "...";
      break;
    }
    const unsigned char byte = static_cast<unsigned char>(c);
    if (absl::ascii_iscntrl(byte)) {
      absl::StrAppend(&line, "\\x", absl::Hex(byte, absl::kZeroPad2));
    } else {
      line += c;
    }
  }
  line += '\n';
  return line;
}

void DescriptorLog::Write(LogLevel level, absl::string_view text) {
  const std::string line = FormatLogLine(level, with_level_, text);
  ssize_t written;
  do {
    written = write(fd_, line.data(), line.size());
  } while (written < 0 && errno == EINTR);
}

}  // namespace clusterd
