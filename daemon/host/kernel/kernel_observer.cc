#include "daemon/host/kernel/kernel_observer.h"

#include <fnmatch.h>

#include <algorithm>
#include <optional>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/port_set.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"
#include "daemon/host/files/missing.h"

namespace clusterd {
namespace {

constexpr size_t kMaxValueBytes = 8192;
// No key is nearly as long; longer patterns are not given to fnmatch.
constexpr size_t kMaxPatternBytes = 256;

// A line that says something about a key or a pattern.
struct Setting {
  std::string key;                   // With slashes: net/core/somaxconn.
  std::optional<std::string> value;  // None: an exclusion.
  const SysctlFile* file;
  uint32_t line;
};

// If the first separator is a dot, dots become slashes and slashes dots;
// otherwise the name has slashes already. No slash at the beginning, and no
// empty or "." parts.
std::string NormalKey(absl::string_view name) {
  std::string key(name);
  const size_t first = key.find_first_of("/.");
  if (first != std::string::npos && key[first] == '.') {
    key = absl::StrReplaceAll(key, {{".", "/"}, {"/", "."}});
  }
  const std::vector<absl::string_view> parts = absl::StrSplit(
      key, '/',
      [](absl::string_view part) { return !part.empty() && part != "."; });
  return absl::StrJoin(parts, "/");
}

bool IsPatternFor(const std::string& pattern, const std::string& key) {
  return pattern.find_first_of("*?[") != std::string::npos &&
         pattern.size() <= kMaxPatternBytes &&
         fnmatch(pattern.c_str(), key.c_str(), FNM_PATHNAME | FNM_PERIOD) == 0;
}

std::optional<Setting> ParseLine(absl::string_view line) {
  line = absl::StripAsciiWhitespace(line);
  if (line.empty() || line[0] == '#' || line[0] == ';') return {};
  const bool dash = line[0] == '-';
  if (dash) line.remove_prefix(1);
  const size_t equals = line.find('=');
  Setting setting;
  setting.key = NormalKey(absl::StripAsciiWhitespace(line.substr(0, equals)));
  if (equals != absl::string_view::npos) {
    setting.value = PrintableText(
        absl::StripAsciiWhitespace(line.substr(equals + 1)), kMaxValueBytes);
  } else if (!dash) {
    return {};
  }
  return setting;
}

std::vector<Setting> FindSettings(
    const std::vector<SysctlFile>& files,
    absl::FunctionRef<bool(const std::string& key)> is_wanted) {
  std::vector<Setting> settings;
  for (const SysctlFile& file : files) {
    uint32_t number = 0;
    for (const absl::string_view line : absl::StrSplit(file.text, '\n')) {
      ++number;
      std::optional<Setting> setting = ParseLine(line);
      if (!setting.has_value() || !is_wanted(setting->key)) continue;
      setting->file = &file;
      setting->line = number;
      settings.push_back(*std::move(setting));
    }
  }
  return settings;
}

// An exclusion takes back what was assigned to the same name or pattern before.
std::vector<Setting> WithoutTakenBack(std::vector<Setting> settings) {
  std::vector<Setting> kept;
  for (Setting& setting : settings) {
    if (setting.value.has_value()) {
      kept.push_back(std::move(setting));
      continue;
    }
    kept.erase(std::remove_if(kept.begin(), kept.end(),
                              [&setting](const Setting& earlier) {
                                return earlier.key == setting.key;
                              }),
               kept.end());
  }
  return kept;
}

// systemd applies patterns in the order in which each one's value was last
// changed: repeating an earlier value does not move it behind later ones.
std::vector<Setting> InPatternOrder(std::vector<Setting> settings) {
  std::vector<Setting> order;
  for (Setting& setting : settings) {
    const auto earlier = std::find_if(
        order.rbegin(), order.rend(),
        [&setting](const Setting& other) { return other.key == setting.key; });
    if (earlier == order.rend() || earlier->value != setting.value) {
      order.push_back(std::move(setting));
    }
  }
  return order;
}

constexpr absl::string_view kReservedPorts =
    "/proc/sys/net/ipv4/ip_local_reserved_ports";
constexpr absl::string_view kNetworkParameters = "/proc/sys/net";
constexpr absl::string_view kFirstProcess = "/proc/1/ns/net";

// A parameter that is a number.
struct NumberParameter {
  absl::string_view path;
  NumberFact* (KernelFacts::*fact)();
};
constexpr NumberParameter kNumbers[] = {
    {"/proc/sys/net/core/somaxconn", &KernelFacts::mutable_somaxconn},
    {"/proc/sys/net/ipv4/tcp_max_syn_backlog",
     &KernelFacts::mutable_tcp_max_syn_backlog},
};

// What the next boot sets.
struct BootParameter {
  absl::string_view key;
  PersistentValueFact* (KernelFacts::*fact)();
};
constexpr BootParameter kBootParameters[] = {
    {"net.ipv4.ip_local_reserved_ports",
     &KernelFacts::mutable_reserved_ports_at_boot},
    {"net.core.somaxconn", &KernelFacts::mutable_somaxconn_at_boot},
    {"net.ipv4.tcp_max_syn_backlog",
     &KernelFacts::mutable_tcp_max_syn_backlog_at_boot},
};

absl::Status Unexpected(absl::string_view path, absl::string_view text,
                        absl::string_view expected) {
  return absl::InvalidArgumentError(absl::StrCat(
      path, ": unexpected ", QuotedText(text), ", expected ", expected));
}

absl::StatusOr<std::string> ReadPorts(const FileReader& files) {
  ASSIGN_OR_RETURN(const std::string text, files.ReadTrimmed(kReservedPorts));
  if (PortSet::Parse(text).ok()) return text;
  return Unexpected(kReservedPorts, text, "a list of ports");
}

absl::StatusOr<uint64_t> ReadNumber(const FileReader& files,
                                    absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string text, files.ReadTrimmed(path));
  uint64_t number = 0;
  if (!absl::c_all_of(text, absl::ascii_isdigit) ||
      !absl::SimpleAtoi(text, &number)) {
    return Unexpected(path, text, "a number");
  }
  return number;
}

// 4026531840 of "net:[4026531840]".
absl::StatusOr<uint64_t> ReadNamespace(const FileReader& files,
                                       absl::string_view path) {
  ASSIGN_OR_RETURN(const std::string link, files.ReadLink(path));
  absl::string_view text = link;
  uint64_t inode = 0;
  if (!absl::ConsumePrefix(&text, "net:[") ||
      !absl::ConsumeSuffix(&text, "]") || !absl::SimpleAtoi(text, &inode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": unexpected ", QuotedText(link)));
  }
  return inode;
}

