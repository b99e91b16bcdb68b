// clusterctl diff: what has changed from one check of the history to another.
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/command/look/kept_checks.h"
#include "client/command/request.h"
#include "client/print/diff_table.h"
#include "config/report/report_diff.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

class DiffCommand final : public Request {
 public:
  DiffCommand() : Request("diff") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, kRunArgument, "", ids_,
              "Two checks of the history, the earlier one first; of one, and "
              "of the newest without any, the earlier one is found")
        ->expected(0, 2);
    app.add_flag("--verbose", verbose_, "Leave nothing out");
    AddOutput(app, "", /*with_yaml=*/true);
    AddTimeout(app, absl::Seconds(60));
  }

 private:
  void ReadOptions() override {
    for (const std::string& id : ids_) CheckRunId(kRunArgument, id);
  }

  absl::Status Ask(ControllerClient* client) override {
    const KeptChecks checks(*client, timeout_);
    ASSIGN_OR_RETURN(const HistoryRecord after,
                     checks.Read(ids_.empty() ? "" : ids_.back()));
    std::optional<HistoryRecord> before;
    if (ids_.size() == 2) {
      ASSIGN_OR_RETURN(before, checks.Read(ids_.front()));
    } else {
      ASSIGN_OR_RETURN(before, checks.Before(after));
    }
    if (!before.has_value()) {
      return absl::NotFoundError(absl::StrCat(
          "no check of the same hosts before ", after.entry().id(),
          " was found, expected two ids: clusterctl history --kind check"));
    }
    diff_ = DiffReports(before->report(), after.report());
    return absl::OkStatus();
  }

  int Finish() override {
    int status = kExitPass;
    for (const ReportDiff::Change& change : diff_.changes()) {
      const Turn turn = TurnOf(change);
      if (turn == Turn::kWorse) return Deliver(kExitFail);
      if (turn == Turn::kNotJudged) status = kExitNoVerdict;
    }
    // What passed before may be anything now.
    if (diff_.before_verdict() != UNKNOWN && diff_.after_verdict() == UNKNOWN) {
      status = kExitNoVerdict;
    }
    return Deliver(status);
  }

  const google::protobuf::Message& Answer() const override { return diff_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    PrintDiffTable(diff_, style, verbose_, session().zone, out);
  }
  std::string Short(bool utf8) const override { return DiffShort(diff_, utf8); }

  std::vector<std::string> ids_;
  ReportDiff diff_;
};

}  // namespace

void AddDiffCommand(CommandList& commands) {
  commands.push_back(std::make_unique<DiffCommand>());
}

}  // namespace clusterd
