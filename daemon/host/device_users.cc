#include "daemon/host/device_users.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include <map>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/host/identity_observer.h"
#include "daemon/host/npu_smi/device_ids.h"
#include "daemon/host/sockets/socket_observer.h"

namespace clusterd {
namespace {

constexpr char kTable[] = "/proc/uda/namespace_node";
constexpr uint32_t kFirstOfHost = 128;
constexpr int kMaxOwners = 256;
constexpr size_t kMaxCommandBytes = 64;

absl::Status Unexpected(absl::string_view line) {
  return InFront(kTable, InvalidWords("fact-odd", QuotedText(line)));
}

// Reads field 22 of stat, in ticks since boot. The name may hold any text.
uint64_t AgeOf(const FileReader& files, const std::string& process) {
  static const LazyRE2 kStat = {R"((?s).*\)(?: +\S+){19} +(\d+) .*)",
                                RE2::Latin1};
  static const LazyRE2 kUptime = {R"((\d+)\..*)"};
  uint64_t ticks = 0;
  uint64_t uptime = 0;
  if (!HasForm(files.ReadTrimmed(process + "/stat").value_or(""), *kStat,
               &ticks) ||
      !HasForm(files.ReadTrimmed("/proc/uptime").value_or(""), *kUptime,
               &uptime)) {
    return 0;
  }
  const uint64_t began = ticks / sysconf(_SC_CLK_TCK);
  return uptime > began ? uptime - began : 0;
}

// Empty if not known.
std::string Capabilities(const FileReader& files, const std::string& process) {
  static const LazyRE2 kForm = {R"((?s).*\nCapEff:\s*([0-9a-f]+)(?:\n.*)?)"};
  std::string capabilities;
  HasForm(files.ReadTrimmed(process + "/status").value_or(""), *kForm,
          &capabilities);
  return capabilities;
}

void Describe(const FileReader& files, const NpuProcessesFact& users,
              DeviceOwner* owner) {
  const std::string process = absl::StrCat("/proc/", owner->pid());
  const auto command = files.ReadTrimmed(process + "/comm");
  if (!command.ok()) return;
  owner->set_command(PrintableText(*command, kMaxCommandBytes));
  owner->set_age_s(AgeOf(files, process));
  const std::string capabilities = Capabilities(files, process);
  owner->set_privileged(!capabilities.empty() &&
                        capabilities == Capabilities(files, "/proc/1"));
  const auto view = files.ReadLink(process + "/ns/mnt");
  owner->set_uses_device(
      view.ok() &&
      absl::c_any_of(users.value().processes(), [&](const NpuProcess& user) {
        const auto other =
            files.ReadLink(absl::StrCat("/proc/", user.pid(), "/ns/mnt"));
        return user.pid() == owner->pid() || (other.ok() && *other == *view);
      }));
}

// The first pid namespace's id in every kernel (PROC_PID_INIT_INO of
// include/linux/proc_ns.h).
constexpr char kFirstPidNamespace[] = "pid:[4026531836]";

struct Node {
  uint32_t device;
  struct stat status;
};

absl::StatusOr<std::vector<Node>> ReadNodes(const FileReader& files) {
  ASSIGN_OR_RETURN(const std::vector<std::string> names, files.List("/dev"));
  std::vector<Node> nodes;
  for (const std::string& name : names) {
    const std::optional<uint32_t> id = DeviceIdOfNode(name);
    Node node;
    if (!id.has_value() ||
        stat(files.Resolve(absl::StrCat("/dev/", name)).c_str(),
             &node.status) != 0) {
      continue;
    }
    node.device = *id;
    nodes.push_back(node);
  }
  if (!nodes.empty()) return nodes;
  return PreconditionWords("fact-no-node");
}

// Searches the machine's processes for open device nodes.
class UserSearch {
 public:
  UserSearch(std::vector<Node> nodes, bool is_simulated, uint32_t self,
             const TimeBudget& budget)
      : nodes_(std::move(nodes)),
        is_simulated_(is_simulated),
        self_(self),
        budget_(budget) {}

