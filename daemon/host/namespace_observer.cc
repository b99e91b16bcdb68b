#include "daemon/host/namespace_observer.h"

#include <utility>

#include "absl/status/statusor.h"
#include "config/values/network_namespace.h"
#include "daemon/host/files/missing.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/kernel/kernel_observer.h"
#include "daemon/host/sockets/socket_observer.h"

namespace clusterd {

HostFacts ReadOpenNamespace(const OpenNetworkNamespace& opened,
                            const NetworkNamespace& target,
                            const FileReader& files, const PortSet& ports,
                            const TimeBudget& budget) {
  HostFacts facts;
  facts.set_network_namespace(NetworkNamespaceText(target));
  absl::StatusOr<KernelFacts> kernel = ReadKernelIn(opened, files);
  if (!kernel.ok()) {
    SetMissing(MissingFor(kernel.status()), &facts);
    return facts;
  }
  *facts.mutable_kernel() = *std::move(kernel);
  *facts.mutable_identity()->mutable_boot_id() = ReadBootId(files);
  if (!ports.empty()) {
    *facts.mutable_sockets() = ReadSocketsIn(opened, files, ports, budget);
  }
  return facts;
}

HostFacts ReadNamespace(const HostAccess& host, const NetworkNamespace& target,
                        const PortSet& ports) {
  const absl::StatusOr<OpenNetworkNamespace> opened =
      FindNetworkNamespace(host, target);
  if (opened.ok()) {
    return ReadOpenNamespace(*opened, target, host.files(), ports,
                             *host.budget);
  }
  HostFacts facts;
  facts.set_network_namespace(NetworkNamespaceText(target));
  SetMissing(MissingFor(opened.status()), &facts);
  return facts;
}

}  // namespace clusterd
