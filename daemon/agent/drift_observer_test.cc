#include "daemon/agent/drift_observer.h"

#include <functional>

#include "config/plan/good_cluster.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

class FakeObserver final : public HostObserver {
 public:
  HostFacts Observe(const std::string& host, const ObserveRequest&) override {
    if (meanwhile) meanwhile();
    return GoodFacts(host);
  }
  std::function<void()> meanwhile;
};

TEST(DriftObserverTest, AddsDriftToTheFactsOfTheHost) {
  FakeObserver inner;
  AppliesRecord record;
  record.EndChange(std::vector<JournalState>());
  DriftObserver observer(&inner, &record);
  const HostFacts facts = observer.Observe("node-01", {});
  EXPECT_TRUE(facts.drift().has_value());
  EXPECT_EQ(facts.kernel().somaxconn().value(), 65535u);
}

TEST(DriftObserverTest, SaysThatAnApplyRanMeanwhile) {
  FakeObserver inner;
  AppliesRecord record;
  record.EndChange(std::vector<JournalState>());
  DriftObserver observer(&inner, &record);
  inner.meanwhile = [&record] {
    record.BeginChange();
    record.EndChange(std::vector<JournalState>());
  };
  EXPECT_EQ(observer.Observe("node-01", {}).drift().missing().reason(),
            Missing::NOT_QUERIED);
}

TEST(DriftObserverTest, SaysNothingAboutAnotherNetworkNamespace) {
  FakeObserver inner;
  AppliesRecord record;
  record.EndChange(std::vector<JournalState>());
  DriftObserver observer(&inner, &record);
  ObserveRequest request;
  request.mutable_network_namespace()->set_container("train-1");
  EXPECT_FALSE(observer.Observe("node-01", request).has_drift());
}

}  // namespace
}  // namespace clusterd
