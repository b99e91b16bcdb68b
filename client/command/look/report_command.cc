// clusterctl report: a check of the history as one HTML file, with what is
// different since the one before of the same hosts.
#include <algorithm>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "client/command/request.h"
#include "client/files/user_files.h"
#include "config/html/report_html.h"
#include "config/report/report_diff.h"
#include "config/report/report_table.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

constexpr char kOutStdout[] = "-";
// Entries that are looked at for a check of the same hosts, and of these the
// reports that are fetched.
constexpr uint32_t kEntriesBefore = 200;
constexpr int kReportsBefore = 20;

// What two checks must have in common to be compared.
using Subjects = std::tuple<std::set<std::string>, std::string, std::string>;
Subjects SubjectsOf(const Report& report) {
  std::set<std::string> hosts;
  for (const HostStatus& host : report.hosts()) hosts.insert(host.host());
  return {hosts, report.network_namespace(), report.job_id()};
}

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
    if (id_.empty()) {
      ASSIGN_OR_RETURN(const ListHistoryResponse page,
                       Checks(*client, /*before=*/"", 1));
      if (page.entries().empty()) {
        return absl::NotFoundError("the history has no check yet");
      }
      id_ = page.entries(0).id();
    }
    ASSIGN_OR_RETURN(record_, Record(*client, id_));
    if (!record_.has_report()) {
      AddMistake("RUN: ", id_, " is no check, expected one of clusterctl ",
                 "history --kind check");
      return absl::OkStatus();
    }
    ASSIGN_OR_RETURN(const std::optional<Report> before, Before(*client));
    std::optional<ReportDiff> since;
    if (before.has_value()) since = DiffReports(*before, record_.report());
    ASSIGN_OR_RETURN(html_, ReportHtml(record_.report(),
                                       since.has_value() ? &*since : nullptr));
    return absl::OkStatus();
  }

  absl::StatusOr<ListHistoryResponse> Checks(ControllerClient& client,
                                             const std::string& before,
                                             uint32_t limit) const {
    ListHistoryRequest request;
    request.add_kinds(HISTORY_CHECK);
    request.set_limit(limit);
    request.set_before_id(before);
    return client.Ask(&Controller::Stub::ListHistory, request, timeout_);
  }

  absl::StatusOr<HistoryRecord> Record(ControllerClient& client,
                                       const std::string& id) const {
    GetHistoryRequest request;
    request.set_id(id);
    return client.Ask(&Controller::Stub::GetHistory, request, timeout_);
  }

  // The newest check before this one of the same hosts, namespace and job;
  // none: there is none that is near. One that its schedule names comes first.
  absl::StatusOr<std::optional<Report>> Before(ControllerClient& client) const {
    const HistoryEntry& entry = record_.entry();
    std::vector<std::string> ids;
    if (!entry.previous_id().empty()) ids.push_back(entry.previous_id());
    ASSIGN_OR_RETURN(const ListHistoryResponse page,
                     Checks(client, entry.id(), kEntriesBefore));
    for (const HistoryEntry& older : page.entries()) {
      if (older.network_namespace() != entry.network_namespace()) continue;
      if (ids.size() < kReportsBefore) ids.push_back(older.id());
    }
    const Subjects wanted = SubjectsOf(record_.report());
    for (const std::string& id : ids) {
      absl::StatusOr<HistoryRecord> older = Record(client, id);
      // Dropped by now to make room.
      if (absl::IsNotFound(older.status())) continue;
      RETURN_IF_ERROR(older.status());
      if (older->has_report() && SubjectsOf(older->report()) == wanted) {
        return std::optional<Report>(std::move(*older->mutable_report()));
      }
    }
    return std::optional<Report>();
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
