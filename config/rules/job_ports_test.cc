#include "config/rules/job_ports.h"

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(HcclPortsTest, CountsFromTheBasePort) {
  ClusterSpec spec;
  spec.mutable_hccl()->set_base_port(50000);
  spec.mutable_hccl()->set_port_count(16);
  EXPECT_EQ(HcclPorts(spec).ToString(), "50000-50015");
}

TEST(HcclPortsTest, TakesHcclsDefaultsWithoutASpec) {
  EXPECT_EQ(HcclPorts(ClusterSpec()).ToString(), "60000-60031");
}

TEST(HcclPortsTest, EndsAtTheLastPort) {
  ClusterSpec spec;
  spec.mutable_hccl()->set_base_port(65520);
  spec.mutable_hccl()->set_port_count(32);
  EXPECT_EQ(HcclPorts(spec).ToString(), "65520-65535");
  spec.mutable_hccl()->set_base_port(UINT32_MAX);
  EXPECT_EQ(HcclPorts(spec).ToString(), "65535");
}

TEST(JobPortsTest, AddsRendezvousAndSshWhereTheyAreSet) {
  ClusterSpec spec;
  spec.set_rendezvous_port(29500);
  EXPECT_EQ(JobPorts(spec).ToString(), "29500,60000-60031");
  spec.set_ssh_port(2222);
  EXPECT_EQ(JobPorts(spec).ToString(), "2222,29500,60000-60031");
}

}  // namespace
}  // namespace clusterd
