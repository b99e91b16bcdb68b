#include "daemon/agent/apply/applier.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "config/plan/host_plan_check.h"
#include "config/plan/named_facts.h"
#include "config/plan/plan_text.h"
#include "config/plan/step_check.h"
#include "daemon/agent/apply/later_applies.h"
#include "daemon/agent/apply/outcome_text.h"
#include "daemon/agent/apply/resource_keeper.h"
#include "daemon/agent/apply/step_runner.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "daemon/host/quoted_text.h"

namespace clusterd {
namespace {

constexpr char kJournalSuffix[] = ".journal";
constexpr size_t kMaxIdBytes = 64;
constexpr size_t kMaxStepTextBytes = 256;

bool IsApplyId(absl::string_view id) {
  return !id.empty() && id.size() <= kMaxIdBytes && id[0] != '.' &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

absl::Status CheckId(absl::string_view id) {
  if (IsApplyId(id)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("apply id \"", id.substr(0, kMaxIdBytes),
                   "\" is not one, expected 1 to 64 of A-Z a-z 0-9 . _ -"));
}

absl::Status InFront(absl::string_view what, const absl::Status& status) {
  return absl::Status(status.code(),
                      absl::StrCat(what, ": ", status.message()));
}

std::string StepName(const PlanStep& step) {
  // One that opens ports to thousands of hosts must leave room for the reason.
  return absl::StrCat("step ", step.id(), " (",
                      PrintableText(StepText(step), kMaxStepTextBytes), ")");
}

uint64_t Milliseconds(absl::Duration duration) {
  return static_cast<uint64_t>(
      std::max<int64_t>(0, absl::ToInt64Milliseconds(duration)));
}

JournalEntry EndEntry(const ApplyResult& result) {
  JournalEntry entry;
  *entry.mutable_end() = result;
  return entry;
}

// The machine is as `result` says, whatever became of the journal's last entry.
void AddUnclosed(const absl::Status& closed, ApplyResult* result) {
  if (closed.ok()) return;
  absl::StrAppend(result->mutable_error(), result->error().empty() ? "" : "; ",
                  "the journal could not be closed, so the next apply, "
                  "rollback or start of clusterd undoes it once more: ",
                  closed.message());
}

// What could not be put back. Nothing is left behind in a namespace that is
// gone.
std::vector<std::string> RestoreAt(const absl::StatusOr<PlanPlace>& place,
                                   const MachinePaths& paths,
                                   const JournalState& state) {
  if (place.ok()) {
    MutationTokenIssuer issuer;
    Machine machine(place->doors(), paths);
    return ResourceKeeper(&machine).Restore(issuer.token(), state.saved,
                                            state.begin.plan());
  }
  std::vector<std::string> residues;
  if (absl::IsNotFound(place.status())) return residues;
  for (const SavedResource& saved : state.saved) {
    residues.push_back(absl::StrCat(
        saved.sysctl().key(), ": whether it is ", saved.sysctl().value(),
        " again cannot be told: ", place.status().message()));
  }
  return residues;
}

}  // namespace

// One apply while it runs.
struct Applier::Run {
  Run(const PlanPlace* place_in, const MachinePaths& paths)
      : place(place_in),
        machine(place_in->doors(), paths),
        keeper(&machine),
        steps(&machine) {}

  const MutationToken& token() const { return issuer.token(); }

