// A host's requirements for a job: reserved ports and kernel parameters, now
// and after the next boot.
#include "config/rules/host_rules.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/substitute.h"
#include "config/plan/kernel_parameters.h"
#include "config/values/network_namespace.h"
#include "config/values/port_set.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

constexpr char kPortRange[] = "net.ipv4.ip_local_port_range";
// Both backlogs have at least this value before they are set:
// tcp_max_syn_backlog grows with the memory from there (Linux tcp_init).
constexpr uint64_t kLeastStandard = 128;
constexpr char kOwnFolder[] = "/etc/sysctl.d/";

// True if the values are of a requested namespace.
bool IsOfNamespace(const HostView& host) {
  return !host.facts->network_namespace().empty();
}

bool IsReadOnly(const HostView& host) {
  const BoolFact& writable = host.facts->kernel().proc_sys_writable();
  return IsKnown(writable) && !writable.value();
}

// The release since which each namespace has a value of its own.
FindingValue KeptSince(absl::string_view key) {
  if (key == kReservedPortsKey) return Worded("kept-since", "3.16");
  if (key == kSynBacklogKey) return Worded("kept-since-about", "4.10");
  return {};
}

// The requested namespace, or clusterd's own; empty: the host's own.
FindingValue NamespaceWords(const HostView& host) {
  const KernelFacts& kernel = host.facts->kernel();
  if (IsOfNamespace(host)) {
    return Worded("in-namespace",
                  PrintableText(host.facts->network_namespace()));
  }
  if (!IsKnown(kernel.initial_namespace()) ||
      kernel.initial_namespace().value()) {
    return {};
  }
  return IsKnown(kernel.network_namespace())
             ? Worded("in-numbered-namespace",
                      kernel.network_namespace().value())
             : Worded("in-another-namespace");
}

FindingValue WhereWords(const HostView& host) {
  const FindingValue in_namespace = NamespaceWords(host);
  return IsReadOnly(host) ? Worded("and-read-only", in_namespace)
                          : in_namespace;
}

// A target as one word for a shell; only odd paths need quotes.
std::string ShellQuotedIfNeeded(absl::string_view target) {
  static const LazyRE2 kPlain = {R"([\w.:/-]+)"};
  return HasForm(target, *kPlain) ? std::string(target) : ShellQuoted(target);
}

// The beginning of a command that then runs in that namespace.
std::string EnterCommand(absl::string_view target) {
  const std::pair<absl::string_view, absl::string_view> parts =
      absl::StrSplit(target, absl::MaxSplits(':', 1));
  const std::string name = ShellQuotedIfNeeded(parts.second);
  if (parts.first == "path") return absl::StrCat("nsenter --net=", name);
  return absl::Substitute(
      parts.first == "pid"
          ? "nsenter --target $0 --net"
          : "nsenter --target $$(docker inspect --format '{{.State.Pid}}' $0) "
            "--net",
      name);
}

// True if a running value is known; otherwise adds a finding. A missing key has
// findings of its own: a kernel that does not keep it per network namespace has
// no such file in a container. Kept per namespace since Linux 3.16
// (ip_local_reserved_ports, mainline 122ff243f5f1) and about 4.10
// (tcp_max_syn_backlog).
template <typename Fact>
bool KnowsParameter(const HostView& host, absl::string_view key,
                    const Fact& fact, RuleReport& report) {
  if (fact.missing().reason() != Missing::ABSENT) {
    return report.Knows(host, key, fact);
  }
  report.Add(
      host,
      IsOfNamespace(host) ? "not-in-namespace" : "not-where-clusterd-runs", key,
      NamespaceWords(host), KeptSince(key));
  return false;
}

void CheckBacklog(const ClusterView& view, absl::string_view key,
                  const BacklogNeed& need,
                  const NumberFact& (KernelFacts::*fact_of)() const,
                  const FindingValue& after, RuleReport& report) {
  for (const HostView& host : view.hosts()) {
    const NumberFact& fact = (host.facts->kernel().*fact_of)();
    if (!KnowsParameter(host, key, fact, report)) continue;
    report.Judged(host);
    if (fact.value() >= need.enough) continue;
    const bool fails = fact.value() < need.least;
    NamedFinding text = report.Named(
        fails ? "too-small" : "tight", key, fact.value(), WhereWords(host),
        fails ? need.least : need.enough,
        SetParameterFix(host, key, absl::StrCat(need.advised)), after);
    text.by_hand = need.is_beyond_plan;
    report.Add(host, std::move(text));
  }
}

