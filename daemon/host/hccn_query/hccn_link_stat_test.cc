#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "daemon/host/hccn_query/query_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::string_view kHistory =
    "[devid 0]current time        : Tue Oct 28 21:46:46 2025\n"
    "[devid 0]link up count       : 2\n"
    "[devid 0]link down count     : 1\n"
    "[devid 0]link change records :\n"
    "[devid 0]    Sun Oct  5 10:13:51 2025    LINK UP\n"
    "[devid 0]    Sun Oct  5 10:13:50 2025    LINK DOWN\n";

void ExpectRejected(const std::string& output, const std::string& said) {
  const absl::Status status = ParseHccnLinkStat(output, 0).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << output;
  EXPECT_THAT(std::string(status.message()), HasSubstr(said)) << output;
}

std::string WithInstead(absl::string_view old_text,
                        absl::string_view new_text) {
  return absl::StrReplaceAll(kHistory, {{old_text, new_text}});
}

TEST(ParseHccnLinkStatTest, ReadsCountsAndChanges) {
  const auto history = ParseHccnLinkStat(kHistory, 0);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->ups(), 2u);
  EXPECT_EQ(history->downs(), 1u);
  ASSERT_THAT(history->changes(), SizeIs(2));
  EXPECT_EQ(history->changes(0).seconds_ago(), 2028775u);
  EXPECT_TRUE(history->changes(0).up());
  EXPECT_EQ(history->changes(1).seconds_ago(), 2028776u);
  EXPECT_FALSE(history->changes(1).up());
}

TEST(ParseHccnLinkStatTest, TakesAChangeAfterNowAsJustNow) {
  const auto history =
      ParseHccnLinkStat(WithInstead("Oct  5 10:13:51", "Oct 28 21:46:47"), 0);
  ASSERT_TRUE(history.ok()) << history.status();
  EXPECT_EQ(history->changes(0).seconds_ago(), 0u);
}

TEST(ParseHccnLinkStatTest, ReadsTheDocumentedPrefixWithoutDowns) {
  const auto stat = ParseHccnLinkStat(
      "[device 2]current time        : Fri Sep  1 06:37:26 2023\n"
      "[device 2]link up count       : 2\n"
      "[device 2]link change records :\n"
      "[device 2]    Fri Sep  1 06:34:43 2023    LINK DOWN\n",
      2);
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_FALSE(stat->has_downs());
  EXPECT_THAT(stat->changes(), SizeIs(1));
}

TEST(ParseHccnLinkStatTest, ReadsNoHistory) {
  const auto stat = ParseHccnLinkStat(
      "[devid 0]current time        : Tue Aug  2 03:09:26 2022\n"
      "[devid 0]link up count       : 0\n"
      "[devid 0]link down count     : 0\n"
      "[devid 0]link change records : NA\n",
      0);
  ASSERT_TRUE(stat.ok()) << stat.status();
  EXPECT_THAT(stat->changes(), IsEmpty());
}

TEST(ParseHccnLinkStatTest, TakesCountsAsPrintfWritesThem) {
  const auto most = ParseHccnLinkStat(
      WithInstead("count       : 2", "count       : 18446744073709551615"), 0);
  ASSERT_TRUE(most.ok()) << most.status();
  EXPECT_EQ(most->ups(), ~uint64_t{0});
  for (const char* count :
       {"", "-1", "+1", "01", "1.0", "0x1", "1e3", "18446744073709551616"}) {
    ExpectRejected(
        WithInstead("count     : 1", absl::StrCat("count     : ", count)),
        absl::StrCat("\"", count, "\", expected a number"));
  }
}

TEST(ParseHccnLinkStatTest, DoesNotCompareTheWeekday) {
  EXPECT_TRUE(ParseHccnLinkStat(WithInstead("Tue Oct", "Wed Oct"), 0).ok());
  ExpectRejected(WithInstead("Tue Oct", "Die Oct"), "Die Oct 28");
}

TEST(ParseHccnLinkStatTest, RejectsTimesThatTheToolDoesNotPrint) {
  ExpectRejected(WithInstead("Oct 28", "Feb 30"), "Feb 30");
  ExpectRejected(WithInstead("Oct  5 10:13:51", "Oct 05 10:13:51"), "Oct 05");
  ExpectRejected(WithInstead("21:46:46", "24:46:46"), "24:46:46");
  ExpectRejected(WithInstead("21:46:46", "21:46:60"), "21:46:60");
  ExpectRejected(WithInstead("Tue Oct 28 21:46:46 2025", "infinite-future"),
                 "infinite-future");
}

TEST(ParseHccnLinkStatTest, RejectsAnAnswerThatWasCut) {
  for (size_t size = 0; size + 1 < kHistory.size(); ++size) {
    const std::string cut(kHistory.substr(0, size));
    if (!ParseHccnLinkStat(cut, 0).ok()) continue;
    // Whole lines of changes may be missing at the end, which is undetectable.
    EXPECT_THAT(cut, AnyOf(EndsWith("LINK UP"), EndsWith("LINK UP\n"),
                           EndsWith("LINK DOWN")));
  }
}

TEST(ParseHccnLinkStatTest, RejectsLinesOutOfOrderOrOfAnotherDevice) {
  ExpectRejected("", "no line \"current time: ...\" in \"\"");
  ExpectRejected(WithInstead("link up count", "link UP count"),
                 "unexpected \"link UP count       : 2\"");
  ExpectRejected(WithInstead("count       : 2", "count       : two"),
                 "\"two\", expected a number");
  ExpectRejected(WithInstead("[devid 0]link down", "[devid 1]link down"),
                 "[devid 1]link down");
  ExpectRejected(WithInstead("records :", "records : NA"), "NA for no link");
  ExpectRejected(WithInstead("LINK DOWN", "LINK SLOW"), "LINK SLOW");
}

}  // namespace
}  // namespace clusterd