// `inode` is that of a namespace, the initial one if the first process is in
// it.
void SetNamespace(const FileReader& files,
                  const absl::StatusOr<uint64_t>& inode, KernelFacts* facts) {
  const auto is_initial = [&]() -> absl::StatusOr<bool> {
    RETURN_IF_ERROR(inode.status());
    ASSIGN_OR_RETURN(const uint64_t first, ReadNamespace(files, kFirstProcess));
    return *inode == first;
  };
  SetFact(inode, facts->mutable_network_namespace());
  SetFact(is_initial(), facts->mutable_initial_namespace());
}

// systemd takes any empty file, and a link to /dev/null, as a mask.
absl::StatusOr<FileText> ReadSysctlFile(const FileReader& files,
                                        const std::string& path) {
  if (files.ReadLink(path).value_or("") == "/dev/null") return FileText();
  return files.Read(path);
}

absl::StatusOr<std::vector<SysctlFile>> ReadSysctlFiles(
    const FileReader& files) {
  std::vector<SysctlFile> read;
  for (const absl::string_view directory : kSysctlDirectories) {
    const auto names = files.List(directory);
    if (absl::IsNotFound(names.status())) continue;
    RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      if (!absl::EndsWith(name, ".conf")) continue;
      absl::StatusOr<FileText> file =
          ReadSysctlFile(files, absl::StrCat(directory, "/", name));
      // A link to nothing is passed over, as systemd does.
      if (absl::IsNotFound(file.status())) continue;
      RETURN_IF_ERROR(file.status());
      read.push_back({std::string(directory), name, std::move(file->text)});
    }
  }
  return OrderSysctlFiles(std::move(read));
}

