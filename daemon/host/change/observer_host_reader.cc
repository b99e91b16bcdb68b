#include "daemon/host/change/observer_host_reader.h"

#include <utility>

#include "daemon/host/device_observer.h"
#include "daemon/host/file_reader.h"
#include "daemon/host/firewall_observer.h"
#include "daemon/host/hccn_tool.h"
#include "daemon/host/identity_observer.h"

namespace clusterd {

ObserverHostReader::ObserverHostReader(HostObserver* observer,
                                       DeviceTurns* turns, HostPaths paths,
                                       CommandRunner* runner, Clock* clock,
                                       ReaderDeadlines deadlines)
    : observer_(observer),
      turns_(turns),
      paths_(std::move(paths)),
      runner_(runner),
      clock_(clock),
      deadlines_(deadlines) {}

TimeBudget ObserverHostReader::NewBudget() const {
  return TimeBudget(clock_, deadlines_.command, deadlines_.host);
}

HostFacts ObserverHostReader::ReadHost() {
  ObserveRequest request;
  request.set_command_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(deadlines_.command)));
  request.set_host_ms(
      static_cast<uint32_t>(absl::ToInt64Milliseconds(deadlines_.host)));
  request.set_generation(NpuToolFacts::CLASSIC);
  request.set_ask_tls(true);
  HostFacts facts = observer_->Observe("", request);
  const NpuToolFacts::Generation found = facts.hccn_tool().generation();
  if (found != NpuToolFacts::ASCEND_950) return facts;
  request.set_generation(found);
  return observer_->Observe("", request);
}

DeviceFacts ObserverHostReader::ReadDevice(uint32_t device) {
  const TimeBudget budget = NewBudget();
  HccnSession session(LocateHccnTool(paths_), NpuToolFacts::CLASSIC, device,
                      runner_, clock_, &budget, turns_);
  // With the turn: nothing of ours rewrites the file in between.
  const HccnConfFact conf = ReadHccnConf(FileReader(paths_.root));
  return ObserveDeviceSettings(device, conf, &session);
}

FirewallFacts ObserverHostReader::ReadFirewall(FirewallProgram program) {
  const TimeBudget budget = NewBudget();
  return program == UFW ? ReadUfw(paths_, runner_, budget)
                        : ReadFirewalld(paths_, runner_, budget);
}

}  // namespace clusterd
