#include "daemon/host/change/host_reader.h"

#include <utility>

#include "config/words/number_text.h"
#include "daemon/host/firewall/firewall_observer.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/machine_observer.h"

namespace clusterd {
namespace {

constexpr Asker kChanges = {nullptr, /*changes_host=*/true};

class ObserverHostReader final : public HostReader {
 public:
  explicit ObserverHostReader(HostReaderParts parts)
      : parts_(std::move(parts)) {}

  HostFacts ReadHost() override {
    ObserveRequest request;
    request.set_command_ms(ToMs(parts_.command_deadline));
    request.set_host_ms(ToMs(parts_.host_deadline));
    // A plan that sets the TLS switches relies on the devices' values.
    request.set_ask_tls(true);
    return parts_.observer->ObserveFor("", request, kChanges);
  }

  DeviceFacts ReadDevice(uint32_t device) override {
    const TimeBudget budget = NewBudget();
    HccnSession session(LocateHccnTool(parts_.paths), NpuToolFacts::CLASSIC,
                        device, parts_.runner, parts_.clock, &budget,
                        parts_.locks);
    // While this holds the lock, clusterd itself does not rewrite the file.
    const FileReader files(parts_.paths.root);
    const HccnConfFact conf = ReadHccnConf(files, parts_.clock);
    TlsAsking tls;
    tls.copy_conf = [&] { return CopyHccnConf(files, parts_.clock); };
    tls.live = true;
    return ObserveDeviceSettings(device, conf, tls, &session);
  }

  FirewallFacts ReadFirewall(FirewallProgram program) override {
    const TimeBudget budget = NewBudget();
    const HostAccess host{parts_.paths, parts_.runner, &budget};
    return program == UFW ? ReadUfw(host) : ReadFirewalld(host);
  }

 private:
  TimeBudget NewBudget() const {
    return TimeBudget(parts_.clock, parts_.command_deadline,
                      parts_.host_deadline, kChanges);
  }

  const HostReaderParts parts_;
};

}  // namespace

std::unique_ptr<HostReader> MakeHostReader(HostReaderParts parts) {
  return std::make_unique<ObserverHostReader>(std::move(parts));
}

}  // namespace clusterd
