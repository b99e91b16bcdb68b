#include "config/plan/allow_text.h"

#include <gtest/gtest.h>

#include <initializer_list>
#include <set>

namespace clusterd {
namespace {

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
