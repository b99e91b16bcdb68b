// The half of Applier that takes back: a failed apply, one that a crash cut
// off, and one that is in effect.
#include <map>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/applied_drift.h"
#include "config/plan/named_facts.h"
#include "config/values/status_macros.h"
#include "daemon/agent/apply/applier.h"
#include "daemon/agent/apply/outcome_text.h"
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

absl::StatusOr<ApplyResult> Applier::Undo(Undoing undoing) {
  const absl::StatusOr<PlanNamespace>& inside = *undoing.inside;
  const JournalUndo& undo = undoing.undo;
  ApplyResult& result = undoing.result;
  const JournalState state = SummariseJournal(undoing.journal->entries());
  JournalEntry entry;
  *entry.mutable_undo() = undo;
  const absl::Status written = undoing.journal->Append(entry);
  // What has begun is undone without it: the old values are in there.
  if (!written.ok() && !state.unfinished()) return InFront("journal", written);
  for (std::string& residue : RestoreAt(inside, undoing.paths, state)) {
    result.add_residues(std::move(residue));
  }

  const bool clean = result.residues().empty();
  result.set_outcome(
      undo.rollback()
          ? (clean ? ApplyResult::ROLLED_BACK
                   : ApplyResult::ROLLED_BACK_WITH_RESIDUES)
          : (clean ? ApplyResult::UNDONE : ApplyResult::UNDONE_WITH_RESIDUES));
  for (const std::string& text : undo.forced()) result.add_forced(text);
  for (StepOutcome& step : *result.mutable_steps()) {
    if (step.state() != StepOutcome::DONE) continue;
    step.set_state(StepOutcome::UNDONE);
    if (absl::IsNotFound(inside.status())) {
      step.set_detail(
          absl::StrCat("its network namespace is gone, and the value with it: ",
                       inside.status().message()));
    }
    if (undoing.progress) undoing.progress(step);
  }
  for (const PlanFact& fact :
       FactsNow(state, inside.ok() ? inside->ReadHost() : HostFacts())) {
    *result.add_facts_after() = fact;
  }
  result.set_elapsed_ms(MillisecondsSince(undoing.started));
  CleanTexts(&result);
  AddUnclosed(undoing.journal->AppendEnd(result), &result);
  return std::move(result);
}

absl::Status Applier::CheckRollback(const RollbackRequest& request,
                                    const JournalState& state,
                                    JournalUndo* undo) {
  RETURN_IF_ERROR(veto_().Check(state.begin.plan()));
  ASSIGN_OR_RETURN(const auto in_use,
                   CheckIdle(state.begin.plan(), request.force));
  if (!in_use.empty()) undo->add_forced(in_use);
  ASSIGN_OR_RETURN(const auto states, folder_.List());
  const std::string later = LaterAppliesText(state, states);
  if (!later.empty() && !request.force) {
    return absl::AbortedError(
        absl::StrCat(options_.host, ": ", later, "; roll that back first"));
  }
  if (!later.empty()) undo->add_forced(later);
  return absl::OkStatus();
}

absl::Status Applier::CheckUnmovedSince(const RollbackRequest& request,
                                        const JournalState& state,
                                        const PlanNamespace& inside,
                                        JournalUndo* undo) {
  std::vector<MovedFact> moved;
  std::map<std::string, std::string> left;
  for (const PlanFact& fact : state.end.facts_after()) {
    left[fact.name()] = fact.value();
  }
  for (const PlanFact& fact : FactsNow(state, inside.ReadHost())) {
    const auto then = left.emplace(fact.name(), kUnknownFact).first;
    if (IsSameFact(fact.name(), fact.value(), then->second)) continue;
    moved.push_back({fact.name(), then->second, fact.value()});
  }
  if (moved.empty()) return absl::OkStatus();
  const std::string text = absl::StrCat(
      "changed since apply ", request.apply_id, ": ", MovedFactsText(moved));
  if (!request.force) {
    return absl::AbortedError(
        absl::StrCat(options_.host, ": ", text,
                     "; a rollback would undo that too: --force does it"));
  }
  undo->add_forced(text);
  return absl::OkStatus();
}

absl::StatusOr<ApplyResult> Applier::Rollback(const RollbackRequest& request) {
  absl::Status status = CheckApplyId(request.apply_id);
  if (!status.ok()) return status;
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  status = CheckNothingUnfinished();
  if (!status.ok()) return status;
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
  ApplyResult result = NewResult(state.begin.apply_id());
  if (!state.in_effect()) {
    result.set_outcome(ApplyResult::NOTHING_TO_DO);
    result.set_error("it was undone or rolled back before");
    return result;
  }
  JournalUndo undo = NewUndo("asked for", request.actor);
  undo.set_rollback(true);
  status = CheckRollback(request, state, &undo);
  if (!status.ok()) return status;
  const auto inside = PlanNamespace::EnterAgain(access_, state.begin.plan());
  if (!inside.ok() && !absl::IsNotFound(inside.status())) {
    return InFront(options_.host, inside.status());
  }
  if (inside.ok()) status = CheckUnmovedSince(request, state, *inside, &undo);
  if (!status.ok()) return status;
  return UndoJournal(inside, state, undo, journal->get());
}

absl::StatusOr<ApplyResult> Applier::UndoJournal(
    const absl::StatusOr<PlanNamespace>& inside, const JournalState& state,
    const JournalUndo& undo, Journal* journal) {
  ApplyResult result = NewResult(state.begin.apply_id());
  if (!undo.rollback()) result.set_error(undo.reason());
  for (const StepOutcome& step : state.steps) *result.add_steps() = step;
  return Undo({&inside, options_.find_paths(), journal, undo, std::move(result),
               access_.clock->Now(), nullptr});
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
    if (each.state->phase == JournalState::Phase::kEmpty) {
      RETURN_IF_ERROR(access_.files->Remove(each.path));
    }
    if (!each.state->unfinished()) continue;
    ASSIGN_OR_RETURN(auto journal, Journal::Open(access_.files, each.path));
    JournalUndo undo =
        NewUndo("clusterd ended in the middle, or could not write its journal",
                "clusterd");
    undo.set_rollback(each.state->phase == JournalState::Phase::kRollingBack);
    auto result = UndoJournal(
        PlanNamespace::EnterAgain(access_, each.state->begin.plan()),
        *each.state, undo, journal.get());
    if (!result.ok()) return InFront(each.path, result.status());
    results.push_back(*std::move(result));
  }
  if (!damaged.ok()) return damaged;
  return results;
}

}  // namespace clusterd
