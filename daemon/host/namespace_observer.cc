#include "daemon/host/namespace_observer.h"

#include <utility>

#include "absl/status/statusor.h"
#include "config/spec/network_namespace.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/kernel_observer.h"
#include "daemon/host/missing.h"
#include "daemon/host/socket_observer.h"

namespace clusterd {

HostFacts ReadOpenNamespace(const OpenNetworkNamespace& place,
                            const NetworkNamespace& target,
                            const FileReader& files, const PortSet& ports,
                            const TimeBudget& budget) {
  HostFacts facts;
  facts.set_network_namespace(NetworkNamespaceText(target));
  absl::StatusOr<KernelFacts> kernel = ReadKernelIn(place, files);
  if (!kernel.ok()) {
    SetMissing(MissingFor(kernel.status()), &facts);
    return facts;
  }
  *facts.mutable_kernel() = *std::move(kernel);
  *facts.mutable_identity()->mutable_boot_id() = ReadBootId(files);
  if (!ports.empty()) {
    *facts.mutable_sockets() = ReadSocketsIn(place, files, ports, budget);
  }
  return facts;
}

HostFacts ReadNamespace(const HostPaths& paths, CommandRunner* runner,
                        const NetworkNamespace& target, const FileReader& files,
                        const PortSet& ports, const TimeBudget& budget) {
  const absl::StatusOr<OpenNetworkNamespace> place =
      FindNetworkNamespace(paths, runner, budget, target);
  if (place.ok()) {
    return ReadOpenNamespace(*place, target, files, ports, budget);
  }
  HostFacts facts;
  facts.set_network_namespace(NetworkNamespaceText(target));
  SetMissing(MissingFor(place.status()), &facts);
  return facts;
}

}  // namespace clusterd
