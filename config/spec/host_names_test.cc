#include "config/spec/host_names.h"

#include "config/spec/spec_loader.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

ClusterSpec SpecWithDomain(const std::string& domain) {
  ClusterSpec spec;
  spec.set_domain(domain);
  for (const auto& [host, address] :
       {std::pair<const char*, const char*>{"node1", "10.0.0.1"},
        {"node2", "10.0.0.2"}}) {
    ServerSpec& server = *spec.add_servers();
    server.set_host(host);
    server.set_address(address);
  }
  return spec;
}

TEST(HostNamesTest, KnowsAHostByNameAddressAndFqdn) {
  const ClusterSpec spec = SpecWithDomain("dc1.example.com");
  for (const char* name : {"node2", "10.0.0.2", "node2.dc1.example.com"}) {
    EXPECT_EQ(HostNamed(spec, name), "node2") << name;
  }
  // Leaves what the spec does not know.
  EXPECT_EQ(HostNamed(SpecWithDomain(""), "node2.dc1.example.com"),
            "node2.dc1.example.com");
  EXPECT_EQ(HostNamed(SpecWithDomain("b.org"), "node2.a.org"), "node2.a.org");
  EXPECT_EQ(HostNamed(SpecWithDomain("b.org"), "10.0.0.3"), "10.0.0.3");
}

TEST(HostNamesTest, NeverTakesOneHostsNameForAnother) {
  ClusterSpec spec = SpecWithDomain("");
  spec.mutable_servers(0)->set_host("10.0.0.2");
  EXPECT_EQ(HostNamed(spec, "10.0.0.2"), "10.0.0.2");
  EXPECT_EQ(HostNamed(spec, "10.0.0.1"), "10.0.0.2");
}

}  // namespace
}  // namespace clusterd
