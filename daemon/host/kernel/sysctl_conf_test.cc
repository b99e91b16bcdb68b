#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/kernel/kernel_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr char kKey[] = "net.core.somaxconn";

// Returns "file:line=value" for each assignment.
std::vector<std::string> Texts(const PersistentValue& value) {
  std::vector<std::string> texts;
  for (const PersistentValue::Assignment& assignment : value.assignments()) {
    texts.push_back(absl::StrCat(assignment.file(), ":", assignment.line(), "=",
                                 assignment.value()));
  }
  return texts;
}

// Uses one file /etc/sysctl.d/a.conf.
std::vector<std::string> FindIn(const std::string& text,
                                absl::string_view key = kKey) {
  return Texts(
      FindSysctlAssignments({{"a.conf", {"/etc/sysctl.d/a.conf", text}}}, key));
}

// Uses these files, by path.
std::vector<std::string> Find(const std::map<std::string, std::string>& files) {
  ScratchRoot root;
  for (const auto& [path, text] : files) root.Write(path, text);
  return Texts(ReadKernel(FileReader(root.path())).somaxconn_at_boot().value());
}

TEST(FindSysctlAssignmentsTest, NamesFileLineAndValue) {
  EXPECT_THAT(FindIn("# header\n\nnet.core.somaxconn = 65535 \n"),
              ElementsAre("/etc/sysctl.d/a.conf:3=65535"));
}

TEST(FindSysctlAssignmentsTest, FindsNothingWhereNothingIsSet) {
  EXPECT_THAT(FindIn("#net.core.somaxconn=1\n;net.core.somaxconn=1\n"
                     "net.core.somaxconn\nnet.core.somaxconn2=3\n= 4\n"),
              IsEmpty());
  EXPECT_THAT(Find({}), IsEmpty());
}

TEST(FindSysctlAssignmentsTest, TakesSlashesForDots) {
  EXPECT_THAT(
      FindIn("net/core/somaxconn=1\n/net//core/somaxconn=2\n"),
      ElementsAre("/etc/sysctl.d/a.conf:1=1", "/etc/sysctl.d/a.conf:2=2"));
}

TEST(FindSysctlAssignmentsTest, KeepsDotsAfterASlash) {
  EXPECT_THAT(FindIn("net/core.somaxconn=1\n"), IsEmpty());
}

TEST(FindSysctlAssignmentsTest, TakesADashForIgnoredErrors) {
  EXPECT_THAT(FindIn("-net.core.somaxconn=7\n"),
              ElementsAre("/etc/sysctl.d/a.conf:1=7"));
}

TEST(FindSysctlAssignmentsTest, PutsTheWinnerLast) {
  EXPECT_THAT(
      FindIn("net.core.somaxconn=1\nnet.core.somaxconn=2\n"),
      ElementsAre("/etc/sysctl.d/a.conf:1=1", "/etc/sysctl.d/a.conf:2=2"));
}

TEST(FindSysctlAssignmentsTest, OrdersFilesByNameAndNotByFolder) {
  EXPECT_THAT(Find({{"/etc/sysctl.d/99-z.conf", "net.core.somaxconn=1\n"},
                    {"/usr/lib/sysctl.d/99-zz.conf", "net.core.somaxconn=2\n"},
                    {"/usr/lib/sysctl.d/10-a.conf", "net.core.somaxconn=3\n"}}),
              ElementsAre("/usr/lib/sysctl.d/10-a.conf:1=3",
                          "/etc/sysctl.d/99-z.conf:1=1",
                          "/usr/lib/sysctl.d/99-zz.conf:1=2"));
}

TEST(FindSysctlAssignmentsTest, LetsLinkedSysctlConfLoseToALaterName) {
  EXPECT_THAT(Find({{"/etc/sysctl.d/99-sysctl.conf", "net.core.somaxconn=1\n"},
                    {"/etc/sysctl.d/clusterd.conf", "net.core.somaxconn=2\n"}}),
              ElementsAre("/etc/sysctl.d/99-sysctl.conf:1=1",
                          "/etc/sysctl.d/clusterd.conf:1=2"));
}

