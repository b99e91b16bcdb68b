#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/host/logs/read_logs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<LogHit> Scan(absl::string_view text, uint64_t first_line = 1) {
  bool left_out = false;
  return ScanLog(text, first_line, &left_out);
}

TEST(ScanLogTest, TellsACodeWithItsFirstLineAndHowManyLinesHaveIt) {
  const auto hits = Scan(
      "[INFO] all is well\n"
      "[ERROR] HCCL(4711,python3): Communication_Error_Get_Socket(EI0006): "
      "Getting socket times out. EI0006\n"
      "[ERROR] [EI0006] again\n"
      "[ERROR] EJ0003: Failed to bind the IP port.\n");
  ASSERT_THAT(hits, SizeIs(2));
  EXPECT_EQ(hits[0].code(), "EI0006");
  EXPECT_EQ(hits[0].line(), 2);
  EXPECT_EQ(hits[0].count(), 2);
  EXPECT_THAT(hits[0].text(), HasSubstr("Getting socket times out"));
  EXPECT_EQ(hits[1].code(), "EJ0003");
  EXPECT_EQ(hits[1].line(), 4);
}

TEST(ScanLogTest, KnowsTextsThatTheLogWritesWithoutTheirCode) {
  const auto hits = Scan(
      "ssl3_get_record:wrong version number, The possible cause is that the "
      "TLS switch is inconsistent\n"
      "topo exchange agent get socket timeout!\n"
      "host nic listen start failed, port[60000], return[11]\n"
      "the IP address(10.0.0.1) in the ranktable is inconsistent with the "
      "IP(10.0.0.2)address of the network adapter\n");
  ASSERT_THAT(hits, SizeIs(4));
  EXPECT_EQ(hits[0].code(), "EI0016");
  EXPECT_EQ(hits[1].code(), "EI0015");
  EXPECT_EQ(hits[2].code(), "EJ0003");
  EXPECT_EQ(hits[3].code(), "EI0014");
}

TEST(ScanLogTest, TakesNoPartOfAWordForACode) {
  EXPECT_THAT(Scan("0xEA1234 EI00061 PEI0006 EI_0006 ei0006 EI006"), IsEmpty());
}

TEST(ScanLogTest, TellsNoLineWhereTheBeginningWasNotRead) {
  const auto hits = Scan("\n\nEI0006\n", 0);
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].line(), 0);
}

TEST(ScanLogTest, BoundsTheTextAndTheNumberOfCodes) {
  const std::string noise(1 << 20, 'x');
  const auto far = Scan(absl::StrCat(noise, " EI0006 ", noise));
  ASSERT_THAT(far, SizeIs(1));
  EXPECT_LE(far[0].text().size(), kMaxHitTextBytes);
  EXPECT_THAT(far[0].text(), HasSubstr("EI0006"));
  std::string many;
  for (int i = 1000; i < 1100; ++i) absl::StrAppend(&many, "EI", i, "\n");
  bool left_out = false;
  EXPECT_THAT(ScanLog(many, 1, &left_out), SizeIs(kMaxCodesPerFile));
  EXPECT_TRUE(left_out);
}

// Minutes of a root daemon, if every code were to read what is behind it.
TEST(ScanLogTest, ALineOfNothingButCodesTakesTimeInProportion) {
  std::string text;
  while (text.size() < 8u << 20) text += "EI0006 ";
  const auto hits = Scan(text);
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].count(), 1u);
}

TEST(ScanLogTest, MakesValidTextOfBytes) {
  const auto hits = Scan(absl::string_view("\xff\x00 EI0006 \xe4\xb8\n", 13));
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_THAT(hits[0].text(), HasSubstr("\xEF\xBF\xBD"));
  EXPECT_LE(BoundedUtf8(std::string(400, '\xff'), 400).size(), 400);
}

}  // namespace
}  // namespace clusterd
