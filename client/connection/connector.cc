#include "client/connection/connector.h"

#include <sys/un.h>

#include <filesystem>
#include <map>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "client/files/user_files.h"
#include "config/identity/tls_credentials.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"
#include "config/spec/yaml_values.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "grpcpp/create_channel.h"
#include "grpcpp/security/credentials.h"
#include "grpcpp/support/channel_arguments.h"

namespace clusterd {
namespace {

constexpr size_t kMaxSettingsBytes = 64 << 10;

const ConnectionSetting kSettings[] = {
    {"controller", "CLUSTERD_CONTROLLER", "HOST:PORT", false,
     "Where the controller listens", &ConnectionFlags::controller,
     [](ConnectionSettings& s) -> std::string& { return s.controller; }},
    {"cluster", "CLUSTERD_CLUSTER", "NAME", false, "Name of the cluster",
     &ConnectionFlags::cluster,
     [](ConnectionSettings& s) -> std::string& { return s.cluster; }},
    {"ca", "CLUSTERD_CA", "FILE", true, "The cluster's CA certificate",
     &ConnectionFlags::ca,
     [](ConnectionSettings& s) -> std::string& { return s.tls.ca; }},
    {"cert", "CLUSTERD_CERT", "FILE", true, "Your certificate",
     &ConnectionFlags::cert,
     [](ConnectionSettings& s) -> std::string& { return s.tls.certificate; }},
    {"key", "CLUSTERD_KEY", "FILE", true, "Its private key",
     &ConnectionFlags::key,
     [](ConnectionSettings& s) -> std::string& { return s.tls.key; }},
};

// Letters, digits, "." and "-" or an IPv6 address in brackets, then a port: a
// name that gRPC would take for something else (unix:, dns://) is refused.
bool IsHostAndPort(absl::string_view text) {
  const size_t colon = text.rfind(':');
  if (colon == absl::string_view::npos || colon == 0) return false;
  const absl::string_view port_text = text.substr(colon + 1);
  uint32_t port = 0;
  if (port_text.empty() || !absl::ascii_isdigit(port_text[0]) ||
      !absl::SimpleAtoi(port_text, &port) || port == 0 || port > 65535) {
    return false;
  }
  absl::string_view host = text.substr(0, colon);
  const bool brackets =
      absl::StartsWith(host, "[") && absl::EndsWith(host, "]");
  if (brackets) host = host.substr(1, host.size() - 2);
  for (const char c : host) {
    const bool plain =
        absl::ascii_isalnum(c) || c == '.' || c == '-' || c == '_';
    const bool ipv6 = absl::ascii_isxdigit(c) || c == ':' || c == '.';
    if (brackets ? !ipv6 : !plain) return false;
  }
  return !host.empty();
}

// Looks settings up in one place after the other.
class SettingsReader {
 public:
  SettingsReader(const Environment& environment,
                 const std::vector<std::string>& files)
      : environment_(environment), files_(files) {}

  absl::StatusOr<ConnectionSettings> Read(const ConnectionFlags& flags) {
    ConnectionSettings settings;
    for (const ConnectionSetting& setting : kSettings) {
      setting.value(settings) = Get(setting, flags.*setting.flag);
    }
    if (!settings.controller.empty() && !IsHostAndPort(settings.controller)) {
      mistakes_.push_back(
          absl::StrCat("controller: \"", settings.controller,
                       "\" is no address, expected HOST:PORT such as "
                       "head:7443 or [fd00::1]:7443"));
    }
    if (mistakes_.empty()) return settings;
    return absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n"));
  }

 private:
  std::string Get(const ConnectionSetting& setting,
                  const std::optional<std::string>& flag) {
    if (flag.has_value()) {
      if (flag->empty()) {
        mistakes_.push_back(absl::StrCat(
            "--", setting.key, ": is empty, expected ", setting.placeholder));
      }
      return *flag;
    }
    const std::string variable = ValueOf(environment_, setting.variable);
    if (!variable.empty()) return variable;
    ReadFiles();
    const auto found = from_files_.find(setting.key);
    if (found != from_files_.end()) return found->second;
    if (files_wrong_) return "";  // It may stand in what could not be read.
    mistakes_.push_back(absl::StrCat(
        "no setting \"", setting.key, "\", expected one of --", setting.key,
        " ", setting.placeholder, ", ", setting.variable,
        " in the environment, or \"", setting.key, ": ", setting.placeholder,
        "\" in ", absl::StrJoin(files_, " or ")));
    return "";
  }

