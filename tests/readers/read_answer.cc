#include "tests/readers/read_answer.h"

#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/machine_observer.h"
#include "proto/facts.pb.h"
#include "tests/support/host/fake_clock.h"
#include "tests/support/host/fake_command_runner.h"

namespace clusterd {
namespace {

template <typename Fact>
std::string MissingText(const Fact& fact) {
  return absl::StrCat("missing ", Missing::Reason_Name(fact.missing().reason()),
                      ": ", fact.missing().detail());
}

std::string AddressText(const DeviceAddressFact& fact) {
  if (!fact.has_value()) return MissingText(fact);
  std::vector<std::string> texts;
  for (const Ipv4Setting& setting : fact.value().settings()) {
    texts.push_back(absl::StrCat(setting.address(), "/", setting.netmask()));
  }
  return texts.empty() ? "none" : absl::StrJoin(texts, " ");
}

std::string PlainText(const TextFact& fact) {
  if (fact.state_case() != TextFact::kValue) return MissingText(fact);
  return fact.value().empty() ? "none" : fact.value();
}

std::string HealthText(const NetHealthFact& fact) {
  if (fact.state_case() != NetHealthFact::kValue) return MissingText(fact);
  return NetHealth_Name(fact.value());
}

std::string LinkText(const LinkFact& fact) {
  if (fact.state_case() != LinkFact::kValue) return MissingText(fact);
  return LinkFact::Link_Name(fact.value());
}

std::string LldpText(const LldpFact& fact) {
  if (!fact.has_value()) return MissingText(fact);
  const LldpNeighbour& neighbour = fact.value();
  if (!neighbour.heard()) return "none";
  std::vector<std::string> texts;
  const auto add = [&texts](absl::string_view name, const std::string& value) {
    if (!value.empty()) texts.push_back(absl::StrCat(name, "=", value));
  };
  add("chassis", neighbour.chassis_id());
  add("port", neighbour.port_id());
  add("system", neighbour.system_name());
  add("address", neighbour.management_address());
  if (neighbour.peer() != LldpNeighbour::PEER_UNSPECIFIED) {
    add("peer", LldpNeighbour::Peer_Name(neighbour.peer()));
  }
  if (neighbour.truncated()) texts.push_back("truncated");
  return absl::StrJoin(texts, " ");
}

std::string NumberText(const NumberFact& fact) {
  if (fact.state_case() != NumberFact::kValue) return MissingText(fact);
  return absl::StrCat(fact.value());
}

std::string RecoveryText(const RecoveryFact& fact) {
  if (fact.state_case() != RecoveryFact::kValue) return MissingText(fact);
  return RecoveryFact::Recovery_Name(fact.value());
}

std::string TlsText(const TlsFact& fact) {
  if (!fact.has_value()) return MissingText(fact);
  return fact.value().enabled() ? "on" : "off";
}

std::string TextOf(absl::string_view query, const DeviceFacts& facts) {
  if (query == "-ip") return AddressText(facts.address());
  if (query == "-gateway") return PlainText(facts.gateway());
  if (query == "-netdetect") return PlainText(facts.detect_address());
  if (query == "-net_health") return HealthText(facts.net_health());
  if (query == "-link") return LinkText(facts.link());
  if (query == "-lldp") return LldpText(facts.lldp());
  if (query == "-mtu") return NumberText(facts.mtu());
  if (query == "-cfg status") return RecoveryText(facts.recovery());
  if (query == "-tls") return TlsText(facts.tls());
  return absl::StrCat("no query ", query);
}

}  // namespace

std::string ReadAnswer(absl::string_view query, uint32_t device,
                       const CommandResult& run) {
  FakeClock clock;
  FakeCommandRunner runner(&clock);
  const bool is_word = query == "-cfg status";  // Its own, not -g.
  runner.Ends(
      absl::StrCat("hccn_tool -i ", device, " ", query, is_word ? "" : " -g"),
      run);
  DeviceLocks turns;
  const TimeBudget budget(&clock, absl::Seconds(10), absl::Seconds(30));
  HccnSession session(std::string("/x/hccn_tool"), NpuToolFacts::CLASSIC,
                      device, &runner, &clock, &budget, &turns);
  HccnConfFact conf;
  conf.mutable_value();
  TlsAsking tls;
  tls.copy_conf = [] { return PrivateFile{"/etc/hccn.conf", "", 0640}; };
  return TextOf(query, ObserveDevice(device, conf, tls, &session));
}

}  // namespace clusterd
