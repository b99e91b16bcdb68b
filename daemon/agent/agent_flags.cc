#include "daemon/agent/agent_flags.h"

#include <unistd.h>

#include <iostream>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "config/identity/regular_file.h"
#include "config/spec/mistakes.h"
#include "config/spec/yaml_document.h"
#include "config/spec/yaml_keys.inc"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr int kWrongUsage = 3;

constexpr char kDefaultConfig[] = "/etc/clusterd/agent.yaml";

constexpr size_t kMaxReportedBytes = 512;
constexpr size_t kMaxConfigBytes = 1 << 16;
// An observation takes seconds; a shorter interval would keep devices busy.
constexpr absl::Duration kLeastDriftInterval = absl::Seconds(10);
constexpr absl::Duration kMostDriftInterval = absl::Hours(24);

// A text setting. Its row names its key and default.
struct TextSetting {
  const char* key;  // "--" in front: the flag.
  std::string* (*of)(AgentSettings*);
  bool is_path;  // Absolute in the file.
  const char* help;
  // "": taken from the certificate. Null: a daemon requires it.
  const char* fallback = nullptr;
  bool below_root = false;  // `fallback` is below the root.
};

using Settings = AgentSettings;
constexpr TextSetting kTextSettings[] = {
    {"controller", [](Settings* s) { return &s->controller; }, false,
     "HOST:PORT of the controller"},
    {"cluster", [](Settings* s) { return &s->cluster; }, false,
     "The cluster's name; by default that of the\ncertificate", ""},
    {"ca", [](Settings* s) { return &s->tls.ca; }, true,
     "PEM certificates that sign others\n", "/etc/clusterd/ca.crt", true},
    {"cert", [](Settings* s) { return &s->tls.certificate; }, true,
     "PEM certificate of spiffe://CLUSTER/host/NAME\n",
     "/etc/clusterd/host.crt", true},
    {"key", [](Settings* s) { return &s->tls.key; }, true,
     "PEM private key of --cert\n", "/etc/clusterd/host.key", true},
    {"socket", [](Settings* s) { return &s->socket; }, true,
     "Where to answer on this host\n", "/run/clusterd/agent.sock"},
    {"state", [](Settings* s) { return &s->state; }, true,
     "Folder below --root for the journals of\napplies ", kDefaultState},
};

constexpr char kFooter[] =
    R"(`clusterd join --help` says how this host gets its certificate.

Without --once and --record it needs --controller, on the command line or in
the file of --config. Default paths are below --root.

Exit status: 0 after SIGTERM or SIGINT, 1 if it could not start or continue, 3
for wrong usage or a mistake in the file.
With --once: 0 pass, or warnings only; 1 a failure; 2 no complete verdict;
3 wrong usage, certificate or cluster.yaml.
With --record: 0, or 1 if nothing could be written.)";

std::string BelowRoot(const AgentFlags& flags, absl::string_view path) {
  return absl::StrCat(absl::StripSuffix(flags.root, "/"), path);
}

