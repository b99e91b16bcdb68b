#include "config/spec/mistakes.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "config/values/address_pattern.h"
#include "config/values/dscp_classes.h"
#include "config/values/hostlist.h"
#include "config/values/network_namespace.h"
#include "config/values/number_list.h"
#include "config/values/port_set.h"

namespace clusterd {
namespace {

using ::testing::AnyOf;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(MistakesTest, NoMistakeIsOk) {
  const Mistakes mistakes("a.yaml");
  EXPECT_TRUE(mistakes.empty());
  EXPECT_TRUE(mistakes.ToStatus().ok());
}

TEST(MistakesTest, ComeOutInTheOrderOfTheFile) {
  Mistakes mistakes("a.yaml");
  mistakes.Add({10, 2}, "third");
  mistakes.Add({9, 7}, "second");
  mistakes.Add({9, 3}, "first");
  mistakes.Add({10, 2}, "fourth");
  const absl::Status status = mistakes.ToStatus();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(std::string(status.message()),
            "a.yaml:9:3: first\na.yaml:9:7: second\n"
            "a.yaml:10:2: third\na.yaml:10:2: fourth");
}

TEST(MistakesTest, CountsWhatItDoesNotShow) {
  Mistakes mistakes("a.yaml");
  for (int i = 5000; i > 0; --i) mistakes.Add({i, 1}, "wrong");
  EXPECT_EQ(mistakes.count(), 5000u);
  const std::string text(mistakes.ToStatus().message());
  EXPECT_EQ(std::count(text.begin(), text.end(), '\n'), 100);
  EXPECT_THAT(text, EndsWith("\na.yaml: 4900 more mistakes"));
}

TEST(MistakesTest, FoldsWhatOneLineDoesManyTimes) {
  Mistakes mistakes("a.yaml");
  for (int n = 0; n < 1152; ++n) {
    mistakes.AddOnce({3, 5}, "reserved", absl::StrCat("server ", n));
  }
  mistakes.AddOnce({3, 5}, "twice", "another kind");
  mistakes.AddOnce({4, 5}, "reserved", "another place");
  EXPECT_EQ(mistakes.count(), 3u);
  EXPECT_EQ(std::string(mistakes.ToStatus().message()),
            "a.yaml:3:5: server 0 (and 1151 more like it)\n"
            "a.yaml:3:5: another kind\n"
            "a.yaml:4:5: another place");
}

// A text of config/values that changes needs its row "value-error-…" changed.
void ExpectKnown(const absl::Status& error) {
  ASSERT_FALSE(error.ok());
  const FindingValue words = MessageWords(error);
  EXPECT_THAT(words.words(), StartsWith("value-error-")) << error.message();
  EXPECT_EQ(EnglishText(words), error.message());
  const InLanguage chinese(Language::kChinese);
  EXPECT_THAT(ValueText(words), Not(AnyOf(HasSubstr(" is "), HasSubstr(" has "),
                                          HasSubstr("expected"))));
}

TEST(ValueErrorWordsTest, KnowsTheErrorsOfValues) {
  for (const char* const text :
       {"", "fd00::1", "10.0.0.300", "10.0.[0-1", "10.0.[1-300].1",
        "10.0.[01-02].1", "10.0.1-2.1", "10.[0-255].[0-255].[0-255]",
        "10.0.[2-1].1", "10.0.[1-2/0].1", "10.0.[1-012].1", "10.0.0.1 + x",
        "10.0.0.1 +", "10.0.0.1 + (n", "10.0.0.1 + 99999999999999999999"}) {
    ExpectKnown(AddressPattern::Parse(text).status());
  }
  for (const char* const text : {"10.0.0.0", "10.0.0.1/24", "fd00::/24"}) {
    ExpectKnown(AddressPattern::ParseSubnets(text).status());
    ExpectKnown(Ipv4Subnet::Parse(text).status());
  }
  ExpectKnown(Formula::Parse(std::string(5000, '1')).status());
  ExpectKnown(Formula::Parse(std::string(100, '(')).status());
  FormulaInputs inputs;
  inputs.name = FormulaInputs::kNoNumber;
  for (const char* const text : {"1/0", "9223372036854775807 + 1", "name"}) {
    ExpectKnown(Formula::Parse(text)->Evaluate(inputs).status());
  }
  ExpectKnown(
      AddressPattern::Parse("255.255.255.255 + 1")->At(0, inputs).status());
  for (const char* const address : {"0.0.0.1", "127.0.0.1", "224.0.0.1",
                                    "240.0.0.1", "10.0.0.0", "10.0.0.255"}) {
    ExpectKnown(CheckUsableAddress(*Ipv4Address::Parse(address), 24));
  }
  for (const int64_t part : {0, 255, 256}) {
    ExpectKnown(HostAddress(*Ipv4Subnet::Parse("10.0.0.0/24"), part).status());
  }
  ExpectKnown(Ipv4Address::Parse("x").status());
  ExpectKnown(Ipv4Address::Parse("fd00::1").status());
  ExpectKnown(ParseNetmask("x").status());
  ExpectKnown(ParseNetmask("255.0.255.0").status());
  for (const std::string& text :
       {std::string("a[1-9]"), std::string("a]"), std::string("a["),
        std::string("a[x]"), std::string("a,,b"), std::string("-a"),
        std::string(300, 'a')}) {
    ExpectKnown(ExpandHostlist(text, 8).status());
  }
  for (const char* const text : {"x", "1-2/0", "2-1", "8-012", "9", "1,1"}) {
    ExpectKnown(ParseIdList(text, 8).status());
  }
  ExpectKnown(PortSet::Parse("x").status());
  ExpectKnown(PortSet::Parse("2-1").status());
  ExpectKnown(ParseDscpClasses("x").status());
  for (const char* const text :
       {"x", "contaner:x", "zebra:1", "pid:x", "container:-x", "path:/proc/1",
        "path:/home", "path:/run/../x"}) {
    ExpectKnown(ParseNetworkNamespace(text).status());
  }
}

TEST(QuoteValueTest, EscapesWhatATerminalWouldObey) {
  EXPECT_EQ(QuoteValue("10.20.0.300"), "\"10.20.0.300\"");
  EXPECT_EQ(QuoteValue("a\x1b[2J\n"), "\"a\\033[2J\\n\"");
  EXPECT_EQ(QuoteValue("服务器"), "\"服务器\"");
  EXPECT_EQ(QuoteValue(""), "\"\"");
}

TEST(QuoteValueTest, CutsLongTextBetweenCharacters) {
  EXPECT_EQ(QuoteValue(std::string(80, 'a')),
            absl::StrCat("\"", std::string(80, 'a'), "\""));
  EXPECT_EQ(QuoteValue(std::string(81, 'a')),
            absl::StrCat("\"", std::string(80, 'a'), "…\""));
  // Three bytes each: 26 fit into 80 bytes.
  std::string text;
  for (int i = 0; i < 40; ++i) text += "器";
  EXPECT_EQ(QuoteValue(text),
            absl::StrCat("\"", text.substr(0, 26 * 3), "…\""));
}

}  // namespace
}  // namespace clusterd
