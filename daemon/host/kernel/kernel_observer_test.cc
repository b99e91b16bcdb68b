#include "daemon/host/kernel/kernel_observer.h"

#include <string>

#include "daemon/host/namespace/network_namespace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr char kPorts[] = "/proc/sys/net/ipv4/ip_local_reserved_ports";
constexpr char kSomaxconn[] = "/proc/sys/net/core/somaxconn";
constexpr char kSynBacklog[] = "/proc/sys/net/ipv4/tcp_max_syn_backlog";

class KernelObserverTest : public ::testing::Test {
 protected:
  KernelFacts Read() { return ReadKernel(FileReader(root_.path())); }

  ScratchRoot root_;
};

TEST_F(KernelObserverTest, ReadsRunningValues) {
  root_.Write(kPorts, "8080,60000-60031\n");
  root_.Write(kSomaxconn, "65535\n");
  root_.Write(kSynBacklog, "2048\n");
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.reserved_ports().value(), "8080,60000-60031");
  EXPECT_EQ(facts.somaxconn().value(), 65535u);
  EXPECT_EQ(facts.tcp_max_syn_backlog().value(), 2048u);
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

TEST_F(KernelObserverTest, TakesAnEmptyListForAValue) {
  root_.Write(kPorts, "\n");
  EXPECT_EQ(Read().reserved_ports().state_case(), TextFact::kValue);
}

TEST_F(KernelObserverTest, TellsAbsentFromLow) {
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.reserved_ports().missing().reason(), Missing::ABSENT);
  EXPECT_EQ(facts.somaxconn().missing().reason(), Missing::ABSENT);
  EXPECT_EQ(facts.tcp_max_syn_backlog().missing().reason(), Missing::ABSENT);
}

TEST_F(KernelObserverTest, RejectsWhatIsNoNumber) {
  root_.Write(kSynBacklog, "-1\n");
  root_.Write(kSomaxconn, "99999999999999999999999\n");
  root_.Write(kPorts, "60000-\n");
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.tcp_max_syn_backlog().missing().reason(),
            Missing::UNREADABLE);
  EXPECT_THAT(facts.tcp_max_syn_backlog().missing().detail(),
              HasSubstr("\"-1\""));
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
  root_.Link("/proc/1/ns/net", "net:[4026531840]");
  EXPECT_EQ(Read().network_namespace().value(), 4026531840u);
  EXPECT_TRUE(Read().initial_namespace().value());
  root_.Remove("/proc/1/ns/net");
  root_.Link("/proc/1/ns/net", "net:[4026531999]");
  EXPECT_FALSE(Read().initial_namespace().value());
}

TEST_F(KernelObserverTest, HasTheCookieOfItsNamespaceOrSaysWhyNot) {
  const auto cookie = ReadNetworkNamespaceCookie();
  const NumberFact fact = Read().network_namespace_cookie();
  EXPECT_EQ(fact.has_value(), cookie.ok());
  EXPECT_EQ(fact.value(), cookie.value_or(0));
  EXPECT_EQ(fact.missing().detail(), cookie.status().message());
}

TEST_F(KernelObserverTest, DoesNotGuessTheFirstProcesssNamespace) {
  root_.Link("/proc/self/ns/net", "net:[4026531840]");
  EXPECT_TRUE(Read().network_namespace().has_value());
  EXPECT_EQ(Read().initial_namespace().missing().reason(), Missing::ABSENT);
}

TEST_F(KernelObserverTest, RejectsAMalformedNamespaceLink) {
  root_.Link("/proc/self/ns/net", "net:4026531840");
  EXPECT_EQ(Read().network_namespace().missing().reason(), Missing::UNREADABLE);
}

TEST_F(KernelObserverTest, ReadsSysctlFilesOfAllFolders) {
  root_.Write("/etc/sysctl.d/50-site.conf", "net.core.somaxconn=1\n");
  root_.Write("/run/sysctl.d/60-run.conf", "net.core.somaxconn=2\n");
  root_.Write("/usr/local/lib/sysctl.d/70-local.conf",
              "net.core.somaxconn=3\n");
  root_.Write("/usr/lib/sysctl.d/80-lib.conf", "net.core.somaxconn=4\n");
  const PersistentValue value = Read().somaxconn_at_boot().value();
  ASSERT_EQ(value.assignments_size(), 4);
  EXPECT_EQ(value.assignments(3).file(), "/usr/lib/sysctl.d/80-lib.conf");
  EXPECT_EQ(value.assignments(3).line(), 1u);
  EXPECT_EQ(value.assignments(3).value(), "4");
}

TEST_F(KernelObserverTest, ReadsSysctlConfOnlyWhereItIsLinked) {
  root_.Write("/etc/sysctl.conf", "net.core.somaxconn=1\n");
  EXPECT_EQ(Read().somaxconn_at_boot().value().assignments_size(), 0);
  root_.Link("/etc/sysctl.d/99-sysctl.conf", "../sysctl.conf");
  const PersistentValue value = Read().somaxconn_at_boot().value();
  ASSERT_EQ(value.assignments_size(), 1);
  EXPECT_EQ(value.assignments(0).file(), "/etc/sysctl.d/99-sysctl.conf");
}

TEST_F(KernelObserverTest, TakesALinkToNullForAMask) {
  root_.Write("/usr/lib/sysctl.d/50.conf", "net.core.somaxconn=1\n");
  root_.Link("/etc/sysctl.d/50.conf", "/dev/null");
  const KernelFacts facts = Read();
  EXPECT_TRUE(facts.somaxconn_at_boot().has_value());
  EXPECT_EQ(facts.somaxconn_at_boot().value().assignments_size(), 0);
}

TEST_F(KernelObserverTest, PassesOverALinkToNothing) {
  root_.Write("/usr/lib/sysctl.d/50.conf", "net.core.somaxconn=1\n");
  root_.Link("/etc/sysctl.d/50.conf", "gone.conf");
  EXPECT_EQ(Read().somaxconn_at_boot().value().assignments_size(), 1);
}

TEST_F(KernelObserverTest, KnowsNothingOfTheNextBootWithoutAFile) {
  root_.Write("/etc/sysctl.d/50.conf", "net.core.somaxconn=1\n");
  root_.MakeFolder("/etc/sysctl.d/60.conf");
  const KernelFacts facts = Read();
  EXPECT_EQ(facts.somaxconn_at_boot().missing().reason(), Missing::UNREADABLE);
  EXPECT_THAT(facts.reserved_ports_at_boot().missing().detail(),
              HasSubstr("/etc/sysctl.d/60.conf"));
}

}  // namespace
}  // namespace clusterd
