#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "config/spec/yaml_document.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

// A parsed file with its mistakes.
struct File {
  explicit File(absl::string_view text)
      : root(ParseYaml(text, YamlLimits(), &mistakes)) {}

  YamlMap Map(std::vector<absl::string_view> keys) {
    return YamlMap(root.has_value() ? &*root : nullptr, "", keys, &mistakes);
  }
  std::string Wrong() const {
    return std::string(mistakes.ToStatus().message());
  }

  Mistakes mistakes{"f"};
  std::optional<YamlNode> root;
};

TEST(YamlMapTest, ReadsEveryType) {
  File file("text: node\nnumber: 7\nbool: true\nduration: 1m30s\nword: amp\n");
  const YamlMap map =
      file.Map({"text", "number", "bool", "duration", "word", "list"});
  EXPECT_EQ(map["text"].Text(), "node");
  EXPECT_EQ(map["number"].Text(), "7");
  EXPECT_EQ(map["number"].Number(7, 7), 7u);
  EXPECT_EQ(map["bool"].Bool(), true);
  EXPECT_EQ(
      map["duration"].Duration(absl::ZeroDuration(), absl::InfiniteDuration()),
      absl::Seconds(90));
  EXPECT_EQ(map["word"].Word({"smp", "amp"}), "amp");
  EXPECT_EQ(file.Wrong(), "");
}

TEST(YamlMapTest, AbsentKeysAreNoMistake) {
  File file("a: 1\n");
  const YamlMap map = file.Map({"a", "b"});
  EXPECT_EQ(map["b"].Text(), std::nullopt);
  EXPECT_EQ(map["b"].Number(0, 1), std::nullopt);
  EXPECT_EQ(map["b"].Bool(), std::nullopt);
  EXPECT_EQ(map["b"].Duration(absl::ZeroDuration(), absl::Seconds(1)),
            std::nullopt);
  EXPECT_EQ(map["b"].Word({"x"}), std::nullopt);
  EXPECT_EQ(map["b"].node(), nullptr);
  EXPECT_EQ(file.Wrong(), "");
}

TEST(YamlMapTest, RequiredKeysAreNamedWhenTheyAreMissing) {
  File file("\n  a: 1\n");
  EXPECT_EQ(file.Map({"a", "b"}).RequireText("b"), "");
  EXPECT_EQ(file.Wrong(), "f:2:3: b is missing");
}

TEST(YamlMapTest, UnknownKeysNameTheNearest) {
  File file("netmsk: 1\ncolour: 2\n");
  file.Map({"netmask", "rails"});
  EXPECT_EQ(file.Wrong(),
            "f:1:1: unknown key \"netmsk\", expected netmask, rails, did you "
            "mean \"netmask\"?\n"
            "f:2:1: unknown key \"colour\", expected netmask, rails");
}

TEST(YamlMapTest, KnowsTheKeysOfItsPathInTheTable) {
  constexpr absl::string_view kTable[] = {"a[].b", "a[].c[].d", "a[].c", "ab"};
  File file("a: [{other: 1, c: [{other: 1}]}]\nother: 1\n");
  const YamlMap map(&*file.root, "", kTable, &file.mistakes);
  const YamlNode& item = map["a"].node()->items[0];
  const YamlMap inner(&item, "a[0]", kTable, &file.mistakes);
  YamlMap(&inner["c"].node()->items[0], "a[0].c[0]", kTable, &file.mistakes);
  EXPECT_EQ(file.Wrong(),
            "f:1:6: unknown key \"other\" in a[0], expected b, c\n"
            "f:1:21: unknown key \"other\" in a[0].c[0], expected d\n"
            "f:2:1: unknown key \"other\", expected a, ab");
}

TEST(YamlMapTest, PathOpensMessagesOfInnerMappings) {
  File file("hccl: {port: 1, base_port: x}\n");
  const YamlMap outer = file.Map({"hccl"});
  const YamlMap inner(outer["hccl"].node(), "hccl", {"hccl.base_port"},
                      &file.mistakes);
  EXPECT_EQ(inner["base_port"].Number(1, 2), std::nullopt);
  EXPECT_EQ(file.Wrong(),
            "f:1:8: unknown key \"port\" in hccl, expected base_port\n"
            "f:1:28: hccl.base_port is \"x\", expected a number from 1 to 2");
  EXPECT_EQ(inner["base_port"].position(), (TextPosition{1, 28}));
  EXPECT_EQ(inner["absent"].position(), (TextPosition{1, 7}));
}

TEST(YamlMapTest, WhatIsNoMappingIsRecordedAndReadAsEmpty) {
  File file("- a\n");
  const YamlMap map = file.Map({"a", "b"});
  EXPECT_EQ(map["a"].Text(), std::nullopt);
  EXPECT_EQ(file.Wrong(),
            "f:1:1: the file is a list, expected a mapping with a, b");
}

