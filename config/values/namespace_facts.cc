#include "config/values/namespace_facts.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/hostlist.h"

namespace clusterd {
namespace {

HostFacts UnknownHost(const HostFacts& facts,
                      absl::string_view network_namespace) {
  HostFacts unknown;
  unknown.set_host(facts.host());
  unknown.set_elapsed_ms(facts.elapsed_ms());
  unknown.set_observed_at_ms(facts.observed_at_ms());
  unknown.set_simulation(facts.simulation());
  Missing* missing = unknown.mutable_missing();
  missing->set_reason(Missing::NOT_SUPPORTED);
  missing->set_detail(
      network_namespace.empty()
          ? absl::StrCat("it sent facts of network namespace ",
                         facts.network_namespace(), " instead of its own")
          : absl::StrCat("its clusterd sent the host's own facts instead of "
                         "those of network namespace ",
                         network_namespace,
                         "; bring it to the controller's version"));
  return unknown;
}

}  // namespace

NamespaceFacts::NamespaceFacts(absl::string_view network_namespace,
                               absl::Span<const HostFacts* const> hosts) {
  hosts_.reserve(hosts.size());
  for (const HostFacts* facts : hosts) {
    // A host without facts says why, not where.
    if (facts->has_missing() ||
        facts->network_namespace() == network_namespace) {
      hosts_.push_back(facts);
      continue;
    }
    replaced_.push_back(UnknownHost(*facts, network_namespace));
    hosts_.push_back(&replaced_.back());
  }
}

bool SharesHostNetwork(const HostFacts& facts) {
  return !facts.network_namespace().empty() &&
         facts.kernel().initial_namespace().value();
}

std::string HostNetworkNote(absl::string_view network_namespace,
                            absl::Span<const std::string> hosts) {
  const std::string where = absl::StrCat(" on ", FoldHostlist(hosts),
                                         " uses the host's network: host and ");
  absl::string_view name = network_namespace;
  if (absl::ConsumePrefix(&name, "container:")) {
    return absl::StrCat("container ", name, where, "container are one");
  }
  if (absl::ConsumePrefix(&name, "pid:")) {
    return absl::StrCat("process ", name, where, "process are one");
  }
  absl::ConsumePrefix(&name, "path:");
  return absl::StrCat(name, where, "namespace are one");
}

}  // namespace clusterd
