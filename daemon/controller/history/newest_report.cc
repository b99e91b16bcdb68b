#include "daemon/controller/history/newest_report.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/string_view.h"

namespace clusterd {
namespace {

// Bounds the delay by large reports and by many checks of single hosts.
constexpr int kMostRead = 20;

bool HasDowngradedFinding(const Report& report) {
  return absl::c_any_of(report.rules(), [](const RuleResult& rule) {
    return absl::c_any_of(rule.findings(), [](const Finding& finding) {
      return finding.downgraded();
    });
  });
}

}  // namespace

bool IsOfWholeCluster(const Report& report, const ClusterSpec& spec) {
  if (!report.error().empty() || report.partial() ||
      !report.network_namespace().empty() || !report.job_id().empty() ||
      report.job_servers() > 0 || report.rules().empty()) {
    return false;
  }
  if (report.schedule().empty() && HasDowngradedFinding(report)) return false;
  absl::flat_hash_set<absl::string_view> hosts;
  for (const HostStatus& host : report.hosts()) hosts.insert(host.host());
  return absl::c_all_of(spec.servers(),
                        [&hosts](const ServerSpec& server) {
                          return hosts.contains(server.host());
                        }) &&
         absl::c_none_of(report.rules(), [](const RuleResult& rule) {
           return rule.not_run() && rule.category() != "job";
         });
}

void NewestReport::Offer(const Report& report, const ClusterSpec& spec,
                         absl::Time now) {
  if (!IsOfWholeCluster(report, spec)) return;
  auto copy = std::make_shared<const Report>(report);
  absl::MutexLock lock(&mutex_);
  if (report_ == nullptr ||
      report_->started_at_ms() <= report.started_at_ms() ||
      report_->started_at_ms() > absl::ToUnixMillis(now)) {
    before_ = std::exchange(report_, std::move(copy));
  }
}

void NewestReport::Restore(const HistoryStore& history, const ClusterSpec& spec,
                           absl::Time now) {
  ListHistoryRequest request;
  request.add_kinds(HISTORY_CHECK);
  request.set_limit(kMaxListedEntries);
  const absl::StatusOr<ListHistoryResponse> list = history.List(request);
  if (!list.ok()) return;  // Reading the history reports it.
  absl::flat_hash_set<absl::string_view> schedules;  // Already restored.
  int read = 0;
  for (const HistoryEntry& entry : list->entries()) {
    if (!entry.network_namespace().empty() ||
        entry.started_at_ms() > absl::ToUnixMillis(now) ||
        (!entry.schedule().empty() &&
         !schedules.insert(entry.schedule()).second)) {
      continue;
    }
    if (++read > kMostRead) return;
    const absl::StatusOr<HistoryRecord> record = history.Get(entry.id());
    if (!record.ok()) continue;
    Offer(record->report(), spec, now);
    if (Get() != nullptr) return;
  }
}

}  // namespace clusterd
