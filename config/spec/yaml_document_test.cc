#include "config/spec/yaml_document.h"

#include <gmock/gmock.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

using ::testing::Contains, ::testing::ElementsAre, ::testing::IsEmpty;

// The tree on one line with positions, then the mistakes.
void Describe(const YamlNode& node, std::string* out) {
  absl::StrAppend(out, "@", ToString(node.position));
  switch (node.kind) {
    case YamlNode::Kind::kNothing:
      absl::StrAppend(out, "~");
      return;
    case YamlNode::Kind::kText:
      absl::StrAppend(out, node.quoted ? "'" : "", node.text);
      return;
    case YamlNode::Kind::kList:
      absl::StrAppend(out, "[");
      for (const YamlNode& item : node.items) {
        Describe(item, out);
        absl::StrAppend(out, " ");
      }
      absl::StrAppend(out, "]");
      return;
    case YamlNode::Kind::kMap:
      absl::StrAppend(out, "{");
      for (const YamlEntry& entry : node.entries) {
        absl::StrAppend(out, entry.key, "@", ToString(entry.position), ":");
        Describe(entry.value, out);
        absl::StrAppend(out, " ");
      }
      absl::StrAppend(out, "}");
  }
}

std::string Tree(absl::string_view text, const YamlLimits& limits = {}) {
  Mistakes mistakes("f");
  const std::optional<YamlNode> root = ParseYaml(text, limits, &mistakes);
  std::string out;
  if (root.has_value()) Describe(*root, &out);
  return out;
}

std::vector<FindingValue> Wrong(absl::string_view text,
                                const YamlLimits& limits = {}) {
  Mistakes mistakes("f");
  ParseYaml(text, limits, &mistakes);
  return MessageLines(mistakes.ToStatus());
}

TEST(ParseYamlTest, KnowsWhereEverythingStands) {
  EXPECT_EQ(Tree("a: 1\nb:\n  - x\n  - 'y'\nc: {d: e}\nf:\n"),
            "@1:1{a@1:1:@1:41 b@2:1:@3:3[@3:5x @4:5'y ] "
            "c@5:1:@5:4{d@5:5:@5:8e } f@6:1:@7:1~ }");
  // Takes lines of Windows, comments and other scripts.
  EXPECT_EQ(Tree("a: 1\r\nb: 2\r\n"), "@1:1{a@1:1:@1:41 b@2:1:@2:42 }");
  EXPECT_EQ(Tree("# 集群\nname: 服务器 # x\n"), "@2:1{name@2:1:@2:7服务器 }");
  EXPECT_EQ(Tree("---\na: 1\n"), "@2:1{a@2:1:@2:41 }");
}

TEST(ParseYamlTest, RefusesWhatOtherReadersTakeForSomethingElse) {
  const struct {
    absl::string_view text;
    Telling error;
  } kWrong[] = {
      {"", Tells("f:1:1: ", "msg-spec-file-empty")},
      {"# only a comment\n", Tells("f:1:1: ", "msg-spec-file-empty")},
      {"? [a, b]\n: 1\n", Tells("f:1:3: ", "msg-spec-key-kind", "spec-a-list")},
      {"~: 1\n", Tells("msg-spec-key-kind", "spec-nothing")},
      {"a: 1\n---\nb: 2\n", Tells("f:3:1: ", "msg-spec-second-document")},
      {absl::string_view("a: \0", 4),
       Tells("f:1:4: ", "msg-spec-control-character", 0)},
      {"a: 1\nb: \x1b[2J", Tells("f:2:4: ", "msg-spec-control-character", 27)},
      {"a: 1\n b: 2\n", Tells("f:2:3: ", "msg-spec-not-yaml")},
      {"a: [1, 2\n", Tells("msg-spec-not-yaml")},
      {"a: @x\n", Tells("f:1:4: ", "msg-spec-not-yaml")},
  };
  for (const auto& wrong : kWrong) {
    EXPECT_THAT(Wrong(wrong.text), ElementsAre(wrong.error)) << wrong.text;
  }
  // Keys that stand twice are all reported.
  EXPECT_THAT(
      Wrong("a: 1\nb: 2\na: 3\nb: 4\n"),
      ElementsAre(Tells("f:3:1: ", "msg-spec-key-twice", "\"a\"", "1:1"),
                  Tells("f:4:1: ", "msg-spec-key-twice", "\"b\"", "2:1")));
  EXPECT_EQ(Tree("a: 1\na: 2\n"), "@1:1{a@1:1:@1:41 }");
  EXPECT_THAT(Wrong("x: {a: 1}\ny: {a: 1}\n"), IsEmpty());
}

