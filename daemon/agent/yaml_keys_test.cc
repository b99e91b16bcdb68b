// The tables of config/spec/keys agree with the loaders of cluster.yaml,
// job.yaml and agent.yaml, and with their pages of the manual.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/launch/job_spec.h"
#include "config/spec/spec_loader.h"
#include "daemon/agent/agent_flags.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr absl::string_view kFiles[] = {"cluster", "job", "agent"};

struct Key {
  std::string name, value, fallback;
};

std::vector<Key> KeysOf(absl::string_view file) {
  std::vector<Key> keys;
  const std::string text =
      TestData(absl::StrCat("config/spec/keys/", file, ".txt"));
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    const std::vector<std::string> cells = absl::StrSplit(line, " | ");
    if (cells.size() != 4 || absl::StartsWith(line, "#")) continue;
    keys.push_back({cells[0], cells[1], cells[2]});
  }
  EXPECT_GE(keys.size(), 18u) << file;
  return keys;
}

constexpr char kCluster[] =
    "version: 1\nname: demo\nproduct: atlas-a2\n"
    "servers: [{hosts: \"node[01-16]\", address: \"10.9.0.[1-16]\"}]\n"
    "devices:\n"
    "  rails: [{device: 0-7, subnet: 10.20.0.0/24, host: 1 + 8*n + d}]\n";

// `text` is a whole file, or for cluster.yaml what is below kCluster.
absl::Status Load(absl::string_view file, absl::string_view text) {
  std::string path;
  if (file == "job") return LoadJobSpec("f", text, &path).status();
  if (file == "agent") return ParseAgentConfig("f", text).status();
  if (absl::StartsWith(text, "version: 1\n"))
    return LoadSpec("f", text).status();
  return LoadSpec("f", absl::StrCat(kCluster, text)).status();
}

// The loader reads a key of the mapping only beside these.
std::string Siblings(absl::string_view file, absl::string_view mapping) {
  if (mapping == "devices") {
    return "rails: [{device: 0-7, subnet: 10.20.0.0/24, host: 1 + 8*n + d}], ";
  }
  if (mapping != "servers[]") return "";
  return file == "job" ? "host: node01, "
                       : "hosts: node01, address: 10.9.0.1, ";
}

// "servers: [{hosts: VALUE}]" for servers[].hosts.
std::string LineWith(absl::string_view file, absl::string_view key,
                     absl::string_view value) {
  const size_t dot = key.rfind('.');
  if (dot == absl::string_view::npos) return absl::StrCat(key, ": ", value);
  absl::string_view outer = key.substr(0, dot);
  const std::string inner = absl::StrCat("{", Siblings(file, outer),
                                         key.substr(dot + 1), ": ", value, "}");
  return absl::ConsumeSuffix(&outer, "[]")
             ? LineWith(file, outer, absl::StrCat("[", inner, "]"))
             : LineWith(file, outer, inner);
}

// A list in a list is wrong for every key, so a loader that reads the key
// reports it, with the range of the table.
TEST(YamlKeysTest, TheLoaderReadsEachKeyOfTheTableInItsRange) {
  for (const absl::string_view file : kFiles) {
    for (const Key& key : KeysOf(file)) {
      const std::string line = LineWith(file, key.name, "[[]]");
      const std::string wrong(Load(file, line).message());
      EXPECT_THAT(wrong, Not(HasSubstr("unknown key"))) << line;
      EXPECT_THAT(
          wrong,
          AnyOf(HasSubstr(absl::StrCat(
                    ": ", absl::StrReplaceAll(key.name, {{"[].", "[0]."}}))),
                HasSubstr("devices has both addresses and rails")))
          << line;
      const size_t comma = key.value.rfind(", ");
      if (comma == std::string::npos) continue;
      const std::string range = key.value.substr(comma + 2);
      if (!absl::StrContains(range, " to ")) continue;
      EXPECT_THAT(wrong, HasSubstr(absl::StrCat(" from ", range))) << line;
    }
  }
}

TEST(YamlKeysTest, ADefaultOfClusterYamlMayBeWritten) {
  const auto load = [](absl::string_view line) {
    auto spec = LoadSpec("f", absl::StrCat(kCluster, line));
    EXPECT_TRUE(spec.ok()) << spec.status() << line;
    return spec.ok() ? SpecToYaml(*spec) : "";
  };
  size_t defaults = 0;
  for (const Key& key : KeysOf("cluster")) {
    absl::string_view fallback = key.fallback;
    if (absl::StartsWith(key.name, "devices.") ||
        !absl::ConsumePrefix(&fallback, "`") ||
        !absl::ConsumeSuffix(&fallback, "`")) {
      continue;
    }
    ++defaults;
    EXPECT_EQ(load(LineWith("cluster", key.name, fallback)), load(""))
        << key.name;
  }
  EXPECT_GE(defaults, 15u);
}

TEST(YamlKeysTest, ThePagesHaveTheTables) {
  for (const absl::string_view file : kFiles) {
    const std::string name = absl::StrCat(file, "-yaml.md");
    EXPECT_TRUE(TestData("config/spec/" + name) ==
                TestData("daemon/docs/" + name))
        << name << " lacks the keys of config/spec/keys. Write its tables:"
        << "\n  bazel build //config/spec:pages && cp bazel-bin/config/spec/"
        << name << " daemon/docs/";
  }
}

TEST(YamlKeysTest, TheExamplesOfThePagesLoad) {
  size_t examples = 0;
  for (const absl::string_view file : kFiles) {
    const std::vector<std::string> parts =
        absl::StrSplit(TestData(absl::StrCat("daemon/docs/", file, "-yaml.md")),
                       "\n```yaml\n");
    for (size_t k = 1; k < parts.size(); ++k, ++examples) {
      const std::string example = parts[k].substr(0, parts[k].find("```"));
      EXPECT_EQ(Load(file, example), absl::OkStatus()) << example;
    }
  }
  EXPECT_EQ(examples, 4u);
}

}  // namespace
}  // namespace clusterd
