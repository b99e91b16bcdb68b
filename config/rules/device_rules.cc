// Rules about the devices of each host and their ports: the tool, the devices,
// and whether link, health probe and LLDP show an answering switch.
#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/rules/view/cluster_view.h"
#include "config/values/number_list.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

FindingValue CommandLineOf(NpuToolFacts::Generation generation) {
  return Worded(generation == NpuToolFacts::CLASSIC ? "classic-command-line"
                : generation == NpuToolFacts::ASCEND_950
                    ? "ascend-950-command-line"
                    : "unknown-command-line");
}

void CheckToolAnswers(const HostView& host, RuleReport& report) {
  bool answered = true;
  for (const DeviceView& device : host.devices) {
    // Rule device-count reports a dead device.
    if (device.silence == nullptr || device.dead) continue;
    answered = false;
    const bool readable = device.silence->reason() != Missing::UNREADABLE;
    report.Add(device, readable ? "no-answer" : "not-readable",
               MissingWords(device.silence), LearnWords(device.silence));
  }
  if (answered) report.Judged(host);
}

// The expected ids of the host; empty: not known.
std::vector<uint32_t> ExpectedIds(const ClusterView& view,
                                  const HostView& host) {
  if (host.spec == nullptr || host.spec->devices().empty()) {
    return view.profile().device_ids;
  }
  auto ids = Each<uint32_t>(host.spec->devices(), &DeviceSpec::id);
  absl::c_sort(ids);
  return ids;
}

// Cut, since a broken host can send ids without end.
std::string ShortIds(absl::Span<const uint32_t> ids) {
  return PrintableText(FoldIds(ids));
}

// A dead device fails only if it is expected.
void AddDeadDevices(const HostView& host, const std::vector<uint32_t>& expected,
                    RuleReport& report) {
  for (const DeviceView& device : host.devices) {
    if (!device.dead) continue;
    NamedFinding text = report.Named("dead", MissingWords(device.silence),
                                     LearnWords(device.silence));
    if (!absl::c_linear_search(expected, device.id)) text.state = UNKNOWN;
    report.Add(device, std::move(text));
  }
}

void CompareIds(const ClusterView& view, const HostView& host,
                const std::vector<uint32_t>& expected, RuleReport& report) {
  // Every id that a server of the product may have; empty: any.
  const std::vector<uint32_t>& known = view.profile().device_ids;
  const DeviceIdsFact::Ids& fact = host.facts->device_ids().value();
  if (absl::c_equal(fact.ids(), expected)) return;
  std::vector<uint32_t> found(fact.ids().begin(), fact.ids().end());
  absl::c_sort(found);
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found == expected) return;
  std::vector<uint32_t> lacking;
  absl::c_set_difference(expected, found, std::back_inserter(lacking));
  // The spec may leave devices of the product out. An id that no server of the
  // product has is a sign of another product.
  std::vector<uint32_t> extra;
  if (!known.empty()) {
    absl::c_set_difference(found, known, std::back_inserter(extra));
  }
  if (lacking.empty() && extra.empty()) return;
  std::vector<uint32_t> differing = lacking;
  differing.insert(differing.end(), extra.begin(), extra.end());
  differing.resize(std::min(differing.size(), kMaxDevicesOfHost));
  const FindingValue mistaken = NpuIdsTakenForDevices(view, host);
  const absl::string_view name = !mistaken.words().empty() ? "npu-ids"
                                 : extra.empty()           ? "missing"
                                 : lacking.empty()         ? "extra"
                                                           : "others";
  const FindingValue source =
      fact.source().empty() ? FindingValue()
                            : Worded("in-source", PrintableText(fact.source()));
  report.Add(host, differing,
             report.Named(name, ShortIds(found), source, FoldIds(expected),
                          ShortIds(lacking), ShortIds(extra), mistaken));
}

// REQUIRES: the state is known and not Success.
NamedFinding HealthFinding(const DeviceView& device, const RuleReport& report) {
  const NetHealth health = *device.net_health;
  if (health != NET_HEALTH_INIT || device.detect_address.IsSet()) {
    return report.Named(
        FindingName(absl::StripPrefix(NetHealth_Name(health), "NET_HEALTH_")));
  }
  if (!device.detect_address.IsUnset()) {
    return report.Named("init-detect-address-not-known");
  }
  NamedFinding text = report.Named("init-without-detect-address",
                                   SetPlanned(kDetectAddress, device));
  if (!device.planned_detect) text.state = WARN;
  return text;
}

}  // namespace

FindingValue NpuIdsTakenForDevices(const ClusterView& view,
                                   const HostView& host) {
  using Ids = std::set<uint32_t>;
  const DeviceIdsFact::Ids& fact = host.facts->device_ids().value();
  const Ids cards(fact.npu_ids().begin(), fact.npu_ids().end());
  const Ids there(fact.ids().begin(), fact.ids().end());
  const auto& known = view.profile().device_ids;
  const Ids numbers = known.empty() ? there : Ids(known.begin(), known.end());
  const ServerSpec& server =
      host.spec != nullptr ? *host.spec : ServerSpec::default_instance();
  const auto listed = Each<uint32_t>(server.devices(), &DeviceSpec::id);
  const Ids planned(listed.begin(), listed.end());
  for (const auto& [words, ids] : {std::pair("npu-ids-planned", &planned),
                                   std::pair("npu-ids-found", &there)}) {
    // Ids that may be device numbers are taken for those.
    if (!absl::c_includes(cards, *ids) || absl::c_includes(numbers, *ids)) {
      continue;
    }
    return Worded(words,
                  ShortIds(std::vector<uint32_t>(ids->begin(), ids->end())));
  }
  return FindingValue();
}

