#include "config/plan/tls_steps.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/plan/device_steps.h"
#include "config/plan/named_facts.h"

namespace clusterd {
namespace {

std::string Word(bool enabled) { return enabled ? "on" : "off"; }

void PlanDevice(const ClusterSpec& spec, uint32_t id, HostPlanBuilder* plan) {
  const bool wanted = spec.tls();
  const DeviceFacts* facts = plan->FindDevice(id);
  const std::string what = absl::StrCat("TLS switch ", Word(wanted));
  if (facts == nullptr || facts->tls().state_case() != TlsFact::kValue) {
    const std::string why =
        facts == nullptr ? "the host sent nothing about this device"
                         : absl::StrCat("its switch is not known: ",
                                        MissingText(facts->tls().missing()));
    plan->Block(CHANGE_TLS, {id}, what, why,
                spec.allow_tls_query()
                    ? "remove what the reason names, or set the switch by "
                      "hand, then plan again"
                    : "set allow_tls_query: true in the spec, or set the "
                      "switch by hand, then plan again");
    return;
  }
  const std::vector<std::string> rests_on = {
      DeviceFactName(id, "tls"), HccnConfFactName("tls_enable", id)};
  const std::string in_file = plan->ConfValue("tls_enable", id);
  const std::string live = wanted ? "1" : "0";
  if (facts->tls().value().enabled() == wanted) {
    if (in_file == live) return;
    PlanStep* step = plan->AddStep(CHANGE_HCCN_CONF, rests_on);
    HccnConfRewriteChange* rewrite = step->mutable_hccn_conf_rewrite();
    rewrite->set_device(id);
    rewrite->set_setting(HccnConfRewriteChange::TLS);
    rewrite->set_in_file(in_file);
    rewrite->set_live(live);
    step->set_precondition(
        absl::StrCat("device ", id, " has TLS ", Word(wanted)));
    step->set_undo("hccn.conf byte for byte");
    return;
  }
  PlanStep* step = plan->AddStep(CHANGE_TLS, rests_on);
  step->mutable_tls()->set_device(id);
  step->mutable_tls()->set_from(!wanted);
  step->mutable_tls()->set_to(wanted);
  step->set_precondition(absl::StrCat("device ", id, " has TLS ", Word(!wanted),
                                      " and no process uses it"));
  step->set_undo(absl::StrCat("switch TLS ", Word(!wanted),
                              " again; hccn.conf byte for byte"));
}

}  // namespace

void PlanTlsSteps(const ClusterSpec& spec, const ServerSpec& server,
                  HostPlanBuilder* plan) {
  if (!spec.has_tls() || server.devices().empty()) return;
  const std::string why = WhyNoSetCommands(plan->facts());
  if (!why.empty()) {
    std::vector<uint32_t> ids;
    for (const DeviceSpec& device : server.devices()) {
      ids.push_back(device.id());
    }
    plan->Block(CHANGE_TLS, ids, absl::StrCat("TLS switch ", Word(spec.tls())),
                why, "repair that by hand, then plan again");
    return;
  }
  for (const DeviceSpec& device : server.devices()) {
    PlanDevice(spec, device.id(), plan);
  }
}

}  // namespace clusterd
