#include "daemon/host/kernel/kernel_observer.h"

#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/namespace/network_namespace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/wait/has_fields.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr char kPorts[] = "/proc/sys/net/ipv4/ip_local_reserved_ports";
constexpr char kSomaxconn[] = "/proc/sys/net/core/somaxconn";
constexpr char kSynBacklog[] = "/proc/sys/net/ipv4/tcp_max_syn_backlog";

class KernelObserverTest : public ::testing::Test {
 protected:
  KernelFacts Read() { return ReadKernel(FileReader(root_.path())); }
  PersistentValue AtBoot() { return Read().somaxconn_at_boot().value(); }

  ScratchRoot root_;
};

TEST_F(KernelObserverTest, ReadsRunningValues) {
  for (const Missing& missing :
       {Read().reserved_ports().missing(), Read().somaxconn().missing(),
        Read().tcp_max_syn_backlog().missing()}) {
    EXPECT_EQ(missing.reason(), Missing::ABSENT);
  }
  root_.Write(kPorts, "8080,60000-60031\n");
  root_.Write(kSomaxconn, "65535\n");
  root_.Write(kSynBacklog, "2048\n");
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.reserved_ports().value(), "8080,60000-60031");
  EXPECT_EQ(facts.somaxconn().value(), 65535u);
  EXPECT_EQ(facts.tcp_max_syn_backlog().value(), 2048u);
  // An empty list is a value.
  root_.Write(kPorts, "\n");
  EXPECT_EQ(Read().reserved_ports().state_case(), TextFact::kValue);
}

TEST_F(KernelObserverTest, ReadsWhichPortsAreHandedOut) {
  constexpr char kRange[] = "/proc/sys/net/ipv4/ip_local_port_range";
  EXPECT_EQ(Read().local_port_range().missing().reason(), Missing::ABSENT);
  root_.Write(kRange, "32768\t60999\n");
  EXPECT_EQ(Read().local_port_range().value(), "32768-60999");
  for (const char* text : {"32768\n", "60999\t32768\n", "1\t99999\n"}) {
    root_.Write(kRange, text);
    EXPECT_EQ(Read().local_port_range().missing().reason(), Missing::UNREADABLE)
        << text;
  }
}

// gc_thresh3 is the most, and above gc_thresh2 the kernel drops idle ones.
TEST_F(KernelObserverTest, ReadsHowManyNeighboursTheKernelHolds) {
  const std::string limits = "/proc/sys/net/ipv4/neigh/default/gc_thresh";
  EXPECT_EQ(Read().neighbours_most().missing().reason(), Missing::ABSENT);
  root_.Write(limits + "1", "128\n");
  root_.Write(limits + "2", "512\n");
  root_.Write(limits + "3", "1024\n");
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.neighbours_most().value(), 1024u);
  EXPECT_EQ(facts.neighbours_kept().value(), 512u);
}

TEST_F(KernelObserverTest, RejectsWhatIsNoNumber) {
  root_.Write(kSynBacklog, "-1\n");
  root_.Write(kSomaxconn, "99999999999999999999999\n");
  root_.Write(kPorts, "60000-\n");
  const KernelFacts facts = Read();
  const Missing syn = facts.tcp_max_syn_backlog().missing();
  EXPECT_EQ(syn.reason(), Missing::UNREADABLE);
  EXPECT_THAT(syn.detail(), HasSubstr("\"-1\""));
  EXPECT_EQ(facts.somaxconn().missing().reason(), Missing::UNREADABLE);
  EXPECT_EQ(facts.reserved_ports().missing().reason(), Missing::UNREADABLE);
}

TEST_F(KernelObserverTest, TellsWhetherParametersCanBeWritten) {
  EXPECT_EQ(Read().proc_sys_writable().missing().reason(), Missing::ABSENT);
  root_.MakeFolder("/proc/sys/net");
  EXPECT_TRUE(Read().proc_sys_writable().value());
}

