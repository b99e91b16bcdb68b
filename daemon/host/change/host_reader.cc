#include "daemon/host/change/host_reader.h"

#include <utility>

#include "daemon/host/command/clock.h"
#include "daemon/host/device_observer.h"
#include "daemon/host/files/file_reader.h"
#include "daemon/host/firewall/firewall_observer.h"
#include "daemon/host/hccn/hccn_tool.h"
#include "daemon/host/identity_observer.h"

namespace clusterd {
namespace {

class ObserverHostReader final : public HostReader {
 public:
  ObserverHostReader(HostObserver* observer, DeviceLocks* locks,
                     HostPaths paths, CommandRunner* runner, Clock* clock,
                     ReaderDeadlines deadlines)
      : observer_(observer),
        locks_(locks),
        paths_(std::move(paths)),
        runner_(runner),
        clock_(clock),
        deadlines_(deadlines) {}

  HostFacts ReadHost() override {
    ObserveRequest request;
    request.set_command_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(deadlines_.command)));
    request.set_host_ms(
        static_cast<uint32_t>(absl::ToInt64Milliseconds(deadlines_.host)));
    request.set_generation(NpuToolFacts::CLASSIC);
    // A plan that sets the TLS switches rests on those of the devices.
    request.set_ask_tls(true);
    HostFacts facts = observer_->Observe("", request);
    const NpuToolFacts::Generation found = facts.hccn_tool().generation();
    if (found != NpuToolFacts::ASCEND_950) return facts;
    request.set_generation(found);
    return observer_->Observe("", request);
  }

  DeviceFacts ReadDevice(uint32_t device) override {
    const TimeBudget budget = NewBudget();
    HccnSession session(LocateHccnTool(paths_), NpuToolFacts::CLASSIC, device,
                        runner_, clock_, &budget, locks_);
    // With the lock: nothing of ours rewrites the file in between.
    const HccnConfFact conf = ReadHccnConf(FileReader(paths_.root));
    return ObserveDeviceSettings(device, conf, &session);
  }

  FirewallFacts ReadFirewall(FirewallProgram program) override {
    const TimeBudget budget = NewBudget();
    const HostAccess host{paths_, runner_, &budget};
    return program == UFW ? ReadUfw(host) : ReadFirewalld(host);
  }

 private:
  TimeBudget NewBudget() const {
    return TimeBudget(clock_, deadlines_.command, deadlines_.host);
  }

  HostObserver* const observer_;
  DeviceLocks* const locks_;
  const HostPaths paths_;
  CommandRunner* const runner_;
  Clock* const clock_;
  const ReaderDeadlines deadlines_;
};

}  // namespace

std::unique_ptr<HostReader> MakeHostReader(HostObserver* observer,
                                           DeviceLocks* locks, HostPaths paths,
                                           CommandRunner* runner, Clock* clock,
                                           ReaderDeadlines deadlines) {
  return std::make_unique<ObserverHostReader>(observer, locks, std::move(paths),
                                              runner, clock, deadlines);
}

}  // namespace clusterd
