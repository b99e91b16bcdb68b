#include "config/hccl/job_ports.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "tests/support/wait/from_text.h"

namespace clusterd {
namespace {

// cluster.yaml names no number.
ClusterSpec SilentSpec() {
  return FromText<ClusterSpec>(
      "product: 'atlas-a2' hccl {base_port: 60000 port_count: 32 "
      "base_port_auto: true port_count_auto: true}");
}

HostFacts HostWith(const std::string& name, const std::string& value) {
  HostFacts host;
  EnvironmentVariable* const variable =
      host.mutable_environment()->mutable_value()->add_variables();
  variable->set_name(name);
  variable->set_value(value);
  variable->set_file("/etc/environment");
  variable->set_line(1);
  return host;
}

TEST(HcclPortsTest, CountsFromTheBasePortToTheLastPortThereIs) {
  const std::pair<const char*, const char*> kCases[] = {
      {"base_port: 50000 port_count: 16", "50000-50015"},
      {"", "60000-60031"},  // HCCL's defaults.
      {"base_port: 65520 port_count: 32", "65520-65535"},
      {"base_port: 4294967295 port_count: 32", "65535"}};
  for (const auto& [hccl, ports] : kCases) {
    ClusterSpec spec;
    if (*hccl != 0) MergeText(hccl, spec.mutable_hccl());
    EXPECT_EQ(HcclPorts(spec).ToString(), ports) << hccl;
  }
}

TEST(JobPortsTest, AddsRendezvousSshAndOtherServicesWhereTheyAreSet) {
  const std::pair<const char*, const char*> kCases[] = {
      {"rendezvous_port: 29500", "29500,60000-60031"},
      {"rendezvous_port: 29500 ssh_port: 2222", "2222,29500,60000-60031"},
      {"ports {first: 6379 last: 6389}", "6379-6389,60000-60031"}};
  for (const auto& [spec, ports] : kCases) {
    EXPECT_EQ(JobPorts(FromText<ClusterSpec>(spec)).ToString(), ports) << spec;
  }
}

// Without a pinned base port HCCL takes a free one of the 32.
TEST(HcclPortsOnTest, SixteenAreCertainWhereNothingPinsABase) {
  HostFacts host;
  host.mutable_versions()->mutable_cann()->set_value("8.5.0");
  const HcclPortNeed need = HcclPortsOn(SilentSpec(), host);
  EXPECT_EQ(need.certain.ToString(), "60000-60015");
  EXPECT_EQ(need.possible.ToString(), "60000-60031");
  EXPECT_FALSE(need.is_pinned);
  EXPECT_TRUE(need.cann_is_known);
}

TEST(HcclPortsOnTest, LoginFilesPinTheBaseThatJobsWillHave) {
  HostFacts host = HostWith("HCCL_IF_BASE_PORT", "53000");
  host.mutable_versions()->mutable_cann()->set_value("8.5.0");
  const HcclPortNeed need = HcclPortsOn(SilentSpec(), host);
  EXPECT_EQ(need.certain.ToString(), "53000-53031");
  EXPECT_TRUE(need.is_pinned);
  EXPECT_EQ(need.source, &host.environment().value().variables(0));
}

// A launch by the spec exports its own base port.
TEST(HcclPortsOnTest, LoginAndSpecThatDifferNeedBoth) {
  ClusterSpec spec = SilentSpec();
  spec.mutable_hccl()->set_base_port_auto(false);
  EXPECT_EQ(HcclPortsOn(spec, HostWith("HCCL_IF_BASE_PORT", "53000"))
                .possible.ToString(),
            "53000-53031,60000-60031");
}

TEST(HcclPortsOnTest, JobFileWinsOverLoginAndSpec) {
  ClusterSpec spec = SilentSpec();
  spec.mutable_hccl()->set_base_port_auto(false);
  JobSpec job;
  job.add_environment()->set_name("HCCL_IF_BASE_PORT");
  job.mutable_environment(0)->set_value("40000");
  EXPECT_EQ(HcclPortsOn(spec, HostWith("HCCL_IF_BASE_PORT", "53000"), &job)
                .possible.ToString(),
            "40000-40031");
  // A value that HCCL refuses counts as not set.
  for (const char* value : {"80", "65600", "53000x", ""}) {
    const HcclPortNeed need =
        HcclPortsOn(SilentSpec(), HostWith("HCCL_IF_BASE_PORT", value));
    EXPECT_EQ(need.possible.ToString(), "60000-60031") << value;
    EXPECT_FALSE(need.is_pinned) << value;
  }
  // Says which variable only a shell knows.
  HostFacts host = HostWith("HCCL_IF_BASE_PORT", "");
  host.mutable_environment()
      ->mutable_value()
      ->mutable_variables(0)
      ->set_computed(true);
  const HcclPortNeed need = HcclPortsOn(SilentSpec(), host);
  ASSERT_NE(need.unclear, nullptr);
  EXPECT_EQ(need.unclear->name(), "HCCL_IF_BASE_PORT");
}

TEST(HcclPortsOnTest, RangeOfHostPortsWinsWhereTheProductReadsIt) {
  const char* const name = "HCCL_HOST_SOCKET_PORT_RANGE";
  ClusterSpec spec = SilentSpec();
  const HcclPortNeed need = HcclPortsOn(spec, HostWith(name, "50000,50100"));
  EXPECT_EQ(need.possible.ToString(), "50000,50100");
  EXPECT_FALSE(need.is_pinned);
  EXPECT_FALSE(need.is_any);
  EXPECT_TRUE(HcclPortsOn(spec, HostWith(name, "auto")).possible.empty());
  EXPECT_TRUE(HcclPortsOn(spec, HostWith(name, "auto")).is_any);
  spec.set_product("atlas-training");
  EXPECT_EQ(HcclPortsOn(spec, HostWith(name, "50000")).possible.ToString(),
            "60000-60031");
}

TEST(PortsOfLoginsTest, AddsTheRangeOfEachLegalLineAndTheRendezvous) {
  const auto ports = [](const char* name, const char* value) {
    const HostFacts host = HostWith(name, value);
    return PortsOfLogins(host.environment().value()).ToString();
  };
  EXPECT_EQ(ports("HCCL_IF_BASE_PORT", "53000"), "53000-53031");
  EXPECT_EQ(ports("HCCL_IF_BASE_PORT", "1"), "");
  EXPECT_EQ(ports("MASTER_PORT", "29500"), "29500");
}

TEST(HandedOutTest, LeavesOutWhatTheKernelNeverHandsOut) {
  HostFacts host;
  PortSet ports;
  ports.Add(60990, 61021);
  EXPECT_EQ(HandedOut(ports, host).ToString(), "60990-61021");
  host.mutable_kernel()->mutable_local_port_range()->set_value("32768-60999");
  EXPECT_EQ(HandedOut(ports, host).ToString(), "60990-60999");
}

std::string PortsOf(absl::string_view version) {
  const std::optional<CannPorts> ports = CannPortsOf(version);
  return ports ? absl::StrCat(ports->certain, " of ", ports->possible) : "none";
}

TEST(CannPortsOfTest, KnowsTheVersionsWhoseNumberIsPublished) {
  EXPECT_EQ(PortsOf("5.0.4"), "16 of 16");
  EXPECT_EQ(PortsOf("8.0.0"), "16 of 16");
  EXPECT_EQ(PortsOf("8.2.RC1"), "32 of 32");
  EXPECT_EQ(PortsOf("8.10.0"), "32 of 32");
  EXPECT_EQ(PortsOf("9.0.0.beta1"), "32 of 32");
  // Unpublished versions may need either number.
  EXPECT_EQ(PortsOf("8.1.RC1"), "16 of 32");
  // Takes no other text for a version.
  for (const char* text : {"", "8", "newest", "8.2 ", "12345.0"}) {
    EXPECT_EQ(PortsOf(text), "none") << text;
  }
}

}  // namespace
}  // namespace clusterd