  absl::StatusOr<std::vector<DeviceUser>> Run() {
    ASSIGN_OR_RETURN(const auto names, files_.List("/proc"));
    for (const std::string& name : names) {
      uint32_t pid = 0;
      if (!absl::SimpleAtoi(name, &pid) || pid == self_) continue;
      RETURN_IF_ERROR(SearchProcess(pid));
      RETURN_IF_ERROR(CheckTimeLeft());
    }
    absl::c_sort(users_, [](const DeviceUser& a, const DeviceUser& b) {
      return std::tie(a.device, a.pid) < std::tie(b.device, b.pid);
    });
    return std::move(users_);
  }

 private:
  absl::Status CheckTimeLeft() const {
    if (!budget_.IsSpent() && budget_.Passed() < end_) return absl::OkStatus();
    const auto most = absl::c_max_element(
        files_of_, [](auto& a, auto& b) { return a.second < b.second; });
    return DeadlineWords("fact-npu-users-late", budget_.HostDeadline(),
                         most->first, most->second);
  }

  absl::Status SearchProcess(uint32_t pid) {
    const std::string process = absl::StrCat("/proc/", pid);
    const std::string folder = process + "/fd";
    // Lists only the first files of a process with too many: otherwise such a
    // process would prevent the search, and with it an undo.
    const absl::StatusOr<std::vector<std::string>> fds =
        files_.List(folder, FileReader::Beyond::kLeftOut);
    struct stat owner = {};
    stat(process.c_str(), &owner);
    files_of_[owner.st_uid] += 1 + (fds.ok() ? fds->size() : 0);
    if (!fds.ok()) {
      const bool has_ended = absl::IsNotFound(fds.status()) ||
                             absl::IsNotFound(files_.CheckExists(process));
      const bool is_hidden =
          is_simulated_ && absl::IsPermissionDenied(fds.status());
      return has_ended || is_hidden ? absl::OkStatus() : fds.status();
    }
    std::set<uint32_t> devices;
    for (const std::string& fd : *fds) {
      const std::optional<uint32_t> device =
          DeviceOf(absl::StrCat(folder, "/", fd));
      if (device.has_value()) devices.insert(*device);
    }
    if (devices.empty()) return absl::OkStatus();
    const uint32_t parent = ReadParent(files_, pid);
    if (parent == self_) return absl::OkStatus();
    const std::string command = PrintableText(
        files_.ReadTrimmed(process + "/comm").value_or("?"), kMaxCommandBytes);
    for (const uint32_t device : devices) {
      users_.push_back({device, pid, command, parent});
    }
    return absl::OkStatus();
  }

  std::optional<uint32_t> DeviceOf(const std::string& fd) const {
    // Checks the name first, so that only possible nodes are examined, and then
    // only the kernel's own data: a user may give such a name to a file on an
    // unreachable server, or in a file system of the user's own.
    struct statx open;
    if (!absl::StrContains(files_.ReadLink(fd).value_or(""), "/davinci") ||
        statx(AT_FDCWD, fd.c_str(), AT_STATX_DONT_SYNC | AT_NO_AUTOMOUNT,
              STATX_TYPE | STATX_INO, &open) != 0) {
      return {};
    }
    for (const Node& node : nodes_) {
      if (IsSame(node.status, open)) return node.device;
    }
    return {};
  }

  bool IsSame(const struct stat& node, const struct statx& open) const {
    if (node.st_dev == makedev(open.stx_dev_major, open.stx_dev_minor) &&
        node.st_ino == open.stx_ino) {
      return true;
    }
    // A container has its own nodes for the same device. Those of simulated
    // servers all stand for /dev/null.
    return !is_simulated_ && S_ISCHR(node.st_mode) && S_ISCHR(open.stx_mode) &&
           node.st_rdev == makedev(open.stx_rdev_major, open.stx_rdev_minor);
  }

