#include "config/report/message_json.h"

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "google/protobuf/util/message_differencer.h"
#include "proto/finding.pb.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

void ExpectParsesTo(const Report& report, const std::string& json) {
  Report parsed;
  ASSERT_TRUE(google::protobuf::util::JsonStringToMessage(json, &parsed).ok());
  EXPECT_TRUE(
      google::protobuf::util::MessageDifferencer::Equals(report, parsed));
}

TEST(MessageJsonTest, ParsesBackToTheSameMessage) {
  for (const char* name : {"pass", "fail", "hostile", "job", "no_verdict"}) {
    const auto report = GoldenMessage<Report>(absl::StrCat("reports/", name));
    ExpectParsesTo(report, MessageJson(report));
  }
}

TEST(MessageJsonTest, KeepsFieldNamesAndWritesZeros) {
  const std::string json = MessageJson(Report());
  EXPECT_THAT(json, HasSubstr("\"schema_version\": 0"));
  EXPECT_THAT(json, HasSubstr("\"spec_digest\": \"\""));
}

TEST(MessageJsonTest, PrintsAFindingOnOneLineAndOfAValueWhatItIsMadeOf) {
  Report report;
  Finding& finding = *report.add_rules()->add_findings();
  finding.set_rule("mtu-uniform");
  FindingValue* const value = finding.add_values();
  value->set_name("mtu");
  value->set_number(1500);
  value->add_values()->set_words("none");
  finding.add_values()->set_text("{\n    ]");
  finding.add_values();
  const std::string json = MessageJson(report);
  EXPECT_THAT(json, HasSubstr("\n    {\"rule\": \"mtu-uniform\",\"state\""));
  EXPECT_THAT(json, HasSubstr(R"("values": [{"values": [{"words": "none"}],)"
                              R"("name": "mtu","number": "1500"},)"
                              R"({"text": "{\n    ]"},{}],"observed": "",)"));
  EXPECT_THAT(json, HasSubstr("\"command\": \"\"}\n   ],\n"));
  ExpectParsesTo(report, json);
}

TEST(SparseJsonTest, LeavesOutZerosAndParsesBackToTheSameMessage) {
  const auto report = GoldenMessage<Report>("reports/hostile");
  const std::string json = MessageJson(report, /*with_defaults=*/false);
  for (const char* text : {"\"spec_digest\"", "\xc2\x9b", "\x1b"}) {
    EXPECT_THAT(json, Not(HasSubstr(text)));
  }
  EXPECT_EQ(json.back(), '\n');
  ExpectParsesTo(report, json);
}

TEST(MessageJsonTest, HoldsNothingThatATerminalObeys) {
  const std::string json =
      MessageJson(GoldenMessage<Report>("reports/hostile"));
  for (const char c : json) {
    EXPECT_TRUE(static_cast<uint8_t>(c) >= 0x20 || c == '\n');
  }
  EXPECT_THAT(json, Not(HasSubstr("\xc2\x9b")));
  EXPECT_THAT(json, Not(HasSubstr("\u202e")));
}

TEST(OnOneLineTest, KeepsTheDocumentWhateverItsTextsHold) {
  auto report = GoldenMessage<Report>("reports/hostile");
  report.add_notes("two\n  lines");
  const std::string line = OnOneLine(MessageJson(report));
  EXPECT_EQ(line.find('\n'), line.size() - 1);
  ExpectParsesTo(report, line);
}

}  // namespace
}  // namespace clusterd
