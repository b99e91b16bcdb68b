#include "daemon/host/hccn/hccn_output.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

TEST(HccnDataLinesTest, DropsEmptyLinesAndBlanksAtTheEnd) {
  EXPECT_THAT(HccnDataLines("mtu:1500 \n\n\t\nnext\r\n"),
              ElementsAre("mtu:1500", "next"));
}

TEST(HccnDataLinesTest, DropsWhatTheToolSaysAboutItself) {
  EXPECT_THAT(
      HccnDataLines("[WARNING] \"/var/log/hccn_tool\" is not a directory, "
                    "hccn_tool logs may be lost.\n"
                    "mtu:1500\n"
                    "Cmd executed successfully!\n"),
      ElementsAre("mtu:1500"));
}

TEST(HccnDataLinesTest, HasNoLinesForNoOutput) {
  EXPECT_THAT(HccnDataLines(""), IsEmpty());
  EXPECT_THAT(HccnDataLines("\n"), IsEmpty());
}

TEST(OnlyHccnDataLineTest, RejectsNoLine) {
  EXPECT_EQ(OnlyHccnDataLine("\n").status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(OnlyHccnDataLineTest, QuotesASecondLine) {
  const absl::StatusOr<absl::string_view> line = OnlyHccnDataLine("a\nb\n");
  EXPECT_EQ(line.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(line.status().message()), HasSubstr("\"b\""));
}

void ExpectRejected(const absl::Status& status, const std::string& said) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(said));
}

void ExpectNamed(absl::string_view line, absl::string_view name,
                 absl::string_view value) {
  const absl::StatusOr<HccnNamedValue> named = ParseHccnNamedValue(line);
  ASSERT_TRUE(named.ok()) << named.status();
  EXPECT_EQ(named->name, name);
  EXPECT_EQ(named->value, value);
}

TEST(ParseHccnNamedValueTest, SplitsAtTheFirstColon) {
  ExpectNamed("current time        : Tue Aug  2 03:09:26 2022", "current time",
              "Tue Aug  2 03:09:26 2022");
  ExpectNamed("ipv6_address:fd00::1", "ipv6_address", "fd00::1");
}

TEST(ParseHccnNamedValueTest, TakesANameThatFillsItsColumn) {
  ExpectNamed("high power enable reg: enabled", "high power enable reg",
              "enabled");
}

TEST(ParseHccnNamedValueTest, TakesAnEmptyValue) {
  ExpectNamed("vendor name          : ", "vendor name", "");
}

TEST(ParseHccnNamedValueTest, RejectsALineWithoutNameOrColon) {
  ExpectRejected(ParseHccnNamedValue("optical info").status(),
                 "unexpected \"optical info\", expected \"name: value\"");
  ExpectRejected(ParseHccnNamedValue(" : 7").status(),
                 "a name before the colon");
}

TEST(ParseHccnNamedValuesTest, RejectsANameThatStandsThereTwice) {
  ExpectRejected(ParseHccnNamedValues({"a: 1", "b: 2", "a: 3"}).status(),
                 "unexpected \"a: 3\", expected each name once");
}

TEST(ParseHccnValuesOfTest, GivesTheValuesInOrder) {
  const auto values = ParseHccnValuesOf({"one", "two"}, "one: 1\n\ntwo:2\n");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre("1", "2"));
}

TEST(ParseHccnValuesOfTest, PassesOverTheWarningAboutTheLogFolder) {
  const auto values = ParseHccnValuesOf(
      {"one"}, "[WARNING] \"/var/log/hccn_tool\" is not a directory\none: 1\n");
  ASSERT_TRUE(values.ok()) << values.status();
  EXPECT_THAT(*values, ElementsAre("1"));
}

TEST(ParseHccnValuesOfTest, QuotesWhatIsThereInstead) {
  ExpectRejected(ParseHccnValuesOf({"one"}, "").status(),
                 "no line \"one: ...\" in \"\"");
  ExpectRejected(ParseHccnValuesOf({"one", "two"}, "one: 1\n").status(),
                 "no line \"two: ...\" in \"one: 1\\n\"");
  ExpectRejected(ParseHccnValuesOf({"one"}, "ones: 1\n").status(),
                 "unexpected \"ones: 1\", expected \"one: ...\"");
  ExpectRejected(ParseHccnValuesOf({"one"}, "one: 1\ntwo: 2\n").status(),
                 "unexpected \"two: 2\", expected nothing after \"one: 1\"");
}

TEST(HccnLinesBelowTest, GivesWhatFollowsTheHeading) {
  EXPECT_THAT(*HccnLinesBelow("pci:", "pci:\na\n\nb\n"), ElementsAre("a", "b"));
  EXPECT_THAT(*HccnLinesBelow("pci:", "pci:\n\n"), IsEmpty());
}

TEST(HccnLinesBelowTest, RejectsAnotherHeading) {
  ExpectRejected(HccnLinesBelow("pci:", "\n").status(),
                 "no line \"pci:\" in \"\\n\"");
  ExpectRejected(HccnLinesBelow("pci:", "arp table:\n").status(),
                 "unexpected \"arp table:\", expected \"pci:\"");
}

TEST(HccnLinesOfDeviceTest, TakesBothSpellings) {
  EXPECT_THAT(*HccnLinesOfDevice(0, "[devid 0]link\n[device 0] pd: 1\n"),
              ElementsAre("link", " pd: 1"));
  EXPECT_THAT(*HccnLinesOfDevice(15, "[device 15] pd: 1"),
              ElementsAre(" pd: 1"));
}

TEST(HccnLinesOfDeviceTest, RejectsAnotherDevicesLine) {
  ExpectRejected(HccnLinesOfDevice(0, "[devid 0]link\n[devid 1]link").status(),
                 "unexpected \"[devid 1]link\", expected \"[devid 0]...\"");
  ExpectRejected(HccnLinesOfDevice(1, "[devid 10]link").status(), "devid 10");
}

TEST(ParseHccnNumberTest, ReadsNumbersUpToItsBound) {
  EXPECT_EQ(*ParseHccnNumber("0", 0), 0u);
  EXPECT_EQ(*ParseHccnNumber("18446744073709551615", ~uint64_t{0}),
            ~uint64_t{0});
  ExpectRejected(ParseHccnNumber("8", 7).status(), "a number from 0 to 7");
}

TEST(ParseHccnNumberTest, RejectsWhatPrintfWouldNotWrite) {
  for (const absl::string_view text : {"", "-1", "+1", " 1", "1 ", "01", "1.0",
                                       "0x1", "1e3", "18446744073709551616"}) {
    EXPECT_FALSE(ParseHccnNumber(text, ~uint64_t{0}).ok()) << text;
  }
}

TEST(HccnTextTest, IsPrintableAndBounded) {
  EXPECT_EQ(HccnText("a\x1b[2J"), "a\\x1b[2J");
  EXPECT_THAT(HccnText(std::string(1000, 'x')), SizeIs(kMaxHccnTextBytes + 3));
}

}  // namespace
}  // namespace clusterd
