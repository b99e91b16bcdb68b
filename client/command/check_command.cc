// clusterctl check: its options and help. check_run.h does the work.
#include <memory>
#include <string>
#include <vector>

#include "client/command/check_run.h"
#include "client/command/commands.h"

namespace clusterd {
namespace {

constexpr char kFooter[] =
    R"(HOSTS is Slurm and ClusterShell syntax: node[01-12,15]  rack[1-2]n[01-18]
Without HOSTS every host of the spec is checked; inside a Slurm job, the job's
nodes.

Exit status:
  0  pass, or warnings only
  1  at least one failure
  2  no complete verdict: something could not be told, a host or the controller
     did not answer in time, --report could not be written
  3  wrong usage or configuration; nothing was checked
--fail-on moves the line: the lowest state that exits with 1, in the order warn,
unknown, fail.

Examples:
  clusterctl check
  clusterctl check node[001-512] -x node[017,080]
  clusterctl check --only link,net-health -o short
  clusterctl check --fail-on warn --report /var/log/preflight.json
  clusterctl check --netns container:train-1
  clusterctl check --local          # ask only this host's own clusterd)";

// Lists come as "a,b", repeated, or both.
struct RuleLists {
  std::vector<std::string> only;
  std::vector<std::string> skip;
  std::vector<std::string> downgrade;
};

void AddRuleOptions(CLI::App& command, RuleLists& rules) {
  command.add_option("--only", rules.only, "Run these rules and no other")
      ->type_name("RULE,..")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("--skip", rules.skip, "Do not run these rules")
      ->type_name("RULE,..")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("--downgrade", rules.downgrade,
                  "Count failures of these rules as warnings")
      ->type_name("RULE,..")
      ->delimiter(',')
      ->allow_extra_args(false);
}

RuleSelection Selection(const RuleLists& rules) {
  RuleSelection selection;
  for (const std::string& name : rules.only) selection.add_only(name);
  for (const std::string& name : rules.skip) selection.add_skip(name);
  for (const std::string& name : rules.downgrade) selection.add_downgrade(name);
  return selection;
}

std::string SocketPath(const CheckOptions& options, const Session& session) {
  if (!options.socket.empty()) return options.socket;
  const auto it = session.environment.find("CLUSTERD_SOCKET");
  if (it != session.environment.end() && !it->second.empty()) return it->second;
  return kDefaultSocket;
}

}  // namespace

void AddCheckCommand(CLI::App& root, ConnectionFlags& connection,
                     CommandRun& run) {
  CLI::App* command = root.add_subcommand(
      "check", "Say whether the cluster is ready, and what is not");
  command->footer(kFooter);
  const auto options = std::make_shared<CheckOptions>();
  const auto rules = std::make_shared<RuleLists>();
  AddHostOptions(*command, "check", options->hosts);
  AddRuleOptions(*command, *rules);
  command
      ->add_option(
          "--fail-on", options->fail_on,
          "Lowest state that exits with 1: warn, unknown, fail (default)")
      ->type_name("STATE");
  AddNamespaceOption(*command,
                     "Judge only the kernel parameters and ports of this "
                     "network namespace of the hosts",
                     options->network_namespace);
  AddOutputOptions(*command, options->output);
  command
      ->add_option("--report", options->report_file,
                   "Also write the report as JSON, whatever happens")
      ->type_name("FILE");
  AddTimeoutOption(*command, "the run deadline of the spec and 10s",
                   options->timeout);
  command->add_flag("--local", options->local,
                    "Ask this host's own clusterd about this host, without the "
                    "controller");
  command
      ->add_option("--socket", options->socket,
                   "Its unix socket [CLUSTERD_SOCKET]; default " +
                       std::string(kDefaultSocket))
      ->type_name("PATH");
  AddConnectionOptions(*command, connection);
  command->callback([&run, &connection, options, rules] {
    run = [&connection, options, rules](Session& session) {
      options->selection = Selection(*rules);
      options->connection = connection;
      options->socket = SocketPath(*options, session);
      return RunCheck(*options, session);
    };
  });
}

}  // namespace clusterd
