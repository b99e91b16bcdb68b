#include "daemon/agent/hooks/hook_service.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "config/launch/hook_table.h"
#include "config/launch/job_spec.h"
#include "config/report/job_verdict.h"
#include "config/rules/catalogue.h"
#include "config/values/hostlist.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/waiver_text.h"
#include "google/protobuf/arena.h"

namespace clusterd {
namespace {

constexpr int kMaxServers = 16384;
constexpr int kMaxServerDevices = 1024;
// The longest time between the first and last hook of one start of a job, which
// its id identifies: a hook of slurmctld asks before all nodes do.
constexpr absl::Duration kSameStart = absl::Seconds(10);
constexpr size_t kMaxIdBytes = 256;
// The controller's share of a hook's time; the rest is for this host itself.
constexpr double kShareOfController = 0.6;
// The observation's share of that rest; brake and drain have what remains.
constexpr double kShareOfReading = 0.7;
constexpr absl::Duration kDrainWait = absl::Seconds(2);
constexpr absl::Duration kLeastBrakeWait = absl::Seconds(1);
constexpr absl::Duration kRecheckWait = absl::Seconds(20);
constexpr absl::Duration kIdlePoll = absl::Seconds(1);
constexpr char kIdleRule[] = "device-idle";

const HookRow* FindKind(HookKind kind) {
  if (kind == HOOK_KIND_UNSPECIFIED) return nullptr;
  return FirstWith(kHooks, &HookRow::kind, kind);
}

// By HookAnswer::Decision.
constexpr absl::string_view kDecisions[] = {"allow", "allow", "refuse",
                                            "refuse and drain"};

absl::Status CheckRequest(const HookRequest& request, const JobSpec& job) {
  std::vector<FindingValue> mistakes;
  const auto check_size = [&mistakes](int64_t size, int64_t most,
                                      const FindingValue& what) {
    if (size <= most) return;
    mistakes.push_back(Worded("msg-hook-job-too-large", what, most));
  };
  const auto check_name = [&mistakes](const std::string& name) {
    if (IsHostName(name)) return;
    mistakes.push_back(Worded("msg-hook-host-name", QuotedText(name)));
  };
  if (FindKind(request.kind()) == nullptr) {
    mistakes.push_back(
        Worded("msg-hook-other-version", Worded("hook-kind", request.kind())));
  }
  const size_t id_size = job.id().size();
  check_size(id_size, kMaxIdBytes, Worded("hook-job-id", id_size));
  const int servers = job.servers_size();
  check_size(servers, kMaxServers, Counted(servers, "server"));
  for (const JobServer& server : job.servers()) {
    if (mistakes.size() > 8) break;
    check_name(server.host());
    const auto devices =
        std::max<int64_t>(server.devices_size(), server.device_count());
    check_size(
        devices, kMaxServerDevices,
        Worded("hook-server-devices", QuotedText(server.host()), devices));
  }
  if (!request.node_name().empty()) check_name(request.node_name());
  if (mistakes.empty()) return absl::OkStatus();
  return WithWords(absl::InvalidArgumentError(""), Lines(mistakes));
}

// The part of the job that this host can check without others.
JobSpec OnThisHost(const JobSpec& job, const JobServer& own) {
  JobSpec narrowed = job;
  const bool is_first = job.servers(0).host() == own.host();
  const JobServer server = own;
  narrowed.clear_servers();
  narrowed.set_other_servers(static_cast<uint32_t>(job.servers_size()) - 1);
  *narrowed.add_servers() = server;
  JobServer& only = *narrowed.mutable_servers(0);
  if (!is_first) only.clear_master_port();
  // These need all servers of the job.
  if (job.servers_size() > 1) {
    only.clear_world_size();
    only.clear_node_rank();
    only.clear_master_addr();
    only.clear_nnodes();
  }
  narrowed.clear_rank_table();
  narrowed.clear_ssh();
  return narrowed;
}

bool LacksFacts(const JobVerdict& verdict, absl::string_view host) {
  return absl::c_any_of(verdict.hosts(), [host](const JobVerdict::Host& each) {
    return each.host() == host && each.state() == UNKNOWN;
  });
}

// Device ids of the job on this host; empty: all devices.
std::vector<uint32_t> DevicesOf(const JobServer& server,
                                const HostFacts& facts) {
  if (server.devices_size() > 0) {
    return {server.devices().begin(), server.devices().end()};
  }
  const auto& ids = facts.device_ids().value().ids();
  const auto count = static_cast<int>(std::min<uint32_t>(
      static_cast<uint32_t>(ids.size()), server.device_count()));
  return {ids.begin(), ids.begin() + count};
}

bool HasAddress(const HostFacts& facts, uint32_t id) {
  return absl::c_any_of(facts.devices(), [id](const DeviceFacts& device) {
    return device.id() == id && device.address().value().settings_size() > 0;
  });
}

// Narrows a reason to the job's devices; false if none is left. Without a spec,
// the network of a port without an address does not count: its use is unknown.
bool Concerns(const HostFacts& facts, const std::vector<uint32_t>& of_job,
              JobReason* reason) {
  if (reason->devices().empty()) return true;
  const Rule* const rule = FindRule(reason->rule());
  std::vector<uint32_t> left;
  for (const uint32_t id : reason->devices()) {
    if (!of_job.empty() && !absl::c_linear_search(of_job, id)) continue;
    if (rule != nullptr && rule->needs_roce && !HasAddress(facts, id)) continue;
    left.push_back(id);
  }
  reason->mutable_devices()->Assign(left.begin(), left.end());
  return !left.empty();
}

// The words of an error; if it has none, its message may be any bytes.
FindingValue WhyWords(const absl::Status& error) {
  FindingValue words = MessageWords(error);
  words.set_text(PrintableText(words.text()));
  return words;
}

std::string VerdictBasis(const JobVerdict& verdict, absl::Time now) {
  return absl::StrCat(
      "verdict of run ", PrintableText(verdict.run_id()), ", ",
      DurationText(now - absl::FromUnixMillis(verdict.judged_at_ms())), " old");
}

// PASS also if a waiver of the rule covers every finding, so that a drain is
// undone. Maintenance never undoes one.
State StateOf(const Report& report, absl::string_view rule) {
  for (const RuleResult& result : report.rules()) {
    if (result.rule() != rule) continue;
    const bool waived =
        result.state() == WARN &&
        absl::c_all_of(result.findings(), [](const Finding& finding) {
          return finding.state() == SKIPPED ||
                 (finding.has_waiver() &&
                  finding.waiver().rule() != kMaintenanceRule);
        });
    return waived ? PASS : result.state();
  }
  return STATE_UNSPECIFIED;
}

}  // namespace

struct HookService::Call {
  const HookRequest& request;
  const JobSpec& job;
  const HookRow& kind;
  const std::function<bool()>& gone;
  Clock* clock;
  const absl::Duration begin;
  const absl::Duration wait;
  const HookSettings settings;
  const JobServer* const own;  // nullptr: the job does not name this host.
  const std::shared_ptr<const HostWaivers> waivers;  // nullptr: not known.
  // The report about only this host, once it was made.
  mutable Report report = {};

