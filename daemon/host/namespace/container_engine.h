// Asks the container engines of this machine for the first process of a
// container:
//   docker inspect --type container --format {{.State.Pid}} NAME     4711
//   podman inspect --type container --format {{.State.Pid}} NAME     4711
//   isula inspect -f {{.State.Pid}} NAME                             4711
//   crictl inspect --output go-template --template {{.info.pid}} ID  4711
// A container that does not run has 0.
// Sources: Docker CLI reference, `docker inspect`; Red Hat Enterprise Linux,
// building, running and managing containers (.State.Pid of podman); openEuler
// documentation, system containers (`isula inspect -f "{{json .State.Pid}}"`)
// and iSulad's own tests (the form above); Kubernetes blog, forensic container
// analysis (2023-03-10; crictl). An engine that does not know the name says "No
// such object" or "No such container" (docker/cli
// cli/command/system/inspect.go, podman libpod/define/errors.go).
#ifndef DAEMON_HOST_NAMESPACE_CONTAINER_ENGINE_H_
#define DAEMON_HOST_NAMESPACE_CONTAINER_ENGINE_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/host_access.h"

namespace clusterd {

// Asks every engine that is installed below paths.root. Each error says how to
// name the namespace without an engine.
//   NotFound            no engine is installed, none knows the container, or it
//                       does not run
//   FailedPrecondition  two engines have a running container of that name; or
//                       an answer is no process id
//   DeadlineExceeded    an engine gave no answer in time, and no other has it
//   Unavailable         an engine failed, quoted, and no other has it
//   PermissionDenied    an engine is a program that others than root can change
// REQUIRES: CheckNetworkNamespace of it as a container is OK.
absl::StatusOr<uint32_t> FindContainerPid(const HostAccess& host,
                                          const std::string& container);

}  // namespace clusterd

#endif  // DAEMON_HOST_NAMESPACE_CONTAINER_ENGINE_H_
