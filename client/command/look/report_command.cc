// clusterctl report: a check of the history as one HTML file, with what is
// different since the one before of the same hosts.
#include <memory>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "client/command/look/kept_checks.h"
#include "client/command/request.h"
#include "client/files/user_files.h"
#include "config/html/report_html.h"
#include "config/report/report_diff.h"
#include "config/report/report_table.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr char kOutStdout[] = "-";

class ReportCommand final : public Request {
 public:
  ReportCommand() : Request("report") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "RUN", "", id_,
              "Id of a check, or its beginning; default: the newest check");
    AddOption(app, "--out", "FILE", out_, "The file; - is stdout")->required();
    AddTimeout(app, absl::Seconds(60));
  }

 private:
  void ReadOptions() override {
    if (!id_.empty()) CheckRunId("RUN", id_);
    if (out_ == kOutStdout) return;
    const absl::Status target = CheckFileTarget(out_);
    if (!target.ok()) AddMistake("--out ", target.message());
  }

  absl::Status Ask(ControllerClient* client) override {
    const KeptChecks checks(*client, timeout_);
    ASSIGN_OR_RETURN(record_, checks.Read(id_));
    ASSIGN_OR_RETURN(const std::optional<HistoryRecord> before,
                     checks.Before(record_));
    std::optional<ReportDiff> since;
    if (before.has_value()) {
      since = DiffReports(before->report(), record_.report());
    }
    ASSIGN_OR_RETURN(html_, ReportHtml(record_.report(),
                                       since.has_value() ? &*since : nullptr));
    return absl::OkStatus();
  }

  int Finish() override {
    if (out_ == kOutStdout) {
      session().out << html_;
      return kExitPass;
    }
    const absl::Status written = WriteTextFile(out_, html_);
    if (!written.ok()) {
      Tell("--out ", written.message());
      return kExitNoVerdict;
    }
    Tell("saved to ", out_, ": ",
         ReportShort(record_.report(), ErrStyle().utf8));
    return kExitPass;
  }

  // It prints no message: the file is all.
  const google::protobuf::Message& Answer() const override { return record_; }
  void PrintTable(const Style& /*style*/, std::ostream& /*out*/) override {}

  std::string id_;
  std::string out_;
  HistoryRecord record_;
  std::string html_;
};

}  // namespace

void AddReportCommand(CommandList& commands) {
  commands.push_back(std::make_unique<ReportCommand>());
}

}  // namespace clusterd
