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

// The record with one text in place of another.
std::string With(const std::string& before, const std::string& after) {
  std::string text = kRecord;
  text.replace(text.find(before), before.size(), after);
  return text;
}

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
  EXPECT_THAT(ParseCaptureRecord(With("\"stdout\"", "\"output\"")).status(),
              HasText("\"stdout\""));
  // The status is a whole number that a status can be.
  for (const char* status : {"\"0\"", "1e300", "0.5", "-1e9"}) {
    EXPECT_THAT(ParseCaptureRecord(With("-15", status)).status(),
                HasText("\"exit\""))
        << status;
  }
}

TEST(ParseCaptureRecordTest, NoInputAndNoPreconditionMayBeNull) {
  EXPECT_EQ(ParseCaptureRecord(With("\"y\\n\"", "null"))->standard_input, "");
  EXPECT_EQ(ParseCaptureRecord(With("\"ip.0=10.0.0.1\"", "null"))->precondition,
            "");
}

TEST(ParseCaptureRecordTest, RefusesWhatIsNoObject) {
  for (const char* text : {"", "[]", "{", "null", "{\"argv\": []}"}) {
    EXPECT_TRUE(absl::IsInvalidArgument(ParseCaptureRecord(text).status()))
        << text;
  }
}

}  // namespace
}  // namespace clusterd::sim
