#include "config/report/report_diff.h"

#include <algorithm>
#include <cstdint>
#include <map>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/hash/hash.h"
#include "absl/strings/string_view.h"
#include "config/report/finding_overview.h"
#include "config/report/verdict.h"
#include "config/words/message.h"
#include "config/words/state_word.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr int64_t kWholeHost = -1;
constexpr size_t kRulesInNote = 5;
constexpr int kHostColumnsInNote = 60;

// A host ("": the cluster) and a device of it, or the whole host.
using Place = std::pair<absl::string_view, int64_t>;

// Hashes the finding without values that change on every read.
uint64_t HashOfWords(const Finding& finding) {
  if (finding.finding().empty()) return absl::HashOf(finding.observed());
  Finding lasting;
  lasting.set_finding(finding.finding());
  for (const FindingValue& value : finding.values()) {
    if (!value.moves()) *lasting.add_values() = value;
  }
  return absl::HashOf(lasting.SerializeAsString());
}

// The verdict of one rule about one place.
struct Seen {
  State state = STATE_UNSPECIFIED;
  const Finding* finding = nullptr;  // The first of the worst; null: none.
  uint64_t texts = 0;                // All of the worst, in any order.
  bool reported = false;
};

bool IsWrong(const Seen& seen) {
  return seen.state != STATE_UNSPECIFIED && IsTrouble(seen.state);
}

// One report, indexed for look-ups.
class Side {
 public:
  // The report must outlive it. `name` is the row of words for it in notes.
  Side(const Report& report, const char* name)
      : report_(report), name_(Worded(name)) {
    for (const HostStatus& host : report.hosts()) {
      gave_facts_[host.host()] |= host.no_facts_reason().empty();
    }
    for (const RuleResult& rule : report.rules()) rules_[rule.rule()] = &rule;
  }

  const Report& report() const { return report_; }
  const FindingValue& name() const { return name_; }
  bool HasHost(absl::string_view host) const {
    return gave_facts_.contains(host);
  }
  bool Judged(absl::string_view host) const {
    const auto found = gave_facts_.find(host);
    return host.empty() || (found != gave_facts_.end() && found->second);
  }
  // Null if nothing was judged by that rule.
  const RuleResult* Rule(absl::string_view name) const {
    const auto found = rules_.find(name);
    if (found == rules_.end() || found->second->not_run() ||
        KnownState(found->second->state()) == SKIPPED) {
      return nullptr;
    }
    return found->second;
  }

 private:
  const Report& report_;
  const FindingValue name_;
  absl::flat_hash_map<absl::string_view, bool> gave_facts_;
  absl::flat_hash_map<absl::string_view, const RuleResult*> rules_;
};

template <typename Run>
void ForEachPlace(const Finding& finding, const Run& run) {
  if (finding.subjects().empty()) run(Place("", kWholeHost));
  for (const Subject& subject : finding.subjects()) {
    if (subject.devices().empty()) run(Place(subject.host(), kWholeHost));
    for (const uint32_t device : subject.devices()) {
      run(Place(subject.host(), device));
    }
  }
}

bool HasDowngraded(const RuleResult* rule) {
  return rule != nullptr &&
         absl::c_any_of(rule->findings(), [](const Finding& finding) {
           return finding.downgraded();
         });
}

class RuleSide {
 public:
  // `rule` may be null. `undo_downgrade`: its warnings are failures.
  RuleSide(const Side& side, const RuleResult* rule, bool undo_downgrade)
      : side_(side), rule_(rule) {
    if (rule == nullptr) return;
    for (const Finding& finding : rule->findings()) {
      const State state = undo_downgrade && finding.downgraded()
                              ? FAIL
                              : KnownState(finding.state());
      const uint64_t text = HashOfWords(finding);
      ForEachPlace(finding, [&](const Place& place) {
        Seen& seen = places_[place];
        if (seen.finding == nullptr ||
            WorseState(seen.state, state) != seen.state) {
          seen = {state, &finding, text};
        } else if (seen.state == state) {
          seen.texts += text;
        }
      });
    }
  }

