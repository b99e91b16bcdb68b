#include "tests/sim/fleet/changing_host.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "config/identity/root_bundle.h"
#include "config/values/change_kind.h"
#include "daemon/agent/apply/veto.h"
#include "google/protobuf/message.h"
#include "tests/sim/facts/healthy_facts.h"
#include "tests/sim/facts/healthy_ssh.h"
#include "tests/sim/simulated_host.h"

namespace clusterd {
namespace {

HostAllows AllowAll() {
  const std::vector<ChangeKind> kinds = AllChangeKinds();
  return AllowsOnly(std::set<ChangeKind>(kinds.begin(), kinds.end()));
}

// A healthy server that may stand beside those of tests/sim/simulated_host.h.
HostFacts BaseOf(const ClusterSpec& spec, const ServerSpec& server) {
  HostFacts facts = MakeHealthyHost(spec, server);
  facts.set_simulation("in memory");
  VersionFacts* const versions = facts.mutable_versions();
  versions->mutable_driver()->set_value(sim::kDriverVersion);
  versions->mutable_firmware()->set_value(sim::kFirmwareVersion);
  versions->mutable_cann()->set_value(sim::kCannVersion);
  TextFact* const series = facts.mutable_identity()->mutable_npu_series();
  if (sim::HasAscend950Tool(spec)) {
    series->mutable_missing()->set_reason(Missing::ABSENT);
    series->mutable_missing()->set_detail("no PCI id of it is published");
  } else {
    series->set_value(
        absl::StrCat(series->value(), " x ", server.devices_size()));
  }
  return facts;
}

ApplierOptions OptionsOf(const std::string& host) {
  ApplierOptions options;
  options.host = host;
  return options;
}

// Replaces fields of `onto` by those of `from`.
void Overlay(const google::protobuf::Message& from,
             google::protobuf::Message* onto) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  from.GetReflection()->ListFields(from, &fields);
  for (const auto* const field : fields) {
    onto->GetReflection()->ClearField(onto, field);
  }
  onto->MergeFrom(from);
}

}  // namespace

void FillRoots(absl::string_view ca_pem, HostFacts* facts) {
  facts->mutable_roots()->Clear();
  for (const std::string& hash : RootHashes(ca_pem)) {
    facts->mutable_roots()->mutable_value()->add_hashes(hash);
  }
}

ChangingHost::ChangingHost(const ClusterSpec& spec, int server, AuditLog* audit,
                           Log* log)
    : base_(BaseOf(spec, spec.servers(server))),
      machine_(base_.host()),
      with_drift_(this, &record_, &AllowAll),
      applier_(OptionsOf(base_.host()), Access(), &AllowAll,
               [] { return std::vector<DeviceUser>(); }),
      applies_(base_.host(), &applier_, log, &record_, audit) {
  if (!sim::HasAscend950Tool(spec)) {
    machine_.SetProduct(sim::ToolProductOf(spec, spec.servers(server)));
    for (const DeviceSpec& device : spec.servers(server).devices()) {
      const sim::OtherSettings other =
          sim::OtherSettingsOf(spec, server, device);
      FakeMachine::Device left;
      left.address = other.address;
      left.netmask = other.netmask;
      left.gateway = other.gateway;
      left.tls = spec.tls();
      machine_.AddDevice(device.id(), left);
    }
  }
  record_.Listen([this] { Update(); });
  applies_.Recover();
}

void ChangingHost::SetRoots(absl::string_view ca_pem) {
  absl::MutexLock lock(&mutex_);
  FillRoots(ca_pem, &roots_);
}

MachineAccess ChangingHost::Access() {
  MachineAccess access;
  access.files = &machine_.files();
  access.runner = &machine_;
  access.reader = &machine_;
  access.clock = &clock_;
  access.locks = &locks_;
  return access;
}

void ChangingHost::Update() {
  const HostFacts machine = machine_.ReadHost();
  HostFacts facts = base_;
  if (machine.devices_size() > 0) {
    *facts.mutable_hccn_conf() = machine.hccn_conf();
  }
  *facts.mutable_ufw() = machine.ufw();
  *facts.mutable_firewalld() = machine.firewalld();
  Overlay(machine.kernel(), facts.mutable_kernel());
  for (DeviceFacts& device : *facts.mutable_devices()) {
    for (const DeviceFacts& own : machine.devices()) {
      if (own.id() == device.id()) Overlay(own, &device);
    }
  }
  absl::MutexLock lock(&mutex_);
  seen_ = std::move(facts);
}

HostFacts ChangingHost::ObserveFor(const std::string& host,
                                   const ObserveRequest& request,
                                   const Asker&) {
  absl::MutexLock lock(&mutex_);
  HostFacts facts = seen_;
  if (roots_.has_roots()) *facts.mutable_roots() = roots_.roots();
  facts.set_observed_at_ms(absl::ToUnixMillis(absl::Now()));
  if (request.has_ssh() && !facts.has_ssh()) {
    *facts.mutable_ssh() = MakeHealthySsh(host, request.ssh());
  }
  return facts;
}

}  // namespace clusterd
