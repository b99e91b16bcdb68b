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
// An observation takes seconds; more often would keep the devices busy.
constexpr absl::Duration kLeastDriftInterval = absl::Seconds(10);
constexpr absl::Duration kMostDriftInterval = absl::Hours(24);

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

std::optional<absl::Duration> DriftInterval(const YamlMap& map,
                                            Mistakes* mistakes) {
  const YamlNode* const node = map.Find("drift_interval");
  if (node == nullptr) return std::nullopt;
  if (node->kind == YamlNode::Kind::kText && node->text == "0") {
    return absl::ZeroDuration();
  }
  return ReadDuration(*node, "drift_interval (where it is not 0)",
                      kLeastDriftInterval, kMostDriftInterval, mistakes);
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
                    {"controller", "cluster", "ca", "cert", "key", "socket",
                     "state", "drift_interval", "allow"},
                    &mistakes);
  AgentConfig config;
  config.controller = map.Text("controller").value_or("");
  config.cluster = map.Text("cluster").value_or("");
  config.ca = AbsolutePath(map, "ca", &mistakes);
  config.certificate = AbsolutePath(map, "cert", &mistakes);
  config.key = AbsolutePath(map, "key", &mistakes);
  config.socket = AbsolutePath(map, "socket", &mistakes);
  config.state = AbsolutePath(map, "state", &mistakes);
  config.drift_interval = DriftInterval(map, &mistakes);
  config.veto = Veto::Read(map, &mistakes);
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
