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

}  // namespace

// One apply while it runs.
struct Applier::Run {
  Run(const absl::StatusOr<PlanNamespace>* inside_in,
      const MachinePaths& paths_in)
      : inside(inside_in),
        paths(paths_in),
        machine((*inside)->access(), paths),
        actions(&machine) {}

  // Holds a value.
  const absl::StatusOr<PlanNamespace>* inside;
  const MachinePaths paths;
  Machine machine;
  SettingActions actions;
  MutationTokenIssuer issuer;
  std::unique_ptr<Journal> journal;
  ApplyResult result;
  absl::Time started;
};

Applier::Applier(ApplierOptions options, const MachineAccess& access,
                 ReadVeto veto, DeviceUsers device_users)
    : options_(std::move(options)),
      access_(access),
      veto_(std::move(veto)),
      device_users_(std::move(device_users)),
      folder_(access.files, options_.state_folder) {}

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
    now.back().set_value(FactText(named, planned.name()));
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

absl::Status Applier::RunStep(const PlanStep& step, Run* run,
                              StepOutcome* outcome) {
  ASSIGN_OR_RETURN(const bool already, run->actions.IsAlreadySo(step));
  if (already) {
    outcome->set_state(StepOutcome::ALREADY_SO);
    return absl::OkStatus();
  }
  ASSIGN_OR_RETURN(auto saved, run->actions.Save(step));
  JournalEntry entry;
  entry.mutable_intent()->set_step(step.id());
  *entry.mutable_intent()->mutable_saved() = {saved.begin(), saved.end()};
  const absl::Status written = run->journal->Append(entry);
  if (!written.ok()) return InFront("journal", written);
  ASSIGN_OR_RETURN(const auto done,
                   run->actions.Set(run->issuer.token(), step, saved));
  outcome->set_state(StepOutcome::DONE);
  outcome->set_detail(done);
  return absl::OkStatus();
}

absl::Status Applier::RunSteps(const ApplyRequest& request, Run* run) {
  for (const PlanStep& step : request.plan.steps()) {
    StepOutcome* outcome = run->result.add_steps();
    outcome->set_step(step.id());
    const absl::Time started = access_.clock->Now();
    absl::Status status = RunStep(step, run, outcome);
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
    if (request.progress) request.progress(*outcome);
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

ApplyResult Applier::UndoFailed(const ApplyRequest& request,
                                const absl::Status& why, Run* run) {
  ApplyResult& result = run->result;
  result.set_error(std::string(why.message()));
  for (int i = result.steps_size(); i < request.plan.steps_size(); ++i) {
    StepOutcome* outcome = result.add_steps();
    outcome->set_step(request.plan.steps(i).id());
    outcome->set_state(StepOutcome::NOT_RUN);
  }
  const JournalUndo undo = NewUndo(OutcomeText(why.message()), "clusterd");
  // Never an error, since the journal is that of an apply that has begun.
  return *Undo({run->inside, run->paths, run->journal.get(), undo, result,
                run->started, request.progress});
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
  Run run(&inside, paths);
  run.started = access_.clock->Now();
  run.result = std::move(result);
  RETURN_IF_ERROR(Begin(request, &run));
  absl::Status status = RunSteps(request, &run);
  if (status.ok()) status = FinishApplied(&run);
  if (!status.ok()) run.result = UndoFailed(request, status, &run);
  folder_.DropOld(options_.kept);
  return std::move(run.result);
}

}  // namespace clusterd
