#include "config/words/fact_text.h"

#include <initializer_list>
#include <set>

#include "config/values/change_kind.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

std::string HowToLearn(const Missing* missing) {
  return ValueText(LearnWords(missing));
}

using ::testing::HasSubstr;

Missing MakeMissing(Missing::Reason reason, const std::string& detail) {
  Missing missing;
  missing.set_reason(reason);
  missing.set_detail(detail);
  return missing;
}

TEST(WhyMissingTest, GivesReasonAndDetail) {
  const Missing slow = MakeMissing(Missing::TIMED_OUT, "no answer in 10s");
  EXPECT_EQ(WhyMissing(&slow), "timed out: no answer in 10s");
  const Missing absent = MakeMissing(Missing::ABSENT, "");
  EXPECT_EQ(WhyMissing(&absent), "does not exist");
}

TEST(WhyMissingTest, SaysThatAFactWasNotAskedFor) {
  EXPECT_EQ(WhyMissing(nullptr), "not asked for");
  EXPECT_EQ(ValueText(UnknownWords(TextFact())), "not asked for");
}

TEST(WhyMissingTest, EscapesWhatATerminalObeys) {
  EXPECT_EQ(WhyMissing(MakeMissing(Missing::BUSY, "a\x1b[2J\n")),
            "busy: a\\x1b[2J\\n");
}

TEST(WhyMissingTest, TakesAReasonOfANewerClusterdForNone) {
  EXPECT_EQ(WhyMissing(MakeMissing(static_cast<Missing::Reason>(99), "x")),
            "no reason given: x");
}

TEST(WhyMissingTest, HasWordsAndAdviceOfItsOwnForEveryReason) {
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
  const Missing tool = MakeMissing(
      Missing::TOOL_FAILED, "`hccn_tool -i 3 -link -g`: status 1 and \"\"");
  EXPECT_THAT(HowToLearn(&tool), HasSubstr("/var/log/hccn_tool/"));
  const Missing engine = MakeMissing(
      Missing::TOOL_FAILED,
      "container \"train-1\": `docker inspect train-1`: status 1 and \"\"");
  EXPECT_THAT(HowToLearn(&engine), testing::Not(HasSubstr("hccn_tool")));
  EXPECT_THAT(HowToLearn(&engine), HasSubstr("by hand"));
}

TEST(HowToLearnTest, BlamesNoPermissionForWhatWasNotAsked) {
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
  EXPECT_EQ(ValueText(WhatIsAllowed(allows)), "it allows observe, sysctl");
  EXPECT_EQ(ValueText(HowToAllow(allows,
                                 {CHANGE_TLS, CHANGE_OBSERVE, CHANGE_SYSCTL})),
            "put \"allow: [observe, sysctl, tls]\" into "
            "/etc/clusterd/agent.yaml there");
}

TEST(AllowTextTest, SaysHowToBeginWithoutAFile) {
  EXPECT_EQ(ValueText(HowToAllow(Allows("", {"observe"}),
                                 {CHANGE_OBSERVE, CHANGE_TLS})),
            "start clusterd there with --config and a file with \"allow: "
            "[observe, tls]\" in it");
  EXPECT_EQ(ValueText(WhatIsAllowed(Allows("", {}))), "it allows nothing");
}

TEST(AllowTextTest, PutsAMistakeInTheFileFirst) {
  HostAllows allows = Allows("/etc/clusterd/agent.yaml", {"observe"});
  allows.set_mistake("/etc/clusterd/agent.yaml:7:18: allow is \"sysctll\"");
  EXPECT_EQ(ValueText(WhatIsAllowed(allows)),
            "it allows observe until its file is right");
  EXPECT_EQ(ValueText(HowToAllow(allows, {CHANGE_OBSERVE, CHANGE_SYSCTL})),
            "correct the mistake there (/etc/clusterd/agent.yaml:7:18: allow "
            "is \"sysctll\")");
}

}  // namespace
}  // namespace clusterd