TEST(ParseYamlTest, RefusesAnchorsAliasesAndTagsAndABombOfAliasesStaysSmall) {
  EXPECT_THAT(
      Wrong("a: &x [1]\nb: *x\nc: !!str 5\nd: !own {e: f}\n"),
      ElementsAre(Tells("f:1:4: ", "msg-spec-anchor"),
                  Tells("f:2:4: ", "msg-spec-alias"),
                  Tells("f:3:4: ", "msg-spec-tag", "\"tag:yaml.org,2002:str\""),
                  Tells("f:4:4: ", "msg-spec-tag", "\"!own\"")));
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 50; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1,
                    "]\n");
  }
  EXPECT_THAT(Wrong(bomb), Contains(Tells("msg-spec-alias")));
  // Names every line indented with a tab and refuses broken UTF-8.
  EXPECT_THAT(Wrong("a:\n\tb: 1\n  \tc: 2\n"),
              ElementsAre(Tells("f:2:1: ", "msg-spec-tab"),
                          Tells("f:3:3: ", "msg-spec-tab")));
  EXPECT_THAT(Wrong("a: 1\t# a tab elsewhere\n"), IsEmpty());
  for (absl::string_view bytes :
       {"\xff", "\xc0\x80", "\xe4\xbd", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xe0\x80\x80", "\xf0\x80\x80\x80", "\x80"}) {
    EXPECT_THAT(Wrong(absl::StrCat("a: ", bytes)),
                ElementsAre(Tells("f:1:4: ", "msg-spec-not-utf8")));
  }
}

TEST(ParseYamlTest, AnUnquotedHostlistInFlowYamlIsShownInQuotes) {
  // Quotes that are missing are marked.
  for (const std::string line :
       {"{hosts: ~node[001-100]~, a: 1}", "{hosts: ~node[001-100]~,a: 1}",
        "{hosts: ~node[1-3],x~, a: 1}\r", "{hosts: ~r[1-2]n[01-16].site~}",
        "[~node[1-3]~, x, ~gpu[7]~]",
        "{hosts: ~n[1-2]~, address: ~10.0.0.[1-2]~}",
        "{subnet: ~10.20.[0-7].0/24 + g~, device: 0}",
        "{hosts: ~[1-3]node~, ids: [0,1]}",
        "{ids: [0,1], hosts: ~[1-3]node~,a: 1}",
        "{hosts: \"a[1]\", others: ~b[2]~}"}) {
    const std::string text = absl::StrCat(
        "servers:\n  - ", absl::StrReplaceAll(line, {{"~", ""}}), "\n");
    EXPECT_THAT(Wrong(text),
                ElementsAre(Tells(
                    "msg-spec-bracket",
                    absl::StrCat("- ", absl::StrReplaceAll(
                                           line, {{"~", "\""}, {"\r", ""}})))))
        << text;
    EXPECT_EQ(ValueText(Wrong(text)[0]).substr(0, 4), "f:2:") << text;
  }
  EXPECT_THAT(
      Wrong("a: {b: s[0-1]}\n"),
      ElementsAre(Tells("f:1:9: ", "msg-spec-bracket", "a: {b: \"s[0-1]\"}")));
  EXPECT_THAT(Wrong("a: {b: c [0]}\n"),
              ElementsAre(Tells("msg-spec-not-yaml")));
}

