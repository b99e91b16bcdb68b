#include <sys/socket.h>
#include <unistd.h>

#include <string>

#include "absl/strings/str_cat.h"
#include "config/words/words.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/machine_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"
#include "tests/support/host/test_namespace.h"
#include "tests/support/wait/patience.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

constexpr char kPorts[] = "net.ipv4.ip_local_reserved_ports";
constexpr char kSomaxconn[] = "net.core.somaxconn";
constexpr char kSynBacklog[] = "net.ipv4.tcp_max_syn_backlog";

ObserveRequest RequestFor(const NetworkNamespace& target) {
  ObserveRequest request;
  request.set_command_ms(absl::ToInt64Milliseconds(kPatience));
  request.set_host_ms(absl::ToInt64Milliseconds(kPatience));
  ObserveRequest::PortRange* range = request.add_socket_ports();
  range->set_first(1024);
  range->set_last(65535);
  *request.mutable_network_namespace() = target;
  return request;
}

HostFacts Observe(const NetworkNamespace& target, const HostPaths& paths = {}) {
  PosixCommandRunner runner;
  SystemClock clock;
  MachineObserver observer(paths, &runner, &clock);
  return observer.Observe("node01", RequestFor(target));
}

NetworkNamespace Process(uint32_t pid) {
  NetworkNamespace target;
  target.set_pid(pid);
  return target;
}

// Two namespaces, or the reason why there are none.
class NamespaceObserverTest : public ::testing::Test {
 protected:
  void SetUp() override {
    train_ = TestNamespace::Make(&why_);
    other_ = TestNamespace::Make(&why_);
    if (train_ == nullptr || other_ == nullptr) GTEST_SKIP() << why_;
  }

  std::string why_;
  std::unique_ptr<TestNamespace> train_;
  std::unique_ptr<TestNamespace> other_;
};

TEST_F(NamespaceObserverTest, ReadsEachNamespacesOwnValues) {
  train_->Set(kPorts, "60000-60031,8080");
  train_->Set(kSomaxconn, "12345");
  train_->Set(kSynBacklog, "23456");
  other_->Set(kSomaxconn, "111");
  const HostFacts facts = Observe(Process(train_->pid()));
  ASSERT_FALSE(facts.has_missing()) << facts.missing().detail();
  EXPECT_EQ(facts.host(), "node01");
  EXPECT_EQ(facts.network_namespace(), absl::StrCat("pid:", train_->pid()));
  EXPECT_EQ(facts.kernel().reserved_ports().value(), "8080,60000-60031");
  EXPECT_EQ(facts.kernel().somaxconn().value(), 12345u);
  EXPECT_EQ(facts.kernel().tcp_max_syn_backlog().value(), 23456u);
  EXPECT_EQ(facts.kernel().network_namespace().value(), train_->inode());
  EXPECT_FALSE(facts.kernel().initial_namespace().value());
  EXPECT_TRUE(facts.kernel().proc_sys_writable().value());
  EXPECT_EQ(Observe(Process(other_->pid())).kernel().somaxconn().value(), 111u);
}

TEST_F(NamespaceObserverTest, SaysNothingOfTheHostAround) {
  const HostFacts facts = Observe(Process(train_->pid()));
  EXPECT_FALSE(facts.has_ufw());
  // Reads also the boot id, without which the cookie could be another's.
  IdentityFacts only_boot;
  only_boot.mutable_boot_id()->set_value(GetHere("kernel.random.boot_id"));
  EXPECT_EQ(facts.identity().SerializeAsString(),
            only_boot.SerializeAsString());
  EXPECT_FALSE(facts.has_hccn_conf());
  EXPECT_FALSE(facts.has_device_ids());
  const Missing& boot = facts.kernel().somaxconn_at_boot().missing();
  EXPECT_EQ(boot.reason(), Missing::NOT_QUERIED);
  EXPECT_EQ(boot.detail(), Say("fact-sysctl-d"));
}

TEST_F(NamespaceObserverTest, SeesOnlyTheSocketsInside) {
  const auto train = OpenNetworkNamespace::Open(train_->path(), "train");
  ASSERT_TRUE(train.ok()) << train.status();
  // The kernel chose a port of that namespace; the socket stays in it.
  int listener = -1;
  ASSERT_TRUE(train
                  ->Run([&] {
                    listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
                    EXPECT_EQ(listen(listener, 1), 0);
                  })
                  .ok());
  const SocketsFact inside = Observe(Process(train_->pid())).sockets();
  ASSERT_TRUE(inside.has_value()) << inside.missing().detail();
  ASSERT_EQ(inside.value().sockets_size(), 1) << inside.ShortDebugString();
  EXPECT_EQ(inside.value().sockets(0).pid(), static_cast<uint32_t>(getpid()));
  EXPECT_EQ(inside.value().sockets(0).state(), "LISTEN");
  const SocketsFact outside = Observe(Process(other_->pid())).sockets();
  ASSERT_TRUE(outside.has_value()) << outside.missing().detail();
  EXPECT_EQ(outside.value().sockets_size(), 0) << outside.ShortDebugString();
  close(listener);
}

