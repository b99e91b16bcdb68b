#include "client/connection/connector.h"

#include <sys/un.h>

#include <filesystem>
#include <optional>

#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "client/files/user_files.h"
#include "config/identity/plain_messages.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace clusterd {
namespace {

constexpr size_t kMaxSettingsBytes = 64 << 10;

constexpr ConnectionSetting kSettings[] = {
    {"controller", "CLUSTERD_CONTROLLER", "HOST:PORT", false, nullptr},
    {"cluster", "CLUSTERD_CLUSTER", "NAME", false, ""},
    {"ca", "CLUSTERD_CA", "FILE", true, "ca.crt"},
    {"cert", "CLUSTERD_CERT", "FILE", true, "user.crt"},
    {"key", "CLUSTERD_KEY", "FILE", true, "user.key"}};

// The form of HOST:PORT: letters, digits, "." and "-" or an IPv6 address in
// brackets, then a port. Refuses gRPC's other forms (unix:, dns://).
bool IsHostAndPort(absl::string_view text) {
  static const LazyRE2 kForm = {
      R"((?:\[[[:xdigit:]:.]+\]|[[:alnum:]._-]+):(\d+))"};
  uint32_t port = 0;
  return HasForm(text, *kForm, &port) && port >= 1 && port <= 65535;
}

using SettingValues = std::map<std::string, std::string>;  // By key.

// Adds the settings of the file that `values` lacks.
absl::Status ReadSettings(const std::string& file, SettingValues& values) {
  const absl::StatusOr<std::string> text =
      ReadTextFile(file, kMaxSettingsBytes);
  if (absl::IsNotFound(text.status())) return absl::OkStatus();
  if (!text.ok()) return text.status();
  const auto keys = Each<absl::string_view>(kSettings, &ConnectionSetting::key);
  const std::filesystem::path folder =
      std::filesystem::path(file).parent_path();
  return ReadYaml(
      file, *text, YamlLimits(), [&](const YamlNode& tree, Mistakes* found) {
        const YamlMap map(&tree, "", keys, found);
        for (const ConnectionSetting& setting : kSettings) {
          const std::optional<std::string> value = map[setting.key].Text();
          if (!value.has_value()) continue;
          values.emplace(setting.key,
                         setting.is_path ? (folder / *value).string() : *value);
        }
      });
}

// Sets the certificate or key beside the first settings file that has one.
void AddUsualFile(const ConnectionSetting& setting,
                  const std::vector<std::string>& files,
                  SettingValues& values) {
  for (const std::string& file : files) {
    const auto usual =
        std::filesystem::path(file).replace_filename(setting.usual);
    std::error_code unreadable;
    if (std::filesystem::exists(usual, unreadable)) {
      values.emplace(setting.key, usual.string());
    }
  }
}

// A report of 10,000 hosts with findings on each is some 20 MB.
constexpr int kMaxMessageBytes = 256 << 20;
// Detects within a minute that a controller's machine is down, also in an apply
// that takes hours. The controller allows a ping every 10 s.
constexpr int kKeepaliveMs = 30'000;
// Clients reconnect soon after a controller is back.
constexpr int kMaxReconnectMs = 10'000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetUserAgentPrefix(absl::StrCat("clusterctl/", kClusterdVersion));
  // The controller is inside the cluster, which an http_proxy of the admin's
  // shell cannot reach. DNS must not configure our calls.
  arguments.SetInt(GRPC_ARG_ENABLE_HTTP_PROXY, 0);
  arguments.SetInt(GRPC_ARG_SERVICE_CONFIG_DISABLE_RESOLUTION, 1);
  return arguments;
}

}  // namespace

absl::Span<const ConnectionSetting> AllConnectionSettings() {
  return kSettings;
}

std::vector<std::string> SettingsFiles(const Environment& environment,
                                       const std::string& root) {
  std::vector<std::string> files;
  const std::string home = ValueOf(environment, "HOME");
  if (absl::StartsWith(home, "/")) {
    files.push_back(absl::StrCat(home, "/.config/clusterd/client.yaml"));
  }
  files.push_back(
      absl::StrCat(absl::StripSuffix(root, "/"), "/etc/clusterd/client.yaml"));
  return files;
}

absl::StatusOr<ConnectionSettings> ResolveConnection(
    const ConnectionFlags& flags, const Environment& environment,
    const std::vector<std::string>& files) {
  SettingValues values;
  for (const ConnectionSetting& setting : kSettings) {
    const std::string flag = ValueOf(flags, setting.key);
    const std::string given =
        flag.empty() ? ValueOf(environment, setting.variable) : flag;
    if (!given.empty()) values[setting.key] = given;
  }
  std::vector<FindingValue> mistakes;
  if (values.size() < std::size(kSettings)) {
    for (const std::string& file : files) {
      const absl::Status read = ReadSettings(file, values);
      if (read.ok()) continue;
      for (FindingValue& line : MessageLines(read)) {
        mistakes.push_back(std::move(line));
      }
    }
  }
  // A missing setting may be in a file that could not be read.
  const bool files_are_read = mistakes.empty();
  FindingValue places = ToFindingValue(files.empty() ? "" : files[0]);
  for (size_t i = 1; i < files.size(); ++i) {
    places = Worded("either", places, files[i]);
  }
  for (const ConnectionSetting& setting : kSettings) {
    const char* const key = setting.key;
    if (setting.is_path) AddUsualFile(setting, files, values);
    const bool is_left_open = setting.usual != nullptr && !setting.is_path;
    if (values.count(key) > 0 || !files_are_read || is_left_open) continue;
    mistakes.push_back(Worded("msg-call-setting-missing", key,
                              setting.placeholder, setting.variable, places,
                              setting.is_path
                                  ? Worded("or-beside-it", setting.usual)
                                  : FindingValue()));
  }
  const std::string& controller = values["controller"];
  if (!controller.empty() && !IsHostAndPort(controller)) {
    mistakes.push_back(Worded("msg-call-address-not-valid", controller));
  }
  if (!mistakes.empty()) {
    const bool names_none = files_are_read && controller.empty();
    return WithWords(
        names_none ? absl::NotFoundError("") : absl::InvalidArgumentError(""),
        Lines(mistakes));
  }
  ConnectionSettings settings{controller,
                              values["cluster"],
                              {values["ca"], values["cert"], values["key"]}};
  if (!settings.cluster.empty()) return settings;
  const absl::StatusOr<SpiffeId> self =
      ReadOwnIdentity(settings.tls, "", IdentityKind::kUser);
  if (!self.ok()) {
    return WithWords(absl::InvalidArgumentError(""),
                     MessageWords(self.status()));
  }
  settings.cluster = self->cluster;
  return settings;
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> GrpcConnector::ToController(
    const ConnectionSettings& settings) {
  ASSIGN_OR_RETURN(const auto credentials,
                   MakeChannelCredentials(settings.tls, settings.cluster));
  grpc::ChannelArguments arguments = Arguments();
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  arguments.SetInt(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, kMaxReconnectMs);
  return OpenChannel(absl::StrCat("dns:///", settings.controller), credentials,
                     arguments);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> GrpcConnector::ToLocalDaemon(
    const std::string& socket_path) {
  if (socket_path.empty() ||
      socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
    return InvalidWords("msg-call-socket-not-valid", socket_path,
                        sizeof(sockaddr_un::sun_path) - 1);
  }
  // gRPC allows local credentials only within the machine.
  return OpenChannel(absl::StrCat("unix:", socket_path),
                     grpc::experimental::LocalCredentials(UDS), Arguments());
}

}  // namespace clusterd
