#include "daemon/agent/apply/applier.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/plan/named_facts.h"
#include "config/plan/plan_check.h"
#include "config/plan/settings.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/apply/outcome_text.h"
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

absl::StatusOr<std::string> Applier::CheckIdle(const HostPlan& plan,
                                               bool force) {
  std::set<uint32_t> touched;
  for (const PlanStep& step : plan.steps()) {
    if (IsOfDevice(step)) touched.insert(step.target().device());
  }
  if (touched.empty()) return std::string();
  const auto users = device_users_();
  std::string why;
  if (!users.ok()) {
    why = absl::StrCat("whether a process uses its devices cannot be told: ",
                       users.status().message());
  } else {
    std::vector<std::string> texts;
    for (const DeviceUser& user : *users) {
      if (touched.count(user.device) == 0) continue;
      texts.push_back(absl::StrCat("device ", user.device,
                                   " is in use by process ", user.pid, " (",
                                   user.command, ")"));
    }
    why = absl::StrJoin(texts, ", ");
  }
  if (why.empty() || force) return why;
  return absl::FailedPreconditionError(
      absl::StrCat(options_.host, ": ", why, "; end the job, or use --force"));
}

std::vector<PlanFact> Applier::FactsNow(const JournalState& state,
                                        const HostFacts& facts) {
  const NamedFacts named = NameFacts(facts);
  std::vector<PlanFact> now;
  for (const PlanFact& planned : state.begin.plan().facts()) {
    const auto found = named.find(planned.name());
    now.emplace_back().set_name(planned.name());
    now.back().set_value(found == named.end() ? kUnknownFact : found->second);
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

absl::Status Applier::Begin(const ApplyRequest& request,
                            const std::vector<std::string>& forced, Run* run) {
  auto journal =
      Journal::Create(access_.files, folder_.PathOf(request.apply_id));
  if (absl::IsAlreadyExists(journal.status())) {
    return absl::FailedPreconditionError(absl::StrCat(
        options_.host, ": apply id ", request.apply_id, " was used before"));
  }
  if (!journal.ok()) return journal.status();
  run->journal = *std::move(journal);
  JournalEntry entry;
  JournalBegin* begin = entry.mutable_begin();
  begin->set_apply_id(request.apply_id);
  begin->set_actor(request.actor);
  for (const std::string& text : forced) begin->add_forced(text);
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
  for (const SavedResource& each : saved) {
    *entry.mutable_intent()->add_saved() = each;
  }
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
  for (const PlanFact& fact : FactsNow(state, facts)) {
    *run->result.add_facts_after() = fact;
  }
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
  absl::Status status = CheckApplyId(request.apply_id);
  if (status.ok()) status = CheckHostPlan(request.plan);
  if (!status.ok()) return status;
  if (request.plan.host() != options_.host) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan: is for host \"", request.plan.host(),
                     "\", expected \"", options_.host, "\""));
  }
  return veto_().Check(request.plan);
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
  absl::Status status = CheckRequest(request);
  if (!status.ok()) return status;
  ASSIGN_OR_RETURN(const auto lock, TakeLock());
  status = CheckNothingUnfinished();
  if (!status.ok()) return status;
  std::vector<std::string> forced;
  ASSIGN_OR_RETURN(const auto in_use, CheckIdle(request.plan, request.force));
  if (!in_use.empty()) forced.push_back(in_use);
  ASSIGN_OR_RETURN(const auto inside, EnterUnmoved(request.plan));

  MachinePaths paths = options_.find_paths();
  if (request.plan.command_ms() > 0) {
    paths.command_deadline = std::min<absl::Duration>(
        absl::Milliseconds(request.plan.command_ms()), absl::Minutes(2));
  }
  Run run(&inside, paths);
  run.started = access_.clock->Now();
  run.result = NewResult(request.apply_id);
  for (const std::string& text : forced) run.result.add_forced(text);
  if (request.plan.steps().empty()) {
    run.result.set_outcome(ApplyResult::NOTHING_TO_DO);
    return run.result;
  }
  status = Begin(request, forced, &run);
  if (!status.ok()) return status;
  status = RunSteps(request, &run);
  if (status.ok()) status = FinishApplied(&run);
  const ApplyResult result =
      status.ok() ? run.result : UndoFailed(request, status, &run);
  folder_.DropOld(options_.kept);
  return result;
}

}  // namespace clusterd
