#include "daemon/agent/agent_config.h"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"
#include "config/spec/yaml_values.h"

namespace clusterd {
namespace {

constexpr size_t kMaxBytes = 1 << 16;

std::string AbsolutePath(const YamlMap& map, absl::string_view key,
                         Mistakes* mistakes) {
  const std::string path = map.Text(key).value_or("");
  if (!path.empty() && path[0] != '/') {
    mistakes->Add(map.PositionOf(key),
                  absl::StrCat(map.Subject(key), ": ", QuoteValue(path),
                               " is no absolute path"));
  }
  return path;
}

}  // namespace

absl::StatusOr<AgentConfig> ParseAgentConfig(absl::string_view file_name,
                                             absl::string_view text) {
  Mistakes mistakes(file_name);
  YamlLimits limits;
  limits.max_bytes = kMaxBytes;
  const std::optional<YamlNode> root = ParseYaml(text, limits, &mistakes);
  if (!root.has_value()) return mistakes.ToStatus();
  const YamlMap map(&*root, "",
                    {"controller", "cluster", "ca", "cert", "key", "socket"},
                    &mistakes);
  AgentConfig config;
  config.controller = map.Text("controller").value_or("");
  config.cluster = map.Text("cluster").value_or("");
  config.ca = AbsolutePath(map, "ca", &mistakes);
  config.certificate = AbsolutePath(map, "cert", &mistakes);
  config.key = AbsolutePath(map, "key", &mistakes);
  config.socket = AbsolutePath(map, "socket", &mistakes);
  if (!mistakes.empty()) return mistakes.ToStatus();
  return config;
}

absl::StatusOr<AgentConfig> ReadAgentConfig(const std::string& path) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string text((std::istreambuf_iterator<char>(file)),
                   std::istreambuf_iterator<char>());
  if (!file) {
    const int error = errno;
    const std::string message = absl::StrCat(
        path, ": ", error == 0 ? "cannot be read" : std::strerror(error));
    if (error == ENOENT || error == ENOTDIR) {
      return absl::NotFoundError(message);
    }
    return absl::PermissionDeniedError(message);
  }
  return ParseAgentConfig(path, text);
}

}  // namespace clusterd
