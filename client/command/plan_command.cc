// clusterctl plan: its options and help. plan_run.h does the work.
#include <memory>

#include "client/command/commands.h"
#include "client/command/plan_run.h"

namespace clusterd {
namespace {

constexpr char kFooter[] =
    R"(Shows what apply would change on each host, old -> new, and changes nothing.
Only a plan saved with --out can be applied, and only by the controller that
made it, as long as its history keeps the plan. It rests on the facts of now:
when the spec changes apply refuses it, and when a fact moves its host refuses
its part.

Exit status:           with --detailed-exitcode:
  0  a whole plan        0  nothing to do
  2  no complete plan    2  something to do
                         1  no complete plan
  3  wrong usage or configuration; no host was asked
No complete plan: a change is blocked, a host or the controller did not answer,
or the plan could not be kept by the controller or saved. A plan with blocked
changes is saved all the same; apply leaves out what is blocked.

Examples:
  clusterctl plan
  clusterctl plan node[001-512] --out plan.json
  clusterctl plan --netns container:train-1 --out plan.json
  clusterctl plan --detailed-exitcode -o short)";

}  // namespace

void AddPlanCommand(CLI::App& root, ConnectionFlags& connection,
                    CommandRun& run) {
  CLI::App* command = root.add_subcommand(
      "plan", "Show what would be changed, and save it for apply");
  command->footer(kFooter);
  const auto options = std::make_shared<PlanOptions>();
  AddHostOptions(*command, "plan for", options->hosts);
  command
      ->add_option("--out", options->out,
                   "Save the plan for clusterctl apply; - is stdout")
      ->type_name("FILE");
  AddNamespaceOption(*command,
                     "Plan only the kernel parameters of this network "
                     "namespace of the hosts",
                     options->network_namespace);
  command->add_flag("--detailed-exitcode", options->detailed_exitcode,
                    "Exit with 2 if there is something to do; see below");
  command->add_flag("--verbose", options->verbose,
                    "Also what must hold before each step and how it is taken "
                    "back, and every host");
  AddOutputOptions(*command, options->output);
  AddTimeoutOption(*command, "the run deadline of the spec and 20s",
                   options->timeout);
  AddConnectionOptions(*command, connection);
  command->callback([&run, &connection, options] {
    run = [&connection, options](Session& session) {
      options->connection = connection;
      return RunPlan(*options, session);
    };
  });
}

}  // namespace clusterd
