#include "config/words/message.h"

#include "config/values/address_pattern.h"
#include "config/values/dscp_classes.h"
#include "config/values/hostlist.h"
#include "config/values/network_namespace.h"
#include "config/values/number_list.h"
#include "config/values/port_set.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(MessageTest, IsEnglishInTheStatusAndInTheUsersLanguageOnTheScreen) {
  const InLanguage chinese(Language::kChinese);
  const absl::Status error =
      WordedError<absl::NotFoundError>("count-device", 3);
  EXPECT_EQ(error.code(), absl::StatusCode::kNotFound);
  EXPECT_EQ(error.message(), "3 devices");
  EXPECT_EQ(ValueText(MessageWords(error)), Say("count-device", 3));
  EXPECT_NE(ValueText(MessageWords(error)), "3 devices");
}

// A text of config/values that changes needs its row "value-error-…" changed.
void ExpectKnown(const absl::Status& error) {
  ASSERT_FALSE(error.ok());
  const FindingValue words = MessageWords(error);
  EXPECT_THAT(words.words(), ::testing::StartsWith("value-error-"))
      << error.message();
  EXPECT_EQ(EnglishText(words), error.message());
  const InLanguage chinese(Language::kChinese);
  EXPECT_THAT(ValueText(words),
              ::testing::Not(::testing::AnyOf(
                  ::testing::HasSubstr(" is "), ::testing::HasSubstr(" has "),
                  ::testing::HasSubstr("expected"))));
}

TEST(MessageTest, KnowsTheErrorsOfValues) {
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

TEST(MessageTest, WithoutWordsIsItsText) {
  const absl::Status error = absl::InternalError("a\nb");
  EXPECT_EQ(MessageWords(error).text(), "a\nb");
  ASSERT_EQ(MessageLines(error).size(), 2u);
  EXPECT_EQ(MessageLines(error)[1].text(), "b");
}

TEST(MessageTest, LinesStayApart) {
  const FindingValue lines =
      Lines({Worded("count-device", 1), ToFindingValue("b")});
  const absl::Status error = WithWords(absl::InternalError(""), lines);
  EXPECT_EQ(error.message(), "1 device\nb");
  EXPECT_EQ(MessageLines(error).size(), 2u);
}

}  // namespace
}  // namespace clusterd
