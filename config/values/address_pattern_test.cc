#include "config/values/address_pattern.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "config/values/value_error.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

// The message of that row with these values.
template <typename... Values>
std::string Text(absl::string_view row, const Values&... values) {
  return std::string(WrongValue(row, values...).message());
}

FormulaInputs Server(int64_t n) {
  FormulaInputs inputs;
  inputs.n = n;
  return inputs;
}

// All addresses of the list for one device, or the first message.
std::string Addresses(absl::string_view text,
                      const FormulaInputs& inputs = {}) {
  const absl::StatusOr<AddressPattern> pattern = AddressPattern::Parse(text);
  if (!pattern.ok()) return std::string(pattern.status().message());
  std::string out;
  for (size_t k = 0; k < pattern->size(); ++k) {
    const absl::StatusOr<Ipv4Address> address = pattern->At(k, inputs);
    if (!address.ok()) return std::string(address.status().message());
    absl::StrAppend(&out, k == 0 ? "" : " ", address->ToString());
  }
  return out;
}

std::string Subnets(absl::string_view text, const FormulaInputs& inputs = {}) {
  const auto pattern = AddressPattern::ParseSubnets(text);
  if (!pattern.ok()) return std::string(pattern.status().message());
  std::string out;
  for (size_t k = 0; k < pattern->size(); ++k) {
    const absl::StatusOr<Ipv4Address> network = pattern->At(k, inputs);
    if (!network.ok()) return std::string(network.status().message());
    absl::StrAppend(&out, k == 0 ? "" : " ", network->ToString(), "/",
                    pattern->prefix_length());
  }
  return out;
}

TEST(AddressPatternTest, ListsBracketsInTheOrderWritten) {
  EXPECT_EQ(Addresses("192.168.7.22"), "192.168.7.22");
  EXPECT_EQ(Addresses("192.168.7.[22-23]"), "192.168.7.22 192.168.7.23");
  EXPECT_EQ(Addresses("10.[1,0].0.[7-9/2]"),
            "10.1.0.7 10.1.0.9 10.0.0.7 10.0.0.9");
  EXPECT_EQ(Addresses("10.0.[1,1].1"), "10.0.1.1 10.0.1.1");
  // Counts on with a formula and says whether it counts on.
  EXPECT_EQ(Addresses("10.1.0.1 + n", Server(0)), "10.1.0.1");
  EXPECT_EQ(Addresses("10.1.0.1 + n", Server(1151)), "10.1.4.128");
  EXPECT_EQ(Addresses("10.1.[0-1].1+10*n", Server(2)), "10.1.0.21 10.1.1.21");
  EXPECT_EQ(Addresses("10.1.0.9 + -n", Server(4)), "10.1.0.5");
  EXPECT_FALSE(AddressPattern::Parse("10.1.0.1")->has_formula());
  EXPECT_TRUE(AddressPattern::Parse("10.1.0.1 + n")->has_formula());
  // Refuses what leaves IPv4.
  for (const char* text : {"255.255.255.255 + n", "0.0.0.0 + -1",
                           "10.0.0.1 + 9223372036854775807"}) {
    EXPECT_EQ(Addresses(text, Server(1)), Text("value-address-outside", text));
  }
  EXPECT_THAT(Addresses("10.0.0.1 + n/0"), HasSubstr("divides by zero"));
}

TEST(AddressPatternTest, RefusesWhatIsNoAddress) {
  EXPECT_EQ(Addresses("10.20.0.300"), Text("value-ipv4", "10.20.0.300"));
  for (absl::string_view text :
       {"", "10.0.0", "10.0.0.0.1", "a.b.c.d", "10.0.0.01", "10..0.1",
        "10.0.0.1-3", "10.0.0.1,10.0.0.2", "::1", "10.0.0.1 0"}) {
    EXPECT_THAT(Addresses(text), HasSubstr("is not IPv4")) << text;
  }
  for (absl::string_view text :
       {"2001:db8::1", "fd00::[1-2]", "fd00::1 + n", "[fd00::1]"}) {
    EXPECT_THAT(Addresses(text), HasSubstr("IPv6 is not judged yet")) << text;
  }
  EXPECT_THAT(Addresses("10.0.0.[1-256]"), HasSubstr("is over 255"));
  EXPECT_THAT(Addresses("10.0.0.[01-12]"), HasSubstr("has leading zeros"));
  EXPECT_THAT(Addresses("10.0.0.[1-3"), HasSubstr("open bracket"));
  EXPECT_THAT(Addresses("10.0.[1-3]"), HasSubstr("expected four octets"));
  EXPECT_THAT(Addresses("10.0.0.[]"), HasSubstr("is malformed"));
  EXPECT_THAT(Addresses("10.0.0.1 + q"), HasSubstr("formula \" q\" has \"q\""));
  // Bounds the list.
  for (absl::string_view text :
       {"10.[0-16].[0-255].[0-255]", "10.[0-255].[0-255].[0-255]"}) {
    EXPECT_EQ(AddressPattern::Parse(text).status(),
              WrongValue("value-address-malformed", text,
                         WrongValue("value-address-many", text,
                                    kMaxPatternAddresses)));
  }
  EXPECT_EQ(AddressPattern::Parse("10.[0-15].[0-255].[0-255]")->size(),
            kMaxPatternAddresses);
}