  const FileReader files_{"/"};
  const std::vector<Node> nodes_;
  const bool is_simulated_;
  const uint32_t self_;
  const TimeBudget& budget_;
  // Users determine how many files there are to search.
  const absl::Duration end_ = budget_.Passed() + absl::Seconds(5);
  std::map<uid_t, size_t> files_of_;  // Files and processes of each user.
  std::vector<DeviceUser> users_;
};

}  // namespace

absl::StatusOr<DeviceOwnersFact::Owners> ParseNamespaceNode(
    absl::string_view text) {
  // The kernel hides the pointer from some readers as "(null)".
  static const LazyRE2 kHead = {
      R"(ns_id +(\d+) +identify +([0-9a-fA-F]+) +root_tgid +(\d+) +)"
      R"(dev_num +(\d+) +namespace [^,]*, *udev list:)"};
  static const LazyRE2 kRow = {R"((\d+) +(\d+))"};
  DeviceOwnersFact::Owners owners;
  DeviceOwner owner;
  uint32_t space = kFirstOfHost;
  uint32_t left = 0;
  absl::string_view last;
  for (const absl::string_view each : absl::StrSplit(text, '\n')) {
    const absl::string_view line = absl::StripAsciiWhitespace(each);
    uint32_t index = 0;
    uint32_t device = 0;
    if (line.empty() || line == "logic_devid udevid") continue;
    last = line;
    if (left > 0 && HasForm(line, *kRow, &index, &device)) {
      --left;
      owner.add_devices(device);
    } else if (left == 0 && HasForm(line, *kHead, &space,
                                    owner.mutable_identity(), &index, &left)) {
      owner.clear_devices();
      owner.set_pid(index);
      if (owner.identity() == "0") owner.clear_identity();
    } else {
      return Unexpected(line);
    }
    const bool is_whole = left == 0 && !owner.devices().empty();
    if (!is_whole || space >= kFirstOfHost) continue;
    if (owners.owners_size() == kMaxOwners) return Unexpected(line);
    absl::c_sort(*owner.mutable_devices());
    *owners.add_owners() = owner;
  }
  if (left > 0) return Unexpected(last);
  return owners;
}

DeviceOwnersFact ReadDeviceOwners(const FileReader& files,
                                  const NpuProcessesFact& users) {
  const absl::StatusOr<FileText> table = files.Read(kTable);
  auto owners = table.ok() ? ParseNamespaceNode(table->text) : table.status();
  if (absl::IsNotFound(table.status())) {
    owners = UnimplementedWords("fact-driver-lacks", kTable);
  }
  if (owners.ok()) {
    for (DeviceOwner& owner : *owners->mutable_owners()) {
      Describe(files, users, &owner);
    }
  }
  return MakeFact<DeviceOwnersFact>(std::move(owners));
}

absl::StatusOr<std::vector<DeviceUser>> ReadDeviceUsers(
    const HostPaths& paths, uint32_t self, const TimeBudget& budget) {
  const FileReader files(paths.root);
  const bool is_simulated =
      files.Resolve("/") != "/" || !ReadSimulation(files).empty();
  ASSIGN_OR_RETURN(std::vector<Node> nodes, ReadNodes(files));
  if (!is_simulated) {
    ASSIGN_OR_RETURN(const std::string space,
                     files.ReadLink("/proc/self/ns/pid"));
    if (space != kFirstPidNamespace) {
      return PreconditionWords("fact-container-proc", space);
    }
  }
  return UserSearch(std::move(nodes), is_simulated, self, budget).Run();
}

NpuProcessesFact ReadNpuProcesses(const HostPaths& paths,
                                  const TimeBudget& budget) {
  if (budget.asker().changes_host) {
    return MissingFact<NpuProcessesFact>(
        MakeMissing(Missing::NOT_QUERIED, Worded("fact-no-plan")));
  }
  const auto users =
      ReadDeviceUsers(paths, static_cast<uint32_t>(getpid()), budget);
  if (!users.ok()) {
    Missing why = MissingFor(users.status());
    if (absl::IsFailedPrecondition(users.status())) {
      why.set_reason(Missing::NOT_SUPPORTED);
    }
    return MissingFact<NpuProcessesFact>(why);
  }
  std::map<uint32_t, NpuProcess> processes;
  for (const DeviceUser& user : *users) {
    NpuProcess& process = processes[user.pid];
    process.set_pid(user.pid);
    process.set_parent(user.parent);
    process.set_command(user.command);
    process.add_devices(user.device);
  }
  NpuProcessesFact fact;
  fact.mutable_value();
  for (auto& [pid, process] : processes) {
    *fact.mutable_value()->add_processes() = std::move(process);
  }
  return fact;
}

}  // namespace clusterd
