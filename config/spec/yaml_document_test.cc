#include "config/spec/yaml_document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <utility>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;

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

std::string Wrong(absl::string_view text, const YamlLimits& limits = {}) {
  Mistakes mistakes("f");
  ParseYaml(text, limits, &mistakes);
  return std::string(mistakes.ToStatus().message());
}

TEST(ParseYamlTest, KnowsWhereEverythingStands) {
  EXPECT_EQ(Tree("a: 1\nb:\n  - x\n  - 'y'\nc: {d: e}\nf:\n"),
            "@1:1{a@1:1:@1:41 b@2:1:@3:3[@3:5x @4:5'y ] "
            "c@5:1:@5:4{d@5:5:@5:8e } f@6:1:@7:1~ }");
}

TEST(ParseYamlTest, TakesWindowsLinesCommentsAndOtherScripts) {
  EXPECT_EQ(Tree("a: 1\r\nb: 2\r\n"), "@1:1{a@1:1:@1:41 b@2:1:@2:42 }");
  EXPECT_EQ(Tree("# 集群\nname: 服务器 # x\n"), "@2:1{name@2:1:@2:7服务器 }");
  EXPECT_EQ(Tree("---\na: 1\n"), "@2:1{a@2:1:@2:41 }");
}

TEST(ParseYamlTest, EmptyTextIsAMistake) {
  EXPECT_EQ(Wrong(""), "f:1:1: is empty");
  EXPECT_EQ(Wrong("# only a comment\n"), "f:1:1: is empty");
}

TEST(ParseYamlTest, KeysThatStandTwiceAreAllReported) {
  EXPECT_EQ(Wrong("a: 1\nb: 2\na: 3\nb: 4\n"),
            "f:3:1: key \"a\" stands twice, first at 1:1\n"
            "f:4:1: key \"b\" stands twice, first at 2:1");
  EXPECT_EQ(Tree("a: 1\na: 2\n"), "@1:1{a@1:1:@1:41 }");
  EXPECT_EQ(Wrong("x: {a: 1}\ny: {a: 1}\n"), "");
}

TEST(ParseYamlTest, RefusesAnchorsAliasesAndTags) {
  EXPECT_EQ(Wrong("a: &x [1]\nb: *x\nc: !!str 5\nd: !own {e: f}\n"),
            "f:1:4: anchors (&name) are not supported\n"
            "f:2:4: aliases (*name) are not supported\n"
            "f:3:4: tag \"tag:yaml.org,2002:str\" is not supported\n"
            "f:4:4: tag \"!own\" is not supported");
}

TEST(ParseYamlTest, ABombOfAliasesStaysSmall) {
  std::string bomb = "a0: &a0 [x, x]\n";
  for (int i = 1; i < 50; ++i) {
    absl::StrAppend(&bomb, "a", i, ": &a", i, " [*a", i - 1, ", *a", i - 1,
                    "]\n");
  }
  EXPECT_THAT(Wrong(bomb), HasSubstr("aliases (*name) are not supported"));
}

TEST(ParseYamlTest, RefusesKeysThatAreNoText) {
  EXPECT_EQ(Wrong("? [a, b]\n: 1\n"),
            "f:1:3: a key is a list, expected a word");
  EXPECT_THAT(Wrong("~: 1\n"), HasSubstr("a key is nothing"));
}

TEST(ParseYamlTest, RefusesASecondDocument) {
  EXPECT_EQ(Wrong("a: 1\n---\nb: 2\n"),
            "f:3:1: a second document, expected one per file");
}

TEST(ParseYamlTest, NamesEveryLineIndentedWithATab) {
  EXPECT_EQ(Wrong("a:\n\tb: 1\n  \tc: 2\n"),
            "f:2:1: a tab in the indentation, expected spaces\n"
            "f:3:3: a tab in the indentation, expected spaces");
  EXPECT_EQ(Wrong("a: 1\t# a tab elsewhere\n"), "");
}

TEST(ParseYamlTest, RefusesBrokenUtf8) {
  for (absl::string_view bytes :
       {"\xff", "\xc0\x80", "\xe4\xbd", "\xed\xa0\x80", "\xf4\x90\x80\x80",
        "\xe0\x80\x80", "\xf0\x80\x80\x80", "\x80"}) {
    EXPECT_EQ(Wrong(absl::StrCat("a: ", bytes)), "f:1:4: is not UTF-8");
  }
}

TEST(ParseYamlTest, RefusesControlCharacters) {
  EXPECT_EQ(Wrong(absl::string_view("a: \0", 4)),
            "f:1:4: has a control character, byte 0");
  EXPECT_EQ(Wrong("a: 1\nb: \x1b[2J"),
            "f:2:4: has a control character, byte 27");
}

TEST(ParseYamlTest, SaysWhereYamlEnds) {
  EXPECT_THAT(Wrong("a: 1\n b: 2\n"), HasSubstr("f:2:3: is not YAML"));
  EXPECT_THAT(Wrong("a: [1, 2\n"), HasSubstr("is not YAML"));
  EXPECT_THAT(Wrong("a: @x\n"), HasSubstr("f:1:4: is not YAML"));
}

