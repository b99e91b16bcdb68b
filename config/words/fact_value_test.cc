#include <limits>
#include <string>
#include <vector>

#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(DescribeFactTest, TellsNotAskedFromMissing) {
  TextFact fact;
  EXPECT_EQ(DescribeFact(fact).lines.front(), "not asked for");
  EXPECT_FALSE(DescribeFact(fact).known);
  fact.mutable_missing()->set_reason(Missing::NOT_PERMITTED);
  EXPECT_EQ(DescribeFact(fact).lines.front(), "missing: not permitted");
  EXPECT_FALSE(DescribeFact(fact).known);
  fact.set_value("");
  EXPECT_EQ(DescribeFact(fact).lines.front(), "none");
  EXPECT_TRUE(DescribeFact(fact).known);
}

TEST(DescribeFactTest, PutsValuesOfEveryKindIntoWords) {
  NumberFact number;
  number.set_value(0);
  EXPECT_EQ(DescribeFact(number).lines.front(), "0");
  BoolFact flag;
  flag.set_value(false);
  EXPECT_EQ(DescribeFact(flag).lines.front(), "no");
  NetHealthFact health;
  health.set_value(NET_HEALTH_RECEIVE_TIMEOUT);
  EXPECT_EQ(DescribeFact(health).lines.front(), "receive timeout");
  LldpFact lldp;
  lldp.mutable_value();
  EXPECT_EQ(DescribeFact(lldp).lines.front(), "no neighbour heard");
  DeviceAddressFact address;
  address.mutable_value();
  EXPECT_EQ(DescribeFact(address).lines.front(), "none set");
  PersistentValueFact persistent;
  persistent.mutable_value();
  EXPECT_EQ(DescribeFact(persistent).lines.front(), "set by no file");
  CounterRisesFact rises;
  rises.mutable_value()->set_not_compared("read for the first time");
  EXPECT_EQ(DescribeFact(rises).lines.front(),
            "not compared: read for the first time");
  rises.mutable_value()->set_seconds(300);
  EXPECT_EQ(DescribeFact(rises).lines.front(),
            "no error counter rose in 5 min");
  rises.mutable_value()->add_rises()->set_name("a");
  EXPECT_EQ(DescribeFact(rises).lines.front(), "a rose by 0 in 5 min");
  OpenFilesFact files;
  OpenFilesLimit* const limit = files.mutable_value()->add_limits();
  limit->set_program("sshd");
  limit->set_pid(7);
  limit->set_soft(1024);
  limit->set_hard(std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(DescribeFact(files).lines.front(),
            "sshd (pid 7) 1024, at most unlimited");
}

TEST(DescribeFactTest, TellsOfSshWhoListensAndWhatDoesNotWork) {
  SshFact fact;
  SshFact::Ssh* const ssh = fact.mutable_value();
  ssh->set_user("ann");
  ssh->add_servers()->set_port(22);
  SshLogin* const login = ssh->add_logins();
  login->set_host("node02");
  login->set_port(22);
  login->set_error("Connection refused");
  ssh->add_logins()->set_works(true);
  ssh->add_not_exported("LD_LIBRARY_PATH");
  const std::vector<std::string> expected = {
      "port 22: no process listens", "to node02 port 22: Connection refused",
      "1 of 2 logins as ann work", "not exported: LD_LIBRARY_PATH"};
  EXPECT_EQ(DescribeFact(fact).lines, expected);
}

TEST(DescribeFactTest, CoversEveryFactOfTheDataModel) {
  // A fact type that DescribeFact does not know would show protobuf's own text.
  for (const auto* type :
       {HostFacts::descriptor(), IdentityFacts::descriptor(),
        NpuToolFacts::descriptor(), DeviceFacts::descriptor(),
        KernelFacts::descriptor(), FirewallFacts::descriptor(),
        VersionFacts::descriptor()}) {
    for (int i = 0; i < type->field_count(); ++i) {
      if (type->field(i)->is_repeated() || !IsFact(*type->field(i))) continue;
      const auto* fact_type = type->field(i)->message_type();
      std::unique_ptr<google::protobuf::Message> fact(
          google::protobuf::MessageFactory::generated_factory()
              ->GetPrototype(fact_type)
              ->New());
      const auto* value = fact_type->FindFieldByName("value");
      ASSERT_NE(value, nullptr) << fact_type->full_name();
      if (value->message_type() == nullptr) continue;
      fact->GetReflection()->MutableMessage(fact.get(), value);
      EXPECT_NE(DescribeFact(*fact).lines.front(), "")
          << fact_type->full_name();
    }
  }
}

TEST(MissingWordsTest, SaysADetailInWordsAndMakesAHostsTextsPrintable) {
  Missing missing;
  missing.set_reason(Missing::TIMED_OUT);
  SetDetail(Worded("about", "a\033[2J", Worded("hub-with-why", "b", "c\n")),
            &missing);
  EXPECT_EQ(WhyMissing(missing), "timed out: a\\x1b[2J: b (c\\n)");
  {
    const InLanguage chinese(Language::kChinese);
    EXPECT_EQ(WhyMissing(missing), "超时：a\\x1b[2J：b（c\\n）");
  }
  // Long words are left out for the text, which is cut.
  SetDetail(Worded("hub-with-why", std::string(3000, 'b'), "c"), &missing);
  EXPECT_LT(WhyMissing(missing).size(), 700u);
  SetDetail(ToFindingValue("plain"), &missing);
  EXPECT_EQ(WhyMissing(missing), "timed out: plain");
}

TEST(DriftTextTest, SaysWhatMovedAndWhoSetIt) {
  AppliedDrift drift;
  drift.set_change("net.core.somaxconn");
  drift.set_apply_id("3fa2");
  EXPECT_EQ(DriftText(drift), "net.core.somaxconn (apply 3fa2)");
  drift.set_why("net.core.somaxconn is 128, applied was 65535");
  drift.set_applied_by("ann");
  EXPECT_EQ(DriftText(drift),
            "net.core.somaxconn is 128, applied was 65535 (apply 3fa2 by ann)");
  drift.set_fact("net.core.somaxconn");
  drift.set_now("128");
  drift.set_was("65535");
  EXPECT_EQ(DriftText(drift),
            "net.core.somaxconn is 128, applied was 65535 (apply 3fa2 by ann)");
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(DriftText(drift),
            "net.core.somaxconn 当前为 128，执行变更时设为 65535（变更 3fa2，"
            "操作者 ann）");
}

}  // namespace
}  // namespace clusterd