// Unknown, never fail, also for a tool that prints nothing or rubbish: its
// answers are not known, and the devices may be in order.
void CheckHccnTool(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const NpuToolFacts& tool = host.facts->hccn_tool();
    if (!report.Knows(host, "hccn_tool", tool.path())) continue;
    if (host.tool_silence != nullptr) {
      report.Add(host, "silent", PrintableText(tool.path().value()),
                 MissingWords(host.tool_silence),
                 LearnWords(host.tool_silence));
    } else if (!host.tool_usable) {
      report.Add(host, "other-generation", PrintableText(tool.path().value()),
                 CommandLineOf(tool.generation()),
                 CommandLineOf(view.profile().generation),
                 Term(view.profile().title));
    } else {
      CheckToolAnswers(host, report);
    }
  }
}

// Compares with the spec's devices of the host, or the product's ids if it
// lists none. Skipped if neither gives ids and no device is dead.
void CheckDeviceCount(const ClusterView& view, RuleReport& report) {
  bool any_expected = false;
  for (const HostView& host : view.hosts()) {
    const std::vector<uint32_t> expected = ExpectedIds(view, host);
    AddDeadDevices(host, expected, report);
    if (expected.empty()) continue;
    any_expected = true;
    if (!report.Knows(host, "device ids", host.facts->device_ids())) continue;
    report.Judged(host);
    CompareIds(view, host, expected, report);
  }
  if (!any_expected && !view.hosts().empty()) {
    report.SkipFor("no-devices-expected");
  }
}

void CheckLink(const ClusterView&, RuleReport& report) {
  report.ForEachKnown("link", &DeviceView::link, [&](const DeviceView& device) {
    report.Judged(device);
    if (*device.link == LinkFact::UP) return;
    report.Add(device, "down");
  });
}

// Success passes; every other result fails with its own explanation, with two
// exceptions. "Detect ip set" is a result still to come. Init without a detect
// address is not a broken port: a warning if the spec names none, and unknown
// if the address is not known.
void CheckNetHealth(const ClusterView&, RuleReport& report) {
  report.ForEachKnown("net health", &DeviceView::net_health,
                      [&](const DeviceView& device) {
                        if (*device.net_health == NET_HEALTH_SUCCESS) {
                          return report.Judged(device);
                        }
                        NamedFinding text = HealthFinding(device, report);
                        if (text.state != UNKNOWN) report.Judged(device);
                        report.Add(device, std::move(text));
                      });
}

// | link     | neighbour heard | not heard | not known |
// |----------|-----------------|-----------|-----------|
// | up       | pass            | fail      | unknown   |
// | down     | pass            | skipped   | skipped   |
// | unknown  | pass            | unknown   | unknown   |
void CheckLldp(const ClusterView&, RuleReport& report) {
  report.ForEachDevice([&](const DeviceView& device) {
    const bool heard = device.neighbour_heard.value_or(false);
    if (!heard && device.link == LinkFact::DOWN) {
      return report.AddSkipped(device, "the link is DOWN", "link");
    }
    const bool known =
        report.Knows(device, "LLDP neighbour", device.neighbour_heard) &&
        (heard ||
         report.Knows(device, "link without an LLDP neighbour", device.link));
    if (!known) return;
    report.Judged(device);
    if (heard) return;
    report.Add(device, "not-heard");
  });
}

// The tool decides; not for a device that was not asked or has no certificate.
void CheckTlsCertificates(const ClusterView&, RuleReport& report) {
  report.ForEachDevice([&](const DeviceView& device) {
    if (!device.tls_enabled.has_value()) {
      return report.AddSkipped(device, "the TLS switch is not known",
                               "tls-uniform");
    }
    const bool on = *device.tls_enabled;
    std::map<absl::string_view, std::pair<std::string, std::string>> found;
    const auto& certificates = device.facts->tls().value().certificates();
    if (!certificates.empty()) report.Judged(device);
    for (const TlsCertificate& each : certificates) {
      const bool expired = each.status() == TlsCertificate::EXPIRED;
      const bool soon = each.status() == TlsCertificate::ENDS_SOON && on;
      if (!expired && !soon) continue;
      auto& [names, ends] = found[soon ? "ends-soon"
                                  : on ? "expired"
                                       : "expired-unused"];
      absl::StrAppend(&names, names.empty() ? "" : ", ",
                      PrintableText(each.name()));
      if (ends.empty()) ends = PrintableText(each.ends());
    }
    for (const auto& [finding, words] : found) {
      report.Add(device, finding, words.first, words.second);
    }
  });
}

}  // namespace clusterd
