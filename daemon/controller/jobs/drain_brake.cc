#include "daemon/controller/jobs/drain_brake.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "config/values/version.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/fact_run.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {

void DrainBrake::Sweep(absl::Time now, LastTimes* times) const {
  for (auto it = times->begin(); it != times->end();) {
    it->second = std::min(it->second, now);
    it = now - it->second < limits_.window ? std::next(it) : times->erase(it);
  }
}

size_t DrainBrake::Most() const {
  if (limits_.share_percent <= 0) return 0;
  const auto hosts = static_cast<size_t>(parts_.spec->spec()->servers_size());
  const auto share = static_cast<size_t>(limits_.share_percent);
  // A cluster of a few hosts must be able to lose one.
  return std::max<size_t>(2, hosts * share / 100);
}

DrainAnswer DrainBrake::Ask(const std::string& host,
                            const DrainQuestion& question) {
  const absl::Time now = parts_.scheduler->Now();
  const size_t most = Most();
  DrainAnswer answer;
  answer.set_question_id(question.question_id());
  bool first, first_of_host, counted;
  size_t failed;
  {
    absl::MutexLock lock(&mutex_);
    Sweep(now, &failed_);
    Sweep(now, &refused_);
    counted = failed_.count(host) > 0;
    answer.set_may(most > 0 && (counted || failed_.size() < most));
    if (answer.may()) failed_[host] = now;
    failed = failed_.size();
    first = refused_.empty();
    first_of_host = !answer.may() && refused_.emplace(host, now).second;
  }
  const std::string reason = PrintableText(question.reason());
  if (answer.may() && counted) return answer;
  if (answer.may()) {
    parts_.log->Warning("host ", host, ": may be failed (", failed,
                        " of at most ", most, " in ",
                        DurationText(limits_.window), "): ", reason);
    return answer;
  }
  const FindingValue why =
      Worded("msg-hub-drain-brake", Counted(failed, "host"),
             Lasting(limits_.window), most);
  answer.set_why_not(ValueText(why));
  *answer.mutable_why_not_words() = why;
  if (first_of_host) {
    parts_.log->Error("host ", host, ": ", answer.why_not(),
                      "; it was to be failed for: ", reason);
  }
  if (first && first_of_host) {
    KeepSoon(Worded("hub-brake-first", why, host, reason));
  }
  return answer;
}

void DrainBrake::KeepSoon(const FindingValue& why) {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_cluster(parts_.spec->cluster());
  report.set_run_id(NewRunId());
  report.set_started_at_ms(absl::ToUnixMillis(parts_.scheduler->Now()));
  report.set_verdict(UNKNOWN);
  report.set_error(ValueText(why));
  *report.mutable_error_words() = why;
  report.set_clusterd_version(kClusterdVersion);
  // The disk may be slow. A full pool loses only the entry, not the log line.
  parts_.pool->TryRun([parts = parts_, report = std::move(report)]() mutable {
    const absl::Status kept = parts.history->Add(RecordOfCheck(
        std::move(report), ControllerActor(parts.spec->cluster())));
    if (kept.ok()) return;
    parts.log->Warning("history: the brake is not kept: ", kept.message());
  });
}

}  // namespace clusterd