  // Once, and only when a setting is not given elsewhere.
  void ReadFiles() {
    if (files_read_) return;
    files_read_ = true;
    for (const std::string& file : files_) {
      const absl::StatusOr<std::string> text =
          ReadTextFile(file, kMaxSettingsBytes);
      if (absl::IsNotFound(text.status())) continue;
      if (!text.ok()) {
        files_wrong_ = true;
        mistakes_.emplace_back(text.status().message());
      } else {
        ReadFile(file, *text);
      }
    }
  }

  void ReadFile(const std::string& file, const std::string& text) {
    Mistakes mistakes(file);
    const std::optional<YamlNode> root =
        ParseYaml(text, YamlLimits(), &mistakes);
    if (root.has_value()) {
      const std::filesystem::path folder =
          std::filesystem::path(file).parent_path();
      std::vector<absl::string_view> keys;
      for (const ConnectionSetting& setting : kSettings)
        keys.push_back(setting.key);
      const YamlMap map(&*root, "", keys, &mistakes);
      for (const ConnectionSetting& setting : kSettings) {
        const std::optional<std::string> value = map[setting.key].Text();
        if (!value.has_value()) continue;
        // A file read earlier wins.
        from_files_.emplace(
            setting.key, setting.is_path ? (folder / *value).string() : *value);
      }
    }
    if (mistakes.empty()) return;
    files_wrong_ = true;
    mistakes_.emplace_back(mistakes.ToStatus().message());
  }

  const Environment& environment_;
  const std::vector<std::string>& files_;
  bool files_read_ = false;
  bool files_wrong_ = false;
  std::map<std::string, std::string> from_files_;
  std::vector<std::string> mistakes_;
};

// A report of 10,000 hosts with findings on each is some 20 MB.
constexpr int kMaxMessageBytes = 256 << 20;
// Shows within a minute that a controller's machine is gone, also in an apply
// that takes hours. The controller allows a ping every 10 s.
constexpr int kKeepaliveMs = 30'000;

grpc::ChannelArguments Arguments() {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(kMaxMessageBytes);
  arguments.SetUserAgentPrefix(absl::StrCat("clusterctl/", kClusterdVersion));
  // The controller is inside the cluster, where a http_proxy of the admin's
  // shell does not lead; nor may DNS say how we call it.
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
  return SettingsReader(environment, files).Read(flags);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> GrpcConnector::ToController(
    const ConnectionSettings& settings) {
  ASSIGN_OR_RETURN(const auto credentials,
                   MakeChannelCredentials(settings.tls, settings.cluster));
  grpc::ChannelArguments arguments = Arguments();
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIME_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_KEEPALIVE_TIMEOUT_MS, kKeepaliveMs);
  arguments.SetInt(GRPC_ARG_HTTP2_MAX_PINGS_WITHOUT_DATA, 0);
  return grpc::CreateCustomChannel(absl::StrCat("dns:///", settings.controller),
                                   credentials, arguments);
}

absl::StatusOr<std::shared_ptr<grpc::Channel>> GrpcConnector::ToLocalDaemon(
    const std::string& socket_path) {
  if (socket_path.empty() ||
      socket_path.size() >= sizeof(sockaddr_un::sun_path)) {
    return absl::InvalidArgumentError(
        absl::StrCat("socket \"", socket_path, "\": expected a path of 1 to ",
                     sizeof(sockaddr_un::sun_path) - 1, " bytes"));
  }
  // Local credentials are refused on anything that leaves the machine.
  return grpc::CreateCustomChannel(absl::StrCat("unix:", socket_path),
                                   grpc::experimental::LocalCredentials(UDS),
                                   Arguments());
}

}  // namespace clusterd
