// The devices of each host and their ports: is the tool there, are the devices,
// do link, health probe and LLDP say that a switch answers.
#include <algorithm>

#include "absl/strings/str_cat.h"
#include "config/rules/cluster_view.h"
#include "config/rules/rule_report.h"
#include "config/values/number_list.h"

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
    report.Add(device,
               FindingText(UNKNOWN, "no answer: ", WhyMissing(device.silence))
                   .Fix(HowToLearn(device.silence)));
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
  return PrintableText(FoldIds(ids));
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
    absl::StrAppend(&observed, " in ", PrintableText(fact.source()));
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
             FindingText(FAIL, observed)
                 .Expected("devices ", FoldIds(expected))
                 .Fix(fix));
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
     "address again and ask",
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
     "circle, or the detect address is much further away than planned. Links "
     "to other servers are no better: EI0006.",
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
  if (device.detect_address.IsUnset()) {
    return FindingText(FAIL, "Init (code 6): no detect address is configured")
        .Expected("Success")
        .Why(
            "Not configured is not broken: the device probes nothing because "
            "it has no detect address. But then nobody knows whether its port "
            "works, and links that fail show only in training: EI0006.")
        .CommandOr(
            SetPlanned(kDetectAddress, device),
            "set a detect address, usually the gateway of its own subnet")
        .CausedBy("detect-address");
  }
  return FindingText(FAIL,
                     device.detect_address.IsSet()
                         ? "Init (code 6) although a detect address is set"
                         : "Init (code 6), and the detect address is not known")
      .Expected("Success")
      .Why(
          "The device has not probed yet. Usually no detect address is "
          "configured; without a probe nobody knows whether the port works.")
      .Fix("set the detect address again and ask once more")
      .DeviceCommand("-netdetect -g");
}

// REQUIRES: the state is known and not Success.
FindingText HealthFinding(const DeviceView& device) {
  const NetHealth health = *device.net_health;
  if (health == NET_HEALTH_INIT) return InitText(device);
  if (health == NET_HEALTH_DETECT_IP_SET) {
    return FindingText(UNKNOWN,
                       "Detect ip set (code 8), also when asked again: the "
                       "device has no result yet")
        .Expected("Success")
        .Why(
            "The detect address was set a moment ago and the first probe has "
            "not ended, so nothing is known about the port yet.")
        .Fix("wait a little and check again");
  }
  for (const HealthText& known : kHealthTexts) {
    if (known.health != health) continue;
    return FindingText(FAIL, known.observed)
        .Expected("Success")
        .Why(known.why)
        .Fix(known.fix)
        .DeviceCommand(known.device_command);
  }
  return FindingText(UNKNOWN, "health code ", static_cast<int>(health),
                     ", not understood")
      .Expected("Success")
      .Fix("bring the controller to clusterd's version on the host");
}

}  // namespace

// Unknown, never fail: what the tool would have told is not known.
void CheckHccnTool(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const NpuToolFacts& tool = host.facts->hccn_tool();
    if (!report.Knows(host, "hccn_tool", tool.path())) continue;
    if (host.tool_silence != nullptr) {
      report.Add(host, FindingText(UNKNOWN, PrintableText(tool.path().value()),
                                   " answered no query: ",
                                   WhyMissing(host.tool_silence))
                           .Fix(HowToLearn(host.tool_silence)));
    } else if (!host.tool_usable) {
      report.Add(
          host,
          FindingText(UNKNOWN, PrintableText(tool.path().value()),
                      " is of the wrong generation: it has ",
                      GenerationText(tool.generation()))
              .Expected(GenerationText(view.profile().generation), " of ",
                        view.profile().title)
              .Fix("correct product in cluster.yaml, or install the driver of "
                   "this product"));
    } else {
      CheckToolAnswers(host, report);
    }
  }
}

// Against the spec's devices of the host, or the product's ids where it lists
// none. Skipped if neither says anything.
void CheckDeviceCount(const ClusterView& view, RuleReport& report) {
  bool any_expected = false;
  for (const HostView& host : view.hosts()) {
    const std::vector<uint32_t> expected = ExpectedIds(view, host);
    if (expected.empty()) continue;
    any_expected = true;
    if (!report.Knows(host, "device ids", host.facts->device_ids())) continue;
    report.Judged(host);
    CompareIds(host, expected, report);
  }
  if (!any_expected && !view.hosts().empty()) {
    report.ExplainSkip("neither the product nor the spec says which devices");
  }
}

void CheckLink(const ClusterView&, RuleReport& report) {
  report.ForEachKnown("link", &DeviceView::link, [&](const DeviceView& device) {
    report.Judged(device);
    if (*device.link == LinkFact::UP) return;
    report.Add(device, FindingText(FAIL, "link is DOWN")
                           .Expected("link is UP")
                           .Fix("check cable, optical module and switch "
                                "port (a split 400GE port needs its split "
                                "type), then see how often it fell")
                           .DeviceCommand("-link_stat -g"));
  });
}

// Success passes; everything else fails with its own explanation, but for
// "Detect ip set": that is a result still to come, so it is unknown.
void CheckNetHealth(const ClusterView&, RuleReport& report) {
  report.ForEachKnown("net health", &DeviceView::net_health,
                      [&](const DeviceView& device) {
                        if (*device.net_health == NET_HEALTH_SUCCESS) {
                          report.Judged(device);
                          return;
                        }
                        FindingText text = HealthFinding(device);
                        if (text.state == FAIL) report.Judged(device);
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
      report.AddSkipped(device, "the link is DOWN", "link");
      return;
    }
    const bool known =
        report.Knows(device, "LLDP neighbour", device.neighbour_heard) &&
        (heard ||
         report.Knows(device, "no LLDP neighbour is heard, and the link is",
                      device.link));
    if (!known) return;
    report.Judged(device);
    if (heard) return;
    report.Add(device,
               FindingText(FAIL, "no LLDP neighbour although the link is UP")
                   .Expected("a neighbour is heard")
                   .Fix("turn LLDP on at the switch port and check where "
                        "the cable ends, then ask")
                   .DeviceCommand("-lldp -g"));
  });
}

}  // namespace clusterd
