#include "daemon/agent/allows_observer.h"

#include "config/plan/good_cluster.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;

class FakeObserver final : public HostObserver {
 public:
  HostFacts Observe(const std::string& host, const ObserveRequest&) override {
    HostFacts facts = GoodFacts(host);
    if (gone) facts.mutable_missing()->set_reason(Missing::ABSENT);
    return facts;
  }
  bool gone = false;
};

TEST(AllowsObserverTest, AddsWhatTheFileSaysAtEachObservation) {
  FakeObserver inner;
  HostAllows says;
  says.add_kinds("observe");
  AllowsObserver observer(&inner, [&says] { return says; });
  EXPECT_THAT(observer.Observe("node-01", {}).allows().kinds(),
              ElementsAre("observe"));
  says.add_kinds("sysctl");
  ObserveRequest in_container;
  in_container.mutable_network_namespace()->set_container("train-1");
  const HostFacts facts = observer.Observe("node-01", in_container);
  EXPECT_THAT(facts.allows().kinds(), ElementsAre("observe", "sysctl"));
  EXPECT_EQ(facts.kernel().somaxconn().value(), 65535u);
}

TEST(AllowsObserverTest, AddsNothingToWhatIsNotKnown) {
  FakeObserver inner;
  inner.gone = true;
  AllowsObserver observer(&inner, [] { return HostAllows(); });
  EXPECT_FALSE(observer.Observe("node-01", {}).has_allows());
}

}  // namespace
}  // namespace clusterd
