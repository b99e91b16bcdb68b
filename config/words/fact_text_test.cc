#include "config/words/fact_text.h"

#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "config/values/change_kind.h"
#include "config/values/setting.h"
#include "config/words/message.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

std::string HowToLearn(const Missing* missing) {
  return ValueText(LearnWords(missing));
}

Missing MakeMissing(Missing::Reason reason, const std::string& detail) {
  Missing missing;
  missing.set_reason(reason);
  missing.set_detail(detail);
  return missing;
}

TEST(WhyMissingTest, GivesReasonAndDetailAndSaysThatAFactWasNotAskedFor) {
  const Missing slow = MakeMissing(Missing::TIMED_OUT, "no answer in 10s");
  EXPECT_EQ(WhyMissing(&slow),
            Say("why-with-detail", Worded("why-timed-out"), slow.detail()));
  const Missing absent = MakeMissing(Missing::ABSENT, "");
  EXPECT_EQ(WhyMissing(&absent), "does not exist");
  EXPECT_EQ(WhyMissing(nullptr), "not asked for");
  EXPECT_EQ(ValueText(UnknownWords(TextFact())), "not asked for");
  // Escapes what a terminal obeys.
  EXPECT_EQ(WhyMissing(MakeMissing(Missing::BUSY, "a\x1b[2J\n")),
            "busy: a\\x1b[2J\\n");
  // Takes a reason of a newer clusterd for none.
  EXPECT_EQ(WhyMissing(MakeMissing(static_cast<Missing::Reason>(99), "x")),
            "no reason given: x");
  // Has words and advice of its own for every reason.
  std::string seen;
  for (int reason = Missing::Reason_MIN; reason <= Missing::Reason_MAX;
       ++reason) {
    const Missing missing =
        MakeMissing(static_cast<Missing::Reason>(reason), "");
    EXPECT_THAT(seen, testing::Not(HasSubstr(WhyMissing(&missing) + ";")));
    seen += WhyMissing(&missing) + ";";
    EXPECT_THAT(seen, testing::Not(HasSubstr(HowToLearn(&missing) + ";")));
    seen += HowToLearn(&missing) + ";";
    // A reason need not quote a command: it may be about a file.
    EXPECT_THAT(HowToLearn(&missing), testing::Not(HasSubstr("quoted")));
  }
}

TEST(HowToLearnTest, PointsToTheLogOfHccnToolForHccnToolAlone) {
  Missing tool = MakeMissing(Missing::TOOL_FAILED, "");
  SetDetail(Worded(kHccnToolSaid, "`hccn_tool -i 3 -link -g`", "no"), &tool);
  EXPECT_THAT(HowToLearn(&tool), HasSubstr("/var/log/hccn_tool/"));
  const Missing engine = MakeMissing(
      Missing::TOOL_FAILED,
      "container \"hccn_tool\": `docker inspect hccn_tool`: status 1");
  EXPECT_THAT(HowToLearn(&engine), testing::Not(HasSubstr("/var/log")));
  EXPECT_THAT(HowToLearn(&engine), HasSubstr("by hand"));
  // Blames no permission for what was not asked.
  const Missing missing = MakeMissing(
      Missing::NOT_QUERIED, "an apply or rollback was running on this host");
  EXPECT_THAT(HowToLearn(&missing), testing::Not(HasSubstr("permission")));
}

TEST(WhyUnknownTest, CallsAValueOfNoUseNotUnderstood) {
  TextFact fact;
  fact.set_value("?");
  EXPECT_EQ(ValueText(UnknownWords(fact)), "not understood");
}

TEST(FindDeviceTest, FindsNoDeviceThatTheHostDidNotSend) {
  HostFacts facts;
  facts.add_devices()->set_id(0);
  facts.add_devices()->set_id(1);
  EXPECT_EQ(FindDevice(facts, 1), &facts.devices(1));
  EXPECT_EQ(FindDevice(facts, 2), nullptr);
}

HostAllows Allows(const char* file, std::initializer_list<const char*> kinds) {
  HostAllows allows;
  allows.set_file(file);
  for (const char* kind : kinds) allows.add_kinds(kind);
  return allows;
}

TEST(AllowTextTest, NamesTheLineAndTheFile) {
  // This version cannot name a newer host's kind.
  const HostAllows allows =
      Allows("/etc/clusterd/agent.yaml", {"sysctl", "observe", "teleport"});
  EXPECT_EQ(AllowedKinds(allows),
            (std::set<ChangeKind>{CHANGE_OBSERVE, CHANGE_SYSCTL}));
  EXPECT_EQ(ValueText(WhatIsAllowed(allows)),
            Say("plan-say-allows", "observe, sysctl"));
  EXPECT_EQ(ValueText(HowToAllow(allows,
                                 {CHANGE_TLS, CHANGE_OBSERVE, CHANGE_SYSCTL})),
            Say("plan-say-allow-put", "\"allow: [observe, sysctl, tls]\"",
                allows.file()));
}