void ReadNextBoot(const FileReader& files, KernelFacts* facts) {
  const absl::StatusOr<std::vector<SysctlFile>> ordered =
      ReadSysctlFiles(files);
  for (const BootParameter& parameter : kBootParameters) {
    PersistentValueFact* const fact = (facts->*parameter.fact)();
    if (ordered.ok()) {
      *fact->mutable_value() = FindSysctlAssignments(*ordered, parameter.key);
    } else {
      SetMissing(MissingFor(ordered.status()), fact);
    }
  }
}

// Of the namespace that the calling thread is in.
void ReadRunning(const FileReader& files, KernelFacts* facts) {
  SetFact(ReadPorts(files), facts->mutable_reserved_ports());
  for (const NumberParameter& parameter : kNumbers) {
    SetFact(ReadNumber(files, parameter.path), (facts->*parameter.fact)());
  }
  absl::StatusOr<bool> writable = files.IsOnReadOnlyMount(kNetworkParameters);
  if (writable.ok()) writable = !*writable;
  SetFact(writable, facts->mutable_proc_sys_writable());
  SetFact(ReadNetworkNamespaceCookie(),
          facts->mutable_network_namespace_cookie());
}

// The file is missing where the kernel does not keep the value for each
// namespace; without /proc/sys/net nothing of the kind can be told.
template <typename Fact>
void ExplainAbsence(absl::string_view path, Fact* fact) {
  if (fact->missing().reason() != Missing::ABSENT) return;
  SetMissing(Missing::ABSENT,
             absl::StrCat(path,
                          ": this kernel keeps it for the host "
                          "alone, not in each network namespace"),
             fact);
}

}  // namespace

absl::StatusOr<KernelFacts> ReadKernelIn(const OpenNetworkNamespace& opened,
                                         const FileReader& files) {
  KernelFacts facts;
  RETURN_IF_ERROR(opened.Run([&] { ReadRunning(files, &facts); }));
  if (facts.proc_sys_writable().state_case() == BoolFact::kValue) {
    ExplainAbsence(kReservedPorts, facts.mutable_reserved_ports());
    for (const NumberParameter& parameter : kNumbers) {
      ExplainAbsence(parameter.path, (facts.*parameter.fact)());
    }
  }
  for (const BootParameter& parameter : kBootParameters) {
    SetMissing(Missing::NOT_QUERIED,
               "systemd applies sysctl.d to the host's own network "
               "namespace only",
               (facts.*parameter.fact)());
  }
  SetNamespace(files, opened.inode(), &facts);
  return facts;
}

KernelFacts ReadKernel(const FileReader& files) {
  KernelFacts facts;
  ReadRunning(files, &facts);
  ReadNextBoot(files, &facts);
  SetNamespace(files, ReadNamespace(files, "/proc/self/ns/net"), &facts);
  return facts;
}

std::vector<SysctlFile> OrderSysctlFiles(std::vector<SysctlFile> files) {
  std::vector<SysctlFile> applied;
  std::set<std::string> seen;
  for (SysctlFile& file : files) {
    if (absl::EndsWith(file.name, ".conf") && seen.insert(file.name).second) {
      applied.push_back(std::move(file));
    }
  }
  absl::c_sort(applied, [](const SysctlFile& a, const SysctlFile& b) {
    return a.name < b.name;
  });
  return applied;
}

PersistentValue FindSysctlAssignments(const std::vector<SysctlFile>& ordered,
                                      absl::string_view key) {
  const std::string normal = NormalKey(key);
  std::vector<Setting> settings = FindSettings(
      ordered, [&](const std::string& name) { return name == normal; });
  // Once a key is named, even to exclude it, no pattern reaches it.
  const bool named = !settings.empty();
  if (!named) {
    settings = FindSettings(ordered, [&](const std::string& name) {
      return IsPatternFor(name, normal);
    });
  }
  settings = WithoutTakenBack(std::move(settings));
  if (!named) settings = InPatternOrder(std::move(settings));
  PersistentValue persistent;
  for (const Setting& setting : settings) {
    PersistentValue::Assignment* assignment = persistent.add_assignments();
    assignment->set_file(PrintableText(
        absl::StrCat(setting.file->directory, "/", setting.file->name), 4096));
    assignment->set_line(setting.line);
    assignment->set_value(*setting.value);
  }
  return persistent;
}

}  // namespace clusterd
