#include "daemon/agent/apply/applier.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "config/plan/make_plan.h"
#include "config/plan/settings.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "daemon/agent/apply/journal_contents.h"
#include "daemon/host/change/mutation_token_issuer.h"

namespace clusterd {
namespace {

constexpr size_t kMaxStepTextBytes = 256;

// The error, with the step that failed.
absl::Status OfStep(const PlanStep& step, const absl::Status& error) {
  FindingValue change = StepWords(step);
  const std::string text = EnglishText(change);
  // Long texts must leave room for the reason.
  if (text.size() > kMaxStepTextBytes) {
    change = ToFindingValue(PrintableText(text, kMaxStepTextBytes));
  }
  return WithWords(error, Worded("plan-say-of-step", step.id(), change,
                                 MessageWords(error)));
}

absl::Status RunStep(const PlanStep& step, SettingActions* actions,
                     Journal* journal, StepOutcome* outcome) {
  ASSIGN_OR_RETURN(const bool already, actions->IsAlreadySo(step));
  if (already) {
    outcome->set_state(StepOutcome::ALREADY_SO);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(const auto saved, actions->Save(step));
  JournalEntry entry;
  entry.mutable_intent()->set_step(step.id());
  *entry.mutable_intent()->mutable_saved() = {saved.begin(), saved.end()};
  RETURN_IF_ERROR(CheckCanBeUndone(entry));
  RETURN_IF_ERROR(InFront("journal", journal->Append(entry)));
  const MutationTokenIssuer issuer;
  ASSIGN_OR_RETURN(const FindingValue repaired,
                   actions->Set(issuer.token(), step, saved));
  if (!repaired.words().empty()) *outcome->mutable_detail_words() = repaired;
  outcome->set_state(StepOutcome::DONE);
  return absl::OkStatus();
}

// Names later applies that set the same things, newest first: undoing the older
// one would overwrite the newer one's values.
FindingValue LaterAppliesWords(const JournalState& state,
                               const std::vector<JournalState>& states) {
  const std::vector<EndedApply> applies(states.begin(), states.end());
  const std::vector<LaterClaim> later = FindLaterClaims(state, applies);
  std::vector<FindingValue> claims;
  for (auto claim = later.rbegin(); claim != later.rend(); ++claim) {
    claims.push_back(Worded("plan-say-set-later", claim->apply_id,
                            ActorName(claim->actor), FactKeyText(claim->goal)));
  }
  return claims.empty() ? FindingValue() : Listed(claims, claims.size());
}

// Returns what could not be restored; nothing if the namespace is gone.
std::vector<FindingValue> RestoreAt(
    const absl::StatusOr<PlanNamespace>& inside, const MachinePaths& paths,
    const std::vector<SavedResource>& all_saved) {
  if (inside.ok()) {
    MutationTokenIssuer issuer;
    Machine machine(inside->access, paths);
    return SettingActions(&machine).Restore(issuer.token(), all_saved);
  }
  std::vector<FindingValue> residues;
  if (absl::IsNotFound(inside.status())) return residues;
  for (const SavedResource& saved : all_saved) {
    residues.push_back(Worded("plan-say-residue-not-known",
                              saved.sysctl().key(), saved.sysctl().value(),
                              MessageWords(inside.status())));
  }
  return residues;
}

// The plan's facts and the digests of saved files, as they are now.
std::vector<PlanFact> FactsNow(const MachineAccess& access,
                               const JournalState& state,
                               const HostFacts& facts) {
  const NamedFacts named = NameFacts(facts);
  std::vector<PlanFact> now;
  for (const PlanFact& planned : state.begin.plan().facts()) {
    *now.emplace_back().mutable_key() = planned.key();
    *now.back().mutable_value() = FactValue(named, planned.key());
  }
  const std::vector<PlanFact> digests =
      DigestFiles(access.files, access.clock, state.saved);
  now.insert(now.end(), digests.begin(), digests.end());
  return now;
}

JournalUndo NewUndo(const MachineAccess& access, const FindingValue& reason,
                    const std::string& actor) {
  JournalUndo undo;
  *undo.mutable_reason_words() = reason;
  undo.set_actor(actor);
  undo.set_started_at_ms(absl::ToUnixMillis(access.clock->Now()));
  return undo;
}

// An apply while it runs, or while it is rolled back.
struct Run {
  const MachineAccess& access;
  // OK for an apply. For an undo, the result of EnterNamespaceAgain: after
  // NotFound there is nothing to undo, any other error is a residue.
  const absl::StatusOr<PlanNamespace>& inside;
  const MachinePaths paths;
  const std::unique_ptr<Journal> journal;
  const std::function<void(const StepOutcome&)> progress;
  ApplyResult result;  // Has the steps known so far.
  // For an automatic undo: the processes that use its devices; empty: none.
  const std::function<FindingValue()> used_by;
  const absl::Duration started = access.clock->Monotonic();

  uint64_t MillisecondsSince(absl::Duration moment) const {
    return ToMs<uint64_t>(access.clock->Monotonic() - moment);
  }

  absl::Status RunSteps(const HostPlan& plan) {
    Machine machine(inside->access, paths);
    SettingActions actions(&machine);
    for (const PlanStep& step : plan.steps()) {
      StepOutcome* outcome = result.add_steps();
      outcome->set_step(step.id());
      const absl::Duration step_started = access.clock->Monotonic();
      absl::Status status = RunStep(step, &actions, journal.get(), outcome);
      outcome->set_elapsed_ms(MillisecondsSince(step_started));
      CleanTexts(outcome);
      if (status.ok()) {
        JournalEntry entry;
        *entry.mutable_done() = *outcome;
        status = journal->Append(entry);
      }
      if (!status.ok()) {
        outcome->set_state(StepOutcome::FAILED);
        *outcome->mutable_detail_words() = MessageWords(status);
        CleanTexts(outcome);
      }
      if (progress) progress(*outcome);
      if (!status.ok()) return OfStep(step, status);
    }
    const MutationTokenIssuer issuer;
    for (const auto& saved : SummariseJournal(journal->entries()).saved) {
      if (!saved.has_file_in_place()) continue;
      SavedFile conf = saved.file_in_place();
      ASSIGN_OR_RETURN(*conf.mutable_content(), machine.conf.Read());
      return machine.conf.Restore(issuer.token(), conf);
    }
    return absl::OkStatus();
  }

  absl::Status FinishApplied() {
    const JournalState state = SummariseJournal(journal->entries());
    const HostFacts facts = inside->read_host();
    const SettingFacts ready(facts);
    for (const PlanStep& step : state.begin.plan().steps()) {
      const StepVerdict verdict = JudgeStep(step, ready);
      if (verdict.state == StepVerdict::kSo) continue;
      return OfStep(
          step, PreconditionWords("msg-step-not-so-after-all", verdict.Why()));
    }
    result.set_outcome(ApplyResult::APPLIED);
    result.set_elapsed_ms(MillisecondsSince(started));
    const auto after = FactsNow(access, state, facts);
    *result.mutable_facts_after() = {after.begin(), after.end()};
    return journal->AppendEnd(result);
  }

  absl::StatusOr<ApplyResult> Undo(const JournalUndo& undo) {
    const JournalState state = SummariseJournal(journal->entries());
    JournalEntry entry;
    *entry.mutable_undo() = undo;
    CleanTexts(entry.mutable_undo());
    const absl::Status written = journal->Append(entry);
    // If this record is missing, an unfinished or overdue apply is still
    // undone: the journal has the old values, and the next start finds it.
    result.set_not_confirmed(undo.reason_words().words() == kNotConfirmed);
    if (!written.ok() && !state.unfinished() && !result.not_confirmed()) {
      return InFront("journal", written);
    }
    const std::vector<FindingValue> residues =
        RestoreAt(inside, paths, state.saved);
    if (!residues.empty()) *result.mutable_residues_words() = Lines(residues);

    const bool clean = residues.empty();
    result.set_outcome(undo.rollback()
                           ? (clean ? ApplyResult::ROLLED_BACK
                                    : ApplyResult::ROLLED_BACK_WITH_RESIDUES)
                           : (clean ? ApplyResult::UNDONE
                                    : ApplyResult::UNDONE_WITH_RESIDUES));
    result.mutable_forced_words()->MergeFrom(undo.forced_words());
    const FindingValue users = used_by ? used_by() : FindingValue();
    if (!users.words().empty()) {
      *result.mutable_forced_words()->add_values() = users;
    }
    for (StepOutcome& step : *result.mutable_steps()) {
      if (step.state() != StepOutcome::DONE) continue;
      step.set_state(StepOutcome::UNDONE);
      if (absl::IsNotFound(inside.status())) {
        *step.mutable_detail_words() =
            Worded("plan-say-namespace-gone", MessageWords(inside.status()));
        CleanTexts(&step);
      }
      if (progress) progress(step);
    }
    const auto after = FactsNow(
        access, state, inside.ok() ? inside->read_host() : HostFacts());
    *result.mutable_facts_after() = {after.begin(), after.end()};
    result.set_elapsed_ms(MillisecondsSince(started));
    CleanTexts(&result);
    const absl::Status closed = journal->AppendEnd(result);
    if (closed.ok()) return std::move(result);
    // The machine is still as `result` says.
    const FindingValue open =
        Worded("msg-step-journal-not-closed", MessageWords(closed));
    *result.mutable_error_words() =
        result.error().empty()
            ? open
            : Worded("plan-say-both", FindingValue(result.error_words()), open);
    CleanTexts(&result);
    return std::move(result);
  }
};

// OK if `why` is empty, or with `force`, which then adds `why` to `forced`.
absl::Status CheckForced(const absl::Status& refused, const FindingValue& why,
                         bool force, FindingValues* forced) {
  if (why.words().empty()) return absl::OkStatus();
  if (!force) return refused;
  *forced->Add() = why;
  return absl::OkStatus();
}

// Aborted if the machine is neither as the plan saw it nor `already_so`.
absl::StatusOr<PlanNamespace> EnterUnmoved(const MachineAccess& access,
                                           const HostPlan& plan,
                                           bool* already_so) {
  absl::StatusOr<PlanNamespace> inside = EnterNamespace(access, plan);
  if (!inside.ok() && !absl::IsNotFound(inside.status())) {
    return inside.status();
  }
  FindingValue why = MessageWords(inside.status());
  if (inside.ok()) {
    const HostFacts facts = inside->read_host();
    const std::vector<MovedFact> moved = FindMovedFacts(plan, facts);
    *already_so = IsAlreadySo(plan, moved, SettingFacts(facts));
    if (*already_so || moved.empty()) return inside;
    why = MovedFactsWords(moved);
  }
  return AbortedWords("msg-step-facts-moved", why);
}

// Adds to `undo->forced` what undoing an apply in effect overrides.
absl::Status CheckUnmovedSince(const MachineAccess& access,
                               const RollbackRequest& request,
                               const JournalState& state,
                               const PlanNamespace& inside, JournalUndo* undo) {
  NamedFacts left;
  for (const PlanFact& fact : state.end.facts_after()) {
    left[fact.key()] = fact.value();
  }
  std::vector<MovedFact> moved;
  for (const PlanFact& fact : FactsNow(access, state, inside.read_host())) {
    const SettingValue then = FactValue(left, fact.key());
    if (IsSameFact(fact.value(), then)) continue;
    moved.push_back({fact.key(), then, fact.value()});
  }
  if (moved.empty()) return absl::OkStatus();
  const FindingValue why = Worded("plan-say-changed-since", request.apply_id,
                                  MovedFactsWords(moved));
  return CheckForced(AbortedWords("msg-step-changed-since", why), why,
                     request.force,
                     undo->mutable_forced_words()->mutable_values());
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpenFile>> Applier::TakeLock() {
  auto lock = folder_.TakeLock();
  if (!lock.ok() || *lock != nullptr) return lock;
  return UnavailableWords("msg-step-busy");
}

FindingValue Applier::WhoUsesDevicesOf(const HostPlan& plan) {
  std::set<uint32_t> touched;
  for (const PlanStep& step : plan.steps()) {
    if (IsOfDevice(step)) touched.insert(step.target().device());
    for (const auto& each : step.dropped()) touched.insert(each.device());
  }
  if (touched.empty()) return {};
  const auto users = device_users_();
  if (!users.ok()) {
    return Worded("plan-say-users-not-known", MessageWords(users.status()));
  }
  std::vector<FindingValue> reasons;
  for (const DeviceUser& user : *users) {
    if (touched.count(user.device) == 0) continue;
    reasons.push_back(
        Worded("plan-say-in-use", user.device, user.pid, user.command));
  }
  return reasons.empty() ? FindingValue() : Listed(reasons, reasons.size());
}

absl::Status Applier::CheckIdle(const HostPlan& plan, bool force,
                                FindingValues* forced) {
  const FindingValue users = WhoUsesDevicesOf(plan);
  return CheckForced(PreconditionWords("msg-step-device-in-use", users), users,
                     force, forced);
}

absl::StatusOr<std::unique_ptr<Journal>> Applier::Begin(
    const ApplyRequest& request, const ApplyResult& result, uint64_t sequence) {
  JournalEntry entry;
  JournalBegin* begin = entry.mutable_begin();
  begin->set_apply_id(request.apply_id);
  begin->set_actor(request.actor);
  *begin->mutable_forced() = result.forced();
  *begin->mutable_plan() = request.plan;
  begin->set_plan_digest(request.plan_digest);
  begin->set_sequence(sequence);
  begin->set_started_at_ms(absl::ToUnixMillis(access_.clock->Now()));
  RETURN_IF_ERROR(CheckCanBeUndone(entry));
  auto journal =
      Journal::Create(access_.files, folder_.PathOf(request.apply_id));
  if (absl::IsAlreadyExists(journal.status())) {
    return PreconditionWords("msg-step-id-used", request.apply_id);
  }
  RETURN_IF_ERROR(journal.status());
  RETURN_IF_ERROR((*journal)->Append(entry));
  if (request.confirm_within == absl::ZeroDuration()) return journal;
  *entry.mutable_deadline() = MakeDeadline(
      ReadHostTime(access_.files, access_.clock), request.confirm_within,
      request.confirm_within, request.actor);
  RETURN_IF_ERROR((*journal)->Append(entry));
  return journal;
}

absl::StatusOr<ApplyResult> Applier::NothingToDo(const ApplyRequest& request) {
  ApplyResult result = NewResult(request.apply_id);
  // Refuse a used id: its apply in effect must not look like nothing was done.
  const bool is_used =
      access_.files->Stat(folder_.PathOf(request.apply_id)).ok();
  if (is_used) return Begin(request, result, /*sequence=*/0).status();
  result.set_outcome(ApplyResult::NOTHING_TO_DO);
  for (const PlanStep& step : request.plan.steps()) {
    result.add_steps()->set_step(step.id());
    result.mutable_steps()->rbegin()->set_state(StepOutcome::ALREADY_SO);
  }
  return result;
}

absl::StatusOr<ApplyResult> Applier::Apply(const ApplyRequest& request) {
  const HostPlan& plan = request.plan;
  RETURN_IF_ERROR(CheckApplyId(request.apply_id));
  RETURN_IF_ERROR(CheckHostPlan(plan));
  if (plan.host() != options_.host) {
    return InvalidWords("msg-step-of-another-host", plan.host(), options_.host);
  }
  RETURN_IF_ERROR(CheckConfirmWithin(request.confirm_within));
  RETURN_IF_ERROR(CheckAllowed(plan, allows_()));
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  ASSIGN_OR_RETURN(const uint64_t sequence, CheckNothingUnfinished(""));
  bool already_so = false;
  const auto inside = EnterUnmoved(access_, plan, &already_so);
  RETURN_IF_ERROR(inside.status());
  if (already_so) return NothingToDo(request);
  ApplyResult result = NewResult(request.apply_id);
  RETURN_IF_ERROR(CheckIdle(plan, request.force,
                            result.mutable_forced_words()->mutable_values()));
  CleanTexts(&result);

  MachinePaths paths = options_.find_paths();
  if (plan.command_ms() > 0) {
    paths.command_deadline = std::min<absl::Duration>(
        absl::Milliseconds(plan.command_ms()), absl::Minutes(2));
  }
  RETURN_IF_ERROR(folder_.MakeRoom(plan.ByteSizeLong(), options_.kept));
  ASSIGN_OR_RETURN(auto journal, Begin(request, result, sequence));
  Run run = {access_,          inside, paths,  std::move(journal),
             request.progress, result, nullptr};
  absl::Status status = run.RunSteps(plan);
  if (status.ok()) status = run.FinishApplied();
  if (!status.ok()) {
    *run.result.mutable_error_words() = MessageWords(status);
    for (int i = run.result.steps_size(); i < plan.steps_size(); ++i) {
      StepOutcome* outcome = run.result.add_steps();
      outcome->set_step(plan.steps(i).id());
      outcome->set_state(StepOutcome::NOT_RUN);
    }
    // Never an error, since the journal is of an apply that has begun.
    result = *run.Undo(NewUndo(access_, MessageWords(status), "clusterd"));
  } else {
    result = std::move(run.result);
    SetReverts(SummariseJournal(run.journal->entries()), &result);
  }
  folder_.DropOld(options_.kept);
  return result;
}

absl::StatusOr<std::unique_ptr<Journal>> Applier::OpenJournal(
    const std::string& apply_id) {
  auto journal = Journal::Open(access_.files, folder_.PathOf(apply_id));
  const bool is_empty =
      journal.ok()
          ? SummariseJournal((*journal)->entries()).phase == HOST_WAITING
          : absl::IsNotFound(journal.status());
  if (!is_empty) return journal;
  return NotFoundWords("msg-step-no-journal", apply_id, options_.state_folder,
                       options_.kept.in_effect);
}

absl::Status Applier::CheckJournal(const std::string& apply_id) {
  RETURN_IF_ERROR(CheckApplyId(apply_id));
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  return OpenJournal(apply_id).status();
}

absl::StatusOr<ApplyResult> Applier::Rollback(const RollbackRequest& request) {
  RETURN_IF_ERROR(CheckApplyId(request.apply_id));
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  RETURN_IF_ERROR(CheckNothingUnfinished(request.apply_id).status());
  ASSIGN_OR_RETURN(auto journal, OpenJournal(request.apply_id));
  const JournalState state = SummariseJournal(journal->entries());
  if (!state.in_effect()) {
    ApplyResult result = NewResult(state.begin.apply_id());
    result.set_outcome(ApplyResult::NOTHING_TO_DO);
    *result.mutable_error_words() = Worded("plan-say-undone-before");
    CleanTexts(&result);
    return result;
  }
  JournalUndo undo =
      NewUndo(access_, ToFindingValue("asked for"), request.actor);
  undo.set_rollback(true);
  RETURN_IF_ERROR(CheckAllowed(state.begin.plan(), allows_()));
  RETURN_IF_ERROR(CheckIdle(state.begin.plan(), request.force,
                            undo.mutable_forced_words()->mutable_values()));
  ASSIGN_OR_RETURN(const auto states, folder_.List());
  const FindingValue later = LaterAppliesWords(state, states);
  RETURN_IF_ERROR(CheckForced(AbortedWords("msg-step-set-later", later), later,
                              request.force,
                              undo.mutable_forced_words()->mutable_values()));
  const auto inside = EnterNamespaceAgain(access_, state.begin.plan());
  if (inside.ok()) {
    RETURN_IF_ERROR(CheckUnmovedSince(access_, request, state, *inside, &undo));
  } else if (!absl::IsNotFound(inside.status())) {
    return inside.status();
  }
  return UndoJournal(inside, state, undo, std::move(journal), nullptr);
}

absl::StatusOr<ApplyResult> Applier::UndoJournal(
    const absl::StatusOr<PlanNamespace>& inside, const JournalState& state,
    const JournalUndo& undo, std::unique_ptr<Journal> journal,
    std::function<FindingValue()> used_by) {
  ApplyResult result = NewResult(state.begin.apply_id());
  result.set_host(state.begin.plan().host());
  const bool is_asked_for =
      undo.rollback() && undo.reason_words().words() != kNotConfirmed;
  if (!is_asked_for) *result.mutable_error_words() = undo.reason_words();
  *result.mutable_steps() = {state.steps.begin(), state.steps.end()};
  Run run = {access_,
             inside,
             options_.find_paths(),
             std::move(journal),
             nullptr,
             std::move(result),
             std::move(used_by)};
  return run.Undo(undo);
}

absl::StatusOr<ApplyResult> Applier::UndoUnfinished(const std::string& apply_id,
                                                    const JournalState& state,
                                                    const UndoWatch& watch) {
  const HostPlan& plan = state.begin.plan();
  const auto inside = EnterNamespaceAgain(access_, plan);
  const bool not_confirmed = state.waits() || state.not_confirmed();
  JournalUndo undo = NewUndo(
      access_, Worded(not_confirmed ? kNotConfirmed : "msg-step-interrupted"),
      "clusterd");
  undo.set_rollback(not_confirmed || state.undo.rollback());
  const std::string path = folder_.PathOf(apply_id);
  ASSIGN_OR_RETURN(auto journal, Journal::Open(access_.files, path));
  if (watch.begins) watch.begins(apply_id);
  // Called afterwards, only for the report: users decide which devices they
  // use, and how long this search takes.
  const bool of_devices =
      absl::c_any_of(state.saved, std::mem_fn(&SavedResource::has_device));
  auto result = UndoJournal(inside, state, undo, std::move(journal), [&] {
    return of_devices ? WhoUsesDevicesOf(plan) : FindingValue();
  });
  if (!result.ok()) result = InFront(path, result.status());
  if (watch.ends) watch.ends(apply_id, result);
  return result;
}

}  // namespace clusterd