// One parameter as the next boot would set it.
struct BootKey {
  absl::string_view name;
  const PersistentValueFact* fact;
  const HcclPortNeed* ports = nullptr;  // Null: a number.
  BacklogNeed number = {};
  // The kernel's initial value, at least.
  uint64_t standard = 0;
};

// PASS, WARN or FAIL, as the running value would be judged; FAIL also for a
// value that the kernel would refuse. Null: no file sets it.
State JudgeAtBoot(const BootKey& key, const std::string* value) {
  if (key.ports != nullptr) {
    const auto reserved = PortSet::Parse(value == nullptr ? "" : *value);
    if (!reserved.ok() || !reserved->Contains(key.ports->certain)) return FAIL;
    return reserved->Contains(key.ports->possible) ? PASS : WARN;
  }
  uint64_t number = key.standard;
  if (value != nullptr && !absl::SimpleAtoi(*value, &number)) return FAIL;
  if (number < key.number.least) return FAIL;
  return number < key.number.enough ? WARN : PASS;
}

// The default of somaxconn: 128 before Linux 5.4, then 4096 (mainline
// 19f92a030ca6). A kernel whose release is not known counts as an old one.
uint64_t StandardSomaxconn(const HostFacts& facts) {
  static const LazyRE2 kRelease = {R"((?s)(\d{1,4})\.(\d{1,4}).*)"};
  std::pair<uint32_t, uint32_t> release;
  return HasForm(facts.identity().kernel_release().value(), *kRelease,
                 &release.first, &release.second) &&
                 release >= std::make_pair(5u, 4u)
             ? 4096
             : kLeastStandard;
}

FindingValue LineWords(const PersistentValue::Assignment& assignment) {
  return Worded(
      "line-sets",
      absl::StrCat(PrintableText(assignment.file()), ":", assignment.line()),
      QuotedText(assignment.value()));
}

// The value that a file should set: the spec's, with the reservations that run
// now or that the file makes for other programs.
std::string WantedValue(const HostView& host, const BootKey& key,
                        absl::string_view in_file) {
  if (key.ports == nullptr) return absl::StrCat(key.number.advised);
  PortSet wanted = key.ports->possible;
  const TextFact& running = host.facts->kernel().reserved_ports();
  // An unknown fact has an empty value.
  for (const absl::string_view text :
       {in_file, absl::string_view(running.value())}) {
    const absl::StatusOr<PortSet> reserved = PortSet::Parse(text);
    if (reserved.ok()) wanted.Add(*reserved);
  }
  return wanted.ToString();
}

// Edits only the line that was seen, and only if it still has the key.
std::string EditLine(const BootKey& key, absl::string_view line,
                     uint32_t number, absl::string_view file) {
  return absl::StrCat("sed -i --follow-symlinks '", number, "{/",
                      key.name.substr(key.name.rfind('.') + 1), "/s/.*/", line,
                      "/}' ", ShellQuoted(file));
}

std::string BootFix(const BootKey& key, absl::string_view wanted,
                    const PersistentValue::Assignment* winner) {
  const std::string line = absl::StrCat(key.name, " = ", wanted);
  if (winner != nullptr && absl::StartsWith(winner->file(), "/etc/")) {
    return EditLine(key, line, winner->line(), winner->file());
  }
  // Files outside /etc belong to packages or vanish at boot.
  absl::string_view file;
  if (winner != nullptr) file = winner->file();
  const std::string under_etc =
      absl::StrCat(kOwnFolder, file.substr(file.rfind('/') + 1));
  if (under_etc <= kSysctlFile) {
    return absl::StrCat("echo '", line, "' >> ", kSysctlFile);
  }
  // It sorts after our file and would override it; one of its name under /etc
  // replaces it (sysctl.d(5)).
  return absl::StrCat("cp ", ShellQuoted(file), " ", kOwnFolder, " && ",
                      EditLine(key, line, winner->line(), under_etc));
}

