// A spec of two servers, and facts that fully meet it. A test of plans changes
// the one thing that it tests.
#ifndef TESTS_SUPPORT_CONFIG_GOOD_CLUSTER_H_
#define TESTS_SUPPORT_CONFIG_GOOD_CLUSTER_H_

#include <string>

#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"
#include "proto/plan.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Hosts node-01 (192.168.7.22) and node-02 (192.168.7.23), devices 0 and 1
// each: 10.0.0.1, .2 and .3, .4 with mask 255.255.255.0, gateway 10.0.0.254,
// detect address 10.0.0.254. Ports 60000-60015, somaxconn and syn backlog
// 65535, all persistent, TLS off, firewall disabled, rendezvous 29500, ssh 22.
// `more` is merged into it: "kernel {somaxconn: 32768}".
ClusterSpec GoodSpec(absl::string_view more = "");

// Facts of a host of GoodSpec, which needs no change but for `more`.
HostFacts GoodFacts(const std::string& host, absl::string_view more = "");

// Device `id` of the facts.
DeviceFacts* DeviceOf(HostFacts* facts, uint32_t id);

// Replaces the value of a key of hccn.conf ("address_0"); "": removes it.
void SetConf(HostFacts* facts, const std::string& full_key,
             const std::string& value);

// Adds a line of device 0 to hccn.conf.
void AddConf(HostFacts* facts, const std::string& key,
             const std::string& value);

// Gives device 0 this address, also in hccn.conf.
void MoveAddress(HostFacts* facts, const std::string& address);

// The plan for the devices of the spec's first server alone.
HostPlan DeviceStepsOf(const ClusterSpec& spec, const HostFacts& facts);

// The one assignment of a kernel parameter at boot; "" for file: none.
void SetAtBoot(PersistentValueFact* fact, const std::string& file,
               const std::string& value);

// An installed firewall; one that is active allows nothing.
FirewallFacts InstalledFirewall(bool active, bool starts_at_boot);

template <typename Fact>
void MakeMissing(Fact* fact, Missing::Reason reason,
                 const std::string& detail) {
  fact->mutable_missing()->set_reason(reason);
  fact->mutable_missing()->set_detail(detail);
}

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONFIG_GOOD_CLUSTER_H_
