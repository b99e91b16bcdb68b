#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "config/report/job_verdict.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/ipv4.h"
#include "config/words/quoted_text.h"
#include "config/words/state_word.h"
#include "config/words/waiver_text.h"
#include "daemon/agent/hooks/hook_service.h"

namespace clusterd {
namespace {

constexpr int kMaxReported = 16;
constexpr int kMaxFailures = 64;  // A job may have them on all its hosts.
constexpr char kNoRule[] = "verdict";

enum class Source { kVerdict, kItself };

bool Closes(const JobReason& reason, Source source,
            const HookSettings& settings) {
  const State state = KnownState(reason.state());
  if (state == UNKNOWN) {
    return settings.fail_closed_unknown.count(reason.rule()) > 0;
  }
  if (state != FAIL || settings.fail_open.count(reason.rule()) > 0) {
    return false;
  }
  return source == Source::kVerdict || reason.holds_alone() ||
         HoldsAlone(reason.rule()) ||
         settings.fail_closed.count(reason.rule()) > 0;
}

// "fail: clusterd: link: DOWN".
FindingValue LineOf(const JobReason& reason) {
  return Worded("hook-state-and-reason", StateWords(reason.state()),
                ReasonWords(reason));
}

void SetText(const FindingValue& words, JobReason* reason) {
  reason->set_text(EnglishText(words));
  *reason->mutable_said() = words;
}

// Collects the answer, the worst decision first.
class Deciding {
 public:
  explicit Deciding(const HookSettings& settings) : settings_(settings) {}

  void Take(const JobReason& reason, Source source,
            HookAnswer::Decision if_closed) {
    // The verdict and the host itself often have the same reason.
    JobReason plain = reason;
    plain.clear_said();
    if (!reported_.insert(plain.SerializeAsString()).second) return;
    const bool closes = Closes(reason, source, settings_);
    if (closes && if_closed > answer_.decision()) {
      answer_.set_decision(if_closed);
      answer_.set_reason(ReasonLine(reason));
      *answer_.mutable_reason_words() = ReasonWords(reason);
    }
    const State state = KnownState(reason.state());
    rules_.insert(reason.rule());
    const bool may_be_wrong =
        state == FAIL || state == UNKNOWN || reason.waived();
    reasons_.emplace_back(reason, !closes && may_be_wrong);
  }

  HookAnswer::Decision IfHere(const JobReason& reason) const {
    const bool drains =
        settings_.drain && reason.state() == FAIL && !IsOfJob(reason.rule());
    return drains ? HookAnswer::REFUSE_AND_DRAIN : HookAnswer::REFUSE;
  }

  HookAnswer Done() {
    if (answer_.decision() == HookAnswer::DECISION_UNSPECIFIED) {
      answer_.set_decision(HookAnswer::ALLOW);
    }
    absl::c_stable_sort(reasons_, [this](const auto& a, const auto& b) {
      return Weight(a.first) < Weight(b.first);
    });
    for (const auto& [reason, is_allowed] : reasons_) {
      const bool fails = reason.state() == FAIL;
      const int most = fails ? kMaxFailures : kMaxReported;
      if (answer_.reasons_size() < most) *answer_.add_reasons() = reason;
      if (!is_allowed) continue;
      if (answer_.let_through_size() >= most) {
        answer_.set_let_through_more(answer_.let_through_more() + 1);
        continue;
      }
      AddLetThrough(LineOf(reason), &answer_);
      if (fails) answer_.set_let_through_worst(answer_.let_through_size());
    }
    return std::move(answer_);
  }

 private:
  // A failure always ranks first, even if another rule explains it.
  std::pair<bool, int> Weight(const JobReason& reason) const {
    const State state = KnownState(reason.state());
    return {state != FAIL && rules_.count(reason.caused_by()) > 0, -state};
  }