TEST(ParseSubnetsTest, ListsAndCountsInSubnetsAndRefusesWhatIsNoSubnet) {
  EXPECT_EQ(Subnets("192.168.[100-101].0/24"),
            "192.168.100.0/24 192.168.101.0/24");
  EXPECT_EQ(Subnets("10.20.0.0/24 + n", Server(300)), "10.21.44.0/24");
  EXPECT_EQ(Subnets("10.0.[0-8/4].0/22"),
            "10.0.0.0/22 10.0.4.0/22 10.0.8.0/22");
  for (absl::string_view text :
       {"", "10.0.0.0", "10.0.0.0/", "10.0.0.0/0", "10.0.0.0/31", "10.0.0.0/x",
        "10.0.0.0/+8", "10.0.0.0/24/"}) {
    EXPECT_EQ(Subnets(text), Text("value-subnet-prefix", text, "1-30"));
  }
  EXPECT_EQ(Subnets("10.0.0.[0-1]/24"),
            Text("value-subnet-host-bits", "10.0.0.[0-1]/24", "10.0.0.0/24"));
  EXPECT_THAT(Subnets("10.0.300.0/24"), HasSubstr("is over 255"));
  EXPECT_THAT(Subnets("10.0.0.0/24 + x"), HasSubstr("formula"));
  // Refuses what leaves IPv4.
  for (const char* text : {"255.255.255.0/24 + 1", "128.0.0.0/1 + 4294967295",
                           "10.0.0.0/24 + -4294967296"}) {
    EXPECT_EQ(Subnets(text), Text("value-subnet-outside", text));
  }
}

TEST(HostAddressTest, TakesHostPartsOfTheSubnetOnly) {
  const Ipv4Subnet subnet = *Ipv4Subnet::Parse("192.168.100.0/24");
  EXPECT_EQ(HostAddress(subnet, 1)->ToString(), "192.168.100.1");
  EXPECT_EQ(HostAddress(subnet, 254)->ToString(), "192.168.100.254");
  for (const auto& [part, row] : {std::pair(0, "value-host-network"),
                                  std::pair(255, "value-host-broadcast"),
                                  std::pair(261, "value-host-outside")}) {
    EXPECT_EQ(HostAddress(subnet, part).status(),
              WrongValue(row, part, "192.168.100.0/24", 254));
  }
  EXPECT_FALSE(HostAddress(subnet, -1).ok());
  EXPECT_EQ(HostAddress(*Ipv4Subnet::Parse("10.0.0.0/18"), 9216)->ToString(),
            "10.0.36.0");
}

TEST(CheckUsableAddressTest, NamesWhyNoHostCanHaveIt) {
  const std::pair<const char*, const char*> kProblems[] = {
      {"0.0.0.0", "value-this-network"},
      {"127.0.0.1", "value-loopback"},
      {"224.0.0.5", "value-multicast"},
      {"255.255.255.254", "value-class-e"},
      {"10.0.0.0", "value-network-address"},
      {"10.0.0.255", "value-broadcast-address"}};
  for (const auto& [address, row] : kProblems) {
    EXPECT_EQ(CheckUsableAddress(*Ipv4Address::Parse(address), 24),
              WrongValue(row, address));
  }
  EXPECT_TRUE(CheckUsableAddress(*Ipv4Address::Parse("10.0.0.1"), 24).ok());
  EXPECT_TRUE(CheckUsableAddress(*Ipv4Address::Parse("10.0.0.0"), 32).ok());
}

// The value in decimal, or the message.
std::string Value(absl::string_view text, const FormulaInputs& inputs = {}) {
  const absl::StatusOr<Formula> formula = Formula::Parse(text);
  const absl::StatusOr<int64_t> value =
      formula.ok() ? formula->Evaluate(inputs) : formula.status();
  if (value.ok()) return absl::StrCat(*value);
  EXPECT_EQ(value.status().code(), absl::StatusCode::kInvalidArgument);
  return std::string(value.status().message());
}

