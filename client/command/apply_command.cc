// clusterctl apply and clusterctl rollback: their options and help.
// apply_run.h does the work.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/command/apply_run.h"
#include "client/command/commands.h"

namespace clusterd {
namespace {

constexpr char kApplyFooter[] =
    R"(Takes only a plan that clusterctl plan --out saved. Nothing is changed when it
was edited, when the spec or a fact that it rests on has moved, when a process
uses a device, or while another apply runs. Hosts go in waves, in the order of
the plan; after the first wave in which one does not end well no further wave
begins. A host takes back by itself what it did not finish.
Ctrl-C leaves the run to the controller; it does not stop it.

Exit status:
  0  every host ended as wished, or there was nothing to do
  1  a host did not; the waves behind it were not begun
  2  no complete answer: a host is lost, the controller is away, Ctrl-C, or
     everything in the plan is blocked
  3  wrong usage, an edited plan, no consent; nothing was changed

Examples:
  clusterctl apply plan.json
  clusterctl apply plan.json --wave 100 --yes --report apply.json)";

constexpr char kRollbackFooter[] =
    R"(Puts back what an apply found on its hosts: files byte for byte, running values,
the firewall and whether it starts at boot. A host that has been changed since
refuses, and says what moved. clusterctl history --kind apply shows the ids.
Ctrl-C leaves the run to the controller; it does not stop it.

Exit status:
  0  every host ended as wished
  1  a host did not; the waves behind it were not begun
  2  no complete answer: a host is lost, the controller is away, Ctrl-C
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
  AddSharedOptions(*command, "a device is in use", *options);
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
  AddSharedOptions(*command, "a device is in use or a value has moved",
                   *options);
  AddRun(*command, options, connection, run);
}

}  // namespace clusterd
