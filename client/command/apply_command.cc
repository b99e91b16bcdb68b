// clusterctl apply and clusterctl rollback: their options and help.
// apply_run.h does the work.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/command/apply_run.h"
#include "client/command/commands.h"

namespace clusterd {
namespace {

constexpr char kApplyFooter[] =
    R"(Takes only a plan that clusterctl plan saved. Your certificate needs the role
operator; for --force, admin.

No host is asked when the plan was edited, when this controller did not make it
or keeps it no more, when the spec has changed since, when a host that has steps
is not attached, and while another apply or rollback runs.
Then each host decides for itself, when its turn comes: it refuses, and changes
nothing, when a fact that its steps rest on has moved, when a process uses a
device that they change, or may use it, and when its agent.yaml does not allow
one of them.

Hosts go in waves, in the order of the plan. After the first wave in which one
does not end well no further wave begins; hosts that were applied by then stay
so, and clusterctl rollback takes them back. A host takes back by itself what it
did not finish. Ctrl-C leaves the run to the controller; it does not stop it.

Exit status:
  0  every host ended as wished, or there was nothing to do
  1  a host did not: it refused, took its steps back, or was gone at its turn;
     the waves behind it were not begun, the hosts that were applied stay so
  2  not begun: the spec has changed, the controller keeps no such plan, a host
     is not attached, another apply or rollback runs, the role is not enough,
     all of the plan is blocked;
     or no complete answer: a host is lost, the controller is away, --timeout,
     Ctrl-C, --report could not be written
  3  wrong usage, an edited plan, a host that the spec does not name, no
     consent; nothing was changed

Examples:
  clusterctl apply plan.json
  clusterctl apply plan.json --wave 100 --yes --report apply.json)";

constexpr char kRollbackFooter[] =
    R"(Puts back what an apply found on its hosts: files byte for byte, running values,
the firewall and whether it starts at boot. clusterctl history --kind apply
shows the ids. Your certificate needs the role operator; for --force, admin.

A host refuses, and changes nothing, when something that the apply left has
changed since (it says what), when it has no journal of the apply any more, when
a process uses a device that would change, or may use it, and when its
agent.yaml does not allow the change. --wave hosts are asked at once; a wave in
which one does not end well does not stop the next, so that no host keeps the
others from their old values.
Ctrl-C leaves the run to the controller; it does not stop it.

Exit status:
  0  every host ended as wished
  1  a host did not: it refused, is not attached, or something could not be put
     back; all other hosts were asked all the same
  2  not begun: another apply or rollback runs, the role is not enough, no host
     of that apply holds anything of it;
     or no complete answer: a host is lost, the controller is away, --timeout,
     Ctrl-C, --report could not be written
  3  wrong usage, an apply that nobody knows, no consent; nothing was changed

Examples:
  clusterctl rollback 3fa2c4d5e6f70812
  clusterctl rollback 3fa2 --yes)";

// `force` says what it overrides.
void AddSharedOptions(CLI::App& command, const std::string& force,
                      ApplyOptions& options) {
  command
      .add_option(
          "--wave", options.wave,
          absl::StrCat("Hosts at once (default: ", kDefaultWaveSize, ")"))
      ->type_name("N");
  command.add_flag("--yes", options.yes, "Do not ask");
  command.add_flag(
      "--force", options.force,
      absl::StrCat("Admins only: also where a host refuses because ", force,
                   "; is kept in the history"));
  command.add_flag("--verbose", options.verbose, "Tell each step as it ends");
  AddOutputOptions(command, options.output);
  command
      .add_option("--report", options.report_file,
                  "Also write the report as JSON, whatever happens")
      ->type_name("FILE");
  AddTimeoutOption(command, "24h; what began goes on", options.timeout);
}

void AddRun(CLI::App& command, const std::shared_ptr<ApplyOptions>& options,
            ConnectionFlags& connection, CommandRun& run) {
  AddConnectionOptions(command, connection);
  command.callback([&run, &connection, options] {
    run = [&connection, options](Session& session) {
      options->connection = connection;
      return RunApply(*options, session);
    };
  });
}

}  // namespace

void AddApplyCommand(CLI::App& root, ConnectionFlags& connection,
                     CommandRun& run) {
  CLI::App* command =
      root.add_subcommand("apply", "Do on the hosts what a saved plan says");
  command->footer(kApplyFooter);
  const auto options = std::make_shared<ApplyOptions>();
  command
      ->add_option("PLANFILE", options->subject,
                   "File of clusterctl plan --out; - is stdin")
      ->type_name("")
      ->required();
  AddNamespaceOption(*command,
                     "Must be what the plan was made for; the plan alone says "
                     "where it is applied",
                     options->network_namespace);
  AddSharedOptions(*command, "a device is or may be in use", *options);
  AddRun(*command, options, connection, run);
}

void AddRollbackCommand(CLI::App& root, ConnectionFlags& connection,
                        CommandRun& run) {
  CLI::App* command = root.add_subcommand(
      "rollback", "Put back what was there before an apply");
  command->footer(kRollbackFooter);
  const auto options = std::make_shared<ApplyOptions>();
  options->rollback = true;
  command
      ->add_option("APPLY_ID", options->subject,
                   "Id of the apply, or its first characters")
      ->type_name("")
      ->required();
  AddSharedOptions(*command,
                   "a device is or may be in use or a value has changed since",
                   *options);
  AddRun(*command, options, connection, run);
}

}  // namespace clusterd
