#include "config/values/namespace_facts.h"

#include <gtest/gtest.h>

namespace clusterd {
namespace {

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

TEST(HostNetworkNoteTest, NamesWhatSharesTheNetworkAndWhere) {
  HostFacts facts = Facts("node01", "container:train-1");
  EXPECT_FALSE(SharesHostNetwork(facts));
  facts.mutable_kernel()->mutable_initial_namespace()->set_value(true);
  EXPECT_TRUE(SharesHostNetwork(facts));
  facts.clear_network_namespace();
  EXPECT_FALSE(SharesHostNetwork(facts));
  EXPECT_EQ(HostNetworkNote("container:train-1", {"node01", "node02"}),
            "container train-1 on node[01-02] uses the host's network: host "
            "and container are one");
  EXPECT_EQ(HostNetworkNote("pid:4711", {"node01"}),
            "process 4711 on node01 uses the host's network: host and process "
            "are one");
  EXPECT_EQ(HostNetworkNote("path:/run/netns/x", {"node01"}),
            "/run/netns/x on node01 uses the host's network: host and "
            "namespace are one");
}

}  // namespace
}  // namespace clusterd
