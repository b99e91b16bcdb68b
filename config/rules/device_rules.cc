#include "config/rules/device_rules.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

absl::string_view GenerationText(NpuToolFacts::Generation generation) {
  switch (generation) {
    case NpuToolFacts::CLASSIC:
      return "the classic command line (hccn_tool -i N -ip -g)";
    case NpuToolFacts::ASCEND_950:
      return "the Ascend 950 command line (hccn_tool -g -ip -i N -d "
             "bond<slot>)";
    default:
      return "a command line that is not known";
  }
}

void CheckToolAnswers(const HostView& host, RuleReport& report) {
  bool answered = true;
  for (const DeviceView& device : host.devices) {
    if (device.silence == nullptr) continue;
    answered = false;
    report.Add(
        host, device.id,
        {UNKNOWN, absl::StrCat("no answer: ", WhyMissing(device.silence)), "",
         HowToLearn(device.silence)});
  }
  if (answered) report.Judged(host);
}

// The ids that the host should have; empty: nobody says.
std::vector<uint32_t> ExpectedIds(const ClusterView& view,
                                  const HostView& host) {
  if (host.spec == nullptr || host.spec->devices().empty()) {
    return view.profile().device_ids;
  }
  std::vector<uint32_t> ids;
  ids.reserve(host.spec->devices_size());
  for (const DeviceSpec& device : host.spec->devices()) {
    ids.push_back(device.id());
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

// Cut, since a broken host can send ids without end.
std::string ShortIds(absl::Span<const uint32_t> ids) {
  return Printable(FoldIds(ids));
}

void CompareIds(const HostView& host, const std::vector<uint32_t>& expected,
                RuleReport& report) {
  const DeviceIdsFact::Ids& fact = host.facts->device_ids().value();
  if (std::equal(fact.ids().begin(), fact.ids().end(), expected.begin(),
                 expected.end())) {
    return;
  }
  std::vector<uint32_t> found(fact.ids().begin(), fact.ids().end());
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  if (found == expected) return;
  std::vector<uint32_t> lacking;
  std::set_difference(expected.begin(), expected.end(), found.begin(),
                      found.end(), std::back_inserter(lacking));
  std::vector<uint32_t> extra;
  std::set_difference(found.begin(), found.end(), expected.begin(),
                      expected.end(), std::back_inserter(extra));
  std::string observed = absl::StrCat("devices ", ShortIds(found), " found");
  if (!fact.source().empty()) {
    absl::StrAppend(&observed, " in ", Printable(fact.source()));
  }
  std::string fix;
  if (!lacking.empty()) {
    absl::StrAppend(&observed, ", lacks ", ShortIds(lacking));
    fix =
        "look for the devices that are lacking: npu-smi info && ls "
        "/dev/davinci*; in a container mount their nodes";
  }
  if (!extra.empty()) {
    absl::StrAppend(&observed, ", more than expected: ", ShortIds(extra));
    absl::StrAppend(&fix, fix.empty() ? "" : "; ",
                    "if the server is built so, list devices ", ShortIds(found),
                    " for it in cluster.yaml");
  }
  std::vector<uint32_t> differing = lacking;
  differing.insert(differing.end(), extra.begin(), extra.end());
  if (differing.size() > kMaxDevicesOfHost) {
    differing.resize(kMaxDevicesOfHost);
  }
  report.Add(host, differing,
             {FAIL, std::move(observed),
              absl::StrCat("devices ", FoldIds(expected)), std::move(fix)});
}

// What one code of the health table means.
struct HealthText {
  NetHealth health;
  const char* observed;
  const char* why;
  const char* fix;
  const char* device_command;
};

constexpr HealthText kHealthTexts[] = {
    {NET_HEALTH_SOCKET_FAIL, "Socket fail (code 1)",
     "The device could not open the socket that it probes with, so nothing was "
     "sent; HCCL's sockets on the device are likely to fail too (EI0006).",
     "look at the device's state with npu-smi info, then set the detect "
     "address "
     "again and ask",
     "-net_health -g"},
    {NET_HEALTH_RECEIVE_TIMEOUT, "Receive timeout (code 2)",
     "The probe left and no answer came. The detect address is down or lies in "
     "a reserved range, or a DSCP-to-TC setting above the configured maximum "
     "disturbs the probe. Links to other servers will not come up either: "
     "EI0006.",
     "check that the detect address answers others, then whether the switch "
     "port is in the right VLAN",
     "-netdetect -g"},
    {NET_HEALTH_UNREACHABLE, "Unreachable (code 3)",
     "There is no way from the device to its detect address: the subnet, the "
     "netmask or the gateway is wrong. Links to other servers fail alike: "
     "EI0006.",
     "compare address, netmask and gateway with the spec", "-route -g"},
    {NET_HEALTH_TIME_EXCEEDED, "Time exceeded (code 4)",
     "The probe ran out of hops before it arrived: routers send it in a "
     "circle, "
     "or the detect address is much further away than planned. Links to other "
     "servers are no better: EI0006.",
     "use the gateway of the device's own subnet as detect address, and look "
     "for a routing loop",
     "-netdetect -g"},
    {NET_HEALTH_FAULT, "Fault (code 5)",
     "The device reports a fault of its network port; training over it fails "
     "with EI0009, transport init error.",
     "look at link and optical module", "-optical -g"},
    {NET_HEALTH_THREAD_ERROR, "Thread error (code 7)",
     "The device's own detection does not run, so nothing is known about its "
     "network and no later fault will be noticed.",
     "set the detect address again; if it stays, look at the device with "
     "npu-smi info and reset it",
     "-net_health -g"},
    {NET_HEALTH_UNKNOWN, "Unknown (a code outside the table)",
     "The device answers with a state that the tool has no name for. It is not "
     "Success, so its network is not proven.",
     "bring driver and firmware to the version of the other hosts, then ask",
     "-net_health -g"},
};

FindingText InitText(const DeviceView& device) {
  FindingText text;
  text.expected = "Success";
  text.device_command = "-netdetect -g";
  if (device.detect_known == Known::kUnset) {
    text.observed = "Init (code 6): no detect address is configured";
    text.why =
        "Not configured is not broken: the device probes nothing because it "
        "has "
        "no detect address. But then nobody knows whether its port works, and "
        "links that fail show only in training: EI0006.";
    text.fix = "set a detect address, usually the gateway of its own subnet";
    text.device_command.clear();
    if (device.spec != nullptr && !device.spec->detect_address().empty()) {
      text.fix.clear();
      text.device_command =
          absl::StrCat("-netdetect -s address ", device.spec->detect_address());
    }
    text.caused_by = "detect-address";
    return text;
  }
  text.why =
      "The device has not probed yet. Usually no detect address is configured; "
      "without a probe nobody knows whether the port works.";
  text.observed = device.detect_known == Known::kYes
                      ? "Init (code 6) although a detect address is set"
                      : "Init (code 6), and the detect address is not known";
  text.fix = "set the detect address again and ask once more";
  return text;
}

FindingText HealthFinding(const DeviceView& device) {
  const int health = device.net_health;
  if (health == NET_HEALTH_INIT) return InitText(device);
  if (health == NET_HEALTH_DETECT_IP_SET) {
    FindingText text{UNKNOWN,
                     "Detect ip set (code 8), also when asked again: the "
                     "device has no result yet",
                     "Success", "wait a little and check again"};
    text.why =
        "The detect address was set a moment ago and the first probe has not "
        "ended, so nothing is known about the port yet.";
    return text;
  }
  for (const HealthText& known : kHealthTexts) {
    if (known.health != health) continue;
    FindingText text{FAIL, known.observed, "Success", known.fix,
                     known.device_command};
    text.why = known.why;
    return text;
  }
  return {UNKNOWN, absl::StrCat("health code ", health, ", not understood"),
          "Success", "bring the controller to clusterd's version on the host"};
}

}  // namespace

void CheckHccnTool(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const NpuToolFacts& tool = host.facts->hccn_tool();
    if (!IsKnown(tool.path())) {
      report.AddUnknown(host, "hccn_tool", tool.path());
    } else if (host.tool_silence != nullptr) {
      report.Add(
          host,
          {UNKNOWN,
           absl::StrCat(Printable(tool.path().value()),
                        " answered no query: ", WhyMissing(host.tool_silence)),
           "", HowToLearn(host.tool_silence)});
    } else if (!host.tool_usable) {
      report.Add(host, {UNKNOWN,
                        absl::StrCat(Printable(tool.path().value()),
                                     " is of the wrong generation: it has ",
                                     GenerationText(tool.generation())),
                        absl::StrCat(GenerationText(view.profile().generation),
                                     " of ", view.profile().title),
                        "correct product in cluster.yaml, or install the "
                        "driver of this product"});
    } else {
      CheckToolAnswers(host, report);
    }
  }
}

