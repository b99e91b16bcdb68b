#include "config/values/change_kind.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

namespace clusterd {
namespace {

TEST(ChangeKindTest, EveryNameReadsBackAsItsKind) {
  EXPECT_EQ(AllChangeKinds().size(), 8u);
  for (const ChangeKind kind : AllChangeKinds()) {
    EXPECT_EQ(ParseChangeKind(ChangeKindName(kind)), kind);
  }
}

TEST(ChangeKindTest, RefusesOtherSpellings) {
  EXPECT_FALSE(ParseChangeKind("Sysctl").has_value());
  EXPECT_FALSE(ParseChangeKind("").has_value());
  EXPECT_FALSE(ParseChangeKind("device_address").has_value());
}

TEST(ChangeKindTest, NamesAKindFromTheFutureByItsNumber) {
  EXPECT_EQ(ChangeKindName(static_cast<ChangeKind>(17)), "unknown kind 17");
}

HostAllows Allows(const char* file, std::initializer_list<const char*> kinds) {
  HostAllows allows;
  allows.set_file(file);
  for (const char* kind : kinds) allows.add_kinds(kind);
  return allows;
}

TEST(AllowTextTest, NamesTheLineAndTheFile) {
  // A kind of a newer host is none that this version could ask for.
  const HostAllows allows =
      Allows("/etc/clusterd/agent.yaml", {"sysctl", "observe", "teleport"});
  EXPECT_EQ(AllowedKinds(allows),
            (std::set<ChangeKind>{CHANGE_OBSERVE, CHANGE_SYSCTL}));
  EXPECT_EQ(WhatIsAllowed(allows), "it allows observe, sysctl");
  EXPECT_EQ(HowToAllow(allows, {CHANGE_TLS, CHANGE_OBSERVE, CHANGE_SYSCTL}),
            "put \"allow: [observe, sysctl, tls]\" into "
            "/etc/clusterd/agent.yaml there");
}

TEST(AllowTextTest, SaysHowToBeginWithoutAFile) {
  EXPECT_EQ(HowToAllow(Allows("", {"observe"}), {CHANGE_OBSERVE, CHANGE_TLS}),
            "start clusterd there with --config and a file with \"allow: "
            "[observe, tls]\" in it");
  EXPECT_EQ(WhatIsAllowed(Allows("", {})), "it allows nothing");
}

TEST(AllowTextTest, PutsAMistakeInTheFileFirst) {
  HostAllows allows = Allows("/etc/clusterd/agent.yaml", {"observe"});
  allows.set_mistake("/etc/clusterd/agent.yaml:7:18: allow is \"sysctll\"");
  EXPECT_EQ(WhatIsAllowed(allows), "it allows observe until its file is right");
  EXPECT_EQ(HowToAllow(allows, {CHANGE_OBSERVE, CHANGE_SYSCTL}),
            "correct the mistake there (/etc/clusterd/agent.yaml:7:18: allow "
            "is \"sysctll\")");
}

}  // namespace
}  // namespace clusterd
