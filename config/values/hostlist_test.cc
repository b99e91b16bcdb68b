#include "config/values/hostlist.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/number_list.h"
#include "config/values/value_error.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::SizeIs;

// The message of that row with these values.
template <typename... Values>
std::string Text(absl::string_view row, const Values&... values) {
  return std::string(WrongValue(row, values...).message());
}

// The names joined with blanks, or the message.
std::string Expanded(absl::string_view text) {
  const absl::StatusOr<std::vector<std::string>> names = ExpandHostlist(text);
  if (!names.ok()) {
    EXPECT_EQ(names.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(names.status().message());
  }
  return absl::StrJoin(*names, " ");
}

std::vector<std::string> Numbered(absl::string_view prefix, int count) {
  std::vector<std::string> names;
  for (int i = 0; i < count; ++i) names.push_back(absl::StrCat(prefix, i));
  return names;
}

TEST(ExpandHostlistTest, ExpandsRangesAndListsAndKeepsZeroPadding) {
  EXPECT_EQ(Expanded("server[0-1]"), "server0 server1");
  EXPECT_EQ(Expanded("login,node[1-3,7]"), "login node1 node2 node3 node7");
  EXPECT_EQ(Expanded("node[0-6/3]"), "node0 node3 node6");
  EXPECT_EQ(Expanded("n[08-11]"), "n08 n09 n10 n11");
  EXPECT_EQ(Expanded("n[098-101]"), "n098 n099 n100 n101");
  // Combines several brackets last one fastest.
  EXPECT_EQ(Expanded("rack[1-2]n[01-02].lab"),
            "rack1n01.lab rack1n02.lab rack2n01.lab rack2n02.lab");
  // Keeps the order and drops duplicates and refuses empty names.
  EXPECT_EQ(Expanded("b,a,node[2-1"), Text("value-hosts-open", "node[2-1"));
  EXPECT_EQ(Expanded("b,a,b,n[2,1,2]"), "b a n2 n1");
  for (absl::string_view text : {"", ",", "a,", ",a", "a,,b"}) {
    EXPECT_THAT(Expanded(text), HasSubstr("empty name")) << text;
  }
}

TEST(ExpandHostlistTest, RefusesMalformedBracketsAndRefusesWhatNoHostIsCalled) {
  EXPECT_THAT(Expanded("n1]"), HasSubstr("closes no bracket"));
  EXPECT_THAT(Expanded("n[1-3"), HasSubstr("open bracket"));
  EXPECT_THAT(Expanded("n[[1-3]]"), HasSubstr("\"[1-3\" is not a number"));
  EXPECT_THAT(Expanded("n[]"), HasSubstr("is not a number or range"));
  EXPECT_THAT(Expanded("n[a-c]"), HasSubstr("\"a-c\" is not a number"));
  EXPECT_THAT(Expanded("n[9-3]"), HasSubstr("runs backwards, expected 3-9"));
  for (absl::string_view text :
       {"a b", "a/b", "..", ".", "-rf", "n_", "a..b", "n[1-2]-", "ö", "a;b",
        "$(id)", "a\nb", "@all"}) {
    EXPECT_THAT(Expanded(text), HasSubstr("is not a valid host name")) << text;
  }
  EXPECT_THAT(Expanded(std::string(254, 'a')),
              HasSubstr("is not a valid host name"));
  // Bounds the number of names before making them.
  EXPECT_THAT(Expanded("n[0-999999999999999999]"), HasSubstr("too long"));
  const char kFour[] = "n[0-99999]a[0-99999]b[0-99999]c[0-99999]";
  EXPECT_EQ(Expanded(kFour), Text("value-hosts-too-many", kFour, 1048576));
  EXPECT_TRUE(ExpandHostlist("n[0-9]", 10).ok());
  EXPECT_FALSE(ExpandHostlist("n[0-10]", 10).ok());
  EXPECT_FALSE(ExpandHostlist("n[0-4],m[0-5]", 10).ok());
}

TEST(IsHostNameTest, TakesTheCharactersOfDnsAndUnderscores) {
  EXPECT_TRUE(IsHostName("node-01.rack_2.example"));
  EXPECT_TRUE(IsHostName("0"));
  EXPECT_FALSE(IsHostName(""));
  EXPECT_FALSE(IsHostName(absl::string_view("a\0b", 3)));
}

TEST(FoldHostlistTest, FoldsRangesAndKeepsPadding) {
  EXPECT_EQ(FoldHostlist({"n3", "n1", "n2", "n7"}), "n[1-3,7]");
  EXPECT_EQ(FoldHostlist({"n08", "n09", "n10", "n11"}), "n[08-11]");
  EXPECT_EQ(FoldHostlist({"n9", "n10", "n100"}), "n[9-10,100]");
  EXPECT_EQ(FoldHostlist({"node07"}), "node07");
  // Keeps names apart that differ in padding only.
  EXPECT_EQ(FoldHostlist({"n1", "n01", "n001"}), "n1,n01,n001");
  // Sorts by text then by number and folds several counters.
  EXPECT_EQ(FoldHostlist({"worker2", "login", "worker10", "admin"}),
            "admin,login,worker[2,10]");
  std::vector<std::string> hosts = *ExpandHostlist("rack[1-3]n[01-18].lab");
  std::reverse(hosts.begin(), hosts.end());
  EXPECT_EQ(FoldHostlist(hosts), "rack[1-3]n[01-18].lab");
  EXPECT_EQ(FoldHostlist({"a1b1c1", "a2b1c1", "a1b1c2", "a2b1c2"}),
            "a[1-2]b1c[1-2]");
  hosts = *ExpandHostlist("rack[1-3]n[01-18],rack4n[01-07]");
  EXPECT_EQ(FoldHostlist(hosts), "rack[1-3]n[01-18],rack4n[01-07]");
  // Folds two dimensions as Slurm does.
  const std::string text = "node[1-2]-eth[0-3]";
  EXPECT_EQ(FoldHostlist(*ExpandHostlist(text)), text);
  EXPECT_EQ(FoldHostlist(*ExpandHostlist("node[08-11]-eth[0-3],node12-eth2")),
            "node[08-11]-eth[0-3],node12-eth2");
}

TEST(FoldHostlistTest, KeepsLongSerialNumbersAsText) {
  EXPECT_EQ(FoldHostlist({"sn2102351234567890123456"}),
            "sn2102351234567890123456");
  // Folds duplicates and empty text; keeps text that is not a host name.
  EXPECT_EQ(FoldHostlist({"n1", "n1"}), "n1");
  EXPECT_EQ(FoldHostlist({"a", "a"}), "a");
  EXPECT_EQ(FoldHostlist({}), "");
  const std::string strange("n\0", 2);
  EXPECT_EQ(FoldHostlist({"n1", strange, "n2", "a b1", ""}),
            "n[1-2],,a b1," + strange);
  // Folds a hundred thousand names to one pattern.
  EXPECT_EQ(FoldHostlist(Numbered("node", 1152)), "node[0-1151]");
  EXPECT_EQ(FoldHostlist(Numbered("node", 100000)), "node[0-99999]");
  const std::string text = "pod[0-9]rack[0-99]n[00-99]";
  EXPECT_EQ(FoldHostlist(*ExpandHostlist(text)), text);
  // Every other name missing stays one bracket.
  std::vector<std::string> hosts;
  for (int i = 0; i < 1000; i += 2) hosts.push_back(absl::StrCat("n", i));
  const std::string folded = FoldHostlist(hosts);
  EXPECT_EQ(folded.substr(0, 10), "n[0,2,4,6,");
  EXPECT_THAT(*ExpandHostlist(folded), SizeIs(500));
}

// "first-last/step:width" per range, or the message.
std::string Parsed(absl::string_view text) {
  const absl::StatusOr<std::vector<NumberRange>> ranges = ParseNumberList(text);
  if (!ranges.ok()) {
    EXPECT_EQ(ranges.status().code(), absl::StatusCode::kInvalidArgument);
    return std::string(ranges.status().message());
  }
  std::string out;
  for (const NumberRange& range : *ranges) {
    out += std::to_string(range.first) + "-" + std::to_string(range.last) +
           "/" + std::to_string(range.step) + ":" +
           std::to_string(range.width) + " ";
  }
  return out;
}

TEST(ParseNumberListTest, ReadsNumbersRangesAndStepsAndKeepsPadding) {
  EXPECT_EQ(Parsed("7"), "7-7/1:0 ");
  EXPECT_EQ(Parsed("1-3,7,0-30/2"), "1-3/1:0 7-7/1:0 0-30/2:0 ");
  EXPECT_EQ(Parsed("0"), "0-0/1:0 ");
  EXPECT_EQ(Parsed("01-12"), "1-12/1:2 ");
  EXPECT_EQ(Parsed("007"), "7-7/1:3 ");
  EXPECT_EQ(Parsed("00-02"), "0-2/1:2 ");
  EXPECT_EQ(Parsed("08-112"), "8-112/1:2 ");
  // Refuses ends that are padded differently.
  for (const char* text : {"8-012", "008-12", "01-002"}) {
    EXPECT_EQ(Parsed(text), Text("value-number-padding", text));
  }
  // Refuses backwards ranges and zero steps.
  EXPECT_EQ(Parsed("9-3"), "\"9-3\" runs backwards, expected 3-9");
  EXPECT_THAT(Parsed("0-9/0"), HasSubstr("step of 0"));
  // Refuses text that is not a number.
  for (absl::string_view text :
       {"", ",", "1,", "a", "1-", "-1", "1-2-3", " 1", "+1", "1/2", "0-9/",
        "0-9/x", "1234567890123456789", "0x1"}) {
    EXPECT_THAT(Parsed(text), HasSubstr("is not a number or range")) << text;
  }
}

TEST(NumberRangeTest, CountsWithSteps) {
  EXPECT_EQ((NumberRange{0, 9, 3, 0}).size(), 4u);
  EXPECT_EQ((NumberRange{0, 999999999999999999u, 1, 0}).size(),
            1000000000000000000u);
}

TEST(PadNumberTest, PadsButNeverCuts) {
  EXPECT_EQ(PadNumber(7, 3), "007");
  EXPECT_EQ(PadNumber(1234, 3), "1234");
  EXPECT_EQ(PadNumber(0, 0), "0");
}

TEST(ParseIdListTest, SortsIdsAndRefusesLargeAndRepeatedIds) {
  EXPECT_THAT(*ParseIdList("8,0-3", 15), ElementsAre(0, 1, 2, 3, 8));
  EXPECT_THAT(*ParseIdList("0-6/2", 15), ElementsAre(0, 2, 4, 6));
  EXPECT_EQ(ParseIdList("0-16", 15).status(),
            WrongValue("value-id-too-large", 16, 15));
  EXPECT_EQ(ParseIdList("0-3,2", 15).status(),
            WrongValue("value-id-twice", "0-3,2", 2));
  EXPECT_EQ(ParseIdList("0-15,0-15", 15).status(),
            WrongValue("value-an-id-twice", "0-15,0-15"));
  EXPECT_EQ(ParseIdList("x", 15).status(), WrongValue("value-number", "x"));
}

TEST(FoldIdsTest, FoldsRuns) {
  EXPECT_EQ(FoldIds({}), "none");
  EXPECT_EQ(FoldIds({3}), "3");
  EXPECT_EQ(FoldIds({0, 1}), "0-1");
  EXPECT_EQ(FoldIds({0, 1, 2, 3, 7, 9, 10}), "0-3,7,9-10");
}

}  // namespace
}  // namespace clusterd
