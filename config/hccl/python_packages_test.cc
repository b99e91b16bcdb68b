#include "config/hccl/python_packages.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

// "3 -r base.txt": the line and the text of each.
std::vector<std::string> NotesOf(const std::vector<FindingValue>& values) {
  std::vector<std::string> notes;
  for (const FindingValue& value : values) {
    EXPECT_EQ(value.words(), "line-text");
    EXPECT_EQ(value.values_size(), 2);
    notes.push_back(absl::StrCat(ValueText(value.values(0)), " ",
                                 ValueText(value.values(1))));
  }
  return notes;
}

// Each comes before all that follow (PEP 440, summary of permitted suffixes
// and relative ordering).
TEST(MeetsSpecifiersTest, OrdersVersionsAsPep440Does) {
  const std::vector<std::string> ordered = absl::StrSplit(
      "1.0.dev456 1.0a1 1.0a2.dev456 1.0a12.dev456 1.0a12 1.0b1.dev456 1.0b2 "
      "1.0b2.post345.dev456 1.0b2.post345 1.0rc1.dev456 1.0rc1 1.0 "
      "1.0.post456.dev34 1.0.post456 1.1.dev1 1.1 2024.1 1!0.5",
      ' ');
  for (size_t a = 0; a < ordered.size(); ++a) {
    for (size_t b = 0; b < ordered.size(); ++b) {
      const auto meets = [&](const char* comparison) {
        return MeetsSpecifiers(ordered[a], comparison + ordered[b]);
      };
      SCOPED_TRACE(ordered[a] + " " + ordered[b]);
      EXPECT_EQ(meets("<="), a <= b);
      EXPECT_EQ(meets(">="), a >= b);
      EXPECT_EQ(meets("=="), a == b);
    }
  }
  // Takes every spelling of a version.
  for (const char* text :
       {"1.0rc1", "v1.0-RC.1", "1.0.0c1", " 1.0_preview_1 ", "1.0pre1"}) {
    EXPECT_EQ(MeetsSpecifiers(text, "==1.0rc1"), true) << text;
  }
  for (const char* text : {"2.1.0.post6", "2.1-6", "2.1.0-r6", "2.1rev6"}) {
    EXPECT_EQ(MeetsSpecifiers(text, "==2.1.0.post6"), true) << text;
  }
  for (const char* text : {"1.0a", "1.0a0", "1.0-alpha"}) {
    EXPECT_EQ(MeetsSpecifiers(text, "==1.0a0"), true) << text;
  }
}

TEST(MeetsSpecifiersTest, IsPep440sTable) {
  using Rows = std::vector<std::pair<const char*, const char*>>;
  const Rows meeting = {{"2.1.0", ""},
                        {"2.1.0+cpu", "==2.1.0"},
                        {"2.1.0+cpu", "==2.1"},
                        {"2.1.0+cpu", "==2.1.0+CPU"},
                        {"1.0+ubuntu.1", "==1.0+ubuntu-1"},
                        {"2.1.0+cpu", "<=2.1.0"},
                        {"2.1.0.post6", "==2.1.*"},
                        {"2.1.0rc1", "==2.1.*"},
                        {"2", "==2.0.*"},
                        {"2.2", "!=2.1.*"},
                        {"1.7.1", ">1.7"},
                        {"1.7.0.post2", ">1.7.post1"},
                        {"1.6", "<1.7"},
                        {"1.7rc1", "<1.7rc2"},
                        {"2.2.post3", "~=2.2"},
                        {"2.9", "~=2.2"},
                        {"2.2.5", "~=2.2.0"},
                        {"2.3", "~=2.2.post3"},
                        {"1.26.4", ">=1.24, <2"},
                        {"1.0-downstream1", "===1.0-downstream1"},
                        {"9.9", "== 9.9"}};
  const Rows failing = {{"2.1.0", "==2.1.0+cpu"}, {"2.1.0+cpu", "!=2.1.0"},
                        {"2.1.0+cpu", ">2.1.0"},  {"2.1.0.post6", "==2.1.0"},
                        {"2.10", "==2.1.*"},      {"1!2.1", "==2.1.*"},
                        {"2.1.0", "!=2.1.*"},     {"1.7.post1", ">1.7"},
                        {"1.7rc1", "<1.7"},       {"3.0", "~=2.2"},
                        {"2.3", "~=2.2.0"},       {"2.0.1", ">=1.24,<2,"},
                        {"1.0", "===1.0.0"}};
  for (const auto& [version, specifiers] : meeting) {
    EXPECT_EQ(MeetsSpecifiers(version, specifiers), true)
        << version << " " << specifiers;
  }
  for (const auto& [version, specifiers] : failing) {
    EXPECT_EQ(MeetsSpecifiers(version, specifiers), false)
        << version << " " << specifiers;
  }
}

