#include <string>

#include "absl/strings/str_cat.h"
#include "daemon/host/ssh/ssh_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string Recorded(const std::string& name) {
  return TestData("tests/testdata/host/ssh/" + name);
}

TEST(KeepSafeLinesTest, KeepsWhatSaysWhereAndHowToLogIn) {
  constexpr char kText[] =
      "Host 10.0.0.* !10.0.0.9\n"
      "IdentityFile ~/.ssh/cluster\n"
      "Port=2222\n"
      "StrictHostKeyChecking accept-new\n"
      "userknownhostsfile /dev/null\n"
      "Match originalhost 10.0.0.1,10.0.0.2 user ann\n"
      "Match all\n";
  const SshConfig config = KeepSafeLines(kText);
  EXPECT_EQ(config.text, kText);
  EXPECT_THAT(config.left_out, IsEmpty());
}

// Each line runs a program, loads a library, or may lead to a file that does.
TEST(KeepSafeLinesTest, KeepsNothingThatRunsAProgram) {
  for (const char* const line :
       {"ProxyCommand touch /tmp/x", "proxycommand=touch /tmp/x",
        "  PROXYCOMMAND\ttouch /tmp/x", "\"ProxyCommand\" touch /tmp/x",
        "ProxyJump bastion", "KnownHostsCommand /tmp/x", "Include ~/more",
        "Include fifo", "PKCS11Provider /tmp/x.so",
        "SecurityKeyProvider /tmp/x.so", "IdentityAgent /tmp/socket"}) {
    const SshConfig config = KeepSafeLines(line);
    EXPECT_EQ(config.text, "") << line;
    EXPECT_EQ(config.left_out.size(), 1u) << line;
  }
  for (const char* const line :
       {"LocalCommand touch /tmp/x", "PermitLocalCommand yes",
        "RemoteCommand touch /tmp/x", "ForkAfterAuthentication yes",
        "ControlMaster auto", "ControlPath /tmp/x", "ControlPersist yes",
        "XAuthLocation /tmp/x", "SmartcardDevice /tmp/x.so", "Hostx y",
        "IdentityFile\x01 x", "# ProxyCommand x", "SendEnv *",
        "SessionType none"}) {
    const SshConfig config = KeepSafeLines(line);
    EXPECT_EQ(config.text, "") << line;
    EXPECT_THAT(config.left_out, IsEmpty()) << line;
  }
}

// An option cannot switch off a Match that runs a program.
TEST(KeepSafeLinesTest, WhatFollowsAnUnknownMatchAppliesToNoHost) {
  for (const char* const line :
       {"Match exec \"touch /tmp/x\"", "Match host a exec touch",
        "match EXEC x", "Match host=a exec=x", "\"Match\" exec x",
        "Match !exec x", "Match final all", "Match host \"a\" exec x",
        "Match all exec x", "Match host a,exec x"}) {
    const SshConfig config =
        KeepSafeLines(absl::StrCat(line, "\nUserKnownHostsFile /dev/null\n"));
    EXPECT_EQ(config.text, "Host !*\nUserKnownHostsFile /dev/null\n") << line;
    EXPECT_EQ(config.left_out.size(), 1u) << line;
  }
}

TEST(ParseSshdConfigTest, ReadsPortsAddressesAndHostKeys) {
  const SshdConfig config = ParseSshdConfig(Recorded("effective_config.txt"));
  EXPECT_THAT(config.ports, ElementsAre(22, 12345));
  EXPECT_THAT(config.AddressesOf(12345),
              ElementsAre("[::]:12345", "0.0.0.0:12345"));
  EXPECT_THAT(config.host_keys, ElementsAre("/etc/ssh/ssh_host_rsa_key",
                                            "/etc/ssh/ssh_host_ecdsa_key",
                                            "/etc/ssh/ssh_host_ed25519_key"));
}

TEST(ParseSshdConfigTest, AnotherTextHasNoPort) {
  for (const char* const text :
       {"", "port\n", "port many\n", "Missing privilege separation directory",
        "port 99999999999\n"}) {
    EXPECT_THAT(ParseSshdConfig(text).ports, IsEmpty()) << text;
  }
}

TEST(ParseSshdConfigTest, KeepsNoMoreLinesThanAnyFileHas) {
  std::string text = "port 22\n";
  for (int i = 0; i < 10000; ++i) text += "hostkey /etc/ssh/key\n";
  EXPECT_EQ(ParseSshdConfig(text).host_keys.size(), 64u);
}