NamedFinding BootFinding(const HostView& host, const BootKey& key,
                         const RuleReport& report) {
  const auto& assignments = key.fact->value().assignments();
  const FindingValue demand =
      key.ports != nullptr
          ? Worded("with-ports", key.ports->possible.ToString())
          : Worded("at-least", key.number.enough);
  if (assignments.empty()) {
    return report.Named("none", key.name, demand,
                        BootFix(key, WantedValue(host, key, ""), nullptr));
  }
  const PersistentValue::Assignment& winner = *assignments.rbegin();
  FindingValue in_file = LineWords(winner);
  // A correct earlier line that is overridden would confuse the reader.
  for (const PersistentValue::Assignment& earlier : assignments) {
    if (&earlier == &winner || JudgeAtBoot(key, &earlier.value()) != PASS) {
      continue;
    }
    in_file = Worded("line-overrides", in_file, LineWords(earlier));
    break;
  }
  return report.Named(
      "another", key.name, demand,
      BootFix(key, WantedValue(host, key, winner.value()), &winner), in_file);
}

BacklogNeed NeedOf(uint64_t planned, bool is_auto, uint64_t all_dialers) {
  const uint64_t dialers = std::min(all_dialers, kAdvisedBacklog);
  if (!is_auto && planned != 0) {
    const uint64_t least = std::max(planned, dialers);
    return {least, least, least, planned < dialers};
  }
  const uint64_t twice = std::min(2 * dialers, kAdvisedBacklog);
  return {dialers, dialers == 0 ? kAdvisedBacklog : twice, kAdvisedBacklog};
}

// True if HCCL's ports are known; otherwise adds a finding.
bool KnowsPorts(const HostView& host, const HcclPortNeed& needed,
                RuleReport& report) {
  const EnvironmentFact& environment = host.facts->environment();
  AddUnclearPorts(host, needed, report);
  return needed.unclear == nullptr &&
         (!environment.has_missing() ||
          report.Knows(host, Worded("login-variables"), environment));
}

// Why unreserved ports do no harm; empty: all are reserved.
FindingValue WhyNeedless(const HcclPortNeed& needed, const PortSet& lacking,
                         const TextFact& range) {
  const FindingValue source = SourceWords(needed);
  if (needed.possible.empty()) return Worded("kernel-chooses-ports", source);
  if (lacking.empty()) return {};
  return Worded("no-reservation-needed", lacking.ToString(),
                PrintableText(range.value()), source);
}

// REQUIRES: the kernel hands out a port that is needed and not reserved.
void AddLacking(const HostView& host, const HcclPortNeed& needed,
                const PortSet& reserved, RuleReport& report) {
  const PortSet possible = HandedOut(needed.possible, *host.facts);
  const bool fails = !reserved.Contains(HandedOut(needed.certain, *host.facts));
  PortSet merged = reserved;
  merged.Add(possible);
  NamedFinding text =
      report.Named(fails                  ? "not-reserved"
                   : needed.cann_is_known ? "spare"
                                          : "perhaps-needed",
                   reserved.empty() ? Worded("no-port")
                                    : ToFindingValue(reserved.ToString()),
                   possible.Minus(reserved).ToString(), WhereWords(host),
                   possible.ToString(), SourceWords(needed),
                   SetParameterFix(host, kReservedPortsKey, merged.ToString()));
  text.by_hand = needed.is_of_job;
  report.Add(host, std::move(text));
}

}  // namespace

FindingValue SourceWords(const HcclPortNeed& needed) {
  if (needed.source == nullptr) return {};
  const EnvironmentVariable& variable = *needed.source;
  return Worded("ports-by-variable", variable.name(),
                PrintableText(variable.value()), PlaceWords(variable));
}

void AddUnclearPorts(const HostView& host, const HcclPortNeed& needed,
                     RuleReport& report) {
  if (needed.unclear == nullptr) return;
  report.Add(host, "unclear", PrintableText(needed.unclear->name()),
             PlaceWords(*needed.unclear));
}

uint64_t RootDialers(const ClusterSpec& spec, const JobSpec* job) {
  uint64_t ranks = 0;
  for (const ServerSpec& server : spec.servers()) {
    ranks += server.devices_size();
  }
  if (job != nullptr) ranks *= std::max(1u, job->processes_per_device());
  return ranks == 0 ? 0 : ranks + spec.servers_size();
}

