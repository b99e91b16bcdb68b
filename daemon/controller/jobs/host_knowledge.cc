// The part of JobChecks that answers hosts, and chooses the hosts to ask.
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/jobs/job_checks.h"

namespace clusterd {
namespace {

absl::StatusOr<SignedVerdict> SignedFor(const std::string& host,
                                        const JudgedJob& judged) {
  RETURN_IF_ERROR(judged.signer.status());
  const auto own = judged.verdict.own.find(host);
  return (*judged.signer)(
      absl::StrCat(judged.verdict.common,
                   own == judged.verdict.own.end() ? "" : own->second));
}

}  // namespace

bool JobChecks::MayAskLocked(const Run& run, const std::string& host) const {
  if (run.for_user || parts_.scheduler->Now() < run.held_until) return true;
  if (!host.empty()) return run.known_by.contains(host);
  return absl::c_all_of(run.prepared.hosts, [&run](const std::string& each) {
    return run.known_by.contains(each);
  });
}

JobChecks::KnownBy JobChecks::KnownByLocked(const std::string& key) const {
  KnownBy known_by;
  const auto kept = kept_.find(key);
  if (kept != kept_.end()) known_by = kept->second.known_by;
  for (const RunPtr& run : runs_) {
    if (run->key != key) continue;
    for (const auto& [host, at] : run->known_by) known_by[host] = at;
  }
  const absl::Time now = parts_.scheduler->Now();
  absl::erase_if(known_by, [this, now](const auto& host) {
    return host.second > now || now - host.second > limits_.known_for;
  });
  return known_by;
}

absl::Status JobChecks::CountBegunLocked(const std::string& host) {
  const absl::Time now = parts_.scheduler->Now();
  std::vector<absl::Time>& begun = begun_[host];
  DropIf(&begun, [now](absl::Time at) {
    return at > now || now - at >= absl::Hours(1);
  });
  const auto of_minute = static_cast<size_t>(absl::c_count_if(
      begun, [now](absl::Time at) { return now - at < absl::Minutes(1); }));
  if (of_minute < limits_.begun_a_minute &&
      begun.size() < limits_.begun_an_hour) {
    begun.push_back(now);
    return absl::OkStatus();
  }
  return ExhaustedWords("msg-hub-job-checks-of-host", host,
                        limits_.begun_a_minute, limits_.begun_an_hour);
}

void JobChecks::HoldUnknowing(Run* run) {
  FactOrder& order = *run->prepared.order;
  KnownBy known_by;
  {
    absl::MutexLock lock(&mutex_);
    if (run->for_user) return;
    known_by = run->known_by;
  }
  order.hold_for = limits_.known_wait;
  order.why_held =
      Worded("hub-host-not-asked", DurationText(limits_.known_wait));
  for (const std::string& host : order.hosts) {
    // A detached host cannot ask, so do not wait for it.
    if (!known_by.contains(host) && parts_.hosts->IsAttached(host)) {
      order.held.insert(host);
    }
  }
}

void JobChecks::AskAs(const std::string& host, JobQuestion question,
                      std::function<void(JobAnswer answer)> reply) {
  JobAsk ask;
  ask.job_bytes = std::move(*question.mutable_job());
  ask.max_age = absl::Milliseconds(question.max_age_ms());
  ask.actor = absl::StrCat("spiffe://", parts_.spec->cluster(), "/host/", host);
  ask.host = host;
  Caller caller;
  caller.on_end = [host, id = question.question_id(), reply = std::move(reply)](
                      const absl::StatusOr<Result>& result) {
    absl::StatusOr<SignedVerdict> verdict =
        result.ok() ? SignedFor(host, **result) : result.status();
    JobAnswer answer;
    answer.set_question_id(id);
    if (verdict.ok()) {
      *answer.mutable_verdict() = *std::move(verdict);
    } else {
      *answer.mutable_error() = ToTaskError(verdict.status());
    }
    reply(std::move(answer));
  };
  Ask(NewCall(), std::move(ask), caller);
}

}  // namespace clusterd
