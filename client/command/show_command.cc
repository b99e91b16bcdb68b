// clusterctl show: one entry of the history, printed as its command printed it.
#include "client/command/request.h"
#include "client/print/apply_table.h"
#include "client/print/history_table.h"
#include "client/print/plan_table.h"
#include "config/report/report_table.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

class ShowCommand final : public Request {
 public:
  ShowCommand() : Request("show") {}

  void AddOptions(CLI::App& app) override {
    app.add_option("ID", id_,
                   "Its id, or as many characters from its start as are unique")
        ->type_name("")
        ->required();
    app.add_flag("--verbose", verbose_,
                 "Of a plan also preconditions and undo, and every host");
    AddOutput(app);
    AddTimeout(app, absl::Seconds(60));
  }

 private:
  void ReadOptions() override { CheckRunId("ID", id_, mistakes_); }

  absl::Status Ask(ControllerClient* client) override {
    GetHistoryRequest request;
    request.set_id(id_);
    ASSIGN_OR_RETURN(record_, client->Ask(&Controller::Stub::GetHistory,
                                          request, timeout()));
    return absl::OkStatus();
  }

  // The same JSON as the command printed that made the entry.
  const google::protobuf::Message& Answer() const override {
    if (record_.has_report()) return record_.report();
    if (record_.has_plan()) return record_.plan();
    if (record_.has_apply()) return record_.apply();
    return record_.entry();
  }

  void PrintTable(const Style& style, std::ostream& out) override {
    out << EntryLine(style.utf8) << "\n\n";
    if (record_.has_report()) {
      PrintReportTable(record_.report(), style, out);
    } else if (record_.has_plan()) {
      PrintPlanTable(record_.plan(), style, verbose_, out);
    } else if (record_.has_apply()) {
      PrintApplyTable(record_.apply(), style, out);
    } else {
      out << "no more is kept of it\n";
    }
  }

  std::string Short(bool utf8) const override {
    if (record_.has_report()) return ReportShort(record_.report(), utf8);
    if (record_.has_plan()) return PlanShort(record_.plan(), utf8);
    if (record_.has_apply()) return ApplyShort(record_.apply(), utf8);
    return EntryLine(utf8);
  }

  std::string EntryLine(bool utf8) const {
    return HistoryEntryLine(record_.entry(), session().zone, utf8);
  }

  std::string id_;
  bool verbose_ = false;
  HistoryRecord record_;
};

}  // namespace

std::unique_ptr<Command> MakeShowCommand() {
  return std::make_unique<ShowCommand>();
}

}  // namespace clusterd
