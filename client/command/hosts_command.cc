// clusterctl hosts: who is attached to the controller.
#include <memory>

#include "client/command/commands.h"
#include "client/command/common_options.h"
#include "client/print/hosts_table.h"
#include "client/print/message_json.h"

namespace clusterd {
namespace {

constexpr char kCommand[] = "hosts";
constexpr absl::Duration kTimeout = absl::Seconds(10);

constexpr char kFooter[] = R"(States:
  attached      the host's clusterd is connected
  not attached  it is not; SINCE is when it was last seen
  not in spec   it is connected, and cluster.yaml does not name it
  conflict      another machine tried to connect under the same name

Drift: values that an apply set and that have moved since, as the host last saw
them. Nothing repairs them unless the spec says enforce and the host allows it;
check judges them.

Exit status: 0, or 2 if the controller did not answer, 3 for wrong usage.)";

struct HostsOptions {
  OutputFlags output;
  std::string timeout;
};

int RunHosts(const HostsOptions& options, const ConnectionFlags& connection,
             Session& session) {
  std::vector<std::string> mistakes;
  const OutputFormat format = ReadFormat(options.output, mistakes);
  const ColorMode color = ReadColor(options.output, mistakes);
  const absl::Duration timeout =
      ReadTimeout(options.timeout, kTimeout, mistakes);
  const auto client = ConnectToController(connection, session, mistakes);
  if (!mistakes.empty()) return RejectUsage(kCommand, mistakes, session);
  const absl::StatusOr<ListHostsResponse> hosts = client->ListHosts(timeout);
  if (!hosts.ok()) return ReportFailure(kCommand, hosts.status(), session);
  const Style style = StyleOfOut(session.terminal, session.environment, color);
  switch (format) {
    case OutputFormat::kTable:
      PrintHostsTable(*hosts, style, session.now(), session.out);
      break;
    case OutputFormat::kShort:
      session.out << HostsShort(*hosts, style.utf8) << "\n";
      break;
    case OutputFormat::kJson:
      session.out << MessageJson(*hosts);
      break;
  }
  return 0;
}

}  // namespace

void AddHostsCommand(CLI::App& root, ConnectionFlags& connection,
                     CommandRun& run) {
  CLI::App* command = root.add_subcommand(
      "hosts", "Show which hosts are attached, and since when");
  command->footer(kFooter);
  const auto options = std::make_shared<HostsOptions>();
  AddOutputOptions(*command, options->output);
  AddTimeoutOption(*command, "10s", options->timeout);
  AddConnectionOptions(*command, connection);
  command->callback([&run, &connection, options] {
    run = [&connection, options](Session& session) {
      return RunHosts(*options, connection, session);
    };
  });
}

}  // namespace clusterd
