// Processes that hold what the next job needs: ports of the host, and its NPUs.
#include <map>
#include <set>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/hccl/job_ports.h"
#include "config/rules/host_rules.h"
#include "config/rules/rule_report.h"
#include "config/values/network_namespace.h"
#include "config/values/text_form.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// The limit of sockets of one owner in a finding.
constexpr size_t kMaxShownSockets = 8;
// The limit of owners of one host with a finding of their own.
constexpr size_t kMaxShownOwners = 16;
// The limit of processes in one finding.
constexpr size_t kMaxShownProcesses = 4;
constexpr int kMaxHostsColumns = 200;
// The first driver with which several processes may share a device is 25.0.RC1
// (HCCL user guide, constraints.md).
constexpr uint32_t kDriverForSeveral = 25;

// A process that holds sockets, which make one finding.
struct Owner {
  uint32_t pid = 0;
  bool closing = false;
  std::string command;

  bool operator<(const Owner& other) const {
    return std::tie(closing, pid, command) <
           std::tie(other.closing, other.pid, other.command);
  }
};

FindingValue SocketWords(const BoundSocket& socket) {
  return Worded(
      socket.count() > 1 ? "sockets-alike" : "socket",
      PrintableText(socket.protocol()), PrintableText(socket.address()),
      absl::StrCat(socket.port(), Part(" ", PrintableText(socket.state()))),
      socket.count());
}

// The ports that matter on one host.
struct HostPorts {
  PortSet all;
  PortSet must_be_free;  // HCCL can replace the others.
  PortSet hccl;
  bool takes_another = false;
};

// True if a job has its rendezvous here, on a port that no other rule judges.
bool IsRoot(const ClusterView& view, const HostView& host) {
  const JobSpec* const job = view.job();
  if (job != nullptr && !view.HasWholeJob()) {
    return !job->servers().empty() && host.name == job->servers(0).host();
  }
  return host.spec != nullptr && host.spec == &view.spec().servers(0) &&
         (job == nullptr ||
          absl::c_all_of(job->servers(), [](const auto& each) {
            return each.master_port() == 0;
          }));
}

HostPorts PortsOn(const ClusterView& view, const HostView& host) {
  const ClusterSpec& spec = view.spec();
  const HcclPortNeed hccl = HcclPortsOn(spec, *host.facts, view.job());
  HostPorts ports = {hccl.possible, ServicePortsOf(spec), hccl.possible,
                     !hccl.is_pinned};
  if (hccl.is_pinned) ports.must_be_free.Add(hccl.certain);
  for (const uint32_t port :
       {IsRoot(view, host) ? spec.rendezvous_port() : 0, spec.ssh_port()}) {
    if (port != 0 && port <= 65535) ports.must_be_free.Add(port, port);
  }
  ports.all.Add(ports.must_be_free);
  return ports;
}

// True if the socket could block a listen on its port: HCCL's, on the address
// of the host, or that of a launcher or sshd, on every address.
bool IsInTheWay(const HostView& host, const BoundSocket& socket, bool of_hccl) {
  if (!absl::StartsWith(socket.protocol(), "tcp")) return false;
  absl::string_view address = socket.address();
  absl::ConsumePrefix(&address, "::ffff:");
  if (address == "0.0.0.0" || address == "::") return true;
  if (!of_hccl && socket.state() == "LISTEN") return true;
  if (address == "::1" || absl::StartsWith(address, "127.")) return false;
  // The job has other addresses in a namespace of its own.
  if (!host.facts->network_namespace().empty() &&
      !SharesHostNetwork(*host.facts)) {
    return true;
  }
  return !host.address.has_value() || address == host.address->ToString();
}

// The kernel closes the socket, and no process has it open.
bool IsClosing(const BoundSocket& socket) {
  const absl::string_view state = socket.state();
  return state == "TIME_WAIT" ||
         (socket.pid() == 0 && (absl::StartsWith(state, "FIN_WAIT") ||
                                state == "LAST_ACK" || state == "CLOSING"));
}

// For the sshd of the MPI launch; systemd may listen in its place (ssh.socket).
bool IsSshd(const BoundSocket& socket) {
  return socket.command() == "sshd" ||
         absl::StartsWith(socket.command(), "sshd-") ||
         (socket.pid() == 1 && socket.command() == "systemd");
}