BacklogNeed SomaxconnNeed(const ClusterSpec& spec, const JobSpec* job) {
  return NeedOf(spec.kernel().somaxconn(), spec.kernel().somaxconn_auto(),
                RootDialers(spec, job));
}

BacklogNeed SynBacklogNeed(const ClusterSpec& spec, const JobSpec* job) {
  return NeedOf(spec.kernel().tcp_max_syn_backlog(),
                spec.kernel().tcp_max_syn_backlog_auto(),
                RootDialers(spec, job));
}

FindingValue SetParameterFix(const HostView& host, absl::string_view key,
                             absl::string_view value) {
  const std::string assignment = absl::StrCat(key, "=", value);
  const std::string set = absl::StrCat("sysctl -w ", assignment);
  if (!IsOfNamespace(host) || SharesHostNetwork(*host.facts)) {
    return IsReadOnly(host) ? Worded("set-on-host", set) : ToFindingValue(set);
  }
  if (IsReadOnly(host)) return Worded("set-in-new-container", assignment);
  const std::string& target = host.facts->network_namespace();
  return Worded("set-in-namespace", ShellQuotedIfNeeded(target),
                absl::StrCat(EnterCommand(target), " ", set));
}

void CheckPortsReserved(const ClusterView& view, RuleReport& report) {
  std::map<std::string, std::pair<FindingValue, size_t>> needless;
  for (const HostView& host : view.hosts()) {
    const TextFact& fact = host.facts->kernel().reserved_ports();
    if (!KnowsParameter(host, kReservedPortsKey, fact, report)) continue;
    const absl::StatusOr<PortSet> reserved = PortSet::Parse(fact.value());
    if (!reserved.ok()) {
      report.Add(host, "not-understood", QuotedText(fact.value()));
      continue;
    }
    const HcclPortNeed needed =
        HcclPortsOn(view.spec(), *host.facts, view.job());
    if (!KnowsPorts(host, needed, report)) continue;
    const TextFact& range = host.facts->kernel().local_port_range();
    if (!reserved->Contains(needed.possible) &&
        !report.Knows(host, kPortRange, range)) {
      continue;
    }
    report.Judged(host);
    const PortSet lacking = needed.possible.Minus(*reserved);
    if (HandedOut(lacking, *host.facts).empty()) {
      const FindingValue why = WhyNeedless(needed, lacking, range);
      auto& [words, hosts] = needless[why.SerializeAsString()];
      words = why;
      ++hosts;
      continue;
    }
    AddLacking(host, needed, *reserved, report);
  }
  needless.erase("");
  for (const auto& [key, why] : needless) {
    report.Note("ports-on-hosts", why.first, Counted(why.second, "host"));
  }
}

void CheckListenBacklog(const ClusterView& view, RuleReport& report) {
  CheckBacklog(view, kSomaxconnKey, SomaxconnNeed(view.spec(), view.job()),
               &KernelFacts::somaxconn, Worded("then-restart-listeners"),
               report);
}

void CheckSynBacklog(const ClusterView& view, RuleReport& report) {
  CheckBacklog(view, kSynBacklogKey, SynBacklogNeed(view.spec(), view.job()),
               &KernelFacts::tcp_max_syn_backlog, {}, report);
}

// A warning: only peers of the host's own subnet take an entry, and its prefix
// is not known here.
void CheckNeighbourTable(const ClusterView& view, RuleReport& report) {
  const uint64_t peers = view.spec().servers_size();
  size_t elsewhere = 0;
  for (const HostView& host : view.hosts()) {
    const KernelFacts& kernel = host.facts->kernel();
    if (kernel.neighbours_most().missing().reason() == Missing::ABSENT) {
      ++elsewhere;
      continue;
    }
    if (!report.Knows(host, "gc_thresh3", kernel.neighbours_most()) ||
        !report.Knows(host, "gc_thresh2", kernel.neighbours_kept())) {
      continue;
    }
    report.Judged(host);
    const uint64_t most = kernel.neighbours_most().value();
    const uint64_t kept = kernel.neighbours_kept().value();
    if (std::min(most, kept) > peers) continue;
    // Gateways, storage and others have entries, too.
    const uint64_t advised = std::max<uint64_t>(4096, 4 * peers);
    report.Add(host, most <= peers ? "holds-too-few" : "drops-early",
               most <= peers ? most : kept, peers, advised, 2 * advised);
  }
  if (elsewhere == 0) return;
  report.SkipFor("neighbours-of-host-alone");
  report.Note("neighbours-not-shown", Counted(elsewhere, "host"));
}

