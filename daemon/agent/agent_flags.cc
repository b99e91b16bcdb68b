#include "daemon/agent/agent_flags.h"

#include <iostream>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/version/version.h"
#include "daemon/agent/agent_config.h"

namespace clusterd {
namespace {

constexpr int kWrongUsage = 3;
constexpr char kDefaultSocket[] = "/run/clusterd/agent.sock";
constexpr char kDefaultState[] = "/var/lib/clusterd";

constexpr char kFooter[] =
    R"(Without --once and --record it needs --controller, --cluster, --ca, --cert and
--key, on the command line or in the file of --config.

Exit status: 0 after SIGTERM or SIGINT, 1 if it could not start or go on, 3 for
wrong usage or a mistake in the file.
With --once: 0 pass, or warnings only; 1 a failure; 2 something could not be
told; 3 wrong usage, certificate or spec.
With --record: 0, or 1 if the file could not be written, 2 if hccn_tool was not
run.)";

// CLI11 does not wrap; lines are broken here to fit 80 columns.
void AddOptions(CLI::App* app, AgentFlags* flags) {
  app->add_option("--config", flags->config,
                  "YAML file with controller, cluster, ca, cert, key,\n"
                  "socket, state, drift_interval, and allow: what\n"
                  "this host lets be changed (without: nothing)");
  app->add_option("--controller", flags->controller,
                  "HOST:PORT of the controller");
  app->add_option("--cluster", flags->cluster, "The cluster's name");
  app->add_option("--ca", flags->tls.ca, "PEM certificates that sign others");
  app->add_option("--cert", flags->tls.certificate,
                  "PEM certificate of spiffe://CLUSTER/host/NAME");
  app->add_option("--key", flags->tls.key, "PEM private key of --cert");
  app->add_option(
      "--socket", flags->socket,
      absl::StrCat("Where to answer on this host\n[", kDefaultSocket, "]"));
  app->add_option("--state", flags->state,
                  absl::StrCat("Folder below --root for the journals of\n"
                               "applies [",
                               kDefaultState, "]"));
  app->add_option("--root", flags->root, "Where this machine's files begin")
      ->capture_default_str();
  CLI::Option* const once = app->add_flag(
      "--once", flags->once, "Print this host's facts and findings, and end");
  app->add_option("--format", flags->format, "Of --once: text or json")
      ->check(CLI::IsMember({"text", "json"}))
      ->needs(once)
      ->capture_default_str();
  app->add_option("--spec", flags->spec,
                  "Of --once: cluster.yaml that this host belongs to")
      ->needs(once);
  app->add_option("--record", flags->record,
                  "Write the runs of one observation to this new\n"
                  "file, addresses replaced, and end")
      ->excludes(once);
  app->set_version_flag("--version",
                        absl::StrCat("clusterd ", kClusterdVersion));
}

// Takes from the file what the command line left open.
absl::Status AddFile(AgentFlags* flags) {
  if (flags->config.empty()) return absl::OkStatus();
  const absl::StatusOr<AgentConfig> config = ReadAgentConfig(flags->config);
  if (!config.ok()) return config.status();
  const auto fill = [](const std::string& from, std::string* to) {
    if (to->empty()) *to = from;
  };
  fill(config->controller, &flags->controller);
  fill(config->cluster, &flags->cluster);
  fill(config->ca, &flags->tls.ca);
  fill(config->certificate, &flags->tls.certificate);
  fill(config->key, &flags->tls.key);
  fill(config->socket, &flags->socket);
  fill(config->state, &flags->state);
  if (config->drift_interval) flags->drift_interval = *config->drift_interval;
  return absl::OkStatus();
}

absl::Status CheckComplete(const AgentFlags& flags) {
  if (flags.once || !flags.record.empty()) return absl::OkStatus();
  if (flags.state[0] != '/') {
    return absl::InvalidArgumentError(
        absl::StrCat("--state: \"", flags.state, "\" is no absolute path"));
  }
  const std::vector<std::pair<const char*, const std::string*>> required = {
      {"controller", &flags.controller},
      {"cluster", &flags.cluster},
      {"ca", &flags.tls.ca},
      {"cert", &flags.tls.certificate},
      {"key", &flags.tls.key},
  };
  std::vector<std::string> absent;
  for (const auto& [name, value] : required) {
    if (value->empty()) absent.push_back(absl::StrCat("--", name));
  }
  if (absent.empty()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("not set: ", absl::StrJoin(absent, ", "),
                   "; expected on the command line or in the file of "
                   "--config"));
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
  absl::Status status = AddFile(flags);
  if (flags->state.empty()) flags->state = kDefaultState;
  if (status.ok()) status = CheckComplete(*flags);
  if (!status.ok()) {
    std::cerr << status.message() << "\n";
    return kWrongUsage;
  }
  if (flags->socket.empty()) flags->socket = kDefaultSocket;
  return std::nullopt;
}

}  // namespace clusterd