// The first process's link is fake: its real one may be unreadable here.
TEST_F(NamespaceObserverTest, TellsThatHostAndContainerAreOne) {
  const auto place =
      OpenNetworkNamespace::Open(train_->path(), "train").value();
  ScratchRoot root;
  SystemClock clock;
  const auto read = [&] {
    return ReadOpenNamespace(place, Process(train_->pid()),
                             FileReader(root.path()), PortSet(),
                             TimeBudget(&clock, kPatience, kPatience))
        .kernel()
        .initial_namespace();
  };
  EXPECT_EQ(read().missing().reason(), Missing::ABSENT);
  root.Link("/proc/1/ns/net", absl::StrCat("net:[", train_->inode(), "]"));
  EXPECT_TRUE(read().value());
  root.Remove("/proc/1/ns/net");
  root.Link("/proc/1/ns/net", absl::StrCat("net:[", other_->inode(), "]"));
  EXPECT_TRUE(read().has_value());
  EXPECT_FALSE(read().value());
}

TEST_F(NamespaceObserverTest, TellsAReadOnlyProcSys) {
  const bool had = WithOwnMounts(
      [&] {
        MountReadOnly("/proc/sys");
        const KernelFacts kernel = Observe(Process(train_->pid())).kernel();
        EXPECT_FALSE(kernel.proc_sys_writable().value());
        EXPECT_TRUE(kernel.proc_sys_writable().has_value());
        EXPECT_TRUE(kernel.somaxconn().has_value());
      },
      &why_);
  if (!had) GTEST_SKIP() << why_;
}

TEST_F(NamespaceObserverTest, TellsAKeyThatTheKernelHasForTheHostAlone) {
  const bool had = WithOwnMounts(
      [&] {
        // Runs inside: there each namespace has its own folder.
        const auto place =
            OpenNetworkNamespace::Open(train_->path(), "train").value();
        ASSERT_TRUE(
            place.Run([] { MountEmptyOver("/proc/sys/net/ipv4"); }).ok());
        const KernelFacts kernel = Observe(Process(train_->pid())).kernel();
        EXPECT_TRUE(kernel.somaxconn().has_value());
        const Missing& syn = kernel.tcp_max_syn_backlog().missing();
        EXPECT_EQ(syn.reason(), Missing::ABSENT);
        EXPECT_EQ(syn.detail(), Say("fact-kept-for-host",
                                    "/proc/sys/net/ipv4/tcp_max_syn_backlog"));
      },
      &why_);
  if (!had) GTEST_SKIP() << why_;
}

TEST_F(NamespaceObserverTest, FindsAContainerThroughARealProgram) {
  ScratchRoot root;
  root.WriteProgram("/usr/bin/docker",
                    absl::StrCat("#!/bin/sh\n[ \"$6\" = train-1 ] || exit 1\n"
                                 "echo ",
                                 train_->pid(), "\n"));
  root.MakeFolder("/proc");
  train_->Set(kSomaxconn, "4321");
  NetworkNamespace target;
  target.set_container("train-1");
  const bool had = WithOwnMounts(
      [&] {
        MountOver("/proc", absl::StrCat(root.path(), "/proc"));
        const HostFacts facts = Observe(target, root.paths());
        ASSERT_FALSE(facts.has_missing()) << facts.missing().detail();
        EXPECT_EQ(facts.network_namespace(), "container:train-1");
        EXPECT_EQ(facts.kernel().somaxconn().value(), 4321u);
        EXPECT_EQ(facts.kernel().network_namespace().value(), train_->inode());
        EXPECT_TRUE(facts.sockets().has_value())
            << facts.sockets().missing().detail();
      },
      &why_);
  if (!had) GTEST_SKIP() << why_;
}

TEST(MissingNamespaceTest, IsAReasonAndNoFacts) {
  ScratchRoot root;
  NetworkNamespace target;
  target.set_container("train-1");
  const HostFacts facts = Observe(target, root.paths());
  EXPECT_EQ(facts.missing().reason(), Missing::ABSENT);
  EXPECT_THAT(facts.missing().detail(), Tells("fact-no-engine"));
  EXPECT_EQ(facts.network_namespace(), "container:train-1");
  EXPECT_FALSE(facts.has_kernel());
}

TEST(MissingNamespaceTest, TellsNobodyWhichFilesAHostHas) {
  ScratchRoot root;
  NetworkNamespace target;
  target.set_path("/root/secret");
  const HostFacts absent = Observe(target, root.paths());
  root.Write("/root/secret", "x");
  const HostFacts there = Observe(target, root.paths());
  EXPECT_EQ(there.missing().SerializeAsString(),
            absent.missing().SerializeAsString());
  EXPECT_EQ(absent.missing().reason(), Missing::ABSENT);
}

TEST(MissingNamespaceTest, DoesNotReadASimulatedHostsFilesInstead) {
  ScratchRoot root;
  root.Write("/proc/sys/net/core/somaxconn", "65535\n");
  root.Write("/proc/4711/ns/net", "");
  const HostFacts facts = Observe(Process(4711), root.paths());
  EXPECT_THAT(facts.missing().detail(), Tells("fact-no-netns"));
  EXPECT_FALSE(facts.has_kernel());
}

}  // namespace
}  // namespace clusterd