struct Held {
  std::vector<const BoundSocket*> sockets;
  bool must_be_free = false;
};

std::map<Owner, Held> HeldPorts(const ClusterView& view, const HostView& host,
                                const HostPorts& ports) {
  std::map<Owner, Held> all;
  for (const BoundSocket& socket : host.facts->sockets().value().sockets()) {
    const uint32_t port = socket.port();
    if (!ports.all.Contains(port) ||
        !IsInTheWay(host, socket, ports.hccl.Contains(port)) ||
        (port == view.spec().ssh_port() &&
         (IsSshd(socket) || IsClosing(socket)))) {
      continue;
    }
    Held& held = all[{socket.pid(), IsClosing(socket), socket.command()}];
    held.sockets.push_back(&socket);
    held.must_be_free |= ports.must_be_free.Contains(port);
  }
  return all;
}

// The processes that use NPUs, and who started them, such as torchrun.
std::set<uint32_t> JobProcesses(const HostFacts& facts) {
  std::set<uint32_t> pids;
  for (const NpuProcess& process : facts.npu_processes().value().processes()) {
    pids.insert(process.pid());
    // Leaves out process 1, which adopts orphans, and an unknown parent.
    if (process.parent() > 1) pids.insert(process.parent());
  }
  return pids;
}

absl::string_view NameOfHeld(const HostView& host, const Owner& owner,
                             const Held& held) {
  if (owner.closing) return "closing";
  if (!held.must_be_free) return "held-others-free";
  if (owner.pid == 0) return "owner-not-visible";
  return IsKnown(host.facts->npu_processes()) ? "held" : "held-perhaps-by-job";
}

FindingValue OwnerWords(uint32_t pid, absl::string_view command) {
  if (pid == 0) return Worded("process-not-visible");
  return Worded("process", pid, PrintableText(command));
}

void AddHeldPorts(const ClusterView& view, const HostView& host,
                  RuleReport& report) {
  const HostPorts ports = PortsOn(view, host);
  const std::set<uint32_t> job = JobProcesses(*host.facts);
  PortSet left = ports.hccl;
  std::vector<FindingValue> of_job;
  size_t owners = 0;
  bool more_fail = false;
  for (const auto& [owner, held] : HeldPorts(view, host, ports)) {
    // Also counts processes of the same launcher, such as msrun's scheduler.
    const uint32_t parent = held.sockets.front()->parent();
    const bool is_job =
        !owner.closing && (job.count(owner.pid) > 0 || job.count(parent) > 0);
    std::vector<FindingValue> texts;
    PortSet taken;
    for (const BoundSocket* socket : held.sockets) {
      texts.push_back(SocketWords(*socket));
      taken.Add(socket->port(), socket->port());
    }
    const FindingValue sockets = Listed(texts, kMaxShownSockets);
    const FindingValue who = OwnerWords(owner.pid, owner.command);
    if (is_job) {
      of_job.push_back(Worded("held-by", sockets, who));
      continue;
    }
    if (!owner.closing) left = left.Minus(taken);
    if (++owners > kMaxShownOwners) {
      more_fail |= held.must_be_free && !owner.closing;
      continue;
    }
    report.Add(host, NameOfHeld(host, owner, held), sockets,
               ports.all.ToString(), who, owner.pid,
               held.sockets.front()->port(),
               MissingWords(MissingOf(host.facts->npu_processes())));
  }
  if (!of_job.empty()) {
    report.Add(host, "in-use", Listed(of_job, kMaxShownProcesses));
  }
  if (owners > kMaxShownOwners) {
    NamedFinding text = report.Named("more-owners", owners - kMaxShownOwners,
                                     ports.all.ToString());
    if (more_fail) text.state = FAIL;
    report.Add(host, std::move(text));
  }
  if (ports.takes_another && !ports.hccl.empty() && left.empty()) {
    report.Add(host, "none-free", ports.all.ToString());
  }
}

// True if the processes that use NPUs are known; otherwise adds a finding.
bool KnowsProcesses(const HostView& host, RuleReport& report) {
  const NpuProcessesFact& fact = host.facts->npu_processes();
  if (fact.missing().reason() != Missing::NOT_SUPPORTED) {
    return report.Knows(host, Worded("npu-processes"), fact);
  }
  report.Add(host, "not-visible", MissingWords(&fact.missing()));
  return false;
}

