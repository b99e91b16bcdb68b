// clusterctl show: one entry of the history, printed as its command printed it.
#include "client/command/request.h"
#include "client/print/apply_table.h"
#include "client/print/history_table.h"
#include "client/print/plan_table.h"
#include "config/report/report_short.h"
#include "config/report/report_table.h"

namespace clusterd {
namespace {

constexpr char kFooter[] =
    R"(Prints a check, plan, apply or rollback as its own command does; an apply that
is under way as far as it is. With -o json a plan can be saved for clusterctl
apply.

Exit status: 0, or 2 if the controller did not answer, 3 for wrong usage or an
id that nobody knows.

Examples:
  clusterctl show 3fa2c4d5e6f70812
  clusterctl show 3fa2 -o json)";

class ShowCommand final : public Request {
 public:
  ShowCommand()
      : Request({"show",
                 "Print one check, plan, apply or rollback of the history",
                 kFooter}) {}

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
    return Take(client->Ask(&Controller::Stub::GetHistory, request, timeout()),
                record_);
  }

  // The same JSON as the command printed that made the entry.
  const google::protobuf::Message& Answer() const override {
    switch (record_.detail_case()) {
      case HistoryRecord::kReport:
        return record_.report();
      case HistoryRecord::kPlan:
        return record_.plan();
      case HistoryRecord::kApply:
        return record_.apply();
      default:
        return record_.entry();
    }
  }

  void PrintTable(const Style& style, std::ostream& out) override {
    out << EntryLine(style.utf8) << "\n\n";
    PlanLimits limits;
    limits.verbose = verbose_;
    switch (record_.detail_case()) {
      case HistoryRecord::kReport:
        return PrintReportTable(record_.report(), style, out);
      case HistoryRecord::kPlan:
        return PrintPlanTable(record_.plan(), style, limits, out);
      case HistoryRecord::kApply:
        return PrintApplyTable(record_.apply(), style, out);
      default:
        out << "no more is kept of it\n";
    }
  }

  std::string Short(bool utf8) const override {
    switch (record_.detail_case()) {
      case HistoryRecord::kReport:
        return ReportShort(record_.report(), utf8);
      case HistoryRecord::kPlan:
        return PlanShort(record_.plan(), utf8);
      case HistoryRecord::kApply:
        return ApplyShort(record_.apply(), utf8);
      default:
        return EntryLine(utf8);
    }
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