  const HookSettings& settings_;
  HookAnswer answer_;
  std::set<std::string> reported_;
  std::set<std::string> rules_;
  // Each reason, and true if the job may start although it may be wrong.
  std::vector<std::pair<JobReason, bool>> reasons_;
};

JobReason Unexplained(State state) {
  JobReason reason;
  reason.set_rule(kNoRule);
  reason.set_state(KnownState(state));
  SetText(Worded("hook-no-reason"), &reason);
  return reason;
}

// True if the state needs a reason, and none of these has that state.
bool Lacks(const google::protobuf::RepeatedPtrField<JobReason>& reasons,
           State state) {
  const State known = KnownState(state);
  return (known == FAIL || known == UNKNOWN) &&
         absl::c_none_of(reasons, [known](const JobReason& reason) {
           return KnownState(reason.state()) == known;
         });
}

}  // namespace

void AddVerdict(const JobVerdict& verdict, absl::string_view host,
                JudgedHost* judged) {
  bool is_there = false;
  bool lacks = Lacks(verdict.reasons(), verdict.verdict());
  for (const JobVerdict::Host& entry : verdict.hosts()) {
    const bool is_own = entry.host() == host;
    is_there = is_there || is_own;
    lacks = lacks && KnownState(entry.state()) != KnownState(verdict.verdict());
    const auto add = [&](JobReason reason) {
      if (!is_own) reason.set_host(entry.host());
      (is_own ? judged->by_verdict : judged->others).push_back(reason);
    };
    absl::c_for_each(entry.reasons(), add);
    if (Lacks(entry.reasons(), entry.state())) add(Unexplained(entry.state()));
  }
  judged->others.insert(judged->others.end(), verdict.reasons().begin(),
                        verdict.reasons().end());
  if (lacks) judged->others.push_back(Unexplained(verdict.verdict()));
  if (!is_there) {
    judged->trouble.push_back(Worded("msg-hook-verdict-lacks-host", host));
  }
}

void HeedWaivers(const HostWaivers* waivers, absl::Time now,
                 std::vector<JobReason>* reasons) {
  if (waivers == nullptr) return;
  ClusterSpec spec;
  *spec.mutable_waivers() = waivers->waivers();
  const ClusterView view(spec, {}, nullptr, now);
  for (const JobReason& old : std::exchange(*reasons, {})) {
    if (old.rule() == kMaintenanceRule) continue;
    const State state = old.waived() ? old.waived_from() : old.state();
    const auto waiver_of = [&](std::optional<uint32_t> device) {
      return view.WaiverOf(old.rule(), old.caused_by(), state, "", device);
    };
    const Waiver* waiver = waiver_of(std::nullopt);
    for (const uint32_t id : old.devices()) {
      if ((waiver = waiver_of(id)) == nullptr) break;
    }
    JobReason& reason = reasons->emplace_back(old);
    if (old.waived() == (waiver != nullptr)) continue;
    reason.set_waived(waiver != nullptr);
    reason.set_state(waiver != nullptr ? WARN : state);
    SetText(waiver == nullptr
                ? Worded("hook-no-longer-waived", TextWords(old))
                : Worded("hook-waived", TextWords(old), WaiverWords(*waiver)),
            &reason);
  }
}

HookAnswer Decide(const JudgedHost& judged, const HookSettings& settings) {
  Deciding deciding(settings);
  for (const JobReason& reason : judged.by_verdict) {
    deciding.Take(reason, Source::kVerdict, deciding.IfHere(reason));
  }
  for (const JobReason& reason : judged.by_itself) {
    deciding.Take(reason, Source::kItself, deciding.IfHere(reason));
  }
  for (const JobReason& reason : judged.others) {
    deciding.Take(reason, Source::kVerdict, HookAnswer::REFUSE);
  }
  HookAnswer answer = deciding.Done();
  for (const FindingValue& trouble : judged.trouble) {
    AddLetThrough(trouble, &answer);
  }
  answer.set_basis(judged.basis);
  answer.set_schema_version(kHookSchemaVersion);
  return answer;
}

void AddLetThrough(const FindingValue& words, HookAnswer* answer) {
  answer->add_let_through(
      PrintableText(EnglishText(words), kMaxPrintableBytes * 2));
  *answer->add_let_through_words() = words;
}

void HoldBrake(const FindingValue& why, bool opens, HookAnswer* answer) {
  const auto lines = answer->let_through_words();
  const auto others = lines.begin() + answer->let_through_worst();
  answer->set_decision(opens ? HookAnswer::ALLOW : HookAnswer::REFUSE);
  answer->clear_let_through();
  answer->clear_let_through_words();
  for (const JobReason& reason : answer->reasons()) {
    if (opens && reason.state() == FAIL) AddLetThrough(LineOf(reason), answer);
  }
  const auto add = [answer](const FindingValue& line) {
    AddLetThrough(line, answer);
  };
  if (!opens) std::for_each(lines.begin(), others, add);
  add(why);
  answer->set_let_through_worst(answer->let_through_size());
  std::for_each(others, lines.end(), add);
}

std::vector<std::string> JobEnvironment(const JobVerdict* verdict,
                                        const JobSpec& job,
                                        absl::string_view host) {
  // 0 would require a HCCL_WHITELIST_FILE, which does not exist; see CANN's
  // list of environment variables.
  std::vector<std::string> lines = {"HCCL_WHITELIST_DISABLE=1"};
  if (verdict == nullptr) return lines;
  bool sets_base_port = false;
  for (const JobVerdict::Host& entry : verdict->hosts()) {
    const bool is_own = entry.host() == host;
    sets_base_port |= is_own && entry.sets_base_port();
    const bool is_master =
        job.servers_size() > 0 && entry.host() == job.servers(0).host();
    if (!is_own && !is_master) continue;
    if (!Ipv4Address::Parse(entry.address()).ok()) continue;
    if (is_own) lines.push_back(absl::StrCat("HCCL_IF_IP=", entry.address()));
    if (is_master) {
      lines.push_back(absl::StrCat("MASTER_ADDR=", entry.address()));
    }
  }
  if (verdict->master_port() > 0) {
    lines.push_back(absl::StrCat("MASTER_PORT=", verdict->master_port()));
  }
  if (verdict->hccl_base_port() > 0 && !sets_base_port) {
    lines.push_back(
        absl::StrCat("HCCL_IF_BASE_PORT=", verdict->hccl_base_port()));
  }
  for (int rank = 0; rank < job.servers_size(); ++rank) {
    if (job.servers(rank).host() != host) continue;
    lines.push_back(absl::StrCat("NNODES=", job.servers_size()));
    lines.push_back(absl::StrCat("NODE_RANK=", rank));
    break;
  }
  return lines;
}

}  // namespace clusterd