TEST(ParseLoginFailureTest, NamesTheStaleLine) {
  const LoginFailure failure = ParseLoginFailure(Recorded("changed_key.txt"));
  EXPECT_EQ(failure.stale_entry, "/home/ann/.ssh/known_hosts:4");
  EXPECT_EQ(failure.error, "Host key verification failed.");
  EXPECT_FALSE(failure.key_unknown);
  EXPECT_FALSE(failure.was_dropped);
}

TEST(ParseLoginFailureTest, TellsAnUnknownKeyFromARevokedOne) {
  EXPECT_TRUE(ParseLoginFailure(Recorded("unknown_key.txt")).key_unknown);
  const LoginFailure revoked = ParseLoginFailure(Recorded("revoked_key.txt"));
  EXPECT_FALSE(revoked.key_unknown);
  EXPECT_EQ(revoked.stale_entry, "");
  EXPECT_EQ(revoked.error, "Host key verification failed.");
}

TEST(ParseLoginFailureTest, KeepsTheLastWords) {
  EXPECT_EQ(ParseLoginFailure(Recorded("no_key.txt")).error,
            "ann@10.99.0.2: Permission denied (publickey,password,keyboard-"
            "interactive).");
  EXPECT_THAT(ParseLoginFailure(Recorded("refused.txt")).error,
              HasSubstr("Connection refused"));
  EXPECT_EQ(ParseLoginFailure("").error, "");
}

TEST(ParseLoginFailureTest, OnlyAServerThatTurnedItAwayIsAskedAgain) {
  EXPECT_TRUE(ParseLoginFailure(Recorded("turned_away.txt")).was_dropped);
  EXPECT_FALSE(ParseLoginFailure(Recorded("refused.txt")).was_dropped);
  EXPECT_FALSE(ParseLoginFailure(Recorded("no_key.txt")).was_dropped);
}

TEST(ParseLoginFailureTest, WhatAServerSaysIsPrintableAndBounded) {
  const LoginFailure failure = ParseLoginFailure(
      "Offending ED25519 key in /home/\x1b[31m" + std::string(9000, 'a') +
      ":1\n\x1b]0;title\x07" + std::string(9000, 'b'));
  EXPECT_THAT(failure.error, Not(HasSubstr("\x1b")));
  EXPECT_THAT(failure.stale_entry, Not(HasSubstr("\x1b")));
  EXPECT_LT(failure.error.size(), 1000u);
  EXPECT_LT(failure.stale_entry.size(), 1000u);
}

TEST(ParseHostKeyPolicyTest, KnowsWhatTheUserTakes) {
  const auto policy = [](const std::string& word) {
    return ParseHostKeyPolicy("user ann\nstricthostkeychecking " + word + "\n");
  };
  for (const char* const strict : {"ask", "true", "yes", "", "falsehood"}) {
    EXPECT_FALSE(policy(strict).takes_unknown) << strict;
    EXPECT_FALSE(policy(strict).takes_changed) << strict;
  }
  EXPECT_TRUE(policy("accept-new").takes_unknown);
  EXPECT_FALSE(policy("accept-new").takes_changed);
  EXPECT_TRUE(policy("false").takes_changed);
  EXPECT_FALSE(ParseHostKeyPolicy("").takes_unknown);
}

TEST(NotExportedTest, NamesThatNoLineSets) {
  EXPECT_THAT(NotExported({"PATH", "LD_LIBRARY_PATH", "ASCEND_OPP_PATH"},
                          "Welcome to node01\nPATH=/usr/bin\n"
                          "MY_LD_LIBRARY_PATH=/x\nASCEND_OPP_PATH=\n"),
              ElementsAre("LD_LIBRARY_PATH"));
  EXPECT_THAT(NotExported({}, ""), IsEmpty());
}

TEST(IsGreetingTest, VersionMayComeAfterOtherLines) {
  EXPECT_TRUE(IsGreeting("SSH-2.0-OpenSSH_9.2p1 Debian-2\r\n"));
  EXPECT_TRUE(IsGreeting("Only for staff\r\nSSH-2.0-x\r\n"));
  EXPECT_FALSE(IsGreeting("HTTP/1.1 400 Bad Request\r\nServer: SSH-2.0\r\n"));
  EXPECT_FALSE(IsGreeting(""));
}

}  // namespace
}  // namespace clusterd
