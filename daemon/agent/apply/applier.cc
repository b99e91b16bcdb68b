#include "daemon/agent/apply/applier.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/plan_check.h"
#include "config/plan/settings.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/apply/setting_actions.h"
#include "daemon/host/change/mutation_token_issuer.h"

namespace clusterd {
namespace {

constexpr size_t kMaxStepTextBytes = 256;

std::string StepName(const PlanStep& step) {
  // One that opens ports to thousands of hosts must leave room for the reason.
  return absl::StrCat("step ", step.id(), " (",
                      PrintableText(StepText(step), kMaxStepTextBytes), ")");
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
  const absl::Status written = journal->Append(entry);
  if (!written.ok()) return InFront("journal", written);
  const MutationTokenIssuer issuer;
  ASSIGN_OR_RETURN(*outcome->mutable_detail(),
                   actions->Set(issuer.token(), step, saved));
  outcome->set_state(StepOutcome::DONE);
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<OpenFile>> Applier::TakeLock() {
  auto lock = folder_.TakeLock();
  if (!lock.ok() || *lock != nullptr) return lock;
  return absl::UnavailableError(absl::StrCat(
      options_.host, ": another apply or rollback is running on this host"));
}

absl::StatusOr<std::vector<JournalState>> Applier::ListApplies() {
  return folder_.List();
}

absl::Status Applier::CheckNothingUnfinished() {
  ASSIGN_OR_RETURN(const auto journals, folder_.Read());
  for (const JournalFolder::Found& each : journals) {
    if (!each.state.ok()) return each.state.status();
    if (!each.state->unfinished()) continue;
    return absl::FailedPreconditionError(absl::StrCat(
        options_.host, ": apply ", each.apply_id,
        " was cut off and its journal has no end yet; the next apply or "
        "rollback tries that first, which needs room in ",
        options_.state_folder));
  }
  return absl::OkStatus();
}

absl::Status Applier::CheckForced(absl::StatusCode code, const std::string& why,
                                  absl::string_view advice, bool force,
                                  Forced* forced) {
  if (why.empty()) return absl::OkStatus();
  if (!force) {
    return absl::Status(code, absl::StrCat(options_.host, ": ", why, advice));
  }
  *forced->Add() = why;
  return absl::OkStatus();
}

absl::Status Applier::CheckIdle(const HostPlan& plan, bool force,
                                Forced* forced) {
  std::set<uint32_t> touched;
  for (const PlanStep& step : plan.steps()) {
    if (IsOfDevice(step)) touched.insert(step.target().device());
  }
  if (touched.empty()) return absl::OkStatus();
  const auto users = device_users_();
  std::vector<std::string> reasons;
  if (!users.ok()) {
    reasons.push_back(
        absl::StrCat("whether a process uses its devices cannot be told: ",
                     users.status().message()));
  } else {
    for (const DeviceUser& user : *users) {
      if (touched.count(user.device) == 0) continue;
      reasons.push_back(absl::StrCat("device ", user.device,
                                     " is in use by process ", user.pid, " (",
                                     user.command, ")"));
    }
  }
  return CheckForced(absl::StatusCode::kFailedPrecondition,
                     absl::StrJoin(reasons, ", "),
                     "; end the job, or use --force", force, forced);
}

std::vector<PlanFact> Applier::FactsNow(const JournalState& state,
                                        const HostFacts& facts) {
  const NamedFacts named = NameFacts(facts);
  std::vector<PlanFact> now;
  for (const PlanFact& planned : state.begin.plan().facts()) {
    now.emplace_back().set_name(planned.name());
    now.back().set_value(NamedFactText(named, planned.name()));
  }
  const std::vector<PlanFact> files = DigestFiles(access_.files, state.saved);
  now.insert(now.end(), files.begin(), files.end());
  return now;
}

uint64_t Applier::MillisecondsSince(absl::Time started) {
  return static_cast<uint64_t>(std::max<int64_t>(
      0, absl::ToInt64Milliseconds(access_.clock->Now() - started)));
}

ApplyResult Applier::NewResult(const std::string& apply_id) {
  ApplyResult result;
  result.set_apply_id(apply_id);
  result.set_host(options_.host);
  return result;
}

absl::Status Applier::Begin(const ApplyRequest& request, Run* run) {
  auto journal =
      Journal::Create(access_.files, folder_.PathOf(request.apply_id));
  if (absl::IsAlreadyExists(journal.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        options_.host, ": apply id ", request.apply_id, " was used before"));
  }
  ASSIGN_OR_RETURN(run->journal, std::move(journal));
  JournalEntry entry;
  JournalBegin* begin = entry.mutable_begin();
  begin->set_apply_id(request.apply_id);
  begin->set_actor(request.actor);
  *begin->mutable_forced() = run->result.forced();
  *begin->mutable_plan() = request.plan;
  begin->set_plan_digest(request.plan_digest);
  begin->set_started_at_ms(absl::ToUnixMillis(run->started));
  return run->journal->Append(entry);
}

absl::Status Applier::RunSteps(const HostPlan& plan, Run* run) {
  Machine machine((*run->inside)->access(), run->paths);
  SettingActions actions(&machine);
  for (const PlanStep& step : plan.steps()) {
    StepOutcome* outcome = run->result.add_steps();
    outcome->set_step(step.id());
    const absl::Time started = access_.clock->Now();
    absl::Status status = RunStep(step, &actions, run->journal.get(), outcome);
    outcome->set_elapsed_ms(MillisecondsSince(started));
    CleanTexts(outcome);
    if (status.ok()) {
      JournalEntry entry;
      *entry.mutable_done() = *outcome;
      status = run->journal->Append(entry);
    }
    if (!status.ok()) {
      outcome->set_state(StepOutcome::FAILED);
      outcome->set_detail(OutcomeText(status.message()));
    }
    if (run->progress) run->progress(*outcome);
    if (!status.ok()) return InFront(StepName(step), status);
  }
  return absl::OkStatus();
}

absl::Status Applier::FinishApplied(Run* run) {
  const JournalState state = SummariseJournal(run->journal->entries());
  const HostPlan& plan = state.begin.plan();
  const HostFacts facts = (*run->inside)->ReadHost();
  const std::vector<DriftedStep> unmet = FindDrift(plan, facts);
  if (!unmet.empty()) {
    const PlanStep& step = plan.steps(static_cast<int>(unmet[0].step) - 1);
    return absl::FailedPreconditionError(
        absl::StrCat(StepName(step), ": after all steps, ", unmet[0].why));
  }
  run->result.set_outcome(ApplyResult::APPLIED);
  run->result.set_elapsed_ms(MillisecondsSince(run->started));
  const std::vector<PlanFact> after = FactsNow(state, facts);
  *run->result.mutable_facts_after() = {after.begin(), after.end()};
  return run->journal->AppendEnd(run->result);
}

ApplyResult Applier::UndoFailed(const HostPlan& plan, const absl::Status& why,
                                Run run) {
  run.result.set_error(std::string(why.message()));
  for (int i = run.result.steps_size(); i < plan.steps_size(); ++i) {
    StepOutcome* outcome = run.result.add_steps();
    outcome->set_step(plan.steps(i).id());
    outcome->set_state(StepOutcome::NOT_RUN);
  }
  // Never an error, since the journal is that of an apply that has begun.
  return *Undo(NewUndo(OutcomeText(why.message()), "clusterd"), std::move(run));
}

absl::Status Applier::CheckRequest(const ApplyRequest& request) {
  RETURN_IF_ERROR(CheckApplyId(request.apply_id));
  RETURN_IF_ERROR(CheckHostPlan(request.plan));
  if (request.plan.host() == options_.host) return veto_().Check(request.plan);
  return absl::InvalidArgumentError(
      absl::StrCat("plan: is for host \"", request.plan.host(),
                   "\", expected \"", options_.host, "\""));
}

absl::StatusOr<PlanNamespace> Applier::EnterUnmoved(const HostPlan& plan) {
  absl::StatusOr<PlanNamespace> inside = PlanNamespace::Enter(access_, plan);
  if (!inside.ok() && !absl::IsNotFound(inside.status())) {
    return InFront(options_.host, inside.status());
  }
  std::string moved(inside.status().message());
  if (inside.ok()) {
    moved = MovedFactsText(FindMovedFacts(plan, inside->ReadHost()));
  }
  if (moved.empty()) return inside;
  return absl::AbortedError(absl::StrCat(options_.host,
                                         ": facts moved since the plan was "
                                         "made: ",
                                         moved, "; plan again"));
}

absl::StatusOr<ApplyResult> Applier::Apply(const ApplyRequest& request) {
  RETURN_IF_ERROR(CheckRequest(request));
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  RETURN_IF_ERROR(CheckNothingUnfinished());
  ApplyResult result = NewResult(request.apply_id);
  RETURN_IF_ERROR(
      CheckIdle(request.plan, request.force, result.mutable_forced()));
  const auto inside = EnterUnmoved(request.plan);
  RETURN_IF_ERROR(inside.status());

  MachinePaths paths = options_.find_paths();
  if (request.plan.command_ms() > 0) {
    paths.command_deadline = std::min<absl::Duration>(
        absl::Milliseconds(request.plan.command_ms()), absl::Minutes(2));
  }
  if (request.plan.steps().empty()) {
    result.set_outcome(ApplyResult::NOTHING_TO_DO);
    return result;
  }
  Run run = {&inside,          paths,  access_.clock->Now(), std::move(result),
             request.progress, nullptr};
  RETURN_IF_ERROR(Begin(request, &run));
  absl::Status status = RunSteps(request.plan, &run);
  if (status.ok()) status = FinishApplied(&run);
  result = status.ok() ? std::move(run.result)
                       : UndoFailed(request.plan, status, std::move(run));
  folder_.DropOld(options_.kept);
  return result;
}

}  // namespace clusterd
