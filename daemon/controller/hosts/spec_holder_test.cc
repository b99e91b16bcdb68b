#include "daemon/controller/hosts/spec_holder.h"

#include <sys/stat.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <string>

#include "config/spec/spec_loader.h"
#include "config/words/message.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/support/process/manual_scheduler.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

std::string WriteSpec(const std::string& text) {
  const std::string path = testing::TempDir() + "/cluster.yaml";
  std::ofstream(path) << text;
  return path;
}

std::string GoodSpec(int servers) {
  return SpecToYaml(MakeSpec("atlas-training", "", servers));
}

class SpecHolderTest : public testing::Test {
 protected:
  auto Open(const std::string& path, bool may_learn = false) {
    return SpecHolder::Open(path, "test", &scheduler_, may_learn);
  }

  ManualScheduler scheduler_;
};

TEST_F(SpecHolderTest, HoldsWhatItReadAndWhen) {
  const std::string path = WriteSpec(GoodSpec(2));
  const auto holder = Open(path).value();
  EXPECT_EQ(holder->spec()->servers_size(), 2);
  const GetSpecResponse description = holder->Describe();
  EXPECT_EQ(description.path(), path);
  EXPECT_EQ(description.loaded_at_ms(), absl::ToUnixMillis(scheduler_.Now()));
}

TEST_F(SpecHolderTest, LearnsWhereThereIsNoFileUntilAReloadFindsOne) {
  const std::string path = testing::TempDir() + "/none.yaml";
  unlink(path.c_str());
  EXPECT_TRUE(absl::IsNotFound(Open(path).status()));
  const auto holder = Open(path, true).value();
  EXPECT_TRUE(holder->learns());
  EXPECT_EQ(holder->spec()->name(), "test");
  EXPECT_EQ(holder->spec()->deadlines().host_ms(), 30000);
  EXPECT_EQ(Rendered(holder->Describe()).refused(), "");
  std::ofstream(path) << GoodSpec(2);
  ASSERT_TRUE(holder->Reload().ok());
  EXPECT_FALSE(holder->learns());
  std::ofstream(path) << "nmae: test\n";
  EXPECT_FALSE(Open(path, true).ok());
}

TEST_F(SpecHolderTest, RefusedReloadChangesNeitherSpecNorItsTime) {
  const auto holder = Open(WriteSpec(GoodSpec(2))).value();
  const GetSpecResponse before = holder->Describe();
  WriteSpec("version: 1\n");
  scheduler_.Advance(absl::Hours(1));
  EXPECT_FALSE(holder->Reload().ok());
  const GetSpecResponse after = holder->Describe();
  EXPECT_EQ(after.spec().servers_size(), 2);
  EXPECT_EQ(after.loaded_at_ms(), before.loaded_at_ms());
  EXPECT_NE(Rendered(after).refused(), "");
}

TEST_F(SpecHolderTest, KeepsSpecAliveForThoseWhoStillReadIt) {
  const auto holder = Open(WriteSpec(GoodSpec(2))).value();
  const std::shared_ptr<const ClusterSpec> old = holder->spec();
  WriteSpec(GoodSpec(4));
  ASSERT_TRUE(holder->Reload().ok());
  EXPECT_EQ(old->servers_size(), 2);
  EXPECT_EQ(holder->spec()->servers_size(), 4);
}

TEST_F(SpecHolderTest, SaysWhyItCannotOpen) {
  EXPECT_TRUE(absl::IsNotFound(Open("/nowhere.yaml").status()));
  EXPECT_THAT(Open(testing::TempDir()).status(), HasText("not a regular file"));
  const auto other =
      SpecHolder::Open(WriteSpec(GoodSpec(1)), "prod", &scheduler_);
  EXPECT_THAT(other.status(), HasText("expected \"prod\" (--cluster)"));
}

TEST_F(SpecHolderTest, NeverHangsOnFifo) {
  const std::string path = testing::TempDir() + "/fifo";
  ASSERT_EQ(mkfifo(path.c_str(), 0600), 0);
  EXPECT_FALSE(Open(path).ok());
  unlink(path.c_str());
}

TEST_F(SpecHolderTest, WaiversOfTheControllerStayAfterAReload) {
  const std::string path = WriteSpec(GoodSpec(2));
  const auto holder = Open(path).value();
  const std::shared_ptr<const ClusterSpec> before = holder->spec();
  holder->ChangeWaivers([](SpecHolder::Waivers* waivers) {
    Waiver* const waiver = waivers->Add();
    waiver->set_id("3fa2c4d5");
    waiver->add_hosts("server0");
  });
  EXPECT_NE(holder->spec(), before) << "what was concluded counts no more";
  ASSERT_TRUE(holder->Reload().ok());
  ASSERT_EQ(holder->spec()->waivers_size(), 1);
  EXPECT_EQ(WaiversOfHost(*holder->spec(), "server0").waivers_size(), 1);
  EXPECT_EQ(WaiversOfHost(*holder->spec(), "server1").waivers_size(), 0);
  ClusterSpec spec = *holder->spec();
  EXPECT_FALSE(WaiversOfHost(spec, "server1").roce_unused());
  spec.set_roce_unused(true);
  EXPECT_TRUE(WaiversOfHost(spec, "server1").roce_unused());
}

TEST(HostsInMaintenanceTest, AreThoseOfWaiversInForce) {
  ClusterSpec spec = MakeSpec("atlas-training", "", 2);
  const absl::Time now = absl::FromUnixSeconds(1'000'000);
  Waiver* const waiver = spec.add_waivers();
  waiver->set_rule("maintenance");
  waiver->add_hosts("server1");
  waiver->set_until_ms(absl::ToUnixMillis(now + absl::Hours(1)));
  EXPECT_THAT(HostsInMaintenance(spec, now), testing::ElementsAre("server1"));
  EXPECT_THAT(HostsInMaintenance(spec, now + absl::Hours(1)),
              testing::IsEmpty());
  waiver->clear_hosts();
  EXPECT_EQ(HostsInMaintenance(spec, now).size(), 2u);
}

}  // namespace
}  // namespace clusterd