void CheckDeviceCount(const ClusterView& view, RuleReport& report) {
  bool any_expected = false;
  for (const HostView& host : view.hosts()) {
    const std::vector<uint32_t> expected = ExpectedIds(view, host);
    if (expected.empty()) continue;
    any_expected = true;
    if (!IsKnown(host.facts->device_ids())) {
      report.AddUnknown(host, "device ids", host.facts->device_ids());
      continue;
    }
    report.Judged(host);
    CompareIds(host, expected, report);
  }
  if (!any_expected && !view.hosts().empty()) {
    report.ExplainSkip("neither the product nor the spec says which devices");
  }
}

void CheckLink(const ClusterView& view, RuleReport& report) {
  ForEachDevice(
      view, report, [&](const HostView& host, const DeviceView& device) {
        if (device.link == LinkFact::LINK_UNSPECIFIED) {
          report.AddUnknown(host, device, "link", device.facts->link());
          return;
        }
        report.Judged(host, 1);
        if (device.link == LinkFact::UP) return;
        report.Add(host, device.id,
                   {FAIL, "link is DOWN", "link is UP",
                    "check cable, optical module and switch port (a split "
                    "400GE port needs its split type), then see how often it "
                    "fell",
                    "-link_stat -g"});
      });
}

void CheckNetHealth(const ClusterView& view, RuleReport& report) {
  ForEachDevice(view, report,
                [&](const HostView& host, const DeviceView& device) {
                  if (device.net_health == NET_HEALTH_UNSPECIFIED) {
                    report.AddUnknown(host, device, "net health",
                                      device.facts->net_health());
                    return;
                  }
                  if (device.net_health == NET_HEALTH_SUCCESS) {
                    report.Judged(host, 1);
                    return;
                  }
                  FindingText text = HealthFinding(device);
                  if (text.state == FAIL) report.Judged(host, 1);
                  report.Add(host, device.id, std::move(text));
                });
}

void CheckLldp(const ClusterView& view, RuleReport& report) {
  ForEachDevice(
      view, report, [&](const HostView& host, const DeviceView& device) {
        const bool heard = device.lldp_heard == 2;
        if (heard) {
          report.Judged(host, 1);
        } else if (device.link == LinkFact::DOWN) {
          report.AddSkipped(host, device, "the link is DOWN", "link");
        } else if (device.lldp_heard == 0) {
          report.AddUnknown(host, device, "LLDP neighbour",
                            device.facts->lldp());
        } else if (device.link == LinkFact::UP) {
          report.Judged(host, 1);
          report.Add(host, device.id,
                     {FAIL, "no LLDP neighbour although the link is UP",
                      "a neighbour is heard",
                      "turn LLDP on at the switch port and check where the "
                      "cable ends, then ask",
                      "-lldp -g"});
        } else {
          report.AddUnknown(host, device,
                            "no LLDP neighbour is heard, and the link is",
                            device.facts->link());
        }
      });
}

}  // namespace clusterd
