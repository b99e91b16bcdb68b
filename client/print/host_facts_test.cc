#include <sstream>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/print/hosts_table.h"
#include "config/words/words.h"
#include "gtest/gtest.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

const absl::Time kNow = absl::FromUnixMillis(1735689600000);

std::string Text(const DescribeHostResponse& answer) {
  Style style;
  style.utf8 = true;
  std::ostringstream out;
  PrintHostFacts(answer, style, kNow, out);
  return out.str();
}

TEST(HostFactsTest, PrintsAsInTheFile) {
  ExpectGolden("hosts/description.table",
               Text(GoldenMessage<DescribeHostResponse>("hosts/description")));
}

TEST(HostFactsTest, SaysWhyThereAreNoFacts) {
  DescribeHostResponse answer;
  answer.mutable_entry()->set_host("server3");
  answer.mutable_entry()->set_in_spec(true);
  const std::string state =
      absl::StrCat("server3: ", Say("hosts-never-attached"), "\n");
  EXPECT_EQ(Text(answer), absl::StrCat(state, "no facts\n"));
  answer.mutable_facts()->mutable_missing()->set_reason(Missing::NO_ANSWER);
  answer.mutable_facts()->mutable_missing()->set_detail("in 30s");
  EXPECT_EQ(Text(answer), absl::StrCat(state, "no facts: no answer: in 30s\n"));
}

TEST(HostFactsTest, SaysWhatTheHostAllows) {
  DescribeHostResponse answer;
  HostAllows* allows = answer.mutable_facts()->mutable_allows();
  allows->add_kinds("observe");
  allows->add_kinds("sysctl");
  allows->set_file("/etc/clusterd/agent.yaml");
  const auto has = [&answer](const std::string& kinds) {
    return absl::StrContains(
        Text(answer), absl::StrCat("\n", Say("hosts-allows", kinds), "\n"));
  };
  EXPECT_TRUE(has("observe, sysctl (/etc/clusterd/agent.yaml)"))
      << Text(answer);
  allows->set_mistake("agent.yaml:2:1: unknown key");
  EXPECT_TRUE(
      has(Say("hosts-allows-mistake", "observe, sysctl", allows->mistake())))
      << Text(answer);
}

TEST(HostFactsTest, CutsLongListsAndSaysSo) {
  DescribeHostResponse answer;
  auto& sockets = *answer.mutable_facts()->mutable_sockets()->mutable_value();
  for (int i = 0; i < 500; ++i) sockets.add_sockets()->set_port(i);
  EXPECT_NE(Text(answer).find(Say("list-more-json", 480)), std::string::npos);
}

}  // namespace
}  // namespace clusterd
