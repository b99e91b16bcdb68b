#include "config/report/message_json.h"

#include "absl/strings/str_cat.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "gtest/gtest.h"
#include "proto/finding.pb.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

class MessageJsonGoldenTest : public testing::TestWithParam<const char*> {};

TEST_P(MessageJsonGoldenTest, PrintsAsInTheFileAndParsesBackToTheSameMessage) {
  const std::string name = absl::StrCat("reports/", GetParam());
  const Report report = GoldenMessage<Report>(name);
  const std::string json = MessageJson(report);
  ExpectGolden(absl::StrCat(name, ".json"), json);
  Report parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(report, parsed));
}

INSTANTIATE_TEST_SUITE_P(Reports, MessageJsonGoldenTest,
                         testing::Values("pass", "fail", "hostile", "job",
                                         "no_verdict"),
                         [](const auto& info) {
                           return std::string(info.param);
                         });

TEST(MessageJsonTest, KeepsFieldNamesAndWritesZeros) {
  const std::string json = MessageJson(Report());
  EXPECT_NE(json.find("\"schema_version\": 0"), std::string::npos);
  EXPECT_NE(json.find("\"spec_digest\": \"\""), std::string::npos);
}

TEST(SparseJsonTest, LeavesOutZerosAndParsesBackToTheSameMessage) {
  const Report report = GoldenMessage<Report>("reports/hostile");
  const std::string json = SparseJson(report);
  EXPECT_EQ(json.find("\"spec_digest\""), std::string::npos);
  EXPECT_EQ(json.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(json.find('\x1b'), std::string::npos);
  EXPECT_EQ(json.back(), '\n');
  Report parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(report, parsed));
}

TEST(MessageJsonTest, HoldsNothingThatATerminalObeys) {
  const std::string json =
      MessageJson(GoldenMessage<Report>("reports/hostile"));
  for (const char c : json) {
    EXPECT_TRUE(static_cast<uint8_t>(c) >= 0x20 || c == '\n');
  }
  EXPECT_EQ(json.find("\xc2\x9b"), std::string::npos);
  EXPECT_EQ(json.find("\u202e"), std::string::npos);
}

TEST(OnOneLineTest, KeepsTheDocumentWhateverItsTextsHold) {
  Report report = GoldenMessage<Report>("reports/hostile");
  report.add_notes("two\n  lines");
  const std::string line = OnOneLine(MessageJson(report));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  Report parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(line, &parsed).ok());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(report, parsed));
}

}  // namespace
}  // namespace clusterd
