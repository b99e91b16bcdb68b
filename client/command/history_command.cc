// clusterctl history: who checked, planned, applied and rolled back what, when.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "client/print/history_table.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr uint32_t kDefaultLimit = 50;
constexpr uint32_t kLargestLimit = 100'000;
// What one answer of the controller holds at most.
constexpr uint32_t kPage = 1000;

class HistoryCommand final : public Request {
 public:
  HistoryCommand() : Request("history") {}

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
      ASSIGN_OR_RETURN(
          const ListHistoryResponse page,
          client->Ask(&Controller::Stub::ListHistory, request_, timeout()));
      history_.set_more(page.more() && !page.entries().empty());
      history_.mutable_entries()->MergeFrom(page.entries());
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