TEST(FormulaTest, FollowsTheUsualPrecedence) {
  EXPECT_EQ(Value("1 + 2*3"), "7");
  EXPECT_EQ(Value("(1+2)*3"), "9");
  EXPECT_EQ(Value("10-4-3"), "3");
  EXPECT_EQ(Value("7/2"), "3");
  EXPECT_EQ(Value("7%4*2"), "6");
  EXPECT_EQ(Value("2*-3"), "-6");
  EXPECT_EQ(Value("--5"), "5");
  // Knows where the device stands.
  FormulaInputs inputs;
  inputs.n = 3;
  inputs.d = 5;
  inputs.i = 1;
  inputs.g = 2;
  inputs.servers = 4;
  EXPECT_EQ(Value("101 + 10*n", inputs), "131");
  EXPECT_EQ(Value("1 + 8*n + d", inputs), "30");
  EXPECT_EQ(Value("(n+1) % servers", inputs), "0");
  EXPECT_EQ(Value("100*g + i", inputs), "201");
  // An empty formula is zero; refuses input that is not a formula.
  EXPECT_EQ(*Formula().Evaluate({}), 0);
  for (absl::string_view text :
       {"x", "n n", "1 2", "2^3", "nd", "n1", "1.5", "N", "server", "1 +* 2",
        ")", "(1))", "0x10", "n;d", "é"}) {
    EXPECT_THAT(Value(text), HasSubstr("\" has \"")) << text;
  }
  // Refuses what ends early and refuses division by zero.
  for (absl::string_view text : {"", " ", "1 +", "(", "-", "n*"}) {
    EXPECT_THAT(Value(text), HasSubstr("ends early")) << text;
  }
  EXPECT_THAT(Value("(1+2"), HasSubstr("open parenthesis"));
  EXPECT_EQ(Value("1/n"), Text("value-formula-zero", "1/n"));
  EXPECT_THAT(Value("1 % (n-n)"), HasSubstr("divides by zero"));
}

TEST(FormulaTest, RefusesWhatLeaves64BitsAndBoundsLengthAndNesting) {
  for (absl::string_view text :
       {"9223372036854775807 + 1", "-9223372036854775807 - 2",
        "9223372036854775807 * 2", "(-9223372036854775807 - 1) / -1",
        "(-9223372036854775807 - 1) % -1", "-(-9223372036854775807 - 1)"}) {
    EXPECT_THAT(Value(text), HasSubstr("leaves 64 bits")) << text;
  }
  EXPECT_THAT(Value("9223372036854775808"), HasSubstr("too large"));
  EXPECT_EQ(Value(std::string(32, '(') + "1" + std::string(32, ')')), "1");
  EXPECT_THAT(Value(std::string(33, '(') + "1" + std::string(33, ')')),
              HasSubstr("nested too deep"));
  EXPECT_THAT(Value(std::string(200, '-') + "1"), HasSubstr("too deep"));
  EXPECT_THAT(Value(std::string(257, '1')), HasSubstr("too long"));
}

TEST(NumberInNameTest, IsTheLastOneBeforeTheFirstDot) {
  EXPECT_EQ(NumberInName("node07"), 7);
  EXPECT_EQ(NumberInName("rack2n10"), 10);
  EXPECT_EQ(NumberInName("node07.rack2.example"), 7);
  EXPECT_EQ(NumberInName("12"), 12);
  for (const char* name :
       {"login", "node07-ib", "login.rack2", "n1234567890123456789", ""}) {
    EXPECT_EQ(NumberInName(name), FormulaInputs::kNoNumber) << name;
  }
}

TEST(FormulaTest, CountsByTheNumberInTheNameAndKnowsWhetherItCountsByIndex) {
  FormulaInputs inputs;
  inputs.name = 7;
  const absl::StatusOr<Formula> formula = Formula::Parse("1 + 10*(name - 1)");
  ASSERT_TRUE(formula.ok()) << formula.status();
  EXPECT_EQ(*formula->Evaluate(inputs), 61);
  inputs.name = FormulaInputs::kNoNumber;
  EXPECT_EQ(formula->Evaluate(inputs).status(),
            WrongValue("value-formula-name", "1 + 10*(name - 1)"));
  for (const char* text : {"n", "1+n", "8*(n%4)", "i/2 + g"}) {
    EXPECT_TRUE(Formula::Parse(text)->CountsByIndex()) << text;
  }
  for (const char* text : {"1", "name", "d + g", "servers - 1"}) {
    EXPECT_FALSE(Formula::Parse(text)->CountsByIndex()) << text;
  }
  EXPECT_TRUE(AddressPattern::Parse("10.0.0.1 + n")->CountsByIndex());
}

}  // namespace
}  // namespace clusterd