TEST(FindSysctlAssignmentsTest, HidesTheSameNameInALaterFolder) {
  EXPECT_THAT(Find({{"/etc/sysctl.d/50.conf", "net.core.somaxconn=1\n"},
                    {"/usr/lib/sysctl.d/50.conf", "net.core.somaxconn=2\n"}}),
              ElementsAre("/etc/sysctl.d/50.conf:1=1"));
}

TEST(FindSysctlAssignmentsTest, HidesByAnEmptyFile) {
  EXPECT_THAT(Find({{"/etc/sysctl.d/50.conf", ""},
                    {"/usr/lib/sysctl.d/50.conf", "net.core.somaxconn=2\n"}}),
              IsEmpty());
}

TEST(FindSysctlAssignmentsTest, LeavesOtherNamesOut) {
  EXPECT_THAT(Find({{"/etc/sysctl.d/README", "net.core.somaxconn=1\n"},
                    {"/etc/sysctl.d/a.conf.bak", "net.core.somaxconn=1\n"}}),
              IsEmpty());
}

TEST(FindSysctlAssignmentsTest, AppliesPatterns) {
  EXPECT_THAT(
      FindIn("net.core.so*=5\nnet/*/somaxconn=6\nnet.c?re.[s]*=7\n"),
      ElementsAre("/etc/sysctl.d/a.conf:1=5", "/etc/sysctl.d/a.conf:2=6",
                  "/etc/sysctl.d/a.conf:3=7"));
}

TEST(FindSysctlAssignmentsTest, StopsAPatternAtASlash) {
  EXPECT_THAT(FindIn("net.*=5\n*somaxconn=6\n"), IsEmpty());
}

TEST(FindSysctlAssignmentsTest, PrefersANameOverALaterPattern) {
  EXPECT_THAT(FindIn("net.core.somaxconn=1\nnet.core.*=2\n"),
              ElementsAre("/etc/sysctl.d/a.conf:1=1"));
}

TEST(FindSysctlAssignmentsTest, ExcludesAKeyFromPatterns) {
  EXPECT_THAT(FindIn("net.core.*=2\n-net.core.somaxconn\n"), IsEmpty());
}

TEST(FindSysctlAssignmentsTest, TakesAnAssignmentBackByAnExclusion) {
  EXPECT_THAT(FindIn("net.core.somaxconn=1\n-net.core.somaxconn\n"), IsEmpty());
  EXPECT_THAT(FindIn("-net.core.somaxconn\nnet.core.somaxconn=1\n"),
              ElementsAre("/etc/sysctl.d/a.conf:2=1"));
}

TEST(FindSysctlAssignmentsTest, DoesNotMoveAPatternThatRepeatsItsValue) {
  EXPECT_THAT(
      FindIn("net.core.som*=1\nnet.core.somax*=2\nnet.core.som*=1\n"),
      ElementsAre("/etc/sysctl.d/a.conf:1=1", "/etc/sysctl.d/a.conf:2=2"));
  EXPECT_THAT(
      FindIn("net.core.som*=1\nnet.core.somax*=2\nnet.core.som*=3\n"),
      ElementsAre("/etc/sysctl.d/a.conf:1=1", "/etc/sysctl.d/a.conf:2=2",
                  "/etc/sysctl.d/a.conf:3=3"));
}

TEST(FindSysctlAssignmentsTest, KeepsValuesWithEqualsSignsAndBlanksInside) {
  EXPECT_THAT(FindIn("net.ipv4.ip_local_reserved_ports = 1,2 =3\n",
                     "net.ipv4.ip_local_reserved_ports"),
              ElementsAre("/etc/sysctl.d/a.conf:1=1,2 =3"));
}

}  // namespace
}  // namespace clusterd
