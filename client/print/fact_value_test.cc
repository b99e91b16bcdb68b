#include "client/print/fact_value.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(DescribeFactTest, TellsNotAskedFromMissing) {
  TextFact fact;
  EXPECT_EQ(DescribeFact(fact).lines.front(), "not asked");
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
}

TEST(DescribeFactTest, CoversEveryFactOfTheDataModel) {
  // A fact type that DescribeFact has no words for would show protobuf's own.
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

TEST(MissingTextTest, GivesReasonAndDetail) {
  Missing missing;
  EXPECT_EQ(MissingWords(missing), "no reason given");
  missing.set_reason(Missing::TIMED_OUT);
  missing.set_detail("no answer in 10s (deadlines.command)");
  EXPECT_EQ(MissingWords(missing),
            "timed out: no answer in 10s (deadlines.command)");
  missing.set_reason(static_cast<Missing::Reason>(99));
  missing.clear_detail();
  EXPECT_EQ(MissingWords(missing), "reason 99");
}

}  // namespace
}  // namespace clusterd
