#include "daemon/agent/machine_ids.h"

#include <fstream>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

// Both are one short line; what is longer is something else.
std::string ReadId(const std::string& path) {
  char buffer[128] = {};
  std::ifstream(path).read(buffer, sizeof(buffer) - 1);
  std::string id(absl::StripAsciiWhitespace(buffer));
  for (const char c : id) {
    if (!absl::ascii_isalnum(static_cast<unsigned char>(c)) && c != '-') {
      return "";
    }
  }
  return id;
}

}  // namespace

MachineIds ReadMachineIds(const std::string& root) {
  return MachineIds{
      ReadId(absl::StrCat(root, "/etc/machine-id")),
      ReadId(absl::StrCat(root, "/proc/sys/kernel/random/boot_id"))};
}

}  // namespace clusterd
