#include "config/values/network_namespace.h"

#include <gtest/gtest.h>

#include <string>

#include "config/values/value_error.h"

namespace clusterd {
namespace {

// The refusal of KIND:VALUE is that row with the value, and `more`.
template <typename... More>
void ExpectRefused(const std::string& text, absl::string_view row,
                   const More&... more) {
  EXPECT_EQ(ParseNetworkNamespace(text).status(),
            WrongValue(row, text.substr(text.find(':') + 1), more...))
      << text;
}

TEST(ParseNetworkNamespaceTest, ReadsWhatItsTextSaysAndSaysWhichKindsThereAre) {
  for (const char* text :
       {"container:train-1", "container:0f3a_b.c", "pid:1", "pid:4194304",
        "path:/run/netns/train", "path:/proc/4711/ns/net"}) {
    const auto parsed = ParseNetworkNamespace(text);
    ASSERT_TRUE(parsed.ok()) << text << ": " << parsed.status();
    EXPECT_EQ(NetworkNamespaceText(*parsed), text);
  }
  ExpectRefused("train-1", "value-netns-form");
  EXPECT_EQ(ParseNetworkNamespace("contaner:train-1").status(),
            WrongValue("value-netns-near", "contaner", "container"));
  EXPECT_EQ(ParseNetworkNamespace("zebra:1").status(),
            WrongValue("value-netns-kind", "zebra"));
  // Takes no option for a container.
  for (const char* text : {"container:", "container:-f", "container:--format",
                           "container:a b", "container:a;b", "container:a/b",
                           "container:_a", "container:\xc3\xa4"}) {
    ExpectRefused(text, "value-netns-container");
  }
  const std::string name(129, 'a');
  EXPECT_EQ(ParseNetworkNamespace("container:" + name).status(),
            WrongValue("value-netns-long", "container", name, 129, 128));
}

TEST(ParseNetworkNamespaceTest, TakesOnlyNumbersOfProcesses) {
  for (const char* text : {"pid:", "pid:0", "pid:-1", "pid:+7", "pid: 7",
                           "pid:4194305", "pid:99999999999", "pid:self"}) {
    ExpectRefused(text, "value-netns-pid", 4194304);
  }
  // Takes only paths that stay where they point.
  for (const char* text : {"path:", "path:run/netns/x", "path:/run/netns/a\nb",
                           "path:/home/alice/ns", "path:/runner/x"}) {
    ExpectRefused(text, "value-netns-path");
  }
  ExpectRefused("path:/run/../etc/shadow", "value-netns-dots");
  for (const char* text :
       {"path:/proc/self/ns/net", "path:/proc/1/ns/mnt", "path:/proc/1/mem"}) {
    ExpectRefused(text, "value-netns-proc");
  }
}

TEST(NetworkNamespaceTextTest, IsEmptyForTheHostsOwn) {
  EXPECT_EQ(NetworkNamespaceText(NetworkNamespace()), "");
  EXPECT_TRUE(CheckNetworkNamespace(NetworkNamespace()).ok());
  // Escapes what a stranger sent.
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
  // Takes a container's facts for none of the host.
  const HostFacts train = Facts("a", "container:train-1");
  EXPECT_TRUE(NamespaceFacts("", {&train}).hosts()[0]->has_missing());
  EXPECT_TRUE(
      NamespaceFacts("container:other", {&train}).hosts()[0]->has_missing());
  // Keeps the reason of a silent host.
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
