#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/query_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Pair;

template <typename T>
void ExpectRejected(const absl::StatusOr<T>& parsed, const std::string& said) {
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(parsed.status().message()), HasSubstr(said));
}

TEST(ParseHccnDscpToTcTest, ReadsTheClassOfEachDscp) {
  const auto classes =
      ParseHccnDscpToTc("dscp      tc\n   0       1\n  33       0\n");
  ASSERT_TRUE(classes.ok()) << classes.status();
  EXPECT_THAT(*classes, ElementsAre(Pair(0, 1), Pair(33, 0)));
}

TEST(ParseHccnDscpToTcTest, RejectsOtherTables) {
  ExpectRejected(ParseHccnDscpToTc(""), "dscp tc");
  ExpectRejected(ParseHccnDscpToTc("dscp      tc\n"), "a line for each DSCP");
  ExpectRejected(ParseHccnDscpToTc("tc      dscp\n  33       0\n"), "tc  ");
  ExpectRejected(ParseHccnDscpToTc("dscp      tc\n  64       0\n"),
                 "\"  64       0\", expected a DSCP, a number from 0 to 63");
  ExpectRejected(ParseHccnDscpToTc("dscp      tc\n  33\n"), "\"  33\"");
  ExpectRejected(ParseHccnDscpToTc("dscp      tc\n  33       x\n"),
                 "33       x\"");
  ExpectRejected(ParseHccnDscpToTc("dscp tc\n33 0\n33 1\n"), "each DSCP once");
}

constexpr absl::string_view kPriorities =
    "PFC configuration:\npriority   0 1 2 3 4 5 6 7\n";

TEST(ParseHccnPfcTest, ReadsWhichPrioritiesAreOn) {
  const auto pfc =
      ParseHccnPfc(absl::StrCat(kPriorities, "enabled    0 0 0 0 1 0 0 1\n"));
  ASSERT_TRUE(pfc.ok()) << pfc.status();
  EXPECT_THAT(
      *pfc, ElementsAre(false, false, false, false, true, false, false, true));
}

TEST(ParseHccnPfcTest, RejectsOtherTables) {
  ExpectRejected(ParseHccnPfc(kPriorities), "two lines below");
  ExpectRejected(ParseHccnPfc("PFC configuration:\npriority   0 1 2 3 4 5 7 6\n"
                              "enabled    0 0 0 0 1 0 0 0\n"),
                 "priority   0 1 2 3 4 5 7 6");
  for (const char* row :
       {"enabled    0 0 0 0 1 0 0", "enabled    0 0 0 0 1 0 0 0 0",
        "enabled    0 0 0 0 2 0 0 0", "disabled   0 0 0 0 1 0 0 0"}) {
    ExpectRejected(ParseHccnPfc(absl::StrCat(kPriorities, row, "\n")), row);
  }
}

}  // namespace
}  // namespace clusterd
