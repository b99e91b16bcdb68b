// Errors of config/values in both languages.
#include "config/values/value_error.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/values/address_pattern.h"
#include "config/values/hostlist.h"
#include "config/values/ipv4.h"
#include "config/values/network_namespace.h"
#include "config/values/number_list.h"
#include "config/values/port_set.h"
#include "config/values/setting.h"
#include "config/words/fact_text.h"
#include "config/words/message.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

std::vector<absl::Status> EveryError() {
  std::vector<absl::Status> errors;
  for (const char* text : {"10.0.0.300", "fd00::1"}) {
    errors.push_back(Ipv4Address::Parse(text).status());
  }
  for (const char* text : {"10.0.0.0", "10.0.0.1/24"}) {
    errors.push_back(Ipv4Subnet::Parse(text).status());
  }
  for (const char* text : {"24", "255.0.255.0"}) {
    errors.push_back(ParseNetmask(text).status());
  }
  errors.push_back(ParseDscpClasses("64:1").status());
  for (const char* text : {"1,70000", "2-1"}) {
    errors.push_back(PortSet::Parse(text).status());
  }
  for (const char* text : {"x", "1-9/0", "9-1", "008-12"}) {
    errors.push_back(ParseNumberList(text).status());
  }
  for (const char* text : {"0-16", "0-3,2", "0-15,0-15"}) {
    errors.push_back(ParseIdList(text, 15).status());
  }
  const std::string long_name(254, 'a');
  for (const std::string& text :
       {std::string("a[0-9999999]"), long_name, std::string("a]"),
        std::string("a[1"), std::string("a,,b"), std::string("-a"),
        std::string("a[x]")}) {
    errors.push_back(ExpandHostlist(text).status());
  }
  HostFacts facts;
  errors.push_back(FindOtherZone(facts, "10.0.0.1").status());
  facts.mutable_firewalld()
      ->mutable_other_zones()
      ->mutable_value()
      ->add_zones();
  errors.push_back(FindOtherZone(facts, "10.0.0.1").status());
  facts.mutable_interfaces()->mutable_value();
  errors.push_back(FindOtherZone(facts, "10.0.0.1").status());
  FormulaInputs inputs;
  inputs.name = FormulaInputs::kNoNumber;
  for (const char* text : {"1 / 0", "9223372036854775807 + 1", "name"}) {
    errors.push_back(Formula::Parse(text)->Evaluate(inputs).status());
  }
  for (const std::string& text :
       {std::string("1 +"), std::string("1 ?"), std::string(33, '('),
        std::string("(1"), std::string(30, '9'), std::string(257, '1')}) {
    errors.push_back(Formula::Parse(text).status());
  }
  for (const char* text :
       {"10.0.0.[1", "10.0.0.[256]", "10.0.0.[01]", "10.0.[1].1,2",
        "10.[0-255].[0-255].[0-255]", "10.0.[1-2]", "[fd00::1]"}) {
    errors.push_back(AddressPattern::Parse(text).status());
  }
  for (const char* text : {"10.0.0.0", "10.0.0.[1]/24", "10.0.300.0/24"}) {
    errors.push_back(AddressPattern::ParseSubnets(text).status());
  }
  inputs.n = int64_t{1} << 40;
  errors.push_back(
      AddressPattern::Parse("10.0.0.1 + n")->At(0, inputs).status());
  errors.push_back(
      AddressPattern::ParseSubnets("10.0.0.0/24 + n")->At(0, inputs).status());
  const Ipv4Subnet subnet = *Ipv4Subnet::Parse("10.0.0.0/24");
  for (const int part : {0, 255, 256}) {
    errors.push_back(HostAddress(subnet, part).status());
  }
  for (const char* text : {"0.0.0.1", "127.0.0.1", "224.0.0.1", "240.0.0.1",
                           "10.0.0.0", "10.0.0.255"}) {
    errors.push_back(CheckUsableAddress(*Ipv4Address::Parse(text), 24));
  }
  for (const std::string& text :
       {std::string("pid:x"), "path:" + std::string(1025, 'a'),
        std::string("path:/run/../x"), std::string("path:/proc/x"),
        std::string("path:/tmp/x"), std::string("container:-"),
        std::string("train-1"), std::string("contaner:a"),
        std::string("x:a")}) {
    errors.push_back(ParseNetworkNamespace(text).status());
  }
  return errors;
}

TEST(ValueErrorTest, IsTheSameInItsMessageAndInWords) {
  std::set<std::string> rows;
  for (const absl::Status& error : EveryError()) {
    ASSERT_FALSE(error.ok());
    const std::string english(error.message());
    const FindingValue words = MessageWords(error);
    EXPECT_EQ(EnglishText(words), english);
    EXPECT_THAT(words.words(), Not("")) << english;
    rows.insert(words.words());
    const InLanguage chinese(Language::kChinese);
    const std::string text = ValueText(words);
    EXPECT_NE(text, english);
    for (const char* word : {"expected", " is ", " has ", "hostlist"}) {
      // A frame keeps its subject, as "hostlist" of a number in a list.
      if (words.words() == "about") continue;
      EXPECT_THAT(text, Not(HasSubstr(word)));
    }
  }
  EXPECT_GT(rows.size(), 50u);
}

TEST(ValueErrorTest, QuotesAnyBytesAsValidText) {
  EXPECT_EQ(ParseNumberList("\xff").status().message(),
            Say("value-number", "\\377"));
  EXPECT_THAT(std::string(ParseNumberList("1，2").status().message()),
              HasSubstr("\"1，2\" is not a number"));
  const std::string message(
      ParseNumberList(std::string(79, 'x') + "，").status().message());
  EXPECT_THAT(message, HasSubstr(absl::StrCat(std::string(79, 'x'), "\"")));
  // Says whose facts a host has sent.
  HostFacts sent;
  sent.set_network_namespace("container:a");
  const std::vector<const HostFacts*> hosts = {&sent};
  const NamespaceFacts own("", hosts);
  const Missing& missing = own.hosts()[0]->missing();
  EXPECT_EQ(missing.detail(), Say("value-facts-of-namespace", "container:a"));
  EXPECT_EQ(WhyMissing(missing),
            absl::StrCat("not supported: ", missing.detail()));
  const InLanguage chinese(Language::kChinese);
  EXPECT_THAT(WhyMissing(missing),
              HasSubstr("网络命名空间 container:a 的采集值"));
}

}  // namespace
}  // namespace clusterd