// Planned devices are judged; without devices in the spec, every one.
bool IsPlanned(const HostView& host, uint32_t id) {
  if (host.spec == nullptr || host.spec->devices().empty()) return true;
  const DeviceView* device = host.Find(id);
  return device != nullptr && device->spec != nullptr;
}

std::string ProcessText(const NpuProcess& process) {
  return absl::StrCat(process.pid(), " (", PrintableText(process.command()),
                      ")");
}

// Processes by device, without those started by another one of them: the
// workers of a training process have its nodes open, too.
std::map<uint32_t, std::vector<std::string>> Trainings(const HostView& host) {
  const auto& processes = host.facts->npu_processes().value().processes();
  std::set<uint32_t> pids;
  for (const NpuProcess& process : processes) pids.insert(process.pid());
  std::map<uint32_t, std::vector<std::string>> trainings;
  for (const NpuProcess& process : processes) {
    if (pids.count(process.parent()) > 0) continue;
    for (const uint32_t id : process.devices()) {
      if (IsPlanned(host, id)) trainings[id].push_back(ProcessText(process));
    }
  }
  return trainings;
}

// True if the host's driver allows several processes on one device; if that is
// not known, adds a finding.
std::optional<bool> TakesSeveral(const ProductProfile& profile,
                                 const HostView& host, RuleReport& report) {
  if (profile.process_limit == ProcessLimit::kOne) return false;
  const TextFact& driver = host.facts->versions().driver();
  if (!report.Knows(host, Worded("driver-version"), driver)) return {};
  const absl::string_view version = driver.value();
  uint32_t major = 0;
  if (absl::SimpleAtoi(version.substr(0, version.find('.')), &major)) {
    return major >= kDriverForSeveral;
  }
  report.Add(host, "driver-not-understood", QuotedText(version));
  return {};
}

// True if the driver keeps the devices of another container from the job.
bool RunsInOther(const JobSpec* job) {
  if (job == nullptr) return false;
  // One of its containers that run already may be the owner.
  if (job->ssh().container_port() != 0) return job->ssh().before();
  // By default these schedulers start jobs on the host itself, and the driver
  // refuses no process there (uda_task_access_judge_ok).
  static const LazyRE2 kScheduler = {"(?s)(?:slurm|pbs|lsf):.*"};
  return !HasForm(job->id(), *kScheduler);
}

// Several owners list a device in share mode, and all of them may use it
// (uda_occupy_shared_dev). An owner with every capability lists all devices.
bool IsShared(const DeviceOwnersFact& fact, uint32_t id) {
  return absl::c_count_if(fact.value().owners(), [id](const auto& owner) {
           return !owner.privileged() &&
                  absl::c_linear_search(owner.devices(), id);
         }) > 1;
}

// Judges a plan of more than one process for each device.
void JudgePlan(const ClusterView& view, RuleReport& report) {
  const uint32_t processes = view.job()->processes_per_device();
  if (view.profile().process_limit == ProcessLimit::kOne) {
    return report.Add(
        report.Named("planned", processes, Term(view.profile().title)));
  }
  FirstSeen<std::string, std::vector<std::string>> hosts;  // By driver.
  for (const HostView& host : view.hosts()) {
    if (TakesSeveral(view.profile(), host, report).value_or(true)) continue;
    hosts[host.facts->versions().driver().value()].emplace_back(host.name);
  }
  for (const auto& [driver, names] : hosts) {
    report.Add(report.Named("planned-for-driver", processes, QuotedText(driver),
                            HostsValue(names, kMaxHostsColumns)));
  }
}

}  // namespace

void CheckPortsFree(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    if (!report.Knows(host, Worded("sockets"), host.facts->sockets())) continue;
    report.Judged(host);
    AddHeldPorts(view, host, report);
    AddUnclearPorts(host, HcclPortsOn(view.spec(), *host.facts, view.job()),
                    report);
  }
}

std::optional<FindingValue> HolderOfPort(const HostView& host, uint32_t port) {
  for (const BoundSocket& socket : host.facts->sockets().value().sockets()) {
    if (socket.port() != port || IsClosing(socket) ||
        !IsInTheWay(host, socket, false)) {
      continue;
    }
    return Worded("held-by", SocketWords(socket),
                  OwnerWords(socket.pid(), socket.command()));
  }
  return std::nullopt;
}

