#include "config/hccl/job_ports.h"

#include <algorithm>
#include <utility>

#include "absl/strings/numbers.h"
#include "config/hccl/job_variables.h"
#include "config/spec/product_profile.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

constexpr uint64_t kDefaultBasePort = 60000;
constexpr uint64_t kDefaultPortCount = 32;
constexpr uint64_t kMaxPort = 65535;
constexpr char kPortRange[] = "HCCL_HOST_SOCKET_PORT_RANGE";
constexpr char kBasePort[] = "HCCL_IF_BASE_PORT";

PortSet PortsFrom(uint64_t base, uint64_t count) {
  PortSet ports;
  ports.Add(std::min(base, kMaxPort), std::min(base + count - 1, kMaxPort));
  return ports;
}

uint64_t BaseOf(const ClusterSpec& spec) {
  return spec.hccl().base_port() == 0 ? kDefaultBasePort
                                      : spec.hccl().base_port();
}

bool IsLegal(const EnvironmentVariable& variable) {
  return !variable.carriage_return() &&
         FindJobVariable(variable.name())->is_legal(variable.value());
}

// The variable in force; nullptr: none, or one that HCCL refuses.
const EnvironmentVariable* Legal(const EnvironmentVariable* variable) {
  const bool holds =
      variable != nullptr && IsSure(*variable) && IsLegal(*variable);
  return holds ? variable : nullptr;
}

// HCOMM reads the range of host ports only on A2, A3 and 950
// (ParseHostSocketPortRange).
bool TakesPortRange(const ClusterSpec& spec) {
  const auto profile = FindProductProfile(spec.product(), spec.mode());
  return !profile.ok() ||
         ((*profile)->npu_series != "A1" && (*profile)->name != "atlas-300t");
}

struct PortCount {
  uint64_t certain = 0;
  uint64_t possible = 0;
  bool is_known = true;
};

PortCount CountOn(const HcclSpec& hccl, const HostFacts& host, bool is_pinned) {
  const uint64_t count = hccl.port_count();
  if (!hccl.port_count_auto()) {
    const uint64_t given = count == 0 ? kDefaultPortCount : count;
    return {given, given};
  }
  // An unknown fact has an empty value.
  CannPorts ports =
      CannPortsOf(hccl.cann().empty() ? host.versions().cann().value()
                                      : hccl.cann())
          .value_or(CannPorts());
  // Containers of the host may have a newer one.
  if (hccl.cann().empty()) ports.possible = CannPorts().possible;
  return {is_pinned ? ports.certain : CannPorts().certain, ports.possible,
          ports.certain == ports.possible};
}

bool IsOf(const JobSpec* job, const EnvironmentVariable* variable) {
  if (job == nullptr) return false;
  for (const EnvironmentVariable& each : job->environment()) {
    if (&each == variable) return true;
  }
  return false;
}

// The need by HCCL_HOST_SOCKET_PORT_RANGE, from which HCCL takes a free port.
HcclPortNeed NeedOfRange(const EnvironmentVariable& range, const JobSpec* job) {
  HcclPortNeed need;
  need.is_any = range.value() == "auto";
  if (!need.is_any) need.possible = *PortSet::Parse(range.value());
  need.certain = need.possible;
  need.source = &range;
  need.is_of_job = IsOf(job, &range);
  return need;
}

}  // namespace

std::optional<CannPorts> CannPortsOf(absl::string_view version) {
  static const LazyRE2 kForm = {R"((\d{1,4})\.(\d{1,4})(?:\.[A-Za-z0-9]+)*)"};
  std::pair<uint32_t, uint32_t> number;
  if (!HasForm(version, *kForm, &number.first, &number.second)) return {};
  CannPorts ports;
  if (number < std::make_pair(8u, 1u)) ports.possible = ports.certain;
  if (number > std::make_pair(8u, 1u)) ports.certain = ports.possible;
  return ports;
}

PortSet HcclPorts(const ClusterSpec& spec) {
  const uint64_t count = spec.hccl().port_count();
  return PortsFrom(BaseOf(spec), count == 0 ? kDefaultPortCount : count);
}

PortSet JobPorts(const ClusterSpec& spec) {
  PortSet ports = HcclPorts(spec);
  for (const uint32_t port : {spec.rendezvous_port(), spec.ssh_port()}) {
    if (port != 0 && port <= kMaxPort) ports.Add(port, port);
  }
  ports.Add(ServicePortsOf(spec));
  return ports;
}

PortSet ServicePortsOf(const ClusterSpec& spec) {
  PortSet ports;
  for (const auto& each : spec.ports()) ports.Add(each.first(), each.last());
  return ports;
}

HcclPortNeed HcclPortsOn(const ClusterSpec& spec, const HostFacts& host,
                         const JobSpec* job) {
  const EnvironmentVariable* const range =
      TakesPortRange(spec) ? FindVariable(host, job, kPortRange) : nullptr;
  if (Legal(range) != nullptr) return NeedOfRange(*range, job);
  HcclPortNeed need;
  if (range != nullptr && !IsSure(*range)) need.unclear = range;

  const EnvironmentVariable* const found = FindVariable(host, job, kBasePort);
  const EnvironmentVariable* const base = Legal(found);
  if (found != nullptr && !IsSure(*found)) need.unclear = found;
  const bool spec_pins = !spec.hccl().base_port_auto();
  need.is_pinned = base != nullptr || spec_pins;
  const PortCount count = CountOn(spec.hccl(), host, need.is_pinned);
  need.cann_is_known = count.is_known;
  const auto add = [&](uint64_t first) {
    need.certain.Add(PortsFrom(first, count.certain));
    need.possible.Add(PortsFrom(first, count.possible));
  };
  uint64_t first = BaseOf(spec);
  if (base != nullptr && absl::SimpleAtoi(base->value(), &first)) {
    add(first);
    if (first != BaseOf(spec)) {
      need.source = base;
      need.is_of_job = IsOf(job, base);
    }
  }
  // A launch by the spec exports its base port, whatever a login has.
  if (base == nullptr || (spec_pins && !IsOf(job, base))) add(BaseOf(spec));
  return need;
}

HcclPortNeed JobPortsOn(const ClusterSpec& spec, const HostFacts& host,
                        const JobSpec* job) {
  HcclPortNeed need = HcclPortsOn(spec, host, job);
  const PortSet others = JobPorts(spec).Minus(HcclPorts(spec));
  need.certain.Add(others);
  need.possible.Add(others);
  return need;
}

PortSet PortsOfLogins(const EnvironmentFact::Variables& variables) {
  PortSet ports;
  for (const EnvironmentVariable& each : variables.variables()) {
    uint64_t base = 0;
    const bool is_base = each.name() == kBasePort;
    if ((is_base || each.name() == "MASTER_PORT") && IsLegal(each) &&
        absl::SimpleAtoi(each.value(), &base)) {
      ports.Add(PortsFrom(base, is_base ? kDefaultPortCount : 1));
    } else if (each.name() == kPortRange && IsLegal(each) &&
               each.value() != "auto") {
      ports.Add(*PortSet::Parse(each.value()));
    }
  }
  return ports;
}

PortSet HandedOut(const PortSet& ports, const HostFacts& host) {
  const auto range = PortSet::Parse(host.kernel().local_port_range().value());
  if (!range.ok() || range->empty()) return ports;
  return ports.Minus(ports.Minus(*range));
}

}  // namespace clusterd