TEST_F(KernelObserverTest, ComparesItsNamespaceWithThatOfTheFirstProcess) {
  root_.Link("/proc/self/ns/net", "net:[4026531840]");
  EXPECT_EQ(Read().network_namespace().value(), 4026531840u);
  // It does not guess the first process's.
  EXPECT_EQ(Read().initial_namespace().missing().reason(), Missing::ABSENT);
  root_.Link("/proc/1/ns/net", "net:[4026531840]");
  EXPECT_TRUE(Read().initial_namespace().value());
  root_.Remove("/proc/1/ns/net");
  root_.Link("/proc/1/ns/net", "net:[4026531999]");
  EXPECT_FALSE(Read().initial_namespace().value());
  root_.Remove("/proc/self/ns/net");
  root_.Link("/proc/self/ns/net", "net:4026531840");
  EXPECT_EQ(Read().network_namespace().missing().reason(), Missing::UNREADABLE);
}

TEST_F(KernelObserverTest, HasTheCookieOfItsNamespaceOrSaysWhyNot) {
  const auto cookie = ReadNetworkNamespaceCookie();
  const NumberFact fact = Read().network_namespace_cookie();
  EXPECT_EQ(fact.has_value(), cookie.ok());
  EXPECT_EQ(fact.value(), cookie.value_or(0));
  EXPECT_EQ(fact.missing().detail(), cookie.status().message());
}

TEST_F(KernelObserverTest, ReadsSysctlFilesOfAllFolders) {
  root_.Write("/etc/sysctl.d/50-site.conf", "net.core.somaxconn=1\n");
  root_.Write("/run/sysctl.d/60-run.conf", "net.core.somaxconn=2\n");
  root_.Write("/usr/local/lib/sysctl.d/70-local.conf",
              "net.core.somaxconn=3\n");
  root_.Write("/usr/lib/sysctl.d/80-lib.conf", "net.core.somaxconn=4\n");
  const PersistentValue value = AtBoot();
  ASSERT_THAT(value, HasFields(R"(
      assignments {} assignments {} assignments {} assignments {
      file: "/usr/lib/sysctl.d/80-lib.conf" line: 1 value: "4" })"));
}

TEST_F(KernelObserverTest, ReadsSysctlConfOnlyWhereItIsLinked) {
  root_.Write("/etc/sysctl.conf", "net.core.somaxconn=1\n");
  EXPECT_EQ(AtBoot().assignments_size(), 0);
  root_.Link("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
  ASSERT_EQ(AtBoot().assignments_size(), 1);
  EXPECT_EQ(AtBoot().assignments(0).file(), "/etc/sysctl.d/99-sysctl.conf");
}

TEST_F(KernelObserverTest, TakesALinkToNullForAMaskAndNoLinkToNothing) {
  root_.Write("/usr/lib/sysctl.d/50.conf", "net.core.somaxconn=1\n");
  root_.Link("/etc/sysctl.d/50.conf", "/dev/null");
  EXPECT_TRUE(Read().somaxconn_at_boot().has_value());
  EXPECT_EQ(AtBoot().assignments_size(), 0);
  root_.Remove("/etc/sysctl.d/50.conf");
  root_.Link("/etc/sysctl.d/50.conf", "gone.conf");
  EXPECT_EQ(AtBoot().assignments_size(), 1);
}

TEST_F(KernelObserverTest, KnowsNothingOfTheNextBootWithoutAFile) {
  root_.Write("/etc/sysctl.d/50.conf", "net.core.somaxconn=1\n");
  root_.MakeFolder("/etc/sysctl.d/60.conf");
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.somaxconn_at_boot().missing().reason(), Missing::UNREADABLE);
  EXPECT_THAT(facts.reserved_ports_at_boot().missing().detail(),
              HasSubstr("/etc/sysctl.d/60.conf"));
}

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

TEST(FindSysctlAssignmentsTest, FindsLinesOfOneFile) {
  const struct {
    const char* name;
    const char* text;
    std::vector<std::string> found;
  } kCases[] = {
      {"names file, line and value",
       "# header\n\nnet.core.somaxconn = 65535 \n",
       {"3=65535"}},
      {"finds nothing where nothing is set",
       "#net.core.somaxconn=1\n;net.core.somaxconn=1\nnet.core.somaxconn\n"
       "net.core.somaxconn2=3\n= 4\n",
       {}},
      {"takes slashes for dots",
       "net/core/somaxconn=1\n/net//core/somaxconn=2\n",
       {"1=1", "2=2"}},
      {"keeps dots after a slash", "net/core.somaxconn=1\n", {}},
      {"takes a dash for ignored errors", "-net.core.somaxconn=7\n", {"1=7"}},
      {"puts the winner last",
       "net.core.somaxconn=1\nnet.core.somaxconn=2\n",
       {"1=1", "2=2"}},
      {"applies patterns",
       "net.core.so*=5\nnet/*/somaxconn=6\nnet.c?re.[s]*=7\n",
       {"1=5", "2=6", "3=7"}},
      {"stops a pattern at a slash", "net.*=5\n*somaxconn=6\n", {}},
      {"prefers a name over a later pattern",
       "net.core.somaxconn=1\nnet.core.*=2\n",
       {"1=1"}},
      {"excludes a key from patterns",
       "net.core.*=2\n-net.core.somaxconn\n",
       {}},
      {"takes an assignment back by an exclusion",
       "net.core.somaxconn=1\n-net.core.somaxconn\n",
       {}},
      {"assigns after an exclusion",
       "-net.core.somaxconn\nnet.core.somaxconn=1\n",
       {"2=1"}},
      {"does not move a pattern that repeats its value",
       "net.core.som*=1\nnet.core.somax*=2\nnet.core.som*=1\n",
       {"1=1", "2=2"}},
      {"adds a pattern with another value",
       "net.core.som*=1\nnet.core.somax*=2\nnet.core.som*=3\n",
       {"1=1", "2=2", "3=3"}}};
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    std::vector<std::string> wanted;
    for (const std::string& line : each.found) {
      wanted.push_back("/etc/sysctl.d/a.conf:" + line);
    }
    EXPECT_EQ(FindIn(each.text), wanted);
  }
  // A value may have equals signs and blanks inside.
  EXPECT_THAT(FindIn("net.ipv4.ip_local_reserved_ports = 1,2 =3\n",
                     "net.ipv4.ip_local_reserved_ports"),
              ElementsAre("/etc/sysctl.d/a.conf:1=1,2 =3"));
}