  absl::Duration Passed() const { return clock->Monotonic() - begin; }
  absl::Duration Left() const {
    return std::max(wait - Passed(), absl::ZeroDuration());
  }
  bool InMaintenance() const {
    return waivers != nullptr &&
           absl::c_any_of(waivers->waivers(), [](const Waiver& waiver) {
             return waiver.rule() == kMaintenanceRule;
           });
  }
  void Heed(JudgedHost* judged) const {
    HeedWaivers(waivers.get(), clock->Now(), &judged->by_verdict);
  }
};

absl::StatusOr<HookAnswer> HookService::Answer(
    const HookRequest& request, const std::function<bool()>& gone) {
  // An arena: all hosts of a job allocate over a thousand servers at once.
  google::protobuf::ArenaOptions blocks;
  blocks.start_block_size = blocks.max_block_size = size_t{32} << 10;
  google::protobuf::Arena arena(blocks);
  auto* const job = google::protobuf::Arena::CreateMessage<JobSpec>(&arena);
  if (!job->ParseFromString(request.job())) {
    return InvalidWords("msg-hook-other-version", Worded("hook-job-form"));
  }
  RETURN_IF_ERROR(CheckRequest(request, *job));
  const HookRow& kind = *FindKind(request.kind());
  const absl::Duration wait = request.wait_ms() > 0
                                  ? absl::Milliseconds(request.wait_ms())
                                  : absl::Seconds(kind.wait_s);
  HookSettings settings = parts_.settings();
  // Slurm drains a node whose prolog refuses, so maintenance only warns there.
  if (kind.is_slurm) settings.fail_open.insert(kMaintenanceRule);
  const Call call{request,
                  *job,
                  kind,
                  gone,
                  parts_.clock,
                  parts_.clock->Monotonic(),
                  std::min(wait, kMaxHookWait),
                  std::move(settings),
                  FirstWith(job->servers(), &JobServer::host, parts_.host),
                  parts_.waivers == nullptr ? nullptr : parts_.waivers()};
  HookAnswer answer = Decided(call);
  Act(call, &answer);
  LogAnswer(call, answer);
  return answer;
}

HookAnswer HookService::Decided(const Call& call) {
  const HookJudges judges = call.kind.judges;
  JobVerdict verdict;
  bool is_known = true;
  JudgedHost judged;
  if (judges == HookJudges::kNothing) {
    // The verdict at the job's start, with the addresses that the job uses.
    const auto kept = parts_.verdicts->Find(JobDigest(call.job), kMaxKeptAge);
    is_known = kept.ok();
    if (is_known) verdict = *kept;
    judged.basis = is_known ? VerdictBasis(verdict, call.clock->Now())
                            : std::string(kept.status().message());
  } else if (judges == HookJudges::kAfterJob) {
    judged = JudgeAfterJob(call);
  } else if (judges == HookJudges::kHost) {
    JudgeAlone(call, nullptr, &judged);
  } else if (call.request.opt_out().empty()) {
    judged = JudgeJob(call, &verdict);
  } else {
    judged.basis =
        absl::StrCat("opted out by ", QuotedText(call.request.opt_out()));
    return Decide(judged, call.settings);
  }
  HookAnswer answer = Decide(judged, call.settings);
  const bool starts =
      judges == HookJudges::kJob && answer.decision() == HookAnswer::ALLOW;
  if (!starts && judges != HookJudges::kNothing) return answer;
  for (std::string& line :
       JobEnvironment(is_known ? &verdict : nullptr, call.job, parts_.host)) {
    answer.add_environment(std::move(line));
  }
  return answer;
}

JudgedHost HookService::JudgeJob(const Call& call, JobVerdict* verdict) {
  JudgedHost judged;
  const JobSpec& job = call.job;
  if (call.own == nullptr) {
    if (job.servers_size() > 0) {
      judged.trouble.push_back(Worded("msg-hook-job-lacks-host", parts_.host));
    }
    JudgeAlone(call, nullptr, &judged);
    return judged;
  }
  const std::string digest = JobDigest(job);
  const absl::Duration max_age = absl::Milliseconds(call.request.max_age_ms());
  // A kept verdict does not show that maintenance has begun since.
  absl::StatusOr<JobVerdict> found =
      max_age > absl::ZeroDuration() && !call.InMaintenance()
          ? parts_.verdicts->Find(digest, max_age)
          : absl::NotFoundError("");
  const bool is_kept = found.ok();
  if (!is_kept) {
    const bool is_start = call.request.max_age_ms() == 0 && !job.id().empty();
    found = AskController(job, digest, is_start ? kSameStart : max_age,
                          call.Left() * kShareOfController);
  }
  if (found.ok()) {
    *verdict = *std::move(found);
    if (LacksFacts(*verdict, parts_.host)) {
      judged.trouble.push_back(Worded("msg-hook-host-not-judged"));
      JudgeAlone(call, verdict, &judged);
      return judged;
    }
    AddVerdict(*verdict, parts_.host, &judged);
    if (is_kept) call.Heed(&judged);
    judged.basis = VerdictBasis(*verdict, call.clock->Now());
    return judged;
  }
  judged.trouble.push_back(
      Worded("msg-hook-job-not-judged", WhyWords(found.status())));
  const absl::StatusOr<JobVerdict> kept =
      parts_.verdicts->Find(digest, call.settings.max_age);
  if (kept.ok()) *verdict = *kept;
  JudgeAlone(call, kept.ok() ? verdict : nullptr, &judged);
  return judged;
}

void HookService::JudgeAlone(const Call& call, const JobVerdict* kept,
                             JudgedHost* judged) {
  const HostFacts facts = Observe(call.Left() * kShareOfReading);
  const bool has_job =
      call.own != nullptr && call.kind.judges != HookJudges::kHost;
  JobSpec job = has_job ? OnThisHost(call.job, *call.own) : JobSpec();
  if (has_job && job.servers(0).devices().empty() &&
      job.servers(0).device_count() == 0) {
    // Uses all devices, because the spec's list is not known here.
    *job.mutable_servers(0)->mutable_devices() =
        facts.device_ids().value().ids();
  }
  call.report = parts_.judge(facts, has_job ? &job : nullptr);
  const std::vector<uint32_t> devices =
      has_job ? DevicesOf(*call.own, facts) : std::vector<uint32_t>();
  for (JobReason& reason : ReasonsAbout(call.report, parts_.host)) {
    if (!Concerns(facts, devices, &reason)) continue;
    // Without a job the rule only warns, but a job is about to start.
    if (reason.rule() == kMaintenanceRule && !call.kind.is_slurm) {
      reason.set_state(FAIL);
    }
    judged->by_itself.push_back(std::move(reason));
  }
  // One server cannot judge a job of several servers.
  if (call.job.servers_size() < 2) {
    for (JobReason& reason : ReasonsAbout(call.report, "")) {
      judged->by_itself.push_back(std::move(reason));
    }
  }
  if (parts_.waivers != nullptr && call.waivers == nullptr &&
      absl::c_any_of(judged->by_itself, [](const JobReason& reason) {
        return reason.state() == FAIL;
      })) {
    judged->trouble.push_back(Worded("msg-hook-waivers-not-known"));
  }
  judged->basis = "this host alone";
  if (kept == nullptr) return;
  AddVerdict(*kept, parts_.host, judged);
  call.Heed(judged);
  absl::StrAppend(&judged->basis, " and the kept ",
                  VerdictBasis(*kept, call.clock->Now()));
}

JudgedHost HookService::JudgeAfterJob(const Call& call) {
  const auto judge = [this, &call] {
    JudgedHost judged;
    JudgeAlone(call, nullptr, &judged);
    return judged;
  };
  const auto is_busy = [](const JudgedHost& judged) {
    return absl::c_any_of(judged.by_itself, [](const JobReason& reason) {
      return reason.rule() == kIdleRule && reason.state() == FAIL;
    });
  };
  JudgedHost judged = judge();
  // The last processes of a job may need a moment to end.
  while (is_busy(judged) && !stopping_ && !call.gone() &&
         call.Passed() < call.settings.grace && call.Left() > kIdlePoll) {
    call.clock->SleepFor(kIdlePoll);
    judged = judge();
  }
  return judged;
}

absl::StatusOr<JobVerdict> HookService::AskController(const JobSpec& job,
                                                      const std::string& digest,
                                                      absl::Duration max_age,
                                                      absl::Duration wait) {
  const auto max_age_ms = ToMs(max_age);
  const std::string key = absl::StrCat(digest, " ", max_age_ms);
  const auto ask = [&]() -> absl::StatusOr<JobVerdict> {
    JobQuestion question;
    question.set_max_age_ms(max_age_ms);
    *question.mutable_job() = job.SerializeAsString();
    ASSIGN_OR_RETURN(const SignedVerdict answer,
                     parts_.controller->AskJob(std::move(question), wait));
    ASSIGN_OR_RETURN(
        JobVerdict proved,
        parts_.verdicts->Prove(answer, max_age + wait + kMaxClockLead));
    if (proved.job_digest() != digest) {
      return DeniedWords("msg-hook-verdict-other-job");
    }
    const absl::Status kept = parts_.verdicts->Keep(answer, proved);
    if (!kept.ok()) {
      parts_.log->Warning("verdict is not kept: ", kept.message());
    }
    return proved;
  };
  return questions_.Do(key, wait, ask)
      .value_or(
          DeadlineWords("msg-hook-no-answer", absl::FormatDuration(wait)));
}

HostFacts HookService::Observe(absl::Duration wait) {
  std::optional<HostFacts> facts =
      observations_.Do("", wait, [&] { return parts_.observe(wait); });
  if (facts) return *std::move(facts);
  HostFacts nothing;
  nothing.set_host(parts_.host);
  nothing.mutable_missing()->set_reason(Missing::TIMED_OUT);
  SetDetail(Worded("fact-read-slow", absl::FormatDuration(wait)),
            nothing.mutable_missing());
  return nothing;
}

void HookService::Act(const Call& call, HookAnswer* answer) {
  // Another name is another node. A caller must not get that node drained for
  // this host's failure, nor resumed for its success.
  const std::string& node = call.request.node_name();
  const bool by_name = call.kind.is_slurm && node == parts_.host;
  if (call.kind.is_slurm && call.kind.judges != HookJudges::kNothing &&
      !by_name && !node.empty()) {
    AddLetThrough(Worded("msg-hook-other-node", QuotedText(node), parts_.host),
                  answer);
  }
  absl::Status status;
  if (answer->decision() == HookAnswer::REFUSE_AND_DRAIN) {
    if (call.gone() || BrakeIsOn(call, answer) || !by_name) return;
    status = parts_.drainer->Drain(call.settings, node, answer->reason(),
                                   std::min(kDrainWait, call.Left()));
  } else if (by_name && answer->decision() == HookAnswer::ALLOW &&
             (call.kind.judges == HookJudges::kHost ||
              call.kind.judges == HookJudges::kAfterJob)) {
    status = parts_.drainer->Recheck(
        call.settings, node,
        [this, report = call.report](const std::string& rule) {
          return RuleHolds(rule, report);
        });
  }
  if (!status.ok()) parts_.log->Warning(status.message());
}

bool HookService::BrakeIsOn(const Call& call, HookAnswer* answer) {
  DrainQuestion question;
  question.set_job_id(call.job.id());
  question.set_reason(answer->reason());
  const absl::StatusOr<DrainAnswer> may = parts_.controller->AskDrain(
      question, std::clamp(call.Left(), kLeastBrakeWait, kDrainWait));
  if (may.ok() ? may->may() : absl::IsUnavailable(may.status())) return false;
  const FindingValue why =
      Worded("msg-hook-not-drained",
             may.ok() ? PrintableWords(may->has_why_not_words()
                                           ? may->why_not_words()
                                           : ToFindingValue(may->why_not()))
                      : WhyWords(may.status()),
             answer->reason_words());
  HoldBrake(why, call.kind.is_slurm, answer);
  parts_.log->Warning(answer->let_through(answer->let_through_worst() - 1));
  return true;
}

bool HookService::RuleHolds(const std::string& rule, const Report& report) {
  const Return by = ReturnOf(rule);
  const State alone = StateOf(report, rule);
  if (by == Return::kByItself && alone != SKIPPED) return alone == PASS;
  if (by == Return::kByHand) return false;
  JobSpec job;
  job.add_servers()->set_host(parts_.host);
  const absl::StatusOr<JobVerdict> verdict =
      AskController(job, JobDigest(job), absl::ZeroDuration(), kRecheckWait);
  if (!verdict.ok() || verdict->hosts_size() != 1) return false;
  const JobVerdict::Host& host = verdict->hosts(0);
  return host.host() == parts_.host &&
         (host.state() == PASS || host.state() == WARN);
}

void HookService::LogAnswer(const Call& call, const HookAnswer& answer) {
  const JobSpec& job = call.job;
  const auto& lines = answer.let_through();
  const std::string let_through =
      Part("not blocking: ", FirstOf({lines.begin(), lines.end()}, 2));
  const std::string line = absl::StrCat(
      "hook ", call.kind.name, ", ",
      job.id().empty() ? "no job" : absl::StrCat("job ", QuotedText(job.id())),
      job.user().empty() ? "" : absl::StrCat(" of ", QuotedText(job.user())),
      ": ", kDecisions[answer.decision()], "; ",
      JoinParts("; ", {answer.reason(), answer.basis(), let_through,
                       call.gone() ? "the hook is gone" : ""}),
      "; ", absl::ToInt64Milliseconds(call.Passed()), " ms");
  const bool is_plain = answer.decision() == HookAnswer::ALLOW &&
                        answer.let_through().empty() &&
                        call.request.opt_out().empty();
  parts_.log->Write(is_plain ? LogLevel::kInfo : LogLevel::kNotice, line);
}

}  // namespace clusterd
