// clusterctl history: who checked, planned, applied and rolled back what, when.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "client/print/history_table.h"

namespace clusterd {
namespace {

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

class HistoryCommand final : public Request {
 public:
  HistoryCommand()
      : Request({"history", "List checks, plans, applies and rollbacks",
                 kFooter}) {}

  void AddOptions(CLI::App& app) override {
    app.add_option("--kind", kinds_, "Only these: check, plan, apply, rollback")
        ->type_name("KIND,..")
        ->delimiter(',')
        ->allow_extra_args(false);
    app.add_option(
           "--limit", limit_text_,
           absl::StrCat("At most this many (default: ", kDefaultLimit, ")"))
        ->type_name("N");
    AddOutput(app, "says nothing of many runs");
    AddTimeout(app, absl::Seconds(10));
  }

 private:
  void ReadOptions() override {
    limit_ = ReadNumber("--limit", limit_text_, {1, kLargestLimit},
                        kDefaultLimit, mistakes_);
    for (const std::string& kind : kinds_) {
      request_.add_kinds(static_cast<HistoryKind>(
          HISTORY_CHECK + ReadChoice("--kind", kind,
                                     {"check", "plan", "apply", "rollback"},
                                     mistakes_)));
    }
  }

  // Asks for page after page until so many entries are there.
  absl::Status Ask(ControllerClient* client) override {
    history_.set_more(true);
    while (history_.more() &&
           history_.entries_size() < static_cast<int>(limit_)) {
      const uint32_t left =
          limit_ - static_cast<uint32_t>(history_.entries_size());
      request_.set_limit(std::min(left, kPage));
      const absl::StatusOr<ListHistoryResponse> page =
          client->Ask(&Controller::Stub::ListHistory, request_, timeout());
      if (!page.ok()) return page.status();
      history_.set_more(page->more() && !page->entries().empty());
      history_.mutable_entries()->MergeFrom(page->entries());
      if (history_.more()) {
        request_.set_before_id(history_.entries().rbegin()->id());
      }
    }
    return absl::OkStatus();
  }

  const google::protobuf::Message& Answer() const override { return history_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintHistoryTable(history_, style, session().zone, out);
    if (history_.more()) out << "\nolder ones: --limit N\n";
  }

  std::vector<std::string> kinds_;
  std::string limit_text_;
  uint32_t limit_ = 0;
  ListHistoryRequest request_;
  ListHistoryResponse history_;
};

}  // namespace

std::unique_ptr<Command> MakeHistoryCommand() {
  return std::make_unique<HistoryCommand>();
}

}  // namespace clusterd
