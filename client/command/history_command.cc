// clusterctl history: who checked, planned, applied and rolled back what, when.
#include <algorithm>
#include <memory>
#include <optional>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/command/commands.h"
#include "client/command/common_options.h"
#include "client/command/exit_status.h"
#include "client/print/history_table.h"
#include "client/print/message_json.h"
#include "config/spec/nearest_word.h"

namespace clusterd {
namespace {

constexpr char kCommand[] = "history";
constexpr absl::Duration kTimeout = absl::Seconds(10);
constexpr uint32_t kDefaultLimit = 50;
constexpr uint32_t kLargestLimit = 100'000;
// What one answer of the controller holds at most.
constexpr uint32_t kPage = 1000;

constexpr char kFooter[] =
    R"(Newest first. clusterctl show ID prints one of them whole. The controller keeps
2,000 entries and 512 MB and drops the oldest: checks first, then plans, for as
long as plans hold at most a quarter, and applies and rollbacks at most half.

Outcomes: a check is pass, warn, unknown or fail; a plan is empty, changes or
blocked; an apply or a rollback is running, succeeded, stopped or interrupted.

Exit status: 0, or 2 if the controller did not answer, 3 for wrong usage.

Examples:
  clusterctl history
  clusterctl history --kind apply,rollback --limit 10)";

struct HistoryOptions {
  std::vector<std::string> kinds;
  std::string limit;
  std::string timeout;
  OutputFlags output;
};

void ReadKinds(const std::vector<std::string>& words,
               ListHistoryRequest& request,
               std::vector<std::string>& mistakes) {
  const std::vector<absl::string_view> known = {"check", "plan", "apply",
                                                "rollback"};
  for (const std::string& word : words) {
    const auto found = std::find(known.begin(), known.end(), word);
    if (found == known.end()) {
      mistakes.push_back(
          absl::StrCat("--kind: \"", word, "\" is not known, expected ",
                       absl::StrJoin(known, ", "), DidYouMean(word, known)));
      continue;
    }
    request.add_kinds(
        static_cast<HistoryKind>(HISTORY_CHECK + (found - known.begin())));
  }
}

// Asks for page after page until `limit` entries are there.
absl::StatusOr<ListHistoryResponse> ReadHistory(ControllerClient& client,
                                                ListHistoryRequest request,
                                                uint32_t limit,
                                                absl::Duration timeout) {
  ListHistoryResponse all;
  all.set_more(true);
  while (all.more() && all.entries_size() < static_cast<int>(limit)) {
    const uint32_t left = limit - static_cast<uint32_t>(all.entries_size());
    request.set_limit(std::min(left, kPage));
    const absl::StatusOr<ListHistoryResponse> page =
        client.ListHistory(request, timeout);
    if (!page.ok()) return page.status();
    all.set_more(page->more() && !page->entries().empty());
    all.mutable_entries()->MergeFrom(page->entries());
    if (all.more()) {
      request.set_before_id(all.entries(all.entries_size() - 1).id());
    }
  }
  return all;
}

int RunHistory(const HistoryOptions& options, const ConnectionFlags& connection,
               Session& session) {
  std::vector<std::string> mistakes;
  const OutputFormat format = ReadFormat(options.output, mistakes);
  const ColorMode color = ReadColor(options.output, mistakes);
  const absl::Duration timeout =
      ReadTimeout(options.timeout, kTimeout, mistakes);
  const uint32_t limit = ReadNumber(
      "--limit", options.limit, {1, kLargestLimit}, kDefaultLimit, mistakes);
  ListHistoryRequest request;
  ReadKinds(options.kinds, request, mistakes);
  const auto client = ConnectToController(connection, session, mistakes);
  if (!mistakes.empty()) return RejectUsage(kCommand, mistakes, session);
  const absl::StatusOr<ListHistoryResponse> history =
      ReadHistory(*client, request, limit, timeout);
  if (!history.ok()) return ReportFailure(kCommand, history.status(), session);
  if (format == OutputFormat::kJson) {
    session.out << MessageJson(*history);
    return kExitPass;
  }
  PrintHistoryTable(*history,
                    StyleOfOut(session.terminal, session.environment, color),
                    session.zone, session.out);
  if (history->more()) session.out << "\nolder ones: --limit N\n";
  return kExitPass;
}

}  // namespace

void AddHistoryCommand(CLI::App& root, ConnectionFlags& connection,
                       CommandRun& run) {
  CLI::App* command = root.add_subcommand(
      "history", "List checks, plans, applies and rollbacks");
  command->footer(kFooter);
  const auto options = std::make_shared<HistoryOptions>();
  command
      ->add_option("--kind", options->kinds,
                   "Only these: check, plan, apply, rollback")
      ->type_name("KIND,..")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      ->add_option(
          "--limit", options->limit,
          absl::StrCat("At most this many (default: ", kDefaultLimit, ")"))
      ->type_name("N");
  AddOutputOptions(*command, options->output, "says nothing of many runs");
  AddTimeoutOption(*command, "10s", options->timeout);
  AddConnectionOptions(*command, connection);
  command->callback([&run, &connection, options] {
    run = [&connection, options](Session& session) {
      return RunHistory(*options, connection, session);
    };
  });
}

}  // namespace clusterd
