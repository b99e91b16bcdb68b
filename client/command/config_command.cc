// clusterctl config: looks at a cluster.yaml, here, without any machine.
#include <memory>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command/commands.h"
#include "client/command/common_options.h"
#include "client/command/exit_status.h"
#include "client/files/text_file.h"
#include "client/print/message_json.h"
#include "client/print/terminal_text.h"
#include "config/spec/product_profile.h"
#include "config/spec/spec_loader.h"

namespace clusterd {
namespace {

constexpr size_t kMaxSpecBytes = 64 << 20;
constexpr absl::Duration kTimeout = absl::Seconds(10);

constexpr char kValidateFooter[] =
    R"(Prints every mistake as FILE:LINE:COLUMN: what is wrong, what was expected.

Exit status: 0 if the file is right, 3 if it is not.)";

constexpr char kShowFooter[] =
    R"(Without FILE the controller's own spec is shown, and whether a newer file was
refused.

Exit status: 0, or 2 if the controller did not answer, 3 for wrong usage or a
wrong file.)";

struct ConfigOptions {
  std::string file;
  std::string output = "yaml";
};

// A message may hold several lines, each one a mistake.
int PrintMistakes(absl::string_view message, Session& session) {
  const bool utf8 =
      StyleOfErr(session.terminal, session.environment, ColorMode::kNever).utf8;
  for (const absl::string_view line :
       absl::StrSplit(message, '\n', absl::SkipEmpty())) {
    session.err << SafeText(line, utf8) << "\n";
  }
  return kExitUsage;
}

absl::StatusOr<ClusterSpec> ReadSpec(const std::string& file) {
  const absl::StatusOr<std::string> text = ReadTextFile(file, kMaxSpecBytes);
  if (!text.ok()) return text.status();
  return LoadSpec(file, *text);
}

std::string SpecSummary(const ClusterSpec& spec) {
  size_t devices = 0;
  for (const ServerSpec& server : spec.servers())
    devices += server.devices_size();
  const auto profile = FindProductProfile(spec.product(), spec.mode());
  return absl::StrCat("cluster ", spec.name(), ", ", spec.servers_size(),
                      spec.servers_size() == 1 ? " server, " : " servers, ",
                      devices, devices == 1 ? " device, " : " devices, ",
                      profile.ok() ? (*profile)->title : spec.product());
}

int RunValidate(const ConfigOptions& options, Session& session) {
  const absl::StatusOr<ClusterSpec> spec = ReadSpec(options.file);
  if (!spec.ok()) return PrintMistakes(spec.status().message(), session);
  const bool utf8 =
      StyleOfOut(session.terminal, session.environment, ColorMode::kNever).utf8;
  session.out << SafeText(
                     absl::StrCat(options.file, ": OK: ", SpecSummary(*spec)),
                     utf8)
              << "\n";
  return kExitPass;
}

// What the controller has loaded. Says on stderr where it comes from.
absl::StatusOr<ClusterSpec> AskForSpec(ControllerClient& client,
                                       Session& session) {
  absl::StatusOr<GetSpecResponse> answer = client.GetSpec(kTimeout);
  if (!answer.ok()) return answer.status();
  const bool utf8 =
      StyleOfErr(session.terminal, session.environment, ColorMode::kNever).utf8;
  session.err << "clusterctl config show: from the controller's "
              << SafeText(answer->path(), utf8) << "\n";
  for (const absl::string_view line :
       absl::StrSplit(answer->refused(), '\n', absl::SkipEmpty())) {
    session.err << "clusterctl config show: a newer file was refused: "
                << SafeText(line, utf8) << "\n";
  }
  return std::move(*answer->mutable_spec());
}

int RunShow(const ConfigOptions& options, const ConnectionFlags& connection,
            Session& session) {
  constexpr char kCommand[] = "config show";
  std::vector<std::string> mistakes;
  if (options.output != "yaml" && options.output != "json") {
    mistakes.push_back(absl::StrCat("--output: \"", options.output,
                                    "\" is not known, expected yaml, json"));
  }
  std::unique_ptr<ControllerClient> client;
  if (options.file.empty()) {
    client = ConnectToController(connection, session, mistakes);
  }
  if (!mistakes.empty()) return RejectUsage(kCommand, mistakes, session);

  const absl::StatusOr<ClusterSpec> spec =
      client == nullptr ? ReadSpec(options.file) : AskForSpec(*client, session);
  if (!spec.ok() && client == nullptr) {
    return PrintMistakes(spec.status().message(), session);
  }
  if (!spec.ok()) return ReportFailure(kCommand, spec.status(), session);
  session.out << (options.output == "json" ? MessageJson(*spec)
                                           : SpecToYaml(*spec));
  return kExitPass;
}

void AddValidate(CLI::App& parent, CommandRun& run) {
  CLI::App* command = parent.add_subcommand(
      "validate", "Check a cluster.yaml and name every mistake");
  command->footer(kValidateFooter);
  const auto options = std::make_shared<ConfigOptions>();
  command->add_option("FILE", options->file, "The cluster.yaml")
      ->type_name("")
      ->required();
  command->callback([&run, options] {
    run = [options](Session& session) {
      return RunValidate(*options, session);
    };
  });
}

void AddShow(CLI::App& parent, ConnectionFlags& connection, CommandRun& run) {
  CLI::App* command = parent.add_subcommand(
      "show",
      "Print a cluster.yaml with every host, device and default written out");
  command->footer(kShowFooter);
  const auto options = std::make_shared<ConfigOptions>();
  command->add_option("FILE", options->file, "The cluster.yaml")->type_name("");
  command->add_option("-o,--output", options->output, "yaml (default), json")
      ->type_name("FORMAT");
  AddConnectionOptions(*command, connection);
  command->callback([&run, &connection, options] {
    run = [&connection, options](Session& session) {
      return RunShow(*options, connection, session);
    };
  });
}

}  // namespace

void AddConfigCommand(CLI::App& root, ConnectionFlags& connection,
                      CommandRun& run) {
  CLI::App* command =
      root.add_subcommand("config", "Look at a cluster.yaml: validate, show");
  command->require_subcommand(1);
  AddValidate(*command, run);
  AddShow(*command, connection, run);
}

}  // namespace clusterd
