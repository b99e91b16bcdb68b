#include "daemon/host/device_owners.h"

#include <unistd.h>

#include <string>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/missing.h"

namespace clusterd {
namespace {

constexpr char kTable[] = "/proc/uda/namespace_node";
constexpr uint32_t kFirstOfHost = 128;
constexpr int kMaxOwners = 256;
constexpr size_t kMaxCommandBytes = 64;

absl::Status Unexpected(absl::string_view line) {
  return absl::InvalidArgumentError(
      absl::StrCat(kTable, ": unexpected ", QuotedText(line)));
}

// Field 22 of stat, counted in ticks from boot. The name may hold anything.
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

// Empty: not known.
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

}  // namespace

absl::StatusOr<DeviceOwnersFact::Owners> ParseNamespaceNode(
    absl::string_view text) {
  // The kernel hides the pointer from some readers: "(null)".
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
  DeviceOwnersFact fact;
  const absl::StatusOr<FileText> table = files.Read(kTable);
  if (absl::IsNotFound(table.status())) {
    SetMissing(Missing::NOT_SUPPORTED,
               absl::StrCat(kTable, ": this driver does not have it"), &fact);
    return fact;
  }
  auto owners = table.ok() ? ParseNamespaceNode(table->text) : table.status();
  if (owners.ok()) {
    for (DeviceOwner& owner : *owners->mutable_owners()) {
      Describe(files, users, &owner);
    }
  }
  SetFact(std::move(owners), &fact);
  return fact;
}

}  // namespace clusterd
