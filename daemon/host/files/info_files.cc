#include "daemon/host/files/info_files.h"

#include <optional>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr absl::string_view kDefaultInstallPath = "/usr/local/Ascend";
constexpr size_t kMaxPathBytes = 1024;
constexpr size_t kMaxValueBytes = 256;

std::optional<absl::string_view> FindValue(absl::string_view text,
                                           absl::string_view key) {
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    line = absl::StripAsciiWhitespace(line);
    if (absl::ConsumePrefix(&line, key) && absl::ConsumePrefix(&line, "=")) {
      return line;
    }
  }
  return {};
}

bool IsSafePath(absl::string_view path) {
  const std::vector<absl::string_view> parts = absl::StrSplit(path, '/');
  return absl::StartsWith(path, "/") && path.size() <= kMaxPathBytes &&
         !absl::c_linear_search(parts, "..") &&
         absl::c_none_of(path, absl::ascii_iscntrl);
}

}  // namespace

absl::string_view WithoutQuotes(absl::string_view value) {
  for (const char quote : {'"', '\''}) {
    if (value.size() >= 2 && value.front() == quote && value.back() == quote) {
      return value.substr(1, value.size() - 2);
    }
  }
  return value;
}

absl::StatusOr<std::string> ParseInstallPath(absl::string_view text) {
  constexpr absl::string_view kKey = "Driver_Install_Path_Param";
  absl::string_view path = FindValue(text, kKey).value_or(kDefaultInstallPath);
  if (!IsSafePath(path)) {
    return InvalidArgument("ascend_install.info: ", kKey, " is ",
                           QuotedText(path), ", expected an absolute path");
  }
  while (path.size() > 1 && absl::ConsumeSuffix(&path, "/")) {
  }
  return std::string(path);
}

absl::StatusOr<std::string> ReadInstallPath(const FileReader& files) {
  return ParseInstallPath(
      files.Read("/etc/ascend_install.info").value_or(FileText()).text);
}

absl::StatusOr<std::string> ParseInfoValue(absl::string_view text,
                                           absl::string_view key) {
  const absl::string_view value =
      WithoutQuotes(FindValue(text, key).value_or(""));
  if (!value.empty()) return PrintableText(value, kMaxValueBytes);
  return InvalidArgument("no ", key, "= line in ", QuotedText(text));
}

}  // namespace clusterd
