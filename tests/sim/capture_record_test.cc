#include "tests/sim/capture_record.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd::sim {
namespace {

using ::testing::ElementsAre;
using ::testing::Optional;
using ::testing::Pair;
using ::testing::UnorderedElementsAre;

constexpr char kRecord[] = R"({
  "name": "n", "group": "g", "product": "A2", "argv": ["hccn_tool", "-v"],
  "stdin": "y\n", "precondition": "ip.0=10.0.0.1", "stdout": "o", "stderr": "e",
  "exit": -15, "hccn_conf_before": null, "hccn_conf_after": "a\r\n",
  "device_changes": {"ip.0": [null, "10.0.0.2"]}, "more": {"unknown": 1}})";

TEST(ParseCaptureRecordTest, TakesEveryField) {
  const auto record = ParseCaptureRecord(kRecord).value();
  EXPECT_EQ(record.name, "n");
  EXPECT_THAT(record.argv, ElementsAre("hccn_tool", "-v"));
  EXPECT_EQ(record.standard_input, "y\n");
  EXPECT_THAT(record.exit, Optional(-15));
  EXPECT_EQ(record.conf_before, std::nullopt);
  EXPECT_THAT(record.conf_after, Optional(std::string("a\r\n")));
  EXPECT_THAT(record.device_changes,
              UnorderedElementsAre(Pair("ip.0", "10.0.0.2")));
}

TEST(ParseCaptureRecordTest, NamesAFieldThatIsMissingOrOfAnotherType) {
  std::string text = kRecord;
  text.replace(text.find("\"stdout\""), 8, "\"output\"");
  EXPECT_THAT(ParseCaptureRecord(text).status(), HasText("\"stdout\""));
  text = kRecord;
  text.replace(text.find("-15"), 3, "\"0\"");
  EXPECT_THAT(ParseCaptureRecord(text).status(), HasText("\"exit\""));
}

TEST(ParseCaptureRecordTest, StatusIsAWholeNumberThatAStatusCanBe) {
  for (const char* number : {"1e300", "0.5", "-1e9"}) {
    std::string text = kRecord;
    text.replace(text.find("-15"), 3, number);
    EXPECT_THAT(ParseCaptureRecord(text).status(), HasText("\"exit\""))
        << number;
  }
}

TEST(ParseCaptureRecordTest, NoInputAndNoPreconditionMayBeNull) {
  std::string text = kRecord;
  text.replace(text.find("\"y\\n\""), 5, "null");
  text.replace(text.find("\"ip.0=10.0.0.1\""), 15, "null");
  const auto record = ParseCaptureRecord(text).value();
  EXPECT_EQ(record.standard_input, "");
  EXPECT_EQ(record.precondition, "");
}

TEST(ParseCaptureRecordTest, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "{", "null", "{\"argv\": []}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCaptureRecord(text).status()))
        << text;
  }
}

}  // namespace
}  // namespace clusterd::sim