  const PlanPlace* place;
  Machine machine;
  ResourceKeeper keeper;
  StepRunner steps;
  MutationTokenIssuer issuer;
  std::unique_ptr<Journal> journal;
  std::vector<SavedResource> saved;
  ApplyResult result;
  absl::Time started;
};

Applier::Applier(ApplierOptions options, MachineDoors doors, ReadVeto veto,
                 DeviceUsers device_users)
    : options_(std::move(options)),
      doors_(doors),
      veto_(std::move(veto)),
      device_users_(std::move(device_users)) {}

std::string Applier::JournalPath(const std::string& apply_id) const {
  return absl::StrCat(options_.state_folder, "/", apply_id, kJournalSuffix);
}

absl::StatusOr<std::unique_ptr<OpenFile>> Applier::TakeLock() {
  absl::Status made = doors_.files->MakeDirectory(options_.state_folder, 0700);
  if (made.ok()) {
    made = doors_.files->SyncDirectory(FolderOf(options_.state_folder));
  }
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  const std::string path = absl::StrCat(options_.state_folder, "/lock");
  auto file = doors_.files->Open(path, OpenMode::kReadWrite);
  if (absl::IsNotFound(file.status())) {
    file = doors_.files->Open(path, OpenMode::kCreate);
    if (absl::IsAlreadyExists(file.status())) {
      file = doors_.files->Open(path, OpenMode::kReadWrite);
    }
  }
  if (!file.ok()) return file.status();
  const absl::StatusOr<bool> locked = (*file)->TryLock();
  if (!locked.ok()) return locked.status();
  if (*locked) return file;
  return absl::UnavailableError(absl::StrCat(
      options_.host, ": another apply or rollback is running on this host"));
}

absl::StatusOr<std::vector<JournalState>> Applier::ListApplies() {
  std::vector<JournalState> states;
  const auto names = doors_.files->List(options_.state_folder);
  if (absl::IsNotFound(names.status())) return states;
  if (!names.ok()) return names.status();
  for (absl::string_view name : *names) {
    if (!absl::ConsumeSuffix(&name, kJournalSuffix)) continue;
    const auto bytes = ReadWholeFile(
        doors_.files, JournalPath(std::string(name)), kMaxJournalBytes);
    if (!bytes.ok()) return bytes.status();
    const auto text = ParseJournal(*bytes);
    if (!text.ok()) continue;
    states.push_back(SummariseJournal(text->entries));
    states.back().begin.set_apply_id(std::string(name));
  }
  std::stable_sort(states.begin(), states.end(),
                   [](const JournalState& a, const JournalState& b) {
                     return a.begin.started_at_ms() < b.begin.started_at_ms();
                   });
  return states;
}

absl::Status Applier::CheckNothingUnfinished() {
  const auto names = doors_.files->List(options_.state_folder);
  if (!names.ok()) return names.status();
  for (absl::string_view name : *names) {
    if (!absl::ConsumeSuffix(&name, kJournalSuffix)) continue;
    const std::string path = JournalPath(std::string(name));
    const auto bytes = ReadWholeFile(doors_.files, path, kMaxJournalBytes);
    if (!bytes.ok()) return bytes.status();
    const auto text = ParseJournal(*bytes);
    if (!text.ok()) return InFront(path, text.status());
    if (SummariseJournal(text->entries).unfinished()) {
      return absl::FailedPreconditionError(absl::StrCat(
          options_.host, ": apply ", name,
          " was cut off and its journal has no end yet; the next apply or "
          "rollback tries that first, which needs room in ",
          options_.state_folder));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<std::string> Applier::CheckIdle(const HostPlan& plan,
                                               bool force) {
  std::set<uint32_t> touched;
  for (const PlanStep& step : plan.steps()) {
    for (const uint32_t device : DevicesOf(step)) touched.insert(device);
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

std::vector<PlanFact> Applier::FactsNow(const HostPlan& plan,
                                        const std::vector<SavedResource>& saved,
                                        const HostFacts& facts) {
  const NamedFacts named = NameFacts(facts);
  std::vector<PlanFact> now;
  for (const PlanFact& planned : plan.facts()) {
    const auto found = named.find(planned.name());
    now.emplace_back();
    now.back().set_name(planned.name());
    now.back().set_value(found == named.end() ? kUnknownFact : found->second);
  }
  for (const auto& more : {DigestFiles(doors_.files, saved),
                           DigestFirewallFiles(doors_.files, saved)}) {
    now.insert(now.end(), more.begin(), more.end());
  }
  return now;
}

absl::Status Applier::Begin(const ApplyRequest& request,
                            const std::vector<std::string>& forced, Run* run) {
  auto journal = Journal::Create(doors_.files, JournalPath(request.apply_id));
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
  const absl::StatusOr<bool> already = run->steps.IsAlreadySo(step);
  if (!already.ok()) return already.status();
  if (*already) {
    outcome->set_state(StepOutcome::ALREADY_SO);
    return absl::OkStatus();
  }
  auto saved = run->keeper.Save(step);
  if (!saved.ok()) return saved.status();
  JournalEntry entry;
  entry.mutable_intent()->set_step(step.id());
  for (const SavedResource& each : *saved) {
    *entry.mutable_intent()->add_saved() = each;
  }
  const absl::Status written = run->journal->Append(entry);
  if (!written.ok()) return InFront("journal", written);
  run->saved.insert(run->saved.end(), saved->begin(), saved->end());
  const auto done = run->steps.Run(run->token(), step, *saved);
  if (!done.ok()) return done.status();
  outcome->set_state(StepOutcome::DONE);
  outcome->set_detail(*done);
  return absl::OkStatus();
}

absl::Status Applier::RunSteps(const ApplyRequest& request, Run* run) {
  for (const PlanStep& step : request.plan.steps()) {
    StepOutcome* outcome = run->result.add_steps();
    outcome->set_step(step.id());
    const absl::Time started = doors_.clock->Now();
    absl::Status status = RunStep(step, run, outcome);
    outcome->set_elapsed_ms(Milliseconds(doors_.clock->Now() - started));
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
  const HostPlan& plan = run->journal->entries().front().begin().plan();
  const HostFacts facts = run->place->ReadHost();
  const std::vector<DriftedStep> unmet = FindDrift(plan, facts);
  if (!unmet.empty()) {
    const PlanStep& step = plan.steps(static_cast<int>(unmet[0].step) - 1);
    return absl::FailedPreconditionError(
        absl::StrCat(StepName(step), ": after all steps, ", unmet[0].why));
  }
  run->result.set_outcome(ApplyResult::APPLIED);
  run->result.set_elapsed_ms(Milliseconds(doors_.clock->Now() - run->started));
  for (const PlanFact& fact : FactsNow(plan, run->saved, facts)) {
    *run->result.add_facts_after() = fact;
  }
  return run->journal->Append(EndEntry(run->result));
}

ApplyResult Applier::UndoFailed(const ApplyRequest& request,
                                const absl::Status& why, Run* run) {
  JournalEntry entry;
  entry.mutable_undo()->set_reason(OutcomeText(why.message()));
  entry.mutable_undo()->set_actor("clusterd");
  entry.mutable_undo()->set_started_at_ms(
      absl::ToUnixMillis(doors_.clock->Now()));
  // Undone also when this cannot be written: the old values are in there.
  run->journal->Append(entry).IgnoreError();
  const std::vector<std::string> residues =
      run->keeper.Restore(run->token(), run->saved, request.plan);

  ApplyResult& result = run->result;
  result.set_outcome(residues.empty() ? ApplyResult::UNDONE
                                      : ApplyResult::UNDONE_WITH_RESIDUES);
  for (const std::string& residue : residues) result.add_residues(residue);
  result.set_error(std::string(why.message()));
  for (StepOutcome& outcome : *result.mutable_steps()) {
    if (outcome.state() != StepOutcome::DONE) continue;
    outcome.set_state(StepOutcome::UNDONE);
    if (request.progress) request.progress(outcome);
  }
  for (int i = result.steps_size(); i < request.plan.steps_size(); ++i) {
    StepOutcome* outcome = result.add_steps();
    outcome->set_step(request.plan.steps(i).id());
    outcome->set_state(StepOutcome::NOT_RUN);
  }
  for (const PlanFact& fact :
       FactsNow(request.plan, run->saved, run->place->ReadHost())) {
    *result.add_facts_after() = fact;
  }
  result.set_elapsed_ms(Milliseconds(doors_.clock->Now() - run->started));
  CleanTexts(&result);
  AddUnclosed(run->journal->Append(EndEntry(result)), &result);
  return result;
}

absl::StatusOr<ApplyResult> Applier::Apply(const ApplyRequest& request) {
  absl::Status status = CheckId(request.apply_id);
  if (status.ok()) status = CheckHostPlan(request.plan);
  if (!status.ok()) return status;
  if (request.plan.host() != options_.host) {
    return absl::InvalidArgumentError(
        absl::StrCat("plan: is for host \"", request.plan.host(),
                     "\", expected \"", options_.host, "\""));
  }
  status = veto_().Check(request.plan);
  if (!status.ok()) return status;
  const auto lock = TakeLock();
  if (!lock.ok()) return lock.status();
  status = CheckNothingUnfinished();
  if (!status.ok()) return status;
  std::vector<std::string> forced;
  const auto in_use = CheckIdle(request.plan, request.force);
  if (!in_use.ok()) return in_use.status();
  if (!in_use->empty()) forced.push_back(*in_use);
  const auto place = PlanPlace::Enter(doors_, request.plan);
  if (absl::IsNotFound(place.status())) {
    return absl::AbortedError(
        absl::StrCat(options_.host, ": facts moved since the plan was made: ",
                     place.status().message(), "; plan again"));
  }
  if (!place.ok()) return InFront(options_.host, place.status());
  const auto moved = FindMovedFacts(request.plan, place->ReadHost());
  if (!moved.empty()) {
    return absl::AbortedError(
        absl::StrCat(options_.host, ": facts moved since the plan was made: ",
                     MovedFactsText(moved), "; plan again"));
  }

  MachinePaths paths = options_.find_paths();
  if (request.plan.command_ms() > 0) {
    paths.command_deadline = std::min<absl::Duration>(
        absl::Milliseconds(request.plan.command_ms()), absl::Minutes(2));
  }
  Run run(&*place, paths);
  run.started = doors_.clock->Now();
  run.result.set_apply_id(request.apply_id);
  run.result.set_host(options_.host);
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
  DropOldJournals();
  return result;
}

absl::StatusOr<ApplyResult> Applier::UndoJournal(
    const absl::StatusOr<PlanPlace>& place, Journal* journal,
    const JournalUndo& undo) {
  const absl::Time started = doors_.clock->Now();
  const JournalState state = SummariseJournal(journal->entries());
  JournalEntry entry;
  *entry.mutable_undo() = undo;
  const absl::Status written = journal->Append(entry);
  // What has begun is undone without it: the old values are in there.
  if (!written.ok() && !state.unfinished()) return InFront("journal", written);
  const std::vector<std::string> residues =
      RestoreAt(place, options_.find_paths(), state);

  ApplyResult result;
  result.set_apply_id(state.begin.apply_id());
  result.set_host(options_.host);
  result.set_error(undo.rollback() ? "" : undo.reason());
  const bool clean = residues.empty();
  result.set_outcome(
      undo.rollback()
          ? (clean ? ApplyResult::ROLLED_BACK
                   : ApplyResult::ROLLED_BACK_WITH_RESIDUES)
          : (clean ? ApplyResult::UNDONE : ApplyResult::UNDONE_WITH_RESIDUES));
  for (const std::string& residue : residues) result.add_residues(residue);
  for (const std::string& text : undo.forced()) result.add_forced(text);
  for (const StepOutcome& step : state.steps) {
    *result.add_steps() = step;
    if (step.state() != StepOutcome::DONE) continue;
    result.mutable_steps()->rbegin()->set_state(StepOutcome::UNDONE);
    if (!absl::IsNotFound(place.status())) continue;
    result.mutable_steps()->rbegin()->set_detail(
        absl::StrCat("its network namespace is gone, and the value with it: ",
                     place.status().message()));
  }
  for (const PlanFact& fact :
       FactsNow(state.begin.plan(), state.saved,
                place.ok() ? place->ReadHost() : HostFacts())) {
    *result.add_facts_after() = fact;
  }
  result.set_elapsed_ms(Milliseconds(doors_.clock->Now() - started));
  CleanTexts(&result);
  AddUnclosed(journal->Append(EndEntry(result)), &result);
  return result;
}

std::vector<MovedFact> Applier::MovedSince(const JournalState& state,
                                           const PlanPlace& place) {
  std::vector<MovedFact> moved;
  auto now = FactsNow(state.begin.plan(), state.saved, place.ReadHost());
  // Older journals end before the files of firewalls.
  const size_t kept = static_cast<size_t>(state.end.facts_after_size());
  if (kept + DigestFirewallFiles(doors_.files, state.saved).size() ==
      now.size()) {
    now.resize(kept);
  }
  for (size_t i = 0; i < now.size(); ++i) {
    const int index = static_cast<int>(i);
    const std::string left = index < state.end.facts_after_size()
                                 ? state.end.facts_after(index).value()
                                 : kUnknownFact;
    if (!IsSameFact(now[i].name(), now[i].value(), left)) {
      moved.push_back({now[i].name(), left, now[i].value()});
    }
  }
  return moved;
}

absl::StatusOr<ApplyResult> Applier::Rollback(const RollbackRequest& request) {
  const absl::Status id = CheckId(request.apply_id);
  if (!id.ok()) return id;
  const auto lock = TakeLock();
  if (!lock.ok()) return lock.status();
  const absl::Status finished = CheckNothingUnfinished();
  if (!finished.ok()) return finished;
  auto journal = Journal::Open(doors_.files, JournalPath(request.apply_id));
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
    ApplyResult nothing;
    nothing.set_apply_id(request.apply_id);
    nothing.set_host(options_.host);
    nothing.set_outcome(ApplyResult::NOTHING_TO_DO);
    nothing.set_error("it was undone or rolled back before");
    return nothing;
  }
  const absl::Status allowed = veto_().Check(state.begin.plan());
  if (!allowed.ok()) return allowed;
  const auto in_use = CheckIdle(state.begin.plan(), request.force);
  if (!in_use.ok()) return in_use.status();
  JournalUndo undo;
  undo.set_rollback(true);
  undo.set_reason("asked for");
  undo.set_actor(request.actor);
  undo.set_started_at_ms(absl::ToUnixMillis(doors_.clock->Now()));
  if (!in_use->empty()) undo.add_forced(*in_use);
  const auto states = ListApplies();
  if (!states.ok()) return states.status();
  const std::string later = LaterAppliesText(state, *states);
  if (!later.empty() && !request.force) {
    return absl::AbortedError(
        absl::StrCat(options_.host, ": ", later, "; roll that back first"));
  }
  if (!later.empty()) undo.add_forced(later);

  const auto place = PlanPlace::EnterAgain(doors_, state.begin.plan());
  if (!place.ok() && !absl::IsNotFound(place.status())) {
    return InFront(options_.host, place.status());
  }
  const std::vector<MovedFact> moved =
      place.ok() ? MovedSince(state, *place) : std::vector<MovedFact>();
  if (!moved.empty()) {
    const std::string text = absl::StrCat(
        "changed since apply ", request.apply_id, ": ", MovedFactsText(moved));
    if (!request.force) {
      return absl::AbortedError(
          absl::StrCat(options_.host, ": ", text,
                       "; a rollback would undo that too: --force does it"));
    }
    undo.add_forced(text);
  }
  return UndoJournal(place, journal->get(), undo);
}

absl::StatusOr<std::vector<ApplyResult>> Applier::Recover() {
  const auto lock = TakeLock();
  if (!lock.ok()) return lock.status();
  const auto names = doors_.files->List(options_.state_folder);
  if (!names.ok()) return names.status();
  std::vector<ApplyResult> results;
  absl::Status damaged;
  for (absl::string_view name : *names) {
    if (!absl::ConsumeSuffix(&name, kJournalSuffix)) continue;
    const std::string path = JournalPath(std::string(name));
    auto journal = Journal::Open(doors_.files, path);
    if (absl::IsDataLoss(journal.status())) {
      damaged = journal.status();
      continue;
    }
    if (!journal.ok()) return journal.status();
    const JournalState state = SummariseJournal((*journal)->entries());
    if (state.phase == JournalState::Phase::kEmpty) {
      const absl::Status removed = doors_.files->Remove(path);
      if (!removed.ok()) return removed;
      continue;
    }
    if (!state.unfinished()) continue;
    JournalUndo undo;
    undo.set_rollback(state.phase == JournalState::Phase::kRollingBack);
    undo.set_reason(
        "clusterd ended in the middle, or could not write its journal");
    undo.set_actor("clusterd");
    undo.set_started_at_ms(absl::ToUnixMillis(doors_.clock->Now()));
    auto result = UndoJournal(PlanPlace::EnterAgain(doors_, state.begin.plan()),
                              journal->get(), undo);
    if (!result.ok()) return InFront(path, result.status());
    results.push_back(*std::move(result));
  }
  if (!damaged.ok()) return damaged;
  return results;
}

void Applier::DropOldJournals() {
  const auto states = ListApplies();
  if (!states.ok()) return;
  for (const std::string& id : JournalsToDrop(*states, options_.kept)) {
    // A journal too many does no harm; the next apply tries again.
    (void)doors_.files->Remove(JournalPath(id));
  }
}

}  // namespace clusterd
