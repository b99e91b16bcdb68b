// Saves what a step is about to change, and puts saved things back.
// A resource is a file, a kernel parameter, a device's settings or a firewall;
// an apply saves each one once, before it touches it first.
#ifndef DAEMON_AGENT_APPLY_RESOURCE_KEEPER_H_
#define DAEMON_AGENT_APPLY_RESOURCE_KEEPER_H_

#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "daemon/agent/apply/machine.h"
#include "daemon/host/change/mutation_token.h"
#include "proto/plan.pb.h"

namespace clusterd {

class ResourceKeeper {
 public:
  // `machine` must outlive it.
  explicit ResourceKeeper(Machine* machine) : machine_(machine) {}

  // What the step changes and no earlier call has saved, as it is now. Changes
  // nothing. FailedPrecondition, with what could not be told: a thing that
  // cannot be put back is not touched.
  absl::StatusOr<std::vector<SavedResource>> Save(const PlanStep& step);

  // Puts everything back, the last saved first, and reads it back. Does nothing
  // that is done already, so it can be cut off anywhere and run again. Returns
  // what is not as it was, with both values and why; empty: all of it is.
  // `plan` is the one that was applied.
  // hccn.conf is put back twice: before the devices, because a half-written
  // file would make the tool fail, and after them, because the tool writes it.
  std::vector<std::string> Restore(const MutationToken& token,
                                   const std::vector<SavedResource>& saved,
                                   const HostPlan& plan);

 private:
  absl::Status SaveRoutes(const DeviceAddressChange& change,
                          SavedDevice* saved);
  absl::Status SaveDevice(const PlanStep& step, uint32_t device,
                          std::vector<SavedResource>* saved);
  absl::Status SaveConf(std::vector<SavedResource>* saved);

  void PrepareConf(const MutationToken& token,
                   const std::vector<SavedResource>& saved,
                   const HostPlan& plan);
  // Why it could not be put back; "": no reason is known.
  std::string PutBack(const MutationToken& token,
                      const SavedResource& resource);
  std::string PutBackDevice(const MutationToken& token,
                            const SavedDevice& saved);
  // What is not as it was.
  std::vector<std::string> Differences(const SavedResource& resource);
  std::vector<std::string> DeviceDifferences(const SavedDevice& saved);

  Machine* const machine_;
  std::set<std::string> touched_;
};

// "/etc/hccn.conf: SHA-256" of each saved file but those of firewalls, as it is
// now; "none" without such a file.
std::vector<PlanFact> DigestFiles(FileSystem* files,
                                  const std::vector<SavedResource>& saved);

// The same of the files of firewalls, each once.
std::vector<PlanFact> DigestFirewallFiles(
    FileSystem* files, const std::vector<SavedResource>& saved);

}  // namespace clusterd

#endif  // DAEMON_AGENT_APPLY_RESOURCE_KEEPER_H_