// The memory that a job needs is not known: reports what reduces it.
void CheckHostMemory(const ClusterView& view, RuleReport& report) {
  constexpr uint64_t kDaySeconds = 24 * 60 * 60;
  constexpr uint64_t kOfRank = uint64_t{8} << 30;
  const auto gib = [](uint64_t bytes) {
    return absl::StrCat(bytes >> 30, " GiB");
  };
  size_t no_log = 0;
  for (const HostView& host : view.hosts()) {
    const HostMemoryFact& fact = host.facts->memory();
    if (!report.Knows(host, "memory", fact)) continue;
    report.Judged(host);
    const HostMemoryFact::Memory& memory = fact.value();
    for (const MemoryLimit& limit : memory.limits()) {
      // Kubernetes keeps some for the host's own services.
      if (limit.bytes() >= memory.total_bytes() / 4 * 3) continue;
      // Other jobs of Slurm have what they requested, and containers with less
      // than a rank takes only help, such as metrics exporters.
      const absl::string_view slice = limit.slice();
      const std::string id =
          absl::StrCat("slurm:", slice.substr(slice.rfind('_') + 1), ".");
      if (absl::StrContains(slice, "/job_")
              ? view.job() == nullptr || !absl::StartsWith(view.job()->id(), id)
              : absl::StrContains(slice, "docker") && limit.bytes() < kOfRank) {
        continue;
      }
      report.Add(host, "limited", PrintableText(limit.slice()),
                 gib(limit.bytes()), gib(memory.total_bytes()));
    }
    if (memory.has_kills_missing()) ++no_log;
    for (const OutOfMemory& kill : memory.kills()) {
      if (kill.seconds_ago() >= kDaySeconds) continue;
      report.Add(host, "killed", kill.pid(), PrintableText(kill.command()),
                 DurationText(absl::Seconds(kill.seconds_ago())),
                 Worded(kill.of_cgroup() ? "cgroup-limit" : "host-memory"));
    }
  }
  if (no_log > 0) report.Note("no-kernel-log", Counted(no_log, "host"));
}

void CheckSysctlPersistent(const ClusterView& view, RuleReport& report) {
  const BacklogNeed somaxconn = SomaxconnNeed(view.spec(), view.job());
  const BacklogNeed syn = SynBacklogNeed(view.spec(), view.job());
  for (const HostView& host : view.hosts()) {
    const KernelFacts& kernel = host.facts->kernel();
    HcclPortNeed ports = HcclPortsOn(view.spec(), *host.facts, view.job());
    for (PortSet* each : {&ports.certain, &ports.possible}) {
      *each = HandedOut(*each, *host.facts);
    }
    const BootKey keys[] = {
        {kReservedPortsKey, &kernel.reserved_ports_at_boot(), &ports},
        {kSomaxconnKey, &kernel.somaxconn_at_boot(), nullptr, somaxconn,
         StandardSomaxconn(*host.facts)},
        {kSynBacklogKey, &kernel.tcp_max_syn_backlog_at_boot(), nullptr, syn,
         kLeastStandard}};
    bool all_known = true;
    for (const BootKey& key : keys) {
      if (!IsKnown(*key.fact)) {
        report.Knows(host, Worded("at-boot", key.name), *key.fact);
        all_known = false;
        continue;
      }
      const auto& assignments = key.fact->value().assignments();
      const State state = JudgeAtBoot(
          key, assignments.empty() ? nullptr : &assignments.rbegin()->value());
      if (state == PASS) continue;
      NamedFinding text = BootFinding(host, key, report);
      // A plan writes files only if the spec asks for that.
      const bool is_kept = view.spec().kernel().persistent();
      text.by_hand = !is_kept || (key.ports && key.ports->is_of_job) ||
                     key.number.is_beyond_plan;
      if (is_kept) text.state = state;
      report.Add(host, std::move(text));
    }
    if (all_known) report.Judged(host);
  }
}

}  // namespace clusterd