TEST(MeetsSpecifiersTest, DoesNotGuessWhatItDoesNotUnderstand) {
  for (const char* specifiers :
       {"=1.0", "1.0", ">=one", "~=2", "==1.0.dev1.*", ">=1.0.*", ">=1.0+cpu",
        ">=1,=<2", "=>1", "==1.0;", "==99999999999999999999"}) {
    EXPECT_EQ(MeetsSpecifiers("1.0", specifiers), std::nullopt) << specifiers;
  }
  for (const char* version : {"", "unknown", "1.0-", "1..0", "1.0+"}) {
    EXPECT_EQ(MeetsSpecifiers(version, ">=1"), std::nullopt) << version;
  }
  EXPECT_EQ(MeetsSpecifiers(std::string(200, '1'), ">=1"), std::nullopt);
}

TEST(NormalPackageNameTest, IsThatOfPep503) {
  EXPECT_EQ(NormalPackageName("Torch_NPU"), "torch-npu");
  EXPECT_EQ(NormalPackageName("zope.interface"), "zope-interface");
  EXPECT_EQ(NormalPackageName("a-_.b"), "a-b");
}

TEST(ParseRequirementsTest, ReadsPackagesWithVersionsAndMarkers) {
  const Requirements read = ParseRequirements(
      "\xEF\xBB\xBF# what the model needs\r\n"
      "Torch==2.1.0 ; python_version < '3.12'  # the vendor's\r\n"
      "\r\n"
      "numpy >=1.24, \\\n"
      "  <2\n"
      "PyYAML (>=6.0)\n"
      "deepspeed[sparse]");
  EXPECT_THAT(read.unread, IsEmpty());
  EXPECT_THAT(NotesOf(read.ignored), ElementsAre("7 [sparse]"));
  ASSERT_THAT(read.packages, SizeIs(4));
  EXPECT_EQ(read.packages[0].name, "torch");
  EXPECT_EQ(read.packages[0].specifiers, "==2.1.0");
  EXPECT_EQ(read.packages[0].marker, "python_version < '3.12'");
  EXPECT_EQ(read.packages[0].line, 2u);
  EXPECT_EQ(read.packages[1].line, 4u);
  EXPECT_EQ(MeetsSpecifiers("1.26", read.packages[1].specifiers), true);
  EXPECT_EQ(MeetsSpecifiers("2.0", read.packages[1].specifiers), false);
  EXPECT_EQ(read.packages[2].name, "pyyaml");
  EXPECT_EQ(read.packages[2].specifiers, ">=6.0");
  EXPECT_EQ(read.packages[3].name, "deepspeed");
  // Names every line that it cannot judge.
  constexpr char kLines[] =
      "-r base.txt|--requirement base.txt|-c limits.txt|-e .|"
      "./wheels/apex.whl|apex-0.1-cp310-cp310-linux_aarch64.whl|"
      "git+https://example.com/a.git#egg=a|https://example.com/a.whl|"
      "- torch==2.1.0|-|torch = 2.1.0|torch 2.1.0|numpy=>1.2|"
      "torch==${VERSION}";
  for (const absl::string_view line : absl::StrSplit(kLines, '|')) {
    const Requirements read = ParseRequirements(line);
    EXPECT_THAT(read.packages, IsEmpty()) << line;
    EXPECT_THAT(NotesOf(read.unread), ElementsAre(absl::StrCat("1 ", line)));
  }
}