TEST(ParseYamlTest, ABracketAtTheStartOfABlockValueIsShownInQuotes) {
  const std::pair<const char*, const char*> kCases[] = {
      {"hosts: [1-3]node", "hosts: \"[1-3]node\""},
      {"hosts: [r1,r2]n[1-3].site\r", "hosts: \"[r1,r2]n[1-3].site\""},
      {"hosts: [1-3]node  # three", "hosts: \"[1-3]node\"  # three"},
      {"hosts:\n  [r1,r2]n[1-3]", "\"[r1,r2]n[1-3]\""},
      {"hosts:\n  - [r1,r2]n[1-3]\n  - b", "- \"[r1,r2]n[1-3]\""},
      {"- [1-3]node,x", "- \"[1-3]node,x\""},
      {"address: [10,11].0.0.[1-3]", "address: \"[10,11].0.0.[1-3]\""}};
  for (const auto& [text, quoted] : kCases) {
    EXPECT_THAT(Wrong(text), ElementsAre(Tells("msg-spec-bracket", quoted)))
        << text;
  }
  // Lists stay lists, and other texts are not taken for hostlists.
  EXPECT_THAT(Wrong("hosts: [node1,node2]\nids:\n  [0, 1]\n"), IsEmpty());
  for (const char* text : {"a: [1, 2]x", "a: [1] x", "a: []]", "a: ]"}) {
    EXPECT_THAT(Wrong(text), ElementsAre(Tells("msg-spec-not-yaml"))) << text;
  }
}

TEST(ParseYamlTest, RefusesTooDeepNesting) {
  EXPECT_EQ(
      Tree(std::string(kMaxYamlDepth, '[') + std::string(kMaxYamlDepth, ']'))
          .substr(0, 5),
      "@1:1[");
  const std::string one_more =
      std::string(kMaxYamlDepth + 1, '[') + std::string(kMaxYamlDepth + 1, ']');
  EXPECT_THAT(Wrong(one_more),
              ElementsAre(Tells("f:1:17: ", "msg-spec-too-deep", 16)));
  std::string dashes;
  for (int i = 0; i < 5000; ++i) dashes += "- ";
  for (const std::string& deep :
       {std::string(100000, '['), std::string(20000, '{'), dashes}) {
    EXPECT_THAT(Wrong(deep), ElementsAre(Tells("msg-spec-too-deep")));
  }
  // Refuses too many bytes and values.
  YamlLimits limits;
  limits.max_bytes = 10;
  EXPECT_THAT(Wrong("a: 1234567890", limits),
              ElementsAre(Tells("f:1:1: ", "msg-spec-file-too-large", 13, 10)));
  limits.max_bytes = 100;
  limits.max_nodes = 4;
  EXPECT_THAT(Wrong("a: [1, 2]", limits),
              ElementsAre(Tells("f:1:8: ", "msg-spec-too-many-values", 4)));
  EXPECT_THAT(Wrong("a: [1]", limits), IsEmpty());
}

// A parsed file with its mistakes.
struct File {
  explicit File(absl::string_view text)
      : root(ParseYaml(text, YamlLimits(), &mistakes)) {}

