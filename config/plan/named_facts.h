// The facts that a plan can rest on, each as a name and a text, so that a
// message can name the facts that moved:
//   device 3: address                  10.20.0.17/255.255.255.0
//   hccn.conf: gateway_3               none
//   net.core.somaxconn                 4096
//   ufw: active                        yes
// An unknown fact is kUnknownFact: it equals no planned value.
#ifndef CONFIG_PLAN_NAMED_FACTS_H_
#define CONFIG_PLAN_NAMED_FACTS_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/plan.pb.h"

namespace clusterd {

inline constexpr char kUnknownFact[] = "unknown";
inline constexpr char kNoneFact[] = "none";  // None is set.
inline constexpr char kYesFact[] = "yes";
inline constexpr char kNoFact[] = "no";
inline constexpr char kGoodForm[] = "good";
inline constexpr char kHccnConfFormFact[] = "hccn.conf: form";
// "4026532000, cookie 4097, boot 0a1b…", without unknown parts. The inode is
// for people: the kernel may reuse it after a namespace has ended. The cookie
// (Linux 5.14) is unique until the next boot, which the boot id identifies.
inline constexpr char kNetworkNamespaceFact[] = "network namespace";

inline constexpr char kStartsAtBootFact[] = "starts at boot";
inline constexpr char kAllowedPermanentlyFact[] = "allowed permanently";

using NamedFacts = std::map<std::string, std::string>;

std::string DeviceFactName(uint32_t device, absl::string_view what);
std::string HccnConfFactName(absl::string_view key, uint32_t device);
std::string AtBootFactName(absl::string_view sysctl_key);
std::string FirewallFactName(FirewallProgram program, absl::string_view what);
// "ufw", "firewalld".
std::string FirewallName(FirewallProgram program);

// Every fact of the host that has a name, known or not.
NamedFacts NameFacts(const HostFacts& facts);

// Returns kUnknownFact if no fact has that name.
std::string NamedFactText(const NamedFacts& named, const std::string& name);

// True if two texts of one fact mean the same. An older clusterd or kernel
// gives less about a network namespace; then the parts that both give decide.
bool IsSameFact(absl::string_view name, absl::string_view a,
                absl::string_view b);

// The parts of a kNetworkNamespaceFact.
struct NamespaceIdentity {
  uint64_t inode = 0;
  std::optional<uint64_t> cookie;
  std::string boot;  // Empty: not known.
};

// Returns nullopt for a text without an inode.
std::optional<NamespaceIdentity> ParseNamespaceFact(absl::string_view text);

struct MovedFact {
  std::string name;
  std::string planned;
  std::string now;
};

// Facts of the plan that have changed since, in the order of their names.
std::vector<MovedFact> FindMovedFacts(const HostPlan& plan,
                                      const HostFacts& now);

// `device 3: address was 10.0.0.1/…, now 10.0.0.2/…; …`: at most eight, then
// how many more there are.
FindingValue MovedFactsWords(const std::vector<MovedFact>& moved);

}  // namespace clusterd

#endif  // CONFIG_PLAN_NAMED_FACTS_H_