TEST(FindSysctlAssignmentsTest, OrdersFilesByNameAndNotByFolder) {
  const struct {
    const char* name;
    std::map<std::string, std::string> files;
    std::vector<std::string> found;
  } kCases[] = {
      {"no file", {}, {}},
      {"three names",
       {{"/etc/sysctl.d/99-z.conf", "net.core.somaxconn=1\n"},
        {"/usr/lib/sysctl.d/99-zz.conf", "net.core.somaxconn=2\n"},
        {"/usr/lib/sysctl.d/10-a.conf", "net.core.somaxconn=3\n"}},
       {"/usr/lib/sysctl.d/10-a.conf:1=3", "/etc/sysctl.d/99-z.conf:1=1",
        "/usr/lib/sysctl.d/99-zz.conf:1=2"}},
      {"linked sysctl.conf loses to a later name",
       {{"/etc/sysctl.d/99-sysctl.conf", "net.core.somaxconn=1\n"},
        {"/etc/sysctl.d/clusterd.conf", "net.core.somaxconn=2\n"}},
       {"/etc/sysctl.d/99-sysctl.conf:1=1", "/etc/sysctl.d/clusterd.conf:1=2"}},
      {"hides the same name in a later folder",
       {{"/etc/sysctl.d/50.conf", "net.core.somaxconn=1\n"},
        {"/usr/lib/sysctl.d/50.conf", "net.core.somaxconn=2\n"}},
       {"/etc/sysctl.d/50.conf:1=1"}},
      {"hides by an empty file",
       {{"/etc/sysctl.d/50.conf", ""},
        {"/usr/lib/sysctl.d/50.conf", "net.core.somaxconn=2\n"}},
       {}},
      {"leaves other names out",
       {{"/etc/sysctl.d/README", "net.core.somaxconn=1\n"},
        {"/etc/sysctl.d/a.conf.bak", "net.core.somaxconn=1\n"}},
       {}}};
  for (const auto& each : kCases) {
    EXPECT_EQ(Find(each.files), each.found) << each.name;
  }
}

}  // namespace
}  // namespace clusterd