TEST(ParseRequirementsTest, JudgesThePackageBesideOptionsUrlsAndHashes) {
  const Requirements read = ParseRequirements(
      "--index-url https://pypi.example.com/simple\n"
      "--pre\n"
      "apex @ https://example.com/apex.whl ; os_name == 'posix'\n"
      "six==1.16.0 \\\n"
      "    "
      "--hash=sha256:1e61c37477a1626458e36f7b1d82aa5c9b094fa4802892072e49\n");
  EXPECT_THAT(read.unread, IsEmpty());
  const std::vector<std::string> ignored = {
      "1 --index-url https://pypi.example.com/simple", "2 --pre",
      "3 https://example.com/apex.whl", "4 --hash"};
  EXPECT_EQ(NotesOf(read.ignored), ignored);
  ASSERT_THAT(read.packages, SizeIs(2));
  EXPECT_EQ(read.packages[0].name, "apex");
  EXPECT_EQ(read.packages[0].specifiers, "");
  EXPECT_EQ(read.packages[1].name, "six");
  EXPECT_EQ(read.packages[1].specifiers, "==1.16.0");
  // Reads lines beside bytes that are not text.
  const Requirements all = ParseRequirements("a==1 \\\n\xff\n\nb==2 \\");
  ASSERT_EQ(all.packages.size(), 1u);
  EXPECT_EQ(all.packages[0].name, "b");
  EXPECT_EQ(all.packages[0].line, 4u);
  EXPECT_EQ(all.unread.size(), 1u);
}

TEST(ParseRequirementsTest, BoundsThePackages) {
  std::string text;
  for (size_t i = 0; i <= kMaxRequirements; ++i) {
    absl::StrAppend(&text, "a", i, "\n");
  }
  const Requirements read = ParseRequirements(text);
  EXPECT_THAT(read.packages, SizeIs(kMaxRequirements));
  EXPECT_THAT(NotesOf(read.unread), ElementsAre("1001 a1000"));
}

TEST(MeetsMarkerTest, KnowsThePlatform) {
  const std::pair<const char*, bool> rows[] = {
      {"python_version >= '3.8'", true},
      {"python_version<'3.10'", false},
      {"'3.9' < python_version", true},
      {"python_full_version == \"3.10.12\"", true},
      {"sys_platform == 'win32'", false},
      {"platform_system != 'Windows' and os_name == 'posix'", true},
      {"platform_machine in 'x86_64 aarch64'", true},
      {"platform_machine not in 'x86_64 aarch64'", false},
      {"platform_machine == 'x86_64' or python_version == '3.10'", true},
      {"os_name == 'nt' and os_name == 'posix' or os_name == 'posix'", true},
      {"os_name == 'nt' or os_name == 'posix' and os_name == 'nt'", false},
      {"implementation_name == 'cpython'", true},
      {"extra == 'dev'", false}};
  for (const auto& [marker, holds] : rows) {
    EXPECT_EQ(MeetsMarker(marker, "3.10.12", "aarch64"), holds) << marker;
  }
  // Does not guess what it does not know.
  for (const char* marker :
       {"platform_release >= '5.10'", "platform_machine == 'aarch64'",
        "python_full_version >= '3.10.1'", "python_version", "",
        "python_version >= '3.8' and", "(os_name == 'posix'",
        "(os_name == 'nt' or os_name == 'posix') and os_name == 'nt'",
        "os_name == 'posix' extra", "os_name ~ 'posix'"}) {
    EXPECT_EQ(MeetsMarker(marker, "3.10", ""), std::nullopt) << marker;
  }
  // The known part decides.
  EXPECT_EQ(
      MeetsMarker("platform_release > '5' and os_name == 'nt'", "3.10", ""),
      false);
  EXPECT_EQ(
      MeetsMarker("platform_release > '5' or os_name == 'posix'", "3.10", ""),
      true);
}

}  // namespace
}  // namespace clusterd