  YamlMap Map(std::vector<absl::string_view> keys) {
    return YamlMap(root.has_value() ? &*root : nullptr, "", keys, &mistakes);
  }
  std::vector<FindingValue> Wrong() const {
    return MessageLines(mistakes.ToStatus());
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
  EXPECT_THAT(file.Wrong(), IsEmpty());
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
  EXPECT_THAT(file.Wrong(), IsEmpty());
}

TEST(YamlMapTest, RequiredKeysAreNamedWhenTheyAreMissing) {
  File file("\n  a: 1\n");
  EXPECT_EQ(file.Map({"a", "b"}).RequireText("b"), "");
  EXPECT_THAT(file.Wrong(),
              ElementsAre(Tells("f:2:3: ", "msg-spec-missing", "b")));
}

TEST(YamlMapTest, UnknownKeysNameTheNearest) {
  File file("netmsk: 1\ncolour: 2\n");
  file.Map({"netmask", "rails"});
  EXPECT_THAT(file.Wrong(),
              ElementsAre(Tells("f:1:1: ", "msg-spec-unknown-key", "\"netmsk\"",
                                "netmask, rails", "did-you-mean", "netmask"),
                          Tells("f:2:1: ", "msg-spec-unknown-key", "\"colour\"",
                                "netmask, rails", "")));
}

TEST(YamlMapTest, KnowsTheKeysOfItsPathInTheTable) {
  constexpr absl::string_view kTable[] = {"a[].b", "a[].c[].d", "a[].c", "ab"};
  File file("a: [{other: 1, c: [{other: 1}]}]\nother: 1\n");
  const YamlMap map(&*file.root, "", kTable, &file.mistakes);
  const YamlNode& item = map["a"].node()->items[0];
  const YamlMap inner(&item, "a[0]", kTable, &file.mistakes);
  YamlMap(&inner["c"].node()->items[0], "a[0].c[0]", kTable, &file.mistakes);
  EXPECT_THAT(
      file.Wrong(),
      ElementsAre(Tells("f:1:6: ", "msg-spec-unknown-key", "a[0]", "b, c"),
                  Tells("f:1:21: ", "msg-spec-unknown-key", "a[0].c[0]", "d"),
                  Tells("f:2:1: ", "msg-spec-unknown-key", "a, ab")));
}

TEST(YamlMapTest, PathOpensMessagesOfInnerMappings) {
  File file("hccl: {port: 1, base_port: x}\n");
  const YamlMap outer = file.Map({"hccl"});
  const YamlMap inner(outer["hccl"].node(), "hccl", {"hccl.base_port"},
                      &file.mistakes);
  EXPECT_EQ(inner["base_port"].Number(1, 2), std::nullopt);
  EXPECT_THAT(file.Wrong(), ElementsAre(Tells("f:1:8: ", "msg-spec-unknown-key",
                                              "\"port\"", "hccl", "base_port"),
                                        Tells("f:1:28: ", "hccl.base_port",
                                              "\"x\"", "spec-a-number", 1, 2)));
  EXPECT_EQ(inner["base_port"].position(), (TextPosition{1, 28}));
  EXPECT_EQ(inner["absent"].position(), (TextPosition{1, 7}));
}

TEST(YamlMapTest, WhatIsNoMappingIsRecordedAndReadAsEmpty) {
  File file("- a\n");
  const YamlMap map = file.Map({"a", "b"});
  EXPECT_EQ(map["a"].Text(), std::nullopt);
  EXPECT_THAT(file.Wrong(),
              ElementsAre(Tells("f:1:1: ", "spec-the-file", "spec-a-list",
                                "spec-mapping-with", "a, b")));
}

TEST(YamlMapTest, AMappingWithNothingInItIsEmpty) {
  File file("hccl:\n");
  const YamlMap outer = file.Map({"hccl"});
  YamlMap(outer["hccl"].node(), "hccl", {"hccl.a"}, &file.mistakes);
  YamlMap(nullptr, "kernel", {"kernel.a"}, &file.mistakes);
  EXPECT_THAT(file.Wrong(), IsEmpty());
}

TEST(ReadNumberTest, TakesPlainDecimalsInRangeOnly) {
  for (const char* value : {"1", "65535"}) {
    File file(std::string("n: ") + value + "\n");
    EXPECT_TRUE(file.Map({"n"})["n"].Number(1, 65535).has_value()) << value;
    EXPECT_THAT(file.Wrong(), IsEmpty());
  }
  for (const char* value :
       {"0", "65536", "-1", "+1", "010", "0x10", "1e3", "1.0", "1_000",
        "99999999999999999999", "'7'", "seven", "~", "[7]", "{7: 7}"}) {
    File file(std::string("n: ") + value + "\n");
    EXPECT_EQ(file.Map({"n"})["n"].Number(1, 65535), std::nullopt) << value;
    EXPECT_THAT(file.Wrong(),
                ElementsAre(Tells("n", "spec-a-number", 1, 65535)))
        << value;
  }
  // Tells quoted text from a number.
  File file("n: '7'\n");
  EXPECT_EQ(file.Map({"n"})["n"].Number(1, 65535), std::nullopt);
  EXPECT_THAT(file.Wrong(),
              ElementsAre(Tells("n", "spec-quoted-text", "\"7\"")));
}

TEST(ReadBoolTest, TakesTrueAndFalseOnly) {
  for (const char* value : {"yes", "no", "on", "True", "1", "'true'", "~"}) {
    File file(std::string("b: ") + value + "\n");
    EXPECT_EQ(file.Map({"b"})["b"].Bool(), std::nullopt) << value;
    EXPECT_THAT(file.Wrong(), ElementsAre(Tells("b", "spec-true-or-false")))
        << value;
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
                ElementsAre(Tells("d", "spec-a-duration", "1ms", "5m", "10s")))
        << value;
  }
  // Gives examples that the range holds.
  const auto wrong = [](absl::Duration min, absl::Duration max) {
    File file("d: x\n");
    file.Map({"d"})["d"].Duration(min, max);
    return file.Wrong();
  };
  EXPECT_THAT(
      wrong(absl::Milliseconds(100), absl::Minutes(5)),
      ElementsAre(Tells("spec-a-duration", "100ms", "5m", "10s", "500ms")));
  EXPECT_THAT(wrong(absl::Seconds(10), absl::Hours(24)),
              ElementsAre(Tells("spec-a-duration", "10s", "24h", "10s", "5m")));
  EXPECT_THAT(wrong(absl::Hours(3), absl::Hours(4)),
              ElementsAre(Tells("spec-a-duration", "3h", "4h", "")));
}