// CLI11 does not wrap; lines are broken here to fit 80 columns.
void AddOptions(CLI::App* app, AgentFlags* flags) {
  app->add_option(
      "--config", flags->config,
      absl::StrCat("YAML file with controller, cluster, ca, cert, key,\n"
                   "socket, state, drift_interval, metrics_file,\n"
                   "hooks, and allow: what may be changed on this\n"
                   "host (default: nothing)\n[",
                   kDefaultConfig, ", if it is there]"));
  for (const TextSetting& setting : kTextSettings) {
    app->add_option(
        absl::StrCat("--", setting.key), *setting.of(flags),
        setting.fallback == nullptr || *setting.fallback == '\0'
            ? setting.help
            : absl::StrCat(setting.help, "[", setting.fallback, "]"));
  }
  app->add_option("--root", flags->root, "Where this machine's files begin")
      ->capture_default_str();
  CLI::Option* const once = app->add_flag(
      "--once", flags->once, "Print this host's facts and findings, and end");
  app->add_option("--format", flags->format, "Format of --once: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->needs(once)
      ->capture_default_str();
  app->add_option("--spec", flags->spec,
                  "cluster.yaml of this host, for --once")
      ->needs(once);
  app->add_flag("--record", flags->record,
                "Write the runs of one observation into a pipe to\n"
                "clusterctl anonymise, and end")
      ->excludes(once);
  app->set_version_flag("--version",
                        absl::StrCat("clusterd ", kClusterdVersion));
}

// Sets from the file what the command line does not set.
absl::Status AddFile(AgentFlags* flags) {
  if (flags->config.empty() && !flags->record) {
    const std::string usual = BelowRoot(*flags, kDefaultConfig);
    // An unreadable file counts too; its reader reports the error.
    if (access(usual.c_str(), F_OK) == 0) flags->config = usual;
  }
  if (flags->config.empty()) return absl::OkStatus();
  ASSIGN_OR_RETURN(AgentConfig config, ReadAgentConfig(flags->config));
  for (const TextSetting& setting : kTextSettings) {
    std::string* const value = setting.of(flags);
    if (value->empty()) *value = *setting.of(&config);
  }
  flags->drift_interval = config.drift_interval;
  flags->metrics_file = config.metrics_file;
  return absl::OkStatus();
}

void AddDefaults(AgentFlags* flags) {
  AgentFlags usual = *flags;
  for (const TextSetting& setting : kTextSettings) {
    std::string* const value = setting.of(&usual);
    if (!value->empty() || setting.fallback == nullptr) continue;
    *value = setting.below_root ? BelowRoot(*flags, setting.fallback)
                                : setting.fallback;
  }
  // Without a controller it needs no certificate, but uses the machine's name.
  const bool alone = flags->once || flags->record;
  if (alone && access(usual.tls.certificate.c_str(), R_OK) != 0) return;
  *flags = usual;
}

absl::Status CheckComplete(AgentFlags* flags) {
  if (flags->once || flags->record) return absl::OkStatus();
  if (flags->state[0] != '/') {
    return InvalidArgument("--state: \"", flags->state,
                           "\" is not an absolute path");
  }
  std::vector<std::string> absent;
  for (const TextSetting& setting : kTextSettings) {
    if (setting.fallback == nullptr && setting.of(flags)->empty()) {
      absent.push_back(absl::StrCat("--", setting.key));
    }
  }
  if (absent.empty()) return absl::OkStatus();
  return InvalidArgument("not set: ", absl::StrJoin(absent, ", "),
                         "; expected on the command line or in the file of "
                         "--config");
}

AgentConfig ReadConfig(const YamlNode& tree, Mistakes* mistakes) {
  const YamlMap map(&tree, "", kAgentKeys, mistakes);
  AgentConfig config;
  for (const TextSetting& setting : kTextSettings) {
    const YamlValue value = map[setting.key];
    const std::string read = value.Text().value_or("");
    if (setting.is_path && !read.empty() && read[0] != '/') {
      value.Wrong("msg-spec-not-absolute", QuoteValue(read));
    }
    *setting.of(&config) = read;
  }
  const YamlValue interval = map["drift_interval"];
  config.drift_interval =
      interval.Is(YamlNode::Kind::kText) && interval.node()->text == "0"
          ? absl::ZeroDuration()
          : YamlValue(interval.node(),
                      Worded("spec-where-not", "drift_interval", 0),
                      interval.mistakes())
                .Duration(kLeastDriftInterval, kMostDriftInterval);
  const YamlValue metrics = map["metrics_file"];
  const std::string path = config.metrics_file = metrics.Text().value_or("");
  // node_exporter reads only names like this.
  if (!path.empty() && (path[0] != '/' || !absl::EndsWith(path, ".prom") ||
                        absl::StrContains(path, "/../"))) {
    metrics.Wrong("msg-spec-metrics-file", QuoteValue(path));
  }
  config.allows = ReadAllows(map, mistakes);
  config.hooks = ReadHookSettings(map["hooks"]);
  return config;
}

}  // namespace

std::optional<int> ParseAgentFlags(int argc, const char* const* argv,
                                   AgentFlags* flags) {
  flags->root = "/";
  flags->format = "text";
  CLI::App app("Keeps this host attached to its cluster's controller.",
               "clusterd");
  app.footer(kFooter);
  AddOptions(&app, flags);
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    return app.exit(error) == 0 ? 0 : kWrongUsage;
  }
  return std::nullopt;
}

std::optional<int> AddAgentConfig(AgentFlags* flags) {
  absl::Status status = AddFile(flags);
  AddDefaults(flags);
  if (status.ok()) status = CheckComplete(flags);
  if (!status.ok()) {
    std::cerr << status.message() << "\n";
    return kWrongUsage;
  }
  return std::nullopt;
}

absl::StatusOr<AgentConfig> ParseAgentConfig(absl::string_view file_name,
                                             absl::string_view text) {
  YamlLimits limits;
  limits.max_bytes = kMaxConfigBytes;
  AgentConfig config;
  RETURN_IF_ERROR(ReadYaml(file_name, text, limits,
                           [&config](const YamlNode& tree, Mistakes* found) {
                             config = ReadConfig(tree, found);
                           }));
  return config;
}

absl::StatusOr<AgentConfig> ReadAgentConfig(const std::string& path) {
  ASSIGN_OR_RETURN(const std::string text,
                   ReadRegularFile(path, kMaxConfigBytes));
  return ParseAgentConfig(path, text);
}

HostAllows ReadHostAllows(const std::string& config, Log* log) {
  const absl::StatusOr<AgentConfig> file =
      config.empty() ? AgentConfig() : ReadAgentConfig(config);
  HostAllows allows = file.ok() ? file->allows : AllowsOnly({CHANGE_OBSERVE});
  if (!file.ok()) {
    if (log != nullptr) {
      log->Warning("this host is only observed until its file has no mistake: ",
                   file.status().message());
    }
    // Each line is a mistake; the first one is enough.
    const FindingValue mistake =
        PrintableWords(MessageLines(file.status())[0], kMaxReportedBytes);
    allows.set_mistake(PrintableText(EnglishText(mistake), kMaxReportedBytes));
    *allows.mutable_mistake_words() = mistake;
  }
  allows.set_file(PrintableText(config, kMaxReportedBytes));
  return allows;
}

HookSettings ReadHooks(const std::string& config, Log* log) {
  absl::StatusOr<AgentConfig> file =
      config.empty() ? AgentConfig() : ReadAgentConfig(config);
  if (file.ok()) return std::move(file->hooks);
  log->Warning(
      "hooks are answered by the defaults and drain no host until "
      "the file has no mistake: ",
      file.status().message());
  HookSettings defaults;
  defaults.drain = false;  // The file may have had false.
  return defaults;
}

}  // namespace clusterd