  const Side& side() const { return side_; }
  const RuleResult* rule() const { return rule_; }
  // Null if no finding is about exactly that place.
  Seen* Find(const Place& place) {
    const auto found = places_.find(place);
    return found == places_.end() ? nullptr : &found->second;
  }
  // The state of the place: that of its finding, its host or the cluster;
  // otherwise a pass if it was judged. SKIPPED is not judged.
  Seen At(const Place& place) {
    Seen seen;
    if (rule_ == nullptr || !side_.Judged(place.first)) {
      const Seen* own = Find(place);
      return own == nullptr ? seen : *own;
    }
    for (const Place& each :
         {place, Place(place.first, kWholeHost), Place("", kWholeHost)}) {
      const Seen* found = Find(each);
      if (found == nullptr) continue;
      seen = *found;
      if (seen.state == SKIPPED) seen.state = STATE_UNSPECIFIED;
      return seen;
    }
    seen.state = PASS;
    return seen;
  }

 private:
  const Side& side_;
  const RuleResult* rule_;
  absl::flat_hash_map<Place, Seen> places_;
};

// True if the rule compares hosts with each other.
bool ComparesHosts(const RuleResult& rule) {
  return rule.category() == "address" || rule.category() == "cluster" ||
         rule.category() == "job";
}

// Folds equal changes of one rule.
class RuleChanges {
 public:
  RuleChanges(const std::string& rule, ReportDiff* diff)
      : rule_(rule), changes_(*diff->mutable_changes()) {}

  void Add(const Place& place, const Seen& before, const Seen& after) {
    // A current failure is more important than a past one.
    const Finding& reported = IsWrong(after) ? *after.finding : *before.finding;
    absl::string_view fix;
    if (IsWrong(after)) fix = after.finding->fix();
    const auto [known, is_new] = by_identity_.try_emplace(
        {before.state, after.state, IdentityOf(reported, IsWrong(after))},
        changes_.size());
    if (is_new) {
      ReportDiff::Change& change = *changes_.Add();
      change.set_rule(rule_);
      change.set_before(before.state);
      change.set_after(after.state);
      change.set_observed(reported.observed());
      change.set_fix(std::string(fix));
      AddFinding(reported, &change);
    }
    AddSubject(place, &changes_[known->second]);
  }

 private:
  // The values that the texts of a named finding are made from.
  static Finding ValuesOf(const Finding& reported) {
    Finding named;
    if (reported.finding().empty()) return named;
    named.set_finding(reported.finding());
    *named.mutable_values() = reported.values();
    if (reported.has_expects()) *named.mutable_expects() = reported.expects();
    if (reported.has_waiver()) *named.mutable_waiver() = reported.waiver();
    return named;
  }
  // Folds the same in every language: by texts only if there are no values.
  static std::string IdentityOf(const Finding& reported, bool with_fix) {
    Finding same = ValuesOf(reported);
    if (with_fix) same.set_command(reported.command());
    if (same.finding().empty()) same.set_observed(reported.observed());
    if (same.finding().empty() && with_fix) same.set_fix(reported.fix());
    return same.SerializeAsString();
  }
  static void AddFinding(const Finding& reported, ReportDiff::Change* change) {
    if (reported.finding().empty()) return;
    Finding& named = *change->mutable_finding();
    named = ValuesOf(reported);
    named.set_rule(reported.rule());
    if (reported.subjects().empty()) return;
    *named.add_subjects()->mutable_devices() = reported.subjects(0).devices();
  }
  static void AddSubject(const Place& place, ReportDiff::Change* change) {
    auto* subjects = change->mutable_subjects();
    if (subjects->empty() || subjects->rbegin()->host() != place.first ||
        subjects->rbegin()->devices().empty() || place.second == kWholeHost) {
      subjects->Add()->set_host(std::string(place.first));
    }
    if (place.second == kWholeHost) return;
    subjects->rbegin()->add_devices(static_cast<uint32_t>(place.second));
  }

  using Key = std::tuple<State, State, std::string>;

  const std::string& rule_;
  google::protobuf::RepeatedPtrField<ReportDiff::Change>& changes_;
  absl::flat_hash_map<Key, int> by_identity_;
};

bool IsChange(const Seen& before, const Seen& after) {
  if (before.state != after.state) return IsWrong(before) || IsWrong(after);
  return (before.state == FAIL || before.state == WARN) &&
         before.texts != after.texts;
}