TEST(YamlMapTest, AMappingWithNothingInItIsEmpty) {
  File file("hccl:\n");
  const YamlMap outer = file.Map({"hccl"});
  YamlMap(outer["hccl"].node(), "hccl", {"hccl.a"}, &file.mistakes);
  YamlMap(nullptr, "kernel", {"kernel.a"}, &file.mistakes);
  EXPECT_EQ(file.Wrong(), "");
}

// The mistake that ReadNumber records for one value.
std::string NumberMistake(absl::string_view value) {
  File file(std::string("n: ") + std::string(value) + "\n");
  const std::optional<uint32_t> number = file.Map({"n"})["n"].Number(1, 65535);
  EXPECT_EQ(number.has_value(), file.Wrong().empty());
  return file.Wrong();
}

TEST(ReadNumberTest, TakesPlainDecimalsInRangeOnly) {
  EXPECT_EQ(NumberMistake("1"), "");
  EXPECT_EQ(NumberMistake("65535"), "");
  for (const char* value :
       {"0", "65536", "-1", "+1", "010", "0x10", "1e3", "1.0", "1_000",
        "99999999999999999999", "'7'", "seven", "~", "[7]", "{7: 7}"}) {
    EXPECT_THAT(NumberMistake(value),
                HasSubstr("expected a number from 1 to 65535"))
        << value;
  }
}

TEST(ReadNumberTest, TellsQuotedTextFromANumber) {
  EXPECT_EQ(NumberMistake("'7'"),
            "f:1:4: n is the text \"7\", expected a number from 1 to 65535");
}

TEST(ReadBoolTest, TakesTrueAndFalseOnly) {
  for (const char* value : {"yes", "no", "on", "True", "1", "'true'", "~"}) {
    File file(std::string("b: ") + value + "\n");
    EXPECT_EQ(file.Map({"b"})["b"].Bool(), std::nullopt) << value;
    EXPECT_THAT(file.Wrong(), HasSubstr("expected true or false")) << value;
  }
}

TEST(ReadDurationTest, WantsAUnitAndTheRange) {
  for (const char* value :
       {"10", "10 s", "-1s", "inf", "0s", "301s", "1500us", "ten", "[1s]"}) {
    File file(std::string("d: ") + value + "\n");
    EXPECT_EQ(
        file.Map({"d"})["d"].Duration(absl::Milliseconds(1), absl::Minutes(5)),
        std::nullopt)
        << value;
    EXPECT_THAT(file.Wrong(),
                HasSubstr("expected a duration from 1ms to 5m such as 10s"))
        << value;
  }
}

TEST(ReadDurationTest, GivesExamplesThatTheRangeHolds) {
  const auto wrong = [](absl::Duration min, absl::Duration max) {
    File file("d: x\n");
    file.Map({"d"})["d"].Duration(min, max);
    return file.Wrong();
  };
  EXPECT_THAT(wrong(absl::Milliseconds(100), absl::Minutes(5)),
              HasSubstr("from 100ms to 5m such as 10s or 500ms"));
  EXPECT_THAT(wrong(absl::Seconds(10), absl::Hours(24)),
              HasSubstr("from 10s to 24h such as 10s or 5m"));
  EXPECT_THAT(wrong(absl::Hours(3), absl::Hours(4)),
              AllOf(HasSubstr("from 3h to 4h"), Not(HasSubstr("such as"))));
}

TEST(ReadTextTest, OfAListSaysThatBracketsNeedQuotes) {
  File file("a: [server1-server3]\nb: {c: d}\n");
  const YamlMap map = file.Map({"a", "b"});
  EXPECT_EQ(map["a"].Text(), std::nullopt);
  EXPECT_EQ(map["b"].Text(), std::nullopt);
  EXPECT_EQ(file.Wrong(),
            "f:1:4: a is a list, expected text: a bracket begins a list; quote "
            "a hostlist\n"
            "f:2:4: b is a mapping, expected text");
}

TEST(ReadTextTest, OfAnEmptyListSaysThatItIsEmpty) {
  File file("a: []\n");
  const YamlMap map = file.Map({"a"});
  map["a"].WrongKind("spec-host-names");
  map["b"].WrongKind("spec-host-names");
  EXPECT_EQ(file.Wrong(), "f:1:4: a is empty, expected host names");
}

TEST(ReadWordTest, NamesAllWordsAndTheNearest) {
  File file("w: disable\nx: [a]\n");
  const YamlMap map = file.Map({"w", "x"});
  EXPECT_EQ(map["w"].Word({"disabled", "ignore"}), std::nullopt);
  EXPECT_EQ(map["x"].Word({"disabled", "ignore"}), std::nullopt);
  EXPECT_EQ(file.Wrong(),
            "f:1:4: w is \"disable\", expected disabled, ignore, did you mean "
            "\"disabled\"?\n"
            "f:2:4: x is a list, expected disabled, ignore");
}

}  // namespace
}  // namespace clusterd