TEST(AllowTextTest, SaysHowToBeginWithoutAFileAndPutsAMistakeInTheFileFirst) {
  EXPECT_EQ(ValueText(HowToAllow(Allows("", {"observe"}),
                                 {CHANGE_OBSERVE, CHANGE_TLS})),
            Say("plan-say-allow-start", "\"allow: [observe, tls]\""));
  EXPECT_EQ(ValueText(WhatIsAllowed(Allows("", {}))), "it allows nothing");
  HostAllows allows = Allows("/etc/clusterd/agent.yaml", {"observe"});
  allows.set_mistake("/etc/clusterd/agent.yaml:7:18: allow is \"sysctll\"");
  EXPECT_EQ(ValueText(WhatIsAllowed(allows)),
            Say("plan-say-allows-until", "observe"));
  EXPECT_EQ(ValueText(HowToAllow(allows, {CHANGE_OBSERVE, CHANGE_SYSCTL})),
            Say("plan-say-allow-correct", allows.mistake()));
  // In words, unless a hostile host sends too many.
  *allows.mutable_mistake_words() = Worded("count-device", 3);
  EXPECT_EQ(ValueText(HowToAllow(allows, {CHANGE_SYSCTL})),
            Say("plan-say-allow-correct", Worded("count-device", 3)));
  allows.mutable_mistake_words()->set_text(std::string(5000, 'x'));
  EXPECT_EQ(ValueText(HowToAllow(allows, {CHANGE_SYSCTL})),
            Say("plan-say-allow-correct", allows.mistake()));
}

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

// The first line about the fact in text format.
template <typename Fact>
std::string Described(const char* text) {
  return DescribeFact(FromText<Fact>(text)).lines.front();
}

TEST(DescribeFactTest, PutsValuesOfEveryKindIntoWords) {
  EXPECT_EQ(Described<NumberFact>("value: 0"), "0");
  EXPECT_EQ(Described<BoolFact>("value: false"), "no");
  EXPECT_EQ(Described<NetHealthFact>("value: NET_HEALTH_RECEIVE_TIMEOUT"),
            "receive timeout");
  EXPECT_EQ(Described<LldpFact>("value {}"), "no neighbour heard");
  EXPECT_EQ(Described<DeviceAddressFact>("value {}"), "none set");
  EXPECT_EQ(Described<PersistentValueFact>("value {}"), "set by no file");
  EXPECT_EQ(Described<CounterRisesFact>(
                "value {not_compared: 'read for the first time'}"),
            "not compared: read for the first time");
  EXPECT_EQ(
      Described<CounterRisesFact>("value {not_compared: 'once' seconds: 300}"),
      "no error counter rose in 5 min");
  EXPECT_EQ(
      Described<CounterRisesFact>("value {seconds: 300 rises {name: 'a'}}"),
      "a rose by 0 in 5 min");
  EXPECT_EQ(Described<OpenFilesFact>(
                "value {limits {program: 'sshd' pid: 7 soft: 1024 "
                "hard: 18446744073709551615}}"),
            "sshd (pid 7) 1024, at most unlimited");
}

TEST(DescribeFactTest, TellsOfSshWhoListensAndWhatDoesNotWork) {
  auto fact = FromText<SshFact>(R"(
      value {user: "ann" servers {port: 22} logins {host: "node02" port: 22
      error: "Connection refused"} logins {works: true}
      not_exported: "LD_LIBRARY_PATH"})");
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
  // Long values are cut, and the words stay.
  const FindingValue two =
      Worded("hub-with-why", std::string(3000, 'b'), std::string(3000, 'c'));
  SetDetail(Worded("hub-with-why", two, two), &missing);
  EXPECT_LT(WhyMissing(missing).size(), 700u);
  EXPECT_THAT(WhyMissing(missing), HasSubstr("... (ccc"));
  // Words that are still too long are left out for the text, which is cut.
  std::vector<FindingValue> many(60, two);
  SetDetail(Lines(many), &missing);
  EXPECT_LT(WhyMissing(missing).size(), 700u);
  SetDetail(ToFindingValue("plain"), &missing);
  EXPECT_EQ(WhyMissing(missing), "timed out: plain");
}

TEST(DriftTextTest, SaysWhatMovedAndWhoSetIt) {
  AppliedDrift drift;
  drift.set_change("net.core.somaxconn");
  drift.set_apply_id("3fa2");
  EXPECT_EQ(DriftText(drift), Say("plan-say-of-apply", drift.change(), "3fa2"));
  const std::string why =
      Say("plan-say-drifted", drift.change(), "128", "65535");
  drift.set_why(why);
  drift.set_applied_by("ann");
  EXPECT_EQ(DriftText(drift), Say("plan-say-of-apply-by", why, "3fa2", "ann"));
  drift.set_why("as an older version has it");
  *drift.mutable_fact() = KernelFact("net.core.somaxconn", SETTING_RUNNING);
  drift.mutable_now()->set_number(128);
  drift.mutable_was()->set_number(65535);
  EXPECT_EQ(DriftText(drift), Say("plan-say-of-apply-by", why, "3fa2", "ann"));
  const InLanguage chinese(Language::kChinese);
  EXPECT_EQ(DriftText(drift),
            "net.core.somaxconn 当前为 128，执行变更时设为 65535（变更 3fa2，"
            "操作者 ann）");
}

}  // namespace
}  // namespace clusterd
