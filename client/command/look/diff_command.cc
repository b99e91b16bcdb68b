// clusterctl diff compares two checks of the history. clusterctl report writes
// one as an HTML file, with the changes since the same hosts' check before.
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "client/command/request.h"
#include "client/connection/rpc_client.h"
#include "client/files/user_files.h"
#include "client/print/history_table.h"
#include "config/html/report_html.h"
#include "config/report/report_diff.h"
#include "config/report/report_table.h"
#include "config/rules/finding_words.h"
#include "config/values/status_macros.h"
#include "proto/controller.pb.h"

namespace clusterd {
namespace {

// The most entries that are searched for a check of the same hosts, and the
// most reports that are fetched for that.
constexpr uint32_t kEntriesBefore = 200;
constexpr size_t kReportsBefore = 20;

// Two checks are compared only if these are equal.
using Compared = std::tuple<std::set<std::string>, std::string, std::string>;
Compared ComparedOf(const Report& report) {
  std::set<std::string> hosts;
  for (const HostStatus& host : report.hosts()) hosts.insert(host.host());
  return {hosts, report.network_namespace(), report.job_id()};
}

// The same as ComparedOf, from only a history entry.
auto HeadOf(const HistoryEntry& entry) {
  return std::make_tuple(entry.hosts(), entry.job_id(),
                         entry.network_namespace(), entry.schedule());
}

// The name of an argument that is a check; the shell completes such ids.
constexpr char kRunArgument[] = "RUN";

// Checks of the history. Every call asks the controller and returns its errors.
class KeptChecks {
 public:
  // The client must outlive it. `timeout` limits each call.
  KeptChecks(ControllerClient& client, absl::Duration timeout)
      : client_(client), timeout_(timeout) {}

  // The check with its report. Empty `id`: the newest; NotFound if the history
  // has none. InvalidArgument for a run that is not a check.
  absl::StatusOr<HistoryRecord> Read(std::string id) const {
    if (id.empty()) {
      ASSIGN_OR_RETURN(const ListHistoryResponse newest, List("", 1));
      if (newest.entries().empty()) {
        return NotFoundWords("msg-job-history-without-check");
      }
      id = newest.entries(0).id();
    }
    ASSIGN_OR_RETURN(HistoryRecord record, Ask(id));
    if (record.has_report()) return record;
    return InvalidWords("msg-job-run-not-a-check", kRunArgument, id);
  }

  // The newest earlier check of the same hosts, job, namespace and schedule, if
  // the controller does not name it; nullopt if there is none nearby.
  absl::StatusOr<std::optional<HistoryRecord>> Before(
      const HistoryRecord& check) const {
    const HistoryEntry& entry = check.entry();
    std::vector<std::string> ids;
    if (!entry.previous_id().empty()) ids.push_back(entry.previous_id());
    ASSIGN_OR_RETURN(const ListHistoryResponse page,
                     List(entry.id(), kEntriesBefore));
    for (const HistoryEntry& older : page.entries()) {
      if (ids.size() == kReportsBefore) break;
      if (HeadOf(older) == HeadOf(entry)) ids.push_back(older.id());
    }
    const Compared wanted = ComparedOf(check.report());
    for (const std::string& id : ids) {
      absl::StatusOr<HistoryRecord> older = Ask(id);
      // The controller has dropped it to make room.
      if (absl::IsNotFound(older.status())) continue;
      RETURN_IF_ERROR(older.status());
      if (older->has_report() && ComparedOf(older->report()) == wanted) {
        return std::optional<HistoryRecord>(*std::move(older));
      }
    }
    return std::optional<HistoryRecord>();
  }

 private:
  absl::StatusOr<HistoryRecord> Ask(const std::string& id) const {
    GetHistoryRequest request;
    request.set_id(id);
    return client_.Ask(&Controller::Stub::GetHistory, request, timeout_);
  }

  absl::StatusOr<ListHistoryResponse> List(const std::string& before,
                                           uint32_t limit) const {
    ListHistoryRequest request;
    request.add_kinds(HISTORY_CHECK);
    request.set_limit(limit);
    request.set_before_id(before);
    return client_.Ask(&Controller::Stub::ListHistory, request, timeout_);
  }

  ControllerClient& client_;
  const absl::Duration timeout_;
};

class DiffCommand final : public Request {
 public:
  DiffCommand() : Request("diff") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, kRunArgument, "", ids_)->expected(0, 2);
    app.add_flag("--verbose", verbose_);
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
      return NotFoundWords("msg-job-no-earlier-check", after.entry().id());
    }
    diff_ = DiffReports(before->report(), after.report());
    product_ = after.report().product();
    return absl::OkStatus();
  }

  int Finish() override {
    int status = kExitPass;
    for (const ReportDiff::Change& change : diff_.changes()) {
      const Turn turn = TurnOf(change);
      if (turn == Turn::kWorse) return Deliver(kExitFail);
      if (turn == Turn::kNotJudged || turn == Turn::kNew) {
        status = kExitNoVerdict;
      }
    }
    // Rules that passed may fail now.
    if (diff_.before_verdict() != UNKNOWN && diff_.after_verdict() == UNKNOWN) {
      status = kExitNoVerdict;
    }
    return Deliver(status);
  }

  const google::protobuf::Message& Answer() const override { return diff_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    ReportDiff diff = diff_;
    RenderDiff(product_, &diff);
    PrintDiffTable(diff, style, verbose_, session().zone, out);
  }
  std::string Short() const override { return DiffShort(diff_); }

  std::vector<std::string> ids_;
  ReportDiff diff_;  // In English.
  std::string product_;
};

constexpr char kOutStdout[] = "-";

class ReportCommand final : public Request {
 public:
  ReportCommand() : Request("report") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, kRunArgument, "", id_);
    AddOption(app, "--out", "FILE", out_)->required();
    AddTimeout(app, absl::Seconds(60));
  }

 private:
  void ReadOptions() override {
    if (!id_.empty()) CheckRunId(kRunArgument, id_);
    if (out_ == kOutStdout) return;
    const absl::Status target = CheckFileTarget(out_);
    if (!target.ok()) AddMistakes("--out ", target, mistakes_);
  }

  absl::Status Ask(ControllerClient* client) override {
    const KeptChecks checks(*client, timeout_);
    ASSIGN_OR_RETURN(record_, checks.Read(id_));
    ASSIGN_OR_RETURN(const std::optional<HistoryRecord> before,
                     checks.Before(record_));
    ASSIGN_OR_RETURN(
        html_, ReportHtml(record_.report(),
                          before.has_value() ? &before->report() : nullptr));
    return absl::OkStatus();
  }

  int Finish() override {
    if (out_ == kOutStdout) {
      session().out << html_;
      return kExitPass;
    }
    const absl::Status written = WriteTextFile(out_, html_);
    if (!written.ok()) {
      Tell("headed", "--out ", MessageWords(written));
      return kExitNoVerdict;
    }
    Tell("job-say-saved", out_,
         ReportShort(Rendered(record_.report()), ErrStyle().utf8));
    return kExitPass;
  }

  // The command only writes the file, and prints no message.
  const google::protobuf::Message& Answer() const override { return record_; }
  void PrintTable(const Style& /*style*/, std::ostream& /*out*/) override {}

  std::string id_;
  std::string out_;
  HistoryRecord record_;
  std::string html_;
};

}  // namespace

void AddDiffCommands(CommandList& commands) {
  AddCommands<DiffCommand, ReportCommand>(commands);
}

}  // namespace clusterd