// Running jobs are fine for a cluster, but not for a job about to start there.
void CheckDeviceIdle(const ClusterView& view, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    if (!KnowsProcesses(host, report)) continue;
    report.Judged(host);
    std::set<uint32_t> used;
    std::vector<std::string> texts;
    for (const NpuProcess& process :
         host.facts->npu_processes().value().processes()) {
      bool uses_planned = false;
      for (const uint32_t id : process.devices()) {
        if (!IsPlanned(host, id)) continue;
        uses_planned = true;
        used.insert(id);
      }
      if (uses_planned) texts.push_back(ProcessText(process));
    }
    if (used.empty()) continue;
    report.Add(host, std::vector<uint32_t>(used.begin(), used.end()),
               report.Named(view.job() == nullptr ? "in-use" : "in-the-way",
                            Listed(texts, kMaxShownProcesses)));
  }
}

// A container that owns devices keeps them from a job in another one. Rule
// device-idle reports a process that uses a device. The driver passes the
// devices of an ended owner to the next container (uda_dev_is_occupied).
void CheckDeviceNamespace(const ClusterView& view, RuleReport& report) {
  size_t no_owners = 0;
  const bool in_other = RunsInOther(view.job());
  for (const HostView& host : view.hosts()) {
    const DeviceOwnersFact& fact = host.facts->device_owners();
    const Missing::Reason why = fact.missing().reason();
    if (why == Missing::NOT_SUPPORTED || why == Missing::ABSENT) {
      ++no_owners;
      continue;
    }
    if (!report.Knows(host, Worded("device-owners"), fact)) continue;
    // The owner may be the process that computes.
    if (!fact.value().owners().empty() &&
        !report.Knows(host, Worded("npu-processes"),
                      host.facts->npu_processes())) {
      continue;
    }
    report.Judged(host);
    for (const DeviceOwner& owner : fact.value().owners()) {
      std::vector<uint32_t> planned;
      absl::c_copy_if(
          owner.devices(), std::back_inserter(planned), [&](uint32_t id) {
            return IsPlanned(host, id) && !(in_other && IsShared(fact, id));
          });
      if (planned.empty() || owner.uses_device()) continue;
      const bool ended = owner.command().empty();
      const std::string& container = owner.identity();
      const FindingValue who =
          ended                ? Worded("owner-ended", owner.pid())
          : owner.age_s() == 0 ? Worded("owner-of-unknown-age", owner.pid(),
                                        PrintableText(owner.command()))
                               : Worded("owner-of-age", owner.pid(),
                                        PrintableText(owner.command()),
                                        Lasting(absl::Seconds(owner.age_s())));
      report.Add(
          host, planned,
          report.Named(owner.privileged()   ? "sees-all"
                       : in_other && !ended ? "in-the-way"
                                            : "owned",
                       container.empty()
                           ? Worded("mount-namespace")
                           : Worded("container", PrintableText(container)),
                       who,
                       !ended ? Worded("find-cgroup", owner.pid())
                       : container.empty()
                           ? Worded("find-containers")
                           : Worded("find-container", ShellQuoted(container))));
    }
  }
  if (no_owners == 0) return;
  report.SkipFor("no-device-owners");
  report.Note("on-hosts", Worded("no-device-owners"),
              Counted(no_owners, "host"));
}

// Judges running processes, and the plan of the job.
void CheckDeviceProcessLimit(const ClusterView& view, RuleReport& report) {
  if (view.profile().process_limit == ProcessLimit::kNotPublished) {
    return report.SkipFor("process-limit-unpublished");
  }
  if (view.job() != nullptr && view.job()->processes_per_device() > 1) {
    JudgePlan(view, report);
  }
  for (const HostView& host : view.hosts()) {
    if (!KnowsProcesses(host, report)) continue;
    std::optional<bool> takes_several = true;
    for (const auto& [id, processes] : Trainings(host)) {
      if (processes.size() < 2) continue;
      takes_several = TakesSeveral(view.profile(), host, report);
      if (takes_several.value_or(true)) break;
      report.Add(host, {id},
                 report.Named("several", Listed(processes, kMaxShownProcesses),
                              Term(view.profile().title)));
    }
    if (takes_several.has_value()) report.Judged(host);
  }
}

}  // namespace clusterd
