
#include <functional>
#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "config/plan/kernel_parameters.h"
#include "config/plan/named_facts.h"
#include "config/values/port_set.h"
#include "daemon/host/change/mutation_token_issuer.h"
#include "daemon/host/change/sysctl_writer.h"
#include "daemon/host/command/posix_command_runner.h"
#include "daemon/host/namespace/network_namespace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/test_namespace.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

class NamespaceAccessTest : public ::testing::Test {
 protected:
  void SetUp() override {
    train_ = TestNamespace::Make(&why_);
    other_ = TestNamespace::Make(&why_);
    home_ = TestNamespace::Make(&why_);
    if (train_ == nullptr || other_ == nullptr || home_ == nullptr) {
      GTEST_SKIP() << why_;
    }
  }
  // Runs `work` in `home_`, whose values only this test changes.
  void AtHome(const std::function<void()>& work) {
    const auto home = OpenNetworkNamespace::Open(home_->path(), "home").value();
    ASSERT_TRUE(home.Run(work).ok());
  }
  static NetworkNamespace Target(uint32_t pid) {
    NetworkNamespace target;
    target.set_pid(pid);
    return target;
  }
  EnteredNamespace Enter(uint32_t pid) {
    return access_->Enter(Target(pid)).value();
  }
  static std::string IdentityOf(const EnteredNamespace& entered) {
    return SettingText(NameFacts(entered.read())[NamespaceFact()]);
  }
  std::string Identity(uint32_t pid) { return IdentityOf(Enter(pid)); }
  absl::Status Set(const EnteredNamespace& entered, const char* key,
                   const std::string& value) {
    return SysctlWriter(entered.open).Write(issuer_.token(), key, value);
  }

  std::string why_;
  std::unique_ptr<TestNamespace> train_;
  std::unique_ptr<TestNamespace> other_;
  std::unique_ptr<TestNamespace> home_;
  PosixCommandRunner runner_;
  SystemClock clock_;
  const std::unique_ptr<FileSystem> files_ = MakePosixFileSystem("/");
  const std::unique_ptr<NamespaceAccess> access_ =
      MakeNamespaceAccess(HostPaths{}, &runner_, &clock_, files_.get());
  MutationTokenIssuer issuer_;
};

TEST_F(NamespaceAccessTest, WritesInOneNamespaceAndNoOther) {
  const std::string there = other_->Get(kSomaxconnKey);
  AtHome([&] {
    const std::string here = GetHere(kSomaxconnKey);
    const EnteredNamespace entered = Enter(train_->pid());
    EXPECT_EQ(Set(entered, kSomaxconnKey, "54321"), absl::OkStatus());
    EXPECT_EQ(*SysctlWriter(entered.open).Read(kSomaxconnKey), "54321");
    EXPECT_EQ(train_->Get(kSomaxconnKey), "54321");
    EXPECT_EQ(other_->Get(kSomaxconnKey), there);
    EXPECT_EQ(GetHere(kSomaxconnKey), here);
    EXPECT_EQ(entered.read().kernel().network_namespace().value(),
              train_->inode());
    EXPECT_EQ(entered.read().kernel().somaxconn().value(), 54321u);
  });
}

TEST_F(NamespaceAccessTest, TellsWhichNamespaceItIs) {
  const std::string train = Identity(train_->pid());
  EXPECT_EQ(Identity(train_->pid()), train);
  EXPECT_NE(Identity(other_->pid()), train);
  EXPECT_THAT(train, StartsWith(absl::StrCat(train_->inode(), ", ")));
  EXPECT_THAT(train, HasSubstr(absl::StrCat(", boot ",
                                            GetHere("kernel.random.boot_id"))));
  const auto known = ReadNetworkNamespaceCookie();
  if (!known.ok()) GTEST_SKIP() << known.status();
  EXPECT_THAT(train, HasSubstr(", cookie "));
  EXPECT_THAT(train, Not(HasSubstr(absl::StrCat(", cookie ", *known, ","))));
}

TEST_F(NamespaceAccessTest, EntersANamespaceByItsNumber) {
  const NamespaceGuest guest(*train_);
  const NetworkNamespace target = Target(train_->pid());
  const uint64_t inode = train_->inode();
  const std::string identity = Identity(train_->pid());
  train_->End();
  EXPECT_TRUE(absl::IsNotFound(access_->Enter(target).status()));
  const auto entered = access_->EnterInode(target, inode).value();
  EXPECT_EQ(IdentityOf(entered), identity);
  EXPECT_THAT(identity, HasSubstr(absl::StrCat("boot ", access_->BootId())));
  EXPECT_EQ(Set(entered, kSomaxconnKey, "54321"), absl::OkStatus());
  EXPECT_EQ(guest.Get(kSomaxconnKey), "54321");
}

TEST_F(NamespaceAccessTest, WritesAListThatIsLongerThanOneWriteTakes) {
  PortSet wanted;
  for (uint32_t port = 10001; port < 14000; port += 2) wanted.Add(port, port);
  ASSERT_GT(wanted.ToString().size(), 8000u);
  AtHome([&] {
    const std::string here = GetHere(kReservedPortsKey);
    const EnteredNamespace entered = Enter(train_->pid());
    for (const std::string& ports : {wanted.ToString(), std::string()}) {
      EXPECT_EQ(Set(entered, kReservedPortsKey, ports), absl::OkStatus());
      EXPECT_EQ(train_->Get(kReservedPortsKey), ports);
    }
    EXPECT_EQ(GetHere(kReservedPortsKey), here);
  });
}

TEST_F(NamespaceAccessTest, ReportsAReadOnlyProcSysWithBothValues) {
  const std::string before = train_->Get(kSomaxconnKey);
  const bool had = WithOwnMounts(
      [&] {
        MountReadOnly("/proc/sys");
        const absl::Status written =
            Set(Enter(train_->pid()), kSomaxconnKey, "54321");
        EXPECT_THAT(std::string(written.message()),
                    HasSubstr("Read-only file system"));
      },
      &why_);
  if (!had) GTEST_SKIP() << why_;
  EXPECT_EQ(train_->Get(kSomaxconnKey), before);
}

}  // namespace
}  // namespace clusterd
