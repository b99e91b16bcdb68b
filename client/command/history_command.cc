// clusterctl history lists checks, plans, applies and rollbacks with caller and
// time. clusterctl show prints one of them as its command did.
#include <algorithm>

#include "client/command/request.h"
#include "client/print/apply_table.h"
#include "client/print/history_table.h"
#include "client/print/plan_table.h"
#include "config/report/report_table.h"
#include "config/rules/finding_words.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

constexpr uint32_t kDefaultLimit = 50;
// Most entries of one answer of the controller.
constexpr uint32_t kPage = 1000;

class HistoryCommand final : public Request {
 public:
  HistoryCommand() : Request("history") {}

  void AddOptions(CLI::App& app) override {
    AddListOption(app, "--kind", "KIND,..", kinds_);
    app.add_flag("--changes", changes_);
    AddOption(app, "--since", "TIME|DURATION", since_text_);
    AddOption(app, "--who", "NAME", *request_.mutable_who());
    AddOption(app, "--limit", "N", limit_text_);
    AddOutput(app, "ctl-not-of-a-list");
    AddTimeout(app, kShortTimeout);
  }

 private:
  void ReadOptions() override {
    limit_ = ReadCount("--limit", limit_text_, kDefaultLimit);
    request_.set_changes_only(changes_);
    if (!since_text_.empty()) {
      request_.set_since_ms(
          absl::ToUnixMillis(ReadSince("--since", since_text_)));
    }
    for (const std::string& kind : kinds_) {
      request_.add_kinds(static_cast<HistoryKind>(
          HISTORY_CHECK +
          ReadChoice("--kind", kind, {"check", "plan", "apply", "rollback"})));
    }
  }

  // Requests pages until it has the wanted number of entries.
  absl::Status Ask(ControllerClient* client) override {
    history_.set_schema_version(kReportSchemaVersion);
    history_.set_more(true);
    while (history_.more() &&
           history_.entries_size() < static_cast<int>(limit_)) {
      const uint32_t left =
          limit_ - static_cast<uint32_t>(history_.entries_size());
      request_.set_limit(std::min(left, kPage));
      ASSIGN_OR_RETURN(
          const ListHistoryResponse page,
          client->Ask(&Controller::Stub::ListHistory, request_, timeout_));
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
    if (history_.more()) out << "\n" << Say("history-older") << "\n";
  }

  std::vector<std::string> kinds_;
  bool changes_ = false;
  std::string since_text_;
  std::string limit_text_;
  uint32_t limit_ = 0;
  ListHistoryRequest request_;
  ListHistoryResponse history_;
};

class ShowCommand final : public OneCall<GetHistoryRequest, HistoryRecord> {
 public:
  ShowCommand() : OneCall("show", &Controller::Stub::GetHistory) {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "ID", *asked_.mutable_id());
    app.add_flag("--verbose", verbose_);
    AddReportOutput(app);
    AddTimeout(app, absl::Seconds(60));
  }

 private:
  void ReadOptions() override { CheckRunId("ID", asked_.id()); }

  // The same JSON as that of the command that made the entry.
  const google::protobuf::Message& Answer() const override {
    if (answer_.has_report()) return answer_.report();
    if (answer_.has_plan()) return answer_.plan();
    if (answer_.has_apply()) return answer_.apply();
    return answer_;
  }

  void PrintTable(const Style& style, std::ostream& out) override {
    out << SafeText(EntryLine(), style.utf8) << "\n\n";
    if (answer_.has_report()) {
      PrintReportTable(Rendered(answer_.report()), style, verbose_, out);
    } else if (answer_.has_plan()) {
      PrintPlanTable(answer_.plan(), style, verbose_, out);
    } else if (answer_.has_apply()) {
      PrintApplyTable(answer_.apply(), style, out);
    } else {
      out << Say("history-no-more") << "\n";
    }
  }

  std::string Short() const override {
    if (answer_.has_report()) {
      return ReportShort(Rendered(answer_.report()), /*utf8=*/true);
    }
    if (answer_.has_plan()) return PlanShort(answer_.plan());
    if (answer_.has_apply()) return ApplyShort(answer_.apply());
    return EntryLine();
  }

  const Report* CheckedReport() const override {
    return answer_.has_report() ? &answer_.report() : nullptr;
  }

  std::string EntryLine() const {
    return HistoryEntryLine(answer_.entry(), session().zone);
  }
};

}  // namespace

void AddHistoryCommands(CommandList& commands) {
  AddCommands<HistoryCommand, ShowCommand>(commands);
}

}  // namespace clusterd
