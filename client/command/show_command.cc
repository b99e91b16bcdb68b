// clusterctl show: one entry of the history, printed as its command printed it.
#include <memory>

#include "absl/strings/str_cat.h"
#include "client/command/commands.h"
#include "client/command/common_options.h"
#include "client/command/exit_status.h"
#include "client/print/apply_table.h"
#include "client/print/history_table.h"
#include "client/print/message_json.h"
#include "client/print/plan_table.h"
#include "client/print/report_short.h"
#include "client/print/report_table.h"
#include "client/print/terminal_text.h"

namespace clusterd {
namespace {

constexpr char kCommand[] = "show";
constexpr absl::Duration kTimeout = absl::Seconds(60);

constexpr char kFooter[] =
    R"(Prints a check, plan, apply or rollback as its own command does; an apply that
is under way as far as it is. With -o json a plan can be saved for clusterctl
apply.

Exit status: 0, or 2 if the controller did not answer, 3 for wrong usage or an
id that nobody knows.

Examples:
  clusterctl show 3fa2c4d5e6f70812
  clusterctl show 3fa2 -o json)";

struct ShowOptions {
  std::string id;
  bool verbose = false;
  std::string timeout;
  OutputFlags output;
};

void PrintTable(const HistoryRecord& record, const ShowOptions& options,
                const Style& style, Session& session) {
  session.out << HistoryEntryLine(record.entry(), session.zone, style.utf8)
              << "\n\n";
  PlanLimits limits;
  limits.verbose = options.verbose;
  switch (record.detail_case()) {
    case HistoryRecord::kReport:
      PrintReportTable(record.report(), style, session.out);
      break;
    case HistoryRecord::kPlan:
      PrintPlanTable(record.plan(), style, limits, session.out);
      break;
    case HistoryRecord::kApply:
      PrintApplyTable(record.apply(), style, session.out);
      break;
    case HistoryRecord::DETAIL_NOT_SET:
      session.out << "no more is kept of it\n";
      break;
  }
}

void PrintShort(const HistoryRecord& record, const Style& style,
                Session& session) {
  switch (record.detail_case()) {
    case HistoryRecord::kReport:
      session.out << ReportShort(record.report(), style.utf8) << "\n";
      break;
    case HistoryRecord::kPlan:
      session.out << PlanShort(record.plan(), style.utf8) << "\n";
      break;
    case HistoryRecord::kApply:
      session.out << ApplyShort(record.apply(), style.utf8) << "\n";
      break;
    case HistoryRecord::DETAIL_NOT_SET:
      session.out << HistoryEntryLine(record.entry(), session.zone, style.utf8)
                  << "\n";
      break;
  }
}

// The same JSON as the command printed that made the entry.
std::string DetailJson(const HistoryRecord& record) {
  switch (record.detail_case()) {
    case HistoryRecord::kReport:
      return MessageJson(record.report());
    case HistoryRecord::kPlan:
      return MessageJson(record.plan());
    case HistoryRecord::kApply:
      return MessageJson(record.apply());
    default:
      return MessageJson(record.entry());
  }
}

int RunShow(const ShowOptions& options, const ConnectionFlags& connection,
            Session& session) {
  std::vector<std::string> mistakes;
  const OutputFormat format = ReadFormat(options.output, mistakes);
  const ColorMode color = ReadColor(options.output, mistakes);
  const absl::Duration timeout =
      ReadTimeout(options.timeout, kTimeout, mistakes);
  CheckRunId("ID", options.id, mistakes);
  const auto client = ConnectToController(connection, session, mistakes);
  if (!mistakes.empty()) return RejectUsage(kCommand, mistakes, session);
  const absl::StatusOr<HistoryRecord> record =
      client->GetHistory(options.id, timeout);
  if (!record.ok()) return ReportFailure(kCommand, record.status(), session);
  const Style style = StyleOfOut(session.terminal, session.environment, color);
  switch (format) {
    case OutputFormat::kTable:
      PrintTable(*record, options, style, session);
      break;
    case OutputFormat::kShort:
      PrintShort(*record, style, session);
      break;
    case OutputFormat::kJson:
      session.out << DetailJson(*record);
      break;
  }
  return kExitPass;
}

}  // namespace

void AddShowCommand(CLI::App& root, ConnectionFlags& connection,
                    CommandRun& run) {
  CLI::App* command = root.add_subcommand(
      "show", "Print one check, plan, apply or rollback of the history");
  command->footer(kFooter);
  const auto options = std::make_shared<ShowOptions>();
  command
      ->add_option("ID", options->id,
                   "Its id, or as many characters from its start as are unique")
      ->type_name("")
      ->required();
  command->add_flag("--verbose", options->verbose,
                    "Of a plan also preconditions and undo, and every host");
  AddOutputOptions(*command, options->output);
  AddTimeoutOption(*command, "60s", options->timeout);
  AddConnectionOptions(*command, connection);
  command->callback([&run, &connection, options] {
    run = [&connection, options](Session& session) {
      return RunShow(*options, connection, session);
    };
  });
}

}  // namespace clusterd
