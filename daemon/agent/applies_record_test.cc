#include <functional>
#include <string>

#include "config/plan/kernel_parameters.h"
#include "daemon/agent/drift_watch.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/config/good_cluster.h"
#include "tests/support/config/plan_steps.h"

namespace clusterd {
namespace {

JournalState Applied(const std::string& id) {
  JournalState state;
  state.phase = HOST_APPLIED;
  state.begin.set_apply_id(id);
  PlanStep* step = state.begin.mutable_plan()->add_steps();
  *step = RunningStep(kSomaxconnKey, "128", "65535");
  step->set_id(1);
  state.end.set_outcome(ApplyResult::APPLIED);
  state.end.add_steps()->set_step(1);
  state.end.mutable_steps(0)->set_state(StepOutcome::DONE);
  return state;
}

HostFacts Drifted() {
  HostFacts facts = GoodFacts("node-01");
  facts.mutable_kernel()->mutable_somaxconn()->set_value(128);
  return facts;
}

TEST(AppliesRecordTest, TellsDriftOfTheNewestJournals) {
  AppliesRecord record;
  record.BeginChange();
  record.EndChange(std::vector<JournalState>{Applied("aa")});
  DriftFact fact = record.DriftOf(Drifted(), record.change_count());
  ASSERT_EQ(fact.value().drifts_size(), 1);
  EXPECT_EQ(fact.value().drifts(0).apply_id(), "aa");
  JournalState rolled_back = Applied("aa");
  rolled_back.phase = HOST_REVERTED;
  record.BeginChange();
  record.EndChange(std::vector<JournalState>{rolled_back});
  fact = record.DriftOf(Drifted(), record.change_count());
  ASSERT_TRUE(fact.has_value());
  EXPECT_EQ(fact.value().drifts_size(), 0);
}

TEST(AppliesRecordTest, IsMissingBeforeAnybodyHasReadAJournal) {
  AppliesRecord record;
  const DriftFact fact = record.DriftOf(Drifted(), record.change_count());
  EXPECT_EQ(fact.missing().reason(), Missing::UNREADABLE);
  EXPECT_NE(fact.missing().detail().find("not been read"), std::string::npos);
}

TEST(AppliesRecordTest, DoesNotTakeAnApplyUnderWayForDrift) {
  AppliesRecord record;
  record.EndChange(std::vector<JournalState>{Applied("aa")});
  const uint64_t before = record.change_count();
  record.BeginChange();
  EXPECT_EQ(record.DriftOf(Drifted(), before).missing().reason(),
            Missing::NOT_QUERIED);
  EXPECT_EQ(record.DriftOf(Drifted(), record.change_count()).missing().reason(),
            Missing::NOT_QUERIED);
  record.EndChange(std::vector<JournalState>{Applied("aa")});
  // Facts observed before the change may be outdated.
  EXPECT_TRUE(record.DriftOf(Drifted(), before).has_missing());
  EXPECT_TRUE(record.DriftOf(Drifted(), record.change_count()).has_value());
}

TEST(AppliesRecordTest, SaysWhyTheJournalsCannotBeRead) {
  AppliesRecord record;
  record.EndChange(absl::PermissionDeniedError("/var/lib/clusterd/apply"));
  DriftFact fact = record.DriftOf(Drifted(), record.change_count());
  EXPECT_EQ(fact.missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_EQ(fact.missing().detail(), "/var/lib/clusterd/apply");
  record.EndChange(absl::DataLossError("aa.journal: damaged"));
  fact = record.DriftOf(Drifted(), record.change_count());
  EXPECT_EQ(fact.missing().reason(), Missing::UNREADABLE);
}

using ::testing::ElementsAre;

class FakeObserver final : public HostObserver {
 public:
  HostFacts ObserveFor(const std::string& host, const ObserveRequest& request,
                       const Asker&) override {
    if (meanwhile) meanwhile();
    HostFacts facts = GoodFacts(host);
    if (request.has_ssh()) facts.mutable_ssh()->mutable_value();
    if (gone) facts.mutable_missing()->set_reason(Missing::ABSENT);
    return facts;
  }
  std::function<void()> meanwhile;
  bool gone = false;
};

// Observes a host whose journals have been read and are empty.
class AgentObserverTest : public testing::Test {
 protected:
  AgentObserverTest() { record_.EndChange(std::vector<JournalState>()); }

  FakeObserver inner_;
  AppliesRecord record_;
  HostAllows says_;
  AgentObserver observer_{&inner_, &record_, [this] { return says_; }};
};

TEST_F(AgentObserverTest, AddsWhatTheFileSaysAtEachObservation) {
  says_.add_kinds("observe");
  const HostFacts own = observer_.Observe("node-01", {});
  EXPECT_THAT(own.allows().kinds(), ElementsAre("observe"));
  EXPECT_TRUE(own.drift().has_value());
  says_.add_kinds("sysctl");
  ObserveRequest in_container;
  in_container.mutable_network_namespace()->set_container("train-1");
  const HostFacts facts = observer_.Observe("node-01", in_container);
  EXPECT_THAT(facts.allows().kinds(), ElementsAre("observe", "sysctl"));
  EXPECT_EQ(facts.kernel().somaxconn().value(), 65535u);
  EXPECT_FALSE(facts.has_drift());
  // Nothing is added to what is not known.
  inner_.gone = true;
  EXPECT_FALSE(observer_.Observe("node-01", {}).has_allows());
}

TEST_F(AgentObserverTest, LogsInNowhereUnlessTheFileAllowsIt) {
  ObserveRequest request;
  request.mutable_ssh()->set_user("ann");
  for (const char* const kind : {"observe", "sysctl"}) {
    says_.add_kinds(kind);
    const SshFact fact = observer_.Observe("node-01", request).ssh();
    EXPECT_EQ(fact.missing().reason(), Missing::NOT_PERMITTED);
    EXPECT_NE(fact.missing().detail().find("ssh-login"), std::string::npos);
  }
  says_.add_kinds("ssh-login");
  EXPECT_TRUE(observer_.Observe("node-01", request).ssh().has_value());
  EXPECT_FALSE(observer_.Observe("node-01", {}).has_ssh());
}

TEST_F(AgentObserverTest, SaysThatAnApplyRanMeanwhile) {
  inner_.meanwhile = [this] {
    record_.BeginChange();
    record_.EndChange(std::vector<JournalState>());
  };
  EXPECT_EQ(observer_.Observe("node-01", {}).drift().missing().reason(),
            Missing::NOT_QUERIED);
}

}  // namespace
}  // namespace clusterd
