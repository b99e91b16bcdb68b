// clusterctl describe: every fact of one host, observed now.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/command/commands.h"
#include "client/command/common_options.h"
#include "client/command/exit_status.h"
#include "client/print/facts_text.h"
#include "client/print/message_json.h"
#include "config/spec/nearest_word.h"

namespace clusterd {
namespace {

constexpr char kCommand[] = "describe";
constexpr absl::Duration kListTimeout = absl::Seconds(10);
// A host may take deadlines.host, 30 s unless the spec says otherwise.
constexpr absl::Duration kTimeout = absl::Seconds(75);

constexpr char kFooter[] =
    R"(Shows every fact, or the reason why it is missing. Nothing is judged; that is
what check does.

Exit status: 0, or 2 if the host or the controller did not answer, 3 for wrong
usage or a host that nobody knows.)";

struct DescribeOptions {
  std::string host;
  std::string timeout;
  OutputFlags output;
};

// Puts the nearest known name behind "not found".
absl::Status WithNearestHost(const absl::Status& error, const std::string& host,
                             ControllerClient& client) {
  const absl::StatusOr<ListHostsResponse> known =
      client.ListHosts(kListTimeout);
  if (!known.ok()) return error;
  std::vector<absl::string_view> names;
  for (const HostEntry& entry : known->hosts()) names.push_back(entry.host());
  return absl::NotFoundError(
      absl::StrCat(error.message(), DidYouMean(host, names)));
}

int RunDescribe(const DescribeOptions& options,
                const ConnectionFlags& connection, Session& session) {
  std::vector<std::string> mistakes;
  const OutputFormat format = ReadFormat(options.output, mistakes);
  const ColorMode color = ReadColor(options.output, mistakes);
  const absl::Duration timeout =
      ReadTimeout(options.timeout, kTimeout, mistakes);
  if (options.host.find_first_of("[],@ ") != std::string::npos ||
      options.host.empty()) {
    mistakes.push_back(absl::StrCat("HOST: \"", options.host,
                                    "\", expected the name of one host"));
  }
  const auto client = ConnectToController(connection, session, mistakes);
  if (!mistakes.empty()) return RejectUsage(kCommand, mistakes, session);

  const absl::StatusOr<DescribeHostResponse> answer =
      client->DescribeHost(options.host, timeout);
  if (absl::IsNotFound(answer.status())) {
    return ReportFailure(
        kCommand, WithNearestHost(answer.status(), options.host, *client),
        session);
  }
  if (!answer.ok()) return ReportFailure(kCommand, answer.status(), session);
  if (format == OutputFormat::kJson) {
    session.out << MessageJson(*answer);
  } else {
    PrintHostFacts(*answer,
                   StyleOfOut(session.terminal, session.environment, color),
                   session.now(), session.out);
  }
  const bool answered = answer->has_facts() && !answer->facts().has_missing();
  return answered ? kExitPass : kExitNoVerdict;
}

}  // namespace

void AddDescribeCommand(CLI::App& root, ConnectionFlags& connection,
                        CommandRun& run) {
  CLI::App* command = root.add_subcommand(
      "describe", "Show every fact of one host, observed now");
  command->footer(kFooter);
  const auto options = std::make_shared<DescribeOptions>();
  command->add_option("HOST", options->host, "Name of the host, e.g. node07")
      ->type_name("")
      ->required();
  AddOutputOptions(*command, options->output, "says nothing of one host");
  AddTimeoutOption(*command, "75s", options->timeout);
  AddConnectionOptions(*command, connection);
  command->callback([&run, &connection, options] {
    run = [&connection, options](Session& session) {
      return RunDescribe(*options, connection, session);
    };
  });
}

}  // namespace clusterd
