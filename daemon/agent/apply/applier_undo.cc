// The half of Applier that takes back: a failed apply, one that a crash cut
// off, and one that is in effect.
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/applied_drift.h"
#include "config/values/status_macros.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/agent/apply/setting_actions.h"
#include "daemon/host/change/mutation_token_issuer.h"

namespace clusterd {
namespace {

// The machine is as `result` says, whatever became of the journal's last entry.
void AddUnclosed(const absl::Status& closed, ApplyResult* result) {
  if (closed.ok()) return;
  absl::StrAppend(result->mutable_error(), result->error().empty() ? "" : "; ",
                  "the journal could not be closed, so the next apply, "
                  "rollback or start of clusterd undoes it once more: ",
                  closed.message());
}

// Applies that came after one and set the same things, newest first: taking
// back the older one would pull the newer one's values away from under it.
std::string LaterAppliesText(const JournalState& state,
                             const std::vector<JournalState>& states) {
  std::vector<EndedApply> applies;
  for (const JournalState& each : states) {
    applies.push_back({each.begin, each.end});
  }
  const std::vector<LaterClaim> later =
      FindLaterClaims({state.begin, state.end}, applies);
  return absl::StrJoin(later.rbegin(), later.rend(), ", ",
                       [](std::string* out, const LaterClaim& claim) {
                         absl::StrAppend(out, "apply ", claim.apply_id, " of ",
                                         claim.actor, " set ", claim.target,
                                         " later");
                       });
}

// What could not be put back. Nothing is left behind in a namespace that is
// gone.
std::vector<std::string> RestoreAt(const absl::StatusOr<PlanNamespace>& inside,
                                   const MachinePaths& paths,
                                   const JournalState& state) {
  if (inside.ok()) {
    MutationTokenIssuer issuer;
    Machine machine(inside->access(), paths);
    return SettingActions(&machine).Restore(issuer.token(), state.saved);
  }
  std::vector<std::string> residues;
  if (absl::IsNotFound(inside.status())) return residues;
  for (const SavedResource& saved : state.saved) {
    residues.push_back(absl::StrCat(
        saved.sysctl().key(), ": whether it is ", saved.sysctl().value(),
        " again cannot be told: ", inside.status().message()));
  }
  return residues;
}

}  // namespace

JournalUndo Applier::NewUndo(const std::string& reason,
                             const std::string& actor) {
  JournalUndo undo;
  undo.set_reason(reason);
  undo.set_actor(actor);
  undo.set_started_at_ms(absl::ToUnixMillis(access_.clock->Now()));
  return undo;
}

absl::StatusOr<ApplyResult> Applier::Undo(const JournalUndo& undo, Run run) {
  const absl::StatusOr<PlanNamespace>& inside = *run.inside;
  ApplyResult& result = run.result;
  const JournalState state = SummariseJournal(run.journal->entries());
  JournalEntry entry;
  *entry.mutable_undo() = undo;
  const absl::Status written = run.journal->Append(entry);
  // What has begun is undone without it: the old values are in there.
  if (!written.ok() && !state.unfinished()) return InFront("journal", written);
  const std::vector<std::string> residues = RestoreAt(inside, run.paths, state);
  *result.mutable_residues() = {residues.begin(), residues.end()};

  const bool clean = result.residues().empty();
  result.set_outcome(
      undo.rollback()
          ? (clean ? ApplyResult::ROLLED_BACK
                   : ApplyResult::ROLLED_BACK_WITH_RESIDUES)
          : (clean ? ApplyResult::UNDONE : ApplyResult::UNDONE_WITH_RESIDUES));
  result.mutable_forced()->MergeFrom(undo.forced());
  for (StepOutcome& step : *result.mutable_steps()) {
    if (step.state() != StepOutcome::DONE) continue;
    step.set_state(StepOutcome::UNDONE);
    if (absl::IsNotFound(inside.status())) {
      step.set_detail(
          absl::StrCat("its network namespace is gone, and the value with it: ",
                       inside.status().message()));
    }
    if (run.progress) run.progress(step);
  }
  const std::vector<PlanFact> after =
      FactsNow(state, inside.ok() ? inside->ReadHost() : HostFacts());
  *result.mutable_facts_after() = {after.begin(), after.end()};
  result.set_elapsed_ms(MillisecondsSince(run.started));
  CleanTexts(&result);
  AddUnclosed(run.journal->AppendEnd(result), &result);
  return std::move(result);
}

absl::Status Applier::CheckRollback(const RollbackRequest& request,
                                    const JournalState& state,
                                    JournalUndo* undo) {
  RETURN_IF_ERROR(veto_().Check(state.begin.plan()));
  RETURN_IF_ERROR(
      CheckIdle(state.begin.plan(), request.force, undo->mutable_forced()));
  ASSIGN_OR_RETURN(const auto states, folder_.List());
  return CheckForced(absl::StatusCode::kAborted,
                     LaterAppliesText(state, states), "; roll that back first",
                     request.force, undo->mutable_forced());
}

absl::Status Applier::CheckUnmovedSince(const RollbackRequest& request,
                                        const JournalState& state,
                                        const PlanNamespace& inside,
                                        JournalUndo* undo) {
  NamedFacts left;
  for (const PlanFact& fact : state.end.facts_after()) {
    left[fact.name()] = fact.value();
  }
  std::vector<MovedFact> moved;
  for (const PlanFact& fact : FactsNow(state, inside.ReadHost())) {
    const std::string then = NamedFactText(left, fact.name());
    if (IsSameFact(fact.name(), fact.value(), then)) continue;
    moved.push_back({fact.name(), then, fact.value()});
  }
  if (moved.empty()) return absl::OkStatus();
  return CheckForced(absl::StatusCode::kAborted,
                     absl::StrCat("changed since apply ", request.apply_id,
                                  ": ", MovedFactsText(moved)),
                     "; a rollback would undo that too: --force does it",
                     request.force, undo->mutable_forced());
}

absl::StatusOr<ApplyResult> Applier::Rollback(const RollbackRequest& request) {
  RETURN_IF_ERROR(CheckApplyId(request.apply_id));
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  RETURN_IF_ERROR(CheckNothingUnfinished());
  auto journal = Journal::Open(access_.files, folder_.PathOf(request.apply_id));
  if (!journal.ok() && !absl::IsNotFound(journal.status())) {
    return journal.status();
  }
  const JournalState state =
      journal.ok() ? SummariseJournal((*journal)->entries()) : JournalState();
  if (state.phase == JournalState::Phase::kEmpty) {
    return absl::NotFoundError(absl::StrCat(
        options_.host, ": no journal of apply ", request.apply_id, " in ",
        options_.state_folder,
        ": never begun here, or lost with the folder, or dropped after ",
        options_.kept.in_effect, " later applies"));
  }
  if (!state.in_effect()) {
    ApplyResult result = NewResult(state.begin.apply_id());
    result.set_outcome(ApplyResult::NOTHING_TO_DO);
    result.set_error("it was undone or rolled back before");
    return result;
  }
  JournalUndo undo = NewUndo("asked for", request.actor);
  undo.set_rollback(true);
  RETURN_IF_ERROR(CheckRollback(request, state, &undo));
  const auto inside = PlanNamespace::EnterAgain(access_, state.begin.plan());
  if (inside.ok()) {
    RETURN_IF_ERROR(CheckUnmovedSince(request, state, *inside, &undo));
  } else if (!absl::IsNotFound(inside.status())) {
    return InFront(options_.host, inside.status());
  }
  return UndoJournal(inside, state, undo, *std::move(journal));
}

absl::StatusOr<ApplyResult> Applier::UndoJournal(
    const absl::StatusOr<PlanNamespace>& inside, const JournalState& state,
    const JournalUndo& undo, std::unique_ptr<Journal> journal) {
  ApplyResult result = NewResult(state.begin.apply_id());
  if (!undo.rollback()) result.set_error(undo.reason());
  *result.mutable_steps() = {state.steps.begin(), state.steps.end()};
  return Undo(undo, {&inside, options_.find_paths(), access_.clock->Now(),
                     std::move(result), nullptr, std::move(journal)});
}

absl::StatusOr<std::vector<ApplyResult>> Applier::Recover() {
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  ASSIGN_OR_RETURN(const auto journals, folder_.Read());
  std::vector<ApplyResult> results;
  absl::Status damaged;
  for (const JournalFolder::Found& each : journals) {
    if (!each.state.ok()) {
      damaged = each.state.status();
      continue;
    }
    const std::string path = folder_.PathOf(each.apply_id);
    if (each.state->phase == JournalState::Phase::kEmpty) {
      RETURN_IF_ERROR(access_.files->Remove(path));
    }
    if (!each.state->unfinished()) continue;
    ASSIGN_OR_RETURN(auto journal, Journal::Open(access_.files, path));
    JournalUndo undo =
        NewUndo("clusterd ended in the middle, or could not write its journal",
                "clusterd");
    undo.set_rollback(each.state->phase == JournalState::Phase::kRollingBack);
    auto result = UndoJournal(
        PlanNamespace::EnterAgain(access_, each.state->begin.plan()),
        *each.state, undo, std::move(journal));
    if (!result.ok()) return InFront(path, result.status());
    results.push_back(*std::move(result));
  }
  if (!damaged.ok()) return damaged;
  return results;
}

}  // namespace clusterd
