#include "daemon/controller/jobs/job_checks.h"

#include <utility>

#include "absl/algorithm/container.h"
#include "config/hccl/job_variables.h"
#include "config/launch/job_spec.h"
#include "config/report/job_verdict.h"
#include "config/rules/judge.h"
#include "config/values/network_namespace.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "daemon/controller/hosts/fact_limits.h"
#include "daemon/controller/hosts/spec_holder.h"

namespace clusterd {
namespace {

// Logs and histories contain ids of jobs and names of users.
constexpr size_t kMaxNameBytes = 256;

// A digest: a question about 1,152 servers is long, and each of them sends it.
// It is narrowed and checked only once.
std::string KeyOf(const JobAsk& ask) {
  const std::string selection = ask.selection.SerializeAsString();
  const std::string target = ask.network_namespace.SerializeAsString();
  return Sha256(absl::StrCat(
      selection.size(), " ", target.size(), " ", selection, target,
      ask.job_bytes.empty() ? ask.job.SerializeAsString() : ask.job_bytes));
}

absl::Status ReadJob(JobAsk* ask) {
  if (ask->job_bytes.empty()) return absl::OkStatus();
  if (!ask->job.ParseFromString(ask->job_bytes)) {
    return absl::InvalidArgumentError("job: no JobSpec");
  }
  ask->job_bytes.clear();
  return absl::OkStatus();
}

absl::Status CheckName(absl::string_view subject, const std::string& name) {
  if (PrintableText(name, kMaxNameBytes) == name) return absl::OkStatus();
  return InvalidArgument(subject, ": ", QuotedText(name), ", expected at most ",
                         kMaxNameBytes, " printable characters");
}

// The memory that the question's run takes: the job, and the narrowed spec.
size_t BytesOf(const JobAsk& ask) {
  constexpr size_t kBytesOfServer = 4096;
  return ask.job.ByteSizeLong() + ask.job_bytes.size() +
         ask.selection.ByteSizeLong() +
         kBytesOfServer * static_cast<size_t>(ask.job.servers_size());
}

// Adds the hosts' addresses for a launch.
void AddAddresses(const ClusterSpec& narrowed,
                  const std::vector<HostFacts>& facts, JobVerdict* verdict) {
  for (int i = 0; i < verdict->hosts_size(); ++i) {
    // Both lists have the order of the job.
    if (i >= narrowed.servers_size() ||
        narrowed.servers(i).host() != verdict->hosts(i).host()) {
      continue;
    }
    JobVerdict::Host& host = *verdict->mutable_hosts(i);
    host.set_address(narrowed.servers(i).address());
    host.set_sets_base_port(
        static_cast<size_t>(i) < facts.size() &&
        facts[i].host() == host.host() &&
        FindVariable(facts[i], nullptr, "HCCL_IF_BASE_PORT") != nullptr);
  }
  verdict->set_master_port(narrowed.rendezvous_port());
  if (!narrowed.hccl().base_port_auto()) {
    verdict->set_hccl_base_port(narrowed.hccl().base_port());
  }
}

absl::StatusOr<SignedVerdict> SignedFor(const std::string& host,
                                        const JudgedJob& judged) {
  RETURN_IF_ERROR(judged.signer.status());
  const auto own = judged.verdict.own.find(host);
  return (*judged.signer)(
      absl::StrCat(judged.verdict.common,
                   own == judged.verdict.own.end() ? "" : own->second));
}

absl::StatusOr<std::shared_ptr<FactOrder>> PrepareOrder(
    const JobAsk& ask, std::shared_ptr<const ClusterSpec> base) {
  const auto order = std::make_shared<FactOrder>();
  order->actor = ask.actor;
  order->spec = std::move(base);
  order->network_namespace = ask.network_namespace;
  order->judged = ask.selection;
  RETURN_IF_ERROR(CheckNetworkNamespace(ask.network_namespace));
  RETURN_IF_ERROR(ValidateSelection(ask.selection));
  RETURN_IF_ERROR(NarrowOrder(ask.job, order.get()));
  return order;
}

}  // namespace

absl::Status NarrowOrder(const JobSpec& job, FactOrder* order) {
  RETURN_IF_ERROR(CheckName("job id", job.id()));
  RETURN_IF_ERROR(CheckName("user", job.user()));
  RETURN_IF_ERROR(CheckName("ssh: user", job.ssh().user()));
  ASSIGN_OR_RETURN(ClusterSpec narrowed, NarrowToJob(*order->spec, job));
  order->hosts = Each<std::string>(narrowed.servers(), &ServerSpec::host);
  order->spec = std::make_shared<const ClusterSpec>(std::move(narrowed));
  order->job = std::make_shared<const JobSpec>(job);
  return absl::OkStatus();
}

absl::Status JobChecks::Open(JobAsk* ask) {
  RETURN_IF_ERROR(ReadJob(ask));
  if (ask->host.empty() || ask->job.servers_size() <= 1) {
    return absl::OkStatus();
  }
  const absl::Time now = parts_.scheduler->Now();
  absl::MutexLock lock(&mutex_);
  std::vector<absl::Time>& begun = begun_[ask->host];
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
  return ExhaustedWords("msg-hub-job-checks-of-host", ask->host,
                        limits_.begun_a_minute, limits_.begun_an_hour);
}

void JobChecks::Ask(FactQueue::Ticket ticket, JobAsk ask, Caller caller) {
  if (parts_.spec->learns()) return caller.on_end(parts_.spec->WhyRefused());
  const auto base = parts_.spec->spec();
  const std::string key = KeyOf(ask);
  FactQueue::Question question;
  question.of = CallClass::kJob;
  // The run keeps the spec alive.
  question.key =
      absl::StrCat(key, " ", reinterpret_cast<uintptr_t>(base.get()));
  question.who = ask.host.empty() ? ask.actor : ask.host;
  question.host = ask.host;
  question.joins_begun = !ask.host.empty() || !ask.job.id().empty();
  question.hold_for = limits_.known_wait;
  question.counts_for = limits_.known_for;
  Result kept;
  {
    absl::MutexLock lock(&mutex_);
    kept = FindKeptLocked(key, ask, base);
    if (kept == nullptr) {
      const auto before = kept_.find(key);
      if (before != kept_.end()) question.asked = before->second.asked;
    }
  }
  if (kept != nullptr) {
    if (ask.host.empty() || kept->hosts.contains(ask.host)) {
      return caller.on_end(kept);
    }
    return caller.on_end(DeniedWords("msg-hub-not-in-job", ask.host));
  }
  // All hosts of a job send the same long question: read it once.
  if (!parts_.queue->Joins(question)) {
    const absl::Status read = ReadJob(&ask);
    if (!read.ok()) return caller.on_end(read);
  }
  if (!ask.host.empty()) {
    // Only hosts give up: a user sees the place in the queue.
    question.give_up = parts_.scheduler->Now() + limits_.longest_wait;
    // A host that asks only about itself takes no place of others.
    question.at_once = ask.job_bytes.empty() && ask.job.servers_size() <= 1
                           ? kNoLimit
                           : limits_.shared_by_host;
  }
  question.bytes = BytesOf(ask);
  const auto asked = std::make_shared<JobAsk>(std::move(ask));
  FactQueue::Work<JudgedJob> work;
  work.prepare = [this, asked,
                  base]() -> absl::StatusOr<std::shared_ptr<FactOrder>> {
    RETURN_IF_ERROR(Open(asked.get()));
    return PrepareOrder(*asked, base);
  };
  work.conclude = [this, asked, key,
                   weak = std::weak_ptr<const ClusterSpec>(base)](
                      const Gathered& gathered) {
    const Result result = Judge(*asked, gathered);
    Keep(key, {weak, result, 0, gathered.asked});
    return result;
  };
  parts_.queue->Ask(ticket, question, std::move(work), std::move(caller));
}

JobChecks::Result JobChecks::FindKeptLocked(
    const std::string& key, const JobAsk& ask,
    const std::shared_ptr<const ClusterSpec>& base) {
  const absl::Time now = parts_.scheduler->Now();
  while (!kept_order_.empty()) {
    const Kept& oldest = kept_.at(kept_order_.front());
    if (oldest.base.lock() == base &&
        now - oldest.result->began <= limits_.kept_for) {
      break;
    }
    DropOldestLocked();
  }
  const auto found = kept_.find(key);
  if (found == kept_.end() || found->second.base.lock() != base) return nullptr;
  // Negative if the clock was set back.
  const absl::Duration age = now - found->second.result->began;
  const bool young = age >= absl::ZeroDuration() && age <= ask.max_age;
  const auto& unasked = found->second.result->unasked;
  const bool answers =
      unasked.empty() || (!ask.host.empty() && !unasked.contains(ask.host));
  return young && answers ? found->second.result : nullptr;
}

void JobChecks::Keep(const std::string& key, Kept kept) {
  // With another cluster.yaml the same facts may mean something different.
  if (parts_.spec->spec() != kept.base.lock()) return;
  const JudgedJob& result = *kept.result;
  kept.bytes = result.event.ByteSizeLong() + result.verdict.common.size();
  for (const auto& [host, own] : result.verdict.own) {
    kept.bytes += host.size() + own.size();
  }
  absl::MutexLock lock(&mutex_);
  const auto old = kept_.find(key);
  if (old != kept_.end()) {
    kept_bytes_ -= old->second.bytes;
    kept_order_.remove(key);
  }
  kept_bytes_ += kept.bytes;
  kept_[key] = std::move(kept);
  kept_order_.push_back(key);
  while (kept_.size() > limits_.kept || kept_bytes_ > limits_.kept_bytes) {
    DropOldestLocked();
  }
}

void JobChecks::DropOldestLocked() {
  const auto oldest = kept_.find(kept_order_.front());
  kept_bytes_ -= oldest->second.bytes;
  kept_.erase(oldest);
  kept_order_.pop_front();
}

JobChecks::Result JobChecks::Judge(const JobAsk& ask,
                                   const Gathered& gathered) const {
  const FactOrder& order = gathered.order;
  const auto judged = std::make_shared<JudgedJob>();
  judged->hosts.insert(order.hosts.begin(), order.hosts.end());
  if (!gathered.of_all) {
    for (const std::string& host : order.hosts) {
      if (!gathered.asked.contains(host)) judged->unasked.insert(host);
    }
  }
  judged->began = order.started_at;
  HistoryRecord record =
      RecordOfCheck(MakeCheckReport(order, ask.selection, gathered.facts,
                                    parts_.scheduler->Now()),
                    order.actor);
  parts_.history->AddOrLog(record, parts_.log).IgnoreError();
  const std::string job = ask.job.id().empty() ? "without an id" : ask.job.id();
  Report& report = *judged->event.mutable_report();
  report = std::move(*record.mutable_report());
  if (ask.selection.ByteSizeLong() == 0 &&
      ask.network_namespace.ByteSizeLong() == 0) {
    JobVerdict verdict = MakeJobVerdict(report, ask.job);
    verdict.set_job_digest(JobDigest(ask.job));
    AddAddresses(*order.spec, gathered.facts, &verdict);
    judged->verdict = BytesForHosts(std::move(verdict));
    judged->signer = make_signer_();
    if (!judged->signer.ok()) {
      parts_.log->Error("job ", job, ": the verdict cannot be signed: ",
                        judged->signer.status().message());
    }
  }
  parts_.log->Info("job ", job, ": ", StateWord(KnownState(report.verdict())),
                   ", check ", order.run_id, " of ",
                   Count(order.hosts.size(), "host"), " for ",
                   ActorName(order.actor));
  return judged;
}

void JobChecks::AskAs(const std::string& host, JobQuestion question,
                      std::function<void(JobAnswer answer)> reply) {
  JobAsk ask;
  ask.job_bytes = std::move(*question.mutable_job());
  ask.max_age = absl::Milliseconds(question.max_age_ms());
  ask.actor = absl::StrCat("spiffe://", parts_.spec->cluster(), "/host/", host);
  ask.host = host;
  const FactQueue::Ticket ticket = parts_.queue->NewTicket();
  Caller caller;
  caller.on_end =
      [queue = parts_.queue, ticket, host, id = question.question_id(),
       reply = std::move(reply)](const absl::StatusOr<Result>& result) {
        queue->Leave(ticket);
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
  Ask(ticket, std::move(ask), std::move(caller));
}

}  // namespace clusterd
