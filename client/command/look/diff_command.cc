// clusterctl diff: what has changed from one check of the history to another.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "client/command/request.h"
#include "client/print/diff_table.h"
#include "client/print/history_table.h"
#include "config/report/report_diff.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

// Checks that are read whole to find one of the same hosts, and entries that
// are looked at for them.
constexpr int kMostRead = 10;
constexpr uint32_t kMostListed = 1000;

// The names of the report's hosts, sorted.
std::vector<std::string> HostsOf(const Report& report) {
  std::vector<std::string> hosts;
  for (const HostStatus& host : report.hosts()) hosts.push_back(host.host());
  absl::c_sort(hosts);
  return hosts;
}

// "job 17: 12 hosts" of a summary: what a check was about.
absl::string_view ScopeOf(const HistoryEntry& entry) {
  const absl::string_view summary = entry.summary();
  return summary.substr(0, summary.find(';'));
}

class DiffCommand final : public Request {
 public:
  DiffCommand() : Request("diff") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "CHECK_ID", "", ids_,
              "Two checks of the history, the earlier one first; of one, and "
              "of the newest without any, the earlier one is found")
        ->expected(0, 2);
    app.add_flag("--verbose", verbose_, "Leave nothing out");
    AddOutput(app, "", /*with_yaml=*/true);
    AddTimeout(app, absl::Seconds(60));
  }

 private:
  void ReadOptions() override {
    for (const std::string& id : ids_) CheckRunId("CHECK_ID", id);
  }

  absl::Status Ask(ControllerClient* client) override {
    std::string newest;
    if (ids_.empty()) {
      ASSIGN_OR_RETURN(newest, NewestCheck(client));
    }
    ASSIGN_OR_RETURN(const HistoryRecord after,
                     Read(client, ids_.empty() ? newest : ids_.back()));
    HistoryRecord before;
    if (ids_.size() == 2) {
      ASSIGN_OR_RETURN(before, Read(client, ids_.front()));
    } else {
      ASSIGN_OR_RETURN(before, Forerunner(client, after));
    }
    diff_ = DiffReports(before.report(), after.report());
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

  absl::StatusOr<std::string> NewestCheck(ControllerClient* client) {
    ListHistoryRequest request;
    request.add_kinds(HISTORY_CHECK);
    request.set_limit(1);
    ASSIGN_OR_RETURN(
        const ListHistoryResponse list,
        client->Ask(&Controller::Stub::ListHistory, request, timeout_));
    if (!list.entries().empty()) return list.entries(0).id();
    return absl::NotFoundError("the history has no check: clusterctl check");
  }

  absl::StatusOr<HistoryRecord> Read(ControllerClient* client,
                                     const std::string& id) {
    GetHistoryRequest request;
    request.set_id(id);
    ASSIGN_OR_RETURN(
        HistoryRecord record,
        client->Ask(&Controller::Stub::GetHistory, request, timeout_));
    if (record.has_report()) return record;
    return absl::InvalidArgumentError(absl::StrCat(
        "CHECK_ID: ", record.entry().id(), " is no check but of kind ",
        HistoryKindWord(record.entry().kind()),
        ", expected one: clusterctl history --kind check"));
  }

  // The newest check before that one of the same hosts, job, namespace and
  // schedule.
  absl::StatusOr<HistoryRecord> Forerunner(ControllerClient* client,
                                           const HistoryRecord& after) {
    const HistoryEntry& entry = after.entry();
    if (!entry.previous_id().empty()) {
      absl::StatusOr<HistoryRecord> previous =
          Read(client, entry.previous_id());
      // It may have been dropped.
      if (!absl::IsNotFound(previous.status())) return previous;
    }
    ListHistoryRequest request;
    request.add_kinds(HISTORY_CHECK);
    request.set_limit(kMostListed);
    request.set_before_id(entry.id());
    ASSIGN_OR_RETURN(
        const ListHistoryResponse list,
        client->Ask(&Controller::Stub::ListHistory, request, timeout_));
    const std::vector<std::string> hosts = HostsOf(after.report());
    int read = 0;
    for (const HistoryEntry& each : list.entries()) {
      if (ScopeOf(each) != ScopeOf(entry) ||
          each.network_namespace() != entry.network_namespace() ||
          each.schedule() != entry.schedule()) {
        continue;
      }
      if (read++ == kMostRead) break;
      ASSIGN_OR_RETURN(HistoryRecord record, Read(client, each.id()));
      if (record.report().job_id() == after.report().job_id() &&
          HostsOf(record.report()) == hosts) {
        return record;
      }
    }
    return absl::NotFoundError(absl::StrCat(
        "no check of the same hosts before ", entry.id(),
        " was found, expected two ids: clusterctl history --kind check"));
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