TEST(ParseYamlTest, AnUnquotedHostlistInFlowYamlIsShownInQuotes) {
  const std::string why = "a bracket begins a YAML list; quote this hostlist: ";
  const struct {
    const char* line;
    const char* quoted;
  } kCases[] = {
      {"  - {hosts: node[001-100], a: 1}",
       "- {hosts: \"node[001-100]\", a: 1}"},
      {"  - {hosts: node[001-100],a: 1}", "- {hosts: \"node[001-100]\",a: 1}"},
      {"  - {hosts: node[1-3],x, a: 1}\r", "- {hosts: \"node[1-3],x\", a: 1}"},
      {"  - {hosts: r[1-2]n[01-16].site}",
       "- {hosts: \"r[1-2]n[01-16].site\"}"},
      {"  - [node[1-3], x, gpu[7]]", "- [\"node[1-3]\", x, \"gpu[7]\"]"},
      {"  - {hosts: n[1-2], address: 10.0.0.[1-2]}",
       "- {hosts: \"n[1-2]\", address: \"10.0.0.[1-2]\"}"},
      {"  - {subnet: 10.20.[0-7].0/24 + g, device: 0}",
       "- {subnet: \"10.20.[0-7].0/24 + g\", device: 0}"},
      {"  - {hosts: [1-3]node, ids: [0,1]}",
       "- {hosts: \"[1-3]node\", ids: [0,1]}"},
      {"  - {ids: [0,1], hosts: [1-3]node,a: 1}",
       "- {ids: [0,1], hosts: \"[1-3]node\",a: 1}"},
      {"  - {hosts: \"a[1]\", others: b[2]}",
       "- {hosts: \"a[1]\", others: \"b[2]\"}"},
  };
  for (const auto& test_case : kCases) {
    const std::string text = absl::StrCat("servers:\n", test_case.line, "\n");
    EXPECT_THAT(Wrong(text), HasSubstr(why + test_case.quoted)) << text;
    EXPECT_EQ(Wrong(text).substr(0, 4), "f:2:") << text;
  }
  EXPECT_EQ(Wrong("a: {b: s[0-1]}\n"),
            absl::StrCat("f:1:9: ", why, "a: {b: \"s[0-1]\"}"));
  EXPECT_THAT(Wrong("a: {b: c [0]}\n"), HasSubstr("is not YAML"));
}

TEST(ParseYamlTest, ABracketAtTheStartOfABlockValueIsShownInQuotes) {
  const std::string why = "a bracket begins a YAML list; quote this hostlist: ";
  const std::pair<const char*, const char*> kCases[] = {
      {"hosts: [1-3]node", "hosts: \"[1-3]node\""},
      {"hosts: [r1,r2]n[1-3].site\r", "hosts: \"[r1,r2]n[1-3].site\""},
      {"hosts: [1-3]node  # three", "hosts: \"[1-3]node\"  # three"},
      {"hosts:\n  [r1,r2]n[1-3]", "\"[r1,r2]n[1-3]\""},
      {"hosts:\n  - [r1,r2]n[1-3]\n  - b", "- \"[r1,r2]n[1-3]\""},
      {"- [1-3]node,x", "- \"[1-3]node,x\""},
      {"address: [10,11].0.0.[1-3]", "address: \"[10,11].0.0.[1-3]\""}};
  for (const auto& [text, quoted] : kCases) {
    EXPECT_THAT(Wrong(text), EndsWith(why + quoted)) << text;
  }
  // Lists stay lists, and other texts are not taken for hostlists.
  EXPECT_EQ(Wrong("hosts: [node1,node2]\nids:\n  [0, 1]\n"), "");
  for (const char* text : {"a: [1, 2]x", "a: [1] x", "a: []]", "a: ]"}) {
    EXPECT_THAT(Wrong(text), HasSubstr("is not YAML")) << text;
  }
}

TEST(ParseYamlTest, RefusesTooDeepNesting) {
  EXPECT_EQ(
      Tree(std::string(kMaxYamlDepth, '[') + std::string(kMaxYamlDepth, ']'))
          .substr(0, 5),
      "@1:1[");
  const std::string one_more =
      std::string(kMaxYamlDepth + 1, '[') + std::string(kMaxYamlDepth + 1, ']');
  EXPECT_EQ(Wrong(one_more),
            "f:1:17: too deep, expected at most 16 lists and mappings within "
            "each other");
  EXPECT_THAT(Wrong(std::string(100000, '[')), HasSubstr("too deep"));
  EXPECT_THAT(Wrong(std::string(20000, '{')), HasSubstr("too deep"));
  std::string dashes;
  for (int i = 0; i < 5000; ++i) dashes += "- ";
  EXPECT_THAT(Wrong(dashes), HasSubstr("too deep"));
}

TEST(ParseYamlTest, RefusesTooManyBytesAndValues) {
  YamlLimits limits;
  limits.max_bytes = 10;
  EXPECT_EQ(Wrong("a: 1234567890", limits),
            "f:1:1: has 13 bytes, expected at most 10");
  limits.max_bytes = 100;
  limits.max_nodes = 4;
  EXPECT_EQ(Wrong("a: [1, 2]", limits),
            "f:1:8: too many values, expected at most 4");
  EXPECT_EQ(Wrong("a: [1]", limits), "");
}

}  // namespace
}  // namespace clusterd