void DiffRule(const Side& before_side, const Side& after_side,
              const std::string& name, bool same_job, ReportDiff* diff) {
  const RuleResult* before_rule = before_side.Rule(name);
  const RuleResult* after_rule = after_side.Rule(name);
  if (before_rule == nullptr && after_rule == nullptr) return;
  const RuleResult& either = before_rule ? *before_rule : *after_rule;
  const bool comparable = same_job || either.category() != "job";
  const bool one_downgraded =
      HasDowngraded(before_rule) != HasDowngraded(after_rule);
  RuleSide before(before_side, before_rule, one_downgraded);
  RuleSide after(after_side, after_rule, one_downgraded);
  RuleChanges folded(name, diff);
  const auto walk = [&](RuleSide& mine, RuleSide& other, bool mine_is_before) {
    if (mine.rule() == nullptr) return;
    for (const Finding& finding : mine.rule()->findings()) {
      const bool whole_is_judged =
          comparable &&
          (!ComparesHosts(either) ||
           absl::c_all_of(finding.subjects(), [&](const Subject& subject) {
             return other.side().Judged(subject.host()) ||
                    !mine.side().Judged(subject.host());
           }));
      ForEachPlace(finding, [&](const Place& place) {
        Seen& own = *mine.Find(place);
        // Only the worst finding about a place counts, and only once.
        if (own.finding != &finding || own.reported) return;
        own.reported = true;
        Seen here = own;
        if (here.state == SKIPPED) here.state = STATE_UNSPECIFIED;
        Seen there = comparable ? other.At(place) : Seen();
        if (there.state == PASS && !whole_is_judged) there.state = {};
        Seen* const same = comparable ? other.Find(place) : nullptr;
        if (same != nullptr) same->reported = true;
        const Seen& first = mine_is_before ? here : there;
        const Seen& second = mine_is_before ? there : here;
        if (IsChange(first, second)) folded.Add(place, first, second);
      });
    }
  };
  walk(before, after, true);
  walk(after, before, false);
}

// Adds hosts of `report` that are missing in `other`.
template <typename Names>
void AddHostsMissingIn(const Side& other, const Report& report, Names* names) {
  for (const HostStatus& host : report.hosts()) {
    if (!other.HasHost(host.host())) *names->Add() = host.host();
  }
}

void AddOneSidedNotes(const Side& one, const Side& other, ReportDiff* diff) {
  const Report& report = one.report();
  if (!report.error().empty()) {
    AddNote(Worded("diff-no-verdict", one.name(),
                   report.has_error_words() ? report.error_words()
                                            : ToFindingValue(report.error())),
            diff);
  }
  if (report.partial()) AddNote(Worded("diff-stopped", one.name()), diff);
  std::vector<std::string> silent;
  for (const HostStatus& host : report.hosts()) {
    if (!one.Judged(host.host()) && other.Judged(host.host())) {
      silent.push_back(host.host());
    }
  }
  if (!silent.empty()) {
    AddNote(Worded("diff-no-facts", one.name(),
                   HostsValue(silent, kHostColumnsInNote)),
            diff);
  }
  const auto note = [&](const char* row,
                        const std::vector<std::string>& names) {
    if (names.empty()) return;
    AddNote(Worded(row, one.name(), Listed(names, kRulesInNote)), diff);
  };
  std::vector<std::string> rules, downgraded;
  for (const RuleResult& rule : report.rules()) {
    const RuleResult* judged = one.Rule(rule.rule());
    const RuleResult* theirs = other.Rule(rule.rule());
    if (judged != nullptr && theirs == nullptr) rules.push_back(rule.rule());
    if (HasDowngraded(judged) && theirs != nullptr && !HasDowngraded(theirs)) {
      downgraded.push_back(rule.rule());
    }
  }
  if (other.report().error().empty()) note("diff-only-judged", rules);
  note("diff-downgraded", downgraded);
}