TEST(ReadTextTest, OfAListSaysThatBracketsNeedQuotes) {
  File file("a: [server1-server3]\nb: {c: d}\n");
  const YamlMap map = file.Map({"a", "b"});
  EXPECT_EQ(map["a"].Text(), std::nullopt);
  EXPECT_EQ(map["b"].Text(), std::nullopt);
  EXPECT_THAT(
      file.Wrong(),
      ElementsAre(Tells("f:1:4: ", "a", "spec-a-list", "spec-text-no-list"),
                  Tells("f:2:4: ", "b", "spec-a-mapping", "spec-text")));
}

TEST(ReadTextTest, OfAnEmptyListSaysThatItIsEmpty) {
  File file("a: []\n");
  const YamlMap map = file.Map({"a"});
  map["a"].WrongKind("spec-host-names");
  map["b"].WrongKind("spec-host-names");
  EXPECT_THAT(file.Wrong(), ElementsAre(Tells("f:1:4: ", "a", "spec-empty",
                                              "spec-host-names")));
}

TEST(ReadWordTest, NamesAllWordsAndTheNearest) {
  File file("w: disable\nx: [a]\n");
  const YamlMap map = file.Map({"w", "x"});
  EXPECT_EQ(map["w"].Word({"disabled", "ignore"}), std::nullopt);
  EXPECT_EQ(map["x"].Word({"disabled", "ignore"}), std::nullopt);
  EXPECT_THAT(file.Wrong(),
              ElementsAre(Tells("f:1:4: ", "w", "\"disable\"", "spec-a-word",
                                "disabled, ignore", "did-you-mean", "disabled"),
                          Tells("f:2:4: ", "x", "spec-a-list", "spec-a-word",
                                "disabled, ignore")));
}

}  // namespace
}  // namespace clusterd
