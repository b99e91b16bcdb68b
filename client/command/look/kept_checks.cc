#include "client/command/look/kept_checks.h"

#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

// Entries that are looked at for one of the same hosts, and of these the
// reports that are fetched.
constexpr uint32_t kEntriesBefore = 200;
constexpr size_t kReportsBefore = 20;

// What two checks must have in common to be compared.
using Compared = std::tuple<std::set<std::string>, std::string, std::string>;
Compared ComparedOf(const Report& report) {
  std::set<std::string> hosts;
  for (const HostStatus& host : report.hosts()) hosts.insert(host.host());
  return {hosts, report.network_namespace(), report.job_id()};
}

// The same as far as an entry tells: "job 17: 12 hosts" of its summary.
std::tuple<absl::string_view, absl::string_view, absl::string_view> HeadOf(
    const HistoryEntry& entry) {
  const absl::string_view summary = entry.summary();
  return {summary.substr(0, summary.find(';')), entry.network_namespace(),
          entry.schedule()};
}

}  // namespace

absl::StatusOr<ListHistoryResponse> KeptChecks::List(const std::string& before,
                                                     uint32_t limit) const {
  ListHistoryRequest request;
  request.add_kinds(HISTORY_CHECK);
  request.set_limit(limit);
  request.set_before_id(before);
  return client_.Ask(&Controller::Stub::ListHistory, request, timeout_);
}

absl::StatusOr<HistoryRecord> KeptChecks::Ask(const std::string& id) const {
  GetHistoryRequest request;
  request.set_id(id);
  return client_.Ask(&Controller::Stub::GetHistory, request, timeout_);
}

absl::StatusOr<HistoryRecord> KeptChecks::Read(std::string id) const {
  if (id.empty()) {
    ASSIGN_OR_RETURN(const ListHistoryResponse newest, List("", 1));
    if (newest.entries().empty()) {
      return absl::NotFoundError("the history has no check yet");
    }
    id = newest.entries(0).id();
  }
  ASSIGN_OR_RETURN(HistoryRecord record, Ask(id));
  if (record.has_report()) return record;
  return absl::InvalidArgumentError(
      absl::StrCat(kRunArgument, ": ", id,
                   " is no check, expected one of clusterctl history --kind "
                   "check"));
}

absl::StatusOr<std::optional<HistoryRecord>> KeptChecks::Before(
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
    // Dropped by now to make room.
    if (absl::IsNotFound(older.status())) continue;
    RETURN_IF_ERROR(older.status());
    if (older->has_report() && ComparedOf(older->report()) == wanted) {
      return std::optional<HistoryRecord>(*std::move(older));
    }
  }
  return std::optional<HistoryRecord>();
}

}  // namespace clusterd