void AddNotes(const Side& before, const Side& after, ReportDiff* diff) {
  const Report& a = before.report();
  const Report& b = after.report();
  if (a.cluster() != b.cluster()) {
    AddNote(Worded("diff-two-clusters", a.cluster(), b.cluster()), diff);
  }
  if (a.started_at_ms() > b.started_at_ms()) {
    AddNote(Worded("diff-backwards"), diff);
  }
  const auto name = [](const FindingValue& name, const char* none) {
    return ValueText(name).empty() ? Worded(none) : name;
  };
  if (a.network_namespace() != b.network_namespace()) {
    AddNote(Worded("diff-two-namespaces",
                   name(ToFindingValue(a.network_namespace()), "ctl-own"),
                   name(ToFindingValue(b.network_namespace()), "ctl-own")),
            diff);
  }
  if (a.job_id() != b.job_id() || JobName(a).empty() != JobName(b).empty()) {
    AddNote(Worded("diff-two-jobs", name(JobWords(a), "diff-no-job"),
                   name(JobWords(b), "diff-no-job")),
            diff);
  }
  AddOneSidedNotes(before, after, diff);
  AddOneSidedNotes(after, before, diff);
}

// Within a turn the worst change comes first.
std::pair<Turn, int> WeightOf(const ReportDiff::Change& change) {
  return {TurnOf(change), -std::max<int>(change.before(), change.after())};
}

}  // namespace

Turn TurnOf(const ReportDiff::Change& change) {
  const State before = change.before();
  const State after = change.after();
  if (before == STATE_UNSPECIFIED) return Turn::kNew;
  if (before == after) return Turn::kChanged;
  // The failure may still exist.
  if (after == STATE_UNSPECIFIED || (before == FAIL && after == UNKNOWN)) {
    return Turn::kNotJudged;
  }
  if (WorseState(before, after) == KnownState(after)) return Turn::kWorse;
  return after == PASS ? Turn::kResolved : Turn::kBetter;
}

ReportDiff DiffReports(const Report& before, const Report& after) {
  ReportDiff diff;
  diff.set_schema_version(1);
  diff.set_before_run_id(before.run_id());
  diff.set_after_run_id(after.run_id());
  diff.set_before_at_ms(before.started_at_ms());
  diff.set_after_at_ms(after.started_at_ms());
  diff.set_before_verdict(SupportedVerdict(before));
  diff.set_after_verdict(SupportedVerdict(after));
  diff.set_spec_changed(!before.spec_digest().empty() &&
                        !after.spec_digest().empty() &&
                        before.spec_digest() != after.spec_digest());
  const Side first(before, "diff-older");
  const Side second(after, "diff-newer");
  AddHostsMissingIn(first, after, diff.mutable_hosts_added());
  AddHostsMissingIn(second, before, diff.mutable_hosts_removed());
  AddNotes(first, second, &diff);
  const bool same_job = before.job_id() == after.job_id();
  FirstSeen<std::string, bool> rules;
  for (const RuleResult& rule : after.rules()) rules[rule.rule()] = true;
  for (const RuleResult& rule : before.rules()) rules[rule.rule()] = true;
  for (const auto& [rule, is_there] : rules) {
    DiffRule(first, second, rule, same_job, &diff);
  }
  absl::c_stable_sort(*diff.mutable_changes(), [](const ReportDiff::Change& a,
                                                  const ReportDiff::Change& b) {
    return WeightOf(a) < WeightOf(b);
  });
  return diff;
}

void AddNote(const FindingValue& words, ReportDiff* diff) {
  *diff->mutable_notes_words()->add_values() = words;
  diff->add_notes(EnglishText(words));
}

FindingValue DiffSummaryWords(const ReportDiff& diff) {
  std::map<Turn, size_t> count;
  for (const ReportDiff::Change& change : diff.changes()) {
    ++count[TurnOf(change)];
  }
  std::vector<FindingValue> parts;
  for (const TurnRow& row : kTurns) {
    if (count[row.turn] > 0)
      parts.push_back(Worded(row.words, count[row.turn]));
  }
  for (const auto& [words, number] :
       {std::pair("history-added", diff.hosts_added_size()),
        std::pair("history-removed", diff.hosts_removed_size())}) {
    if (number > 0) parts.push_back(Worded(words, Counted(number, "host")));
  }
  if (diff.spec_changed()) parts.push_back(Worded("history-spec-changed"));
  if (!parts.empty()) return Listed(parts, parts.size());
  if (diff.before_verdict() == diff.after_verdict()) return {};
  return Worded("history-verdict", StateWords(diff.after_verdict()),
                StateWords(diff.before_verdict()));
}

}  // namespace clusterd
