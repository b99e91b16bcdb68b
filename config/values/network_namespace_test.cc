#include "config/values/network_namespace.h"

#include <gtest/gtest.h>

#include <string>

namespace clusterd {
namespace {

std::string Refusal(absl::string_view text) {
  const auto parsed = ParseNetworkNamespace(text);
  EXPECT_FALSE(parsed.ok()) << text;
  EXPECT_EQ(parsed.status().code(), absl::StatusCode::kInvalidArgument) << text;
  return std::string(parsed.status().message());
}

TEST(ParseNetworkNamespaceTest, ReadsWhatItsTextSays) {
  for (const char* text :
       {"container:train-1", "container:0f3a_b.c", "pid:1", "pid:4194304",
        "path:/run/netns/train", "path:/proc/4711/ns/net"}) {
    const auto parsed = ParseNetworkNamespace(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(NetworkNamespaceText(*parsed), text);
  }
}

TEST(ParseNetworkNamespaceTest, SaysWhichKindsThereAre) {
  EXPECT_EQ(Refusal("train-1"),
            "network namespace: \"train-1\" does not say what it names, "
            "expected container:NAME, pid:NUMBER or path:/run/netns/NAME");
  EXPECT_EQ(Refusal("contaner:train-1"),
            "network namespace: \"contaner\" is not a kind of target, expected "
            "\"container\"");
  EXPECT_EQ(Refusal("zebra:1"),
            "network namespace: \"zebra\" is not a kind of target, expected "
            "container:NAME, pid:NUMBER or path:/run/netns/NAME");
}

TEST(ParseNetworkNamespaceTest, TakesNoOptionForAContainer) {
  for (const char* text : {"container:", "container:-f", "container:--format",
                           "container:a b", "container:a;b", "container:a/b",
                           "container:_a", "container:\xc3\xa4"}) {
    EXPECT_NE(Refusal(text).find("expected a letter or digit"),
              std::string::npos)
        << text;
  }
  EXPECT_NE(Refusal(absl::StrCat("container:", std::string(129, 'a')))
                .find("expected at most 128"),
            std::string::npos);
}

TEST(ParseNetworkNamespaceTest, TakesOnlyNumbersOfProcesses) {
  for (const char* text : {"pid:", "pid:0", "pid:-1", "pid:+7", "pid: 7",
                           "pid:4194305", "pid:99999999999", "pid:self"}) {
    EXPECT_NE(Refusal(text).find("is not a process ID, expected 1 to 4194304"),
              std::string::npos)
        << text;
  }
}

TEST(ParseNetworkNamespaceTest, TakesOnlyPathsThatStayWhereTheyPoint) {
  for (const char* text :
       {"path:", "path:run/netns/x", "path:/run/../etc/shadow",
        "path:/run/netns/a\nb", "path:/home/alice/ns", "path:/runner/x"}) {
    EXPECT_NE(Refusal(text).find("expected a file below /run or /var/run"),
              std::string::npos)
        << text;
  }
  for (const char* text :
       {"path:/proc/self/ns/net", "path:/proc/1/ns/mnt", "path:/proc/1/mem"}) {
    EXPECT_NE(Refusal(text).find("expected /proc/PID/ns/net"),
              std::string::npos)
        << text;
  }
}

TEST(NetworkNamespaceTextTest, IsEmptyForTheHostsOwn) {
  EXPECT_EQ(NetworkNamespaceText(NetworkNamespace()), "");
  EXPECT_TRUE(CheckNetworkNamespace(NetworkNamespace()).ok());
}

TEST(NetworkNamespaceTextTest, EscapesWhatAStrangerSent) {
  NetworkNamespace target;
  target.set_container("\x1b[2J");
  EXPECT_EQ(NetworkNamespaceText(target), "container:\\033[2J");
  EXPECT_FALSE(CheckNetworkNamespace(target).ok());
}

HostFacts Facts(const char* host, const char* network_namespace) {
  HostFacts facts;
  facts.set_host(host);
  facts.set_network_namespace(network_namespace);
  facts.mutable_kernel()->mutable_somaxconn()->set_value(65535);
  return facts;
}

TEST(NamespaceFactsTest, LeavesFactsOfTheNamespaceAsTheyAre) {
  const HostFacts own = Facts("a", "");
  const HostFacts train = Facts("b", "container:train-1");
  EXPECT_EQ(NamespaceFacts("", {&own}).hosts()[0], &own);
  EXPECT_EQ(NamespaceFacts("container:train-1", {&train}).hosts()[0], &train);
}

TEST(NamespaceFactsTest, TakesTheHostsOwnFactsForNoneOfAContainer) {
  const HostFacts own = Facts("a", "");
  const NamespaceFacts asked("container:train-1", {&own});
  const HostFacts& facts = *asked.hosts()[0];
  EXPECT_EQ(facts.host(), "a");
  EXPECT_FALSE(facts.has_kernel());
  EXPECT_EQ(facts.missing().reason(), Missing::NOT_SUPPORTED);
  EXPECT_NE(facts.missing().detail().find("the host's own facts"),
            std::string::npos);
}

TEST(NamespaceFactsTest, TakesAContainersFactsForNoneOfTheHost) {
  const HostFacts train = Facts("a", "container:train-1");
  EXPECT_TRUE(NamespaceFacts("", {&train}).hosts()[0]->has_missing());
  EXPECT_TRUE(
      NamespaceFacts("container:other", {&train}).hosts()[0]->has_missing());
}

TEST(NamespaceFactsTest, KeepsTheReasonOfASilentHost) {
  HostFacts silent;
  silent.set_host("a");
  silent.mutable_missing()->set_reason(Missing::NO_ANSWER);
  EXPECT_EQ(NamespaceFacts("container:train-1", {&silent}).hosts()[0], &silent);
}

TEST(SharesHostNetworkTest, IsSoForANamespaceThatIsTheHostsOwn) {
  HostFacts facts = Facts("node01", "container:train-1");
  EXPECT_FALSE(SharesHostNetwork(facts));
  facts.mutable_kernel()->mutable_initial_namespace()->set_value(true);
  EXPECT_TRUE(SharesHostNetwork(facts));
  facts.clear_network_namespace();
  EXPECT_FALSE(SharesHostNetwork(facts));
}

}  // namespace
}  // namespace clusterd
