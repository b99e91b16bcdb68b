// clusterctl version: ours, and the controller's when one is named.
#include <memory>

#include "client/command/commands.h"
#include "client/command/common_options.h"
#include "client/command/exit_status.h"
#include "client/print/terminal_text.h"
#include "config/version/version.h"

namespace clusterd {
namespace {

constexpr char kCommand[] = "version";
constexpr absl::Duration kTimeout = absl::Seconds(10);

constexpr char kFooter[] =
    R"(With --controller also the version of that controller.

Exit status: 0, or 2 if the controller did not answer, 3 for wrong usage.)";

int RunVersion(const ConnectionFlags& connection, Session& session) {
  session.out << "clusterctl " << kClusterdVersion << " (protocol "
              << kProtocolVersion << ", report schema " << kReportSchemaVersion
              << ")\n";
  if (!connection.controller.has_value()) return kExitPass;
  std::vector<std::string> mistakes;
  const auto client = ConnectToController(connection, session, mistakes);
  if (!mistakes.empty()) return RejectUsage(kCommand, mistakes, session);
  const absl::StatusOr<GetSpecResponse> spec = client->GetSpec(kTimeout);
  if (!spec.ok()) return ReportFailure(kCommand, spec.status(), session);
  const bool utf8 =
      StyleOfOut(session.terminal, session.environment, ColorMode::kNever).utf8;
  session.out << "controller "
              << (spec->controller_version().empty()
                      ? "of unknown version"
                      : SafeText(spec->controller_version(), utf8))
              << ", cluster " << SafeText(spec->spec().name(), utf8) << "\n";
  return kExitPass;
}

}  // namespace

void AddVersionCommand(CLI::App& root, ConnectionFlags& connection,
                       CommandRun& run) {
  CLI::App* command = root.add_subcommand("version", "Print versions");
  command->footer(kFooter);
  AddConnectionOptions(*command, connection);
  command->callback([&run, &connection] {
    run = [&connection](Session& session) {
      return RunVersion(connection, session);
    };
  });
}

}  // namespace clusterd
