// Applies on the hosts of cluster_changes_fixture.h that are rolled back
// automatically unless they are confirmed.
#ifndef TESTS_SUPPORT_CONTROLLER_CLUSTER_CONFIRM_FIXTURE_H_
#define TESTS_SUPPORT_CONTROLLER_CLUSTER_CONFIRM_FIXTURE_H_

#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/words/message.h"
#include "daemon/controller/change/cluster_changes.h"
#include "daemon/controller/history/history_entry.h"
#include "gtest/gtest.h"
#include "tests/support/controller/cluster_changes_fixture.h"

namespace clusterd {

inline constexpr uint32_t kWithinMs = 300000;

class ClusterConfirmTest : public ClusterChangesTest {
 protected:
  // Waiting calls are answered now, into answer_.
  ~ClusterConfirmTest() override { changes_.reset(); }

  // Starts another controller, whose spec has this many servers.
  void StartControllerOf(int servers) {
    changes_.reset();
    std::ofstream(path_) << SpecToYaml(MakeSpec("atlas-training", "", servers));
    spec_ = *SpecHolder::Open(path_, "test", &scheduler_);
    StartController();
  }

  // The first `hosts` hosts are applied and wait for five minutes.
  void ApplyOn(int hosts, bool automatic = false) {
    ASSERT_NO_FATAL_FAILURE(StartOn(hosts, automatic));
    for (int i = 0; i < hosts; ++i) {
      EXPECT_EQ(NewestTask(i).apply().confirm_within_ms(), kWithinMs);
      AnswerApplied(i, kWithinMs);
    }
  }

  void StartOn(int hosts, bool automatic = false) {
    for (int i = 0; i < hosts; ++i) Attach(Name(i));
    // Keeps the plan like the controller that made it, for the next one.
    ASSERT_TRUE(history_->Add(RecordOfPlan(MakePlan(hosts), 0)).ok());
    id_ = Begin(MakePlan(hosts),
                automatic ? "confirm_within_ms: 300000 auto_confirm: true"
                          : "confirm_within_ms: 300000");
    ASSERT_NE(id_, "");
  }

  static std::string Name(int host) { return absl::StrCat("server", host); }
  Task NewestTask(int host) { return links_[Name(host)]->tasks().back(); }
  void AnswerApplied(int host, uint32_t reverts_in_ms) {
    TaskResult result;
    result.mutable_apply()->set_apply_id(
        id_.empty() ? NewestTask(host).apply().apply_id() : id_);
    result.mutable_apply()->set_outcome(ApplyResult::APPLIED);
    result.mutable_apply()->set_reverts_in_ms(reverts_in_ms);
    AnswerWith(Name(host), std::move(result));
  }
  void AnswerRefused(int host, const std::string& why) {
    TaskResult result;
    result.mutable_apply()->set_apply_id(id_);
    result.mutable_apply()->set_outcome(ApplyResult::REFUSED);
    result.mutable_apply()->set_error(why);
    AnswerWith(Name(host), std::move(result));
  }
  // Answers the check's request for facts.
  void AnswerFacts(int host, uint32_t somaxconn = 65535) {
    ASSERT_TRUE(NewestTask(host).has_observe());
    TaskResult result;
    const auto spec = spec_->spec();
    *result.mutable_facts() = MakeHealthyHost(*spec, spec->servers(host));
    result.mutable_facts()->mutable_kernel()->mutable_somaxconn()->set_value(
        somaxconn);
    AnswerWith(Name(host), std::move(result));
  }
  // Those of the first `hosts` hosts.
  void AnswerAllFacts(int hosts) {
    for (int host = 0; host < hosts; ++host) AnswerFacts(host);
  }
  bool IsAskedToKeep(int host) {
    const Task task = NewestTask(host);
    return task.has_confirm() && task.confirm().apply_id() == id_ &&
           task.confirm().extend_by_ms() == 0;
  }
  void Lose(int host) {
    hosts_.Detach(sessions_[Name(host)], ToFindingValue("it was cut off"));
    pool_.Drain();
  }
  static AuditEntry Caller(const std::string& who) {
    AuditEntry caller;
    caller.set_who(who);
    return caller;
  }
  void Confirm() {
    changes_->Confirm(id_, Caller("bob"), Answered());
    pool_.Drain();
  }
  void Extend(absl::Duration by) {
    changes_->Extend(id_, Caller("bob"), by, Answered());
    pool_.Drain();
  }
  ClusterChanges::Confirmed Answered() {
    answer_.reset();
    return [this](absl::StatusOr<ConfirmResponse> answer) {
      answer_ = std::move(answer);
    };
  }
  void ReportReverted(int host) {
    PastApplies past;
    ApplyResult* const result = past.add_results();
    result->set_apply_id(id_);
    result->set_host(Name(host));
    result->set_outcome(ApplyResult::ROLLED_BACK);
    result->set_not_confirmed(true);
    result->set_error("it was not confirmed in time");
    changes_->OnPastApplies(Name(host), past);
    pool_.Drain();
  }
  // A host that attached again reports that it waits.
  void TellWaits(int host, uint32_t reverts_in_ms) {
    PastApplies past;
    past.add_results()->set_apply_id(id_);
    past.mutable_results(0)->set_outcome(ApplyResult::APPLIED);
    past.mutable_results(0)->set_host(Name(host));
    past.mutable_results(0)->set_reverts_in_ms(reverts_in_ms);
    changes_->OnPastApplies(Name(host), past);
    pool_.Drain();
  }
  // Two hosts apply; the stream of the second ends.
  void ApplyAndLoseOne() {
    ASSERT_NO_FATAL_FAILURE(StartOn(2));
    AnswerApplied(0, kWithinMs);
    Lose(1);
  }
  Confirmation Shown() {
    const auto record = changes_->Show(id_);
    EXPECT_TRUE(record.ok()) << record.status();
    return Rendered(record->apply().confirmation());
  }

  std::string id_;
  std::optional<absl::StatusOr<ConfirmResponse>> answer_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONTROLLER_CLUSTER_CONFIRM_FIXTURE_H_
