#include "daemon/host/kernel/kernel_observer.h"

#include <fnmatch.h>

#include <algorithm>
#include <list>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/values/port_set.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxValueBytes = 8192;
constexpr size_t kMaxPathBytes = 4096;
// Keys are far shorter; longer patterns are not given to fnmatch.
constexpr size_t kMaxPatternBytes = 256;

// A line that assigns to a key or a pattern.
struct Setting {
  std::string key;  // With slashes: net/core/somaxconn.
  PersistentValue::Assignment assignment;
};

// If the first separator is a dot, dots become slashes and slashes dots;
// otherwise slashes stay. Removes leading slashes, and empty or "." parts.
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

// Collects the assignments to one key, by its name and by patterns.
class KeySettings {
 public:
  explicit KeySettings(absl::string_view key) : key_(NormalKey(key)) {}

  void TakeLine(const SysctlFile& file, uint32_t number,
                absl::string_view line) {
    // A comment never matches a key, since it begins with its sign.
    static const LazyRE2 kLine = {R"(\s*(-?)\s*([^=]*?)\s*(?:(=)\s*(.*?)\s*)?)",
                                  RE2::Latin1};
    absl::string_view dash;
    absl::string_view name;
    absl::string_view equals;
    absl::string_view value;
    if (!HasForm(line, *kLine, &dash, &name, &equals, &value) ||
        (dash.empty() && equals.empty())) {
      return;
    }
    Setting setting{NormalKey(name), {}};
    const bool is_pattern = IsPatternFor(setting.key, key_);
    if (!is_pattern && setting.key != key_) return;
    if (!is_pattern) is_named_ = true;
    std::list<Setting>& settings = is_pattern ? by_pattern_ : by_name_;
    const auto has_same_key = [&setting](const Setting& earlier) {
      return earlier.key == setting.key;
    };
    // An exclusion cancels assignments to the same name or pattern.
    if (equals.empty()) {
      settings.remove_if(has_same_key);
      return;
    }
    setting.assignment.set_file(PrintableText(file.path, kMaxPathBytes));
    setting.assignment.set_line(number);
    setting.assignment.set_value(PrintableText(value, kMaxValueBytes));
    // systemd applies patterns in the order in which each one's value was last
    // changed: repeating an earlier value does not move it behind later ones.
    const auto last =
        std::find_if(settings.rbegin(), settings.rend(), has_same_key);
    const bool repeats = last != settings.rend() &&
                         last->assignment.value() == setting.assignment.value();
    if (!is_pattern || !repeats) settings.push_back(std::move(setting));
  }

  // Patterns do not apply to a key that any line names, even to exclude it.
  const std::list<Setting>& effective() const {
    return is_named_ ? by_name_ : by_pattern_;
  }

 private:
  const std::string key_;
  bool is_named_ = false;
  std::list<Setting> by_name_;
  std::list<Setting> by_pattern_;
};

constexpr absl::string_view kReservedPorts =
    "/proc/sys/net/ipv4/ip_local_reserved_ports";
constexpr absl::string_view kPortRange =
    "/proc/sys/net/ipv4/ip_local_port_range";
constexpr absl::string_view kNetworkParameters = "/proc/sys/net";
constexpr absl::string_view kFirstProcess = "/proc/1/ns/net";

struct Parameter {
  absl::string_view key;
  // The running value, if it is a number; reserved ports are a list.
  NumberFact* (KernelFacts::*number)();
  // The value that the next boot sets.
  PersistentValueFact* (KernelFacts::*at_boot)();
};
constexpr Parameter kParameters[] = {
    {"net.ipv4.ip_local_reserved_ports", nullptr,
     &KernelFacts::mutable_reserved_ports_at_boot},
    {"net.core.somaxconn", &KernelFacts::mutable_somaxconn,
     &KernelFacts::mutable_somaxconn_at_boot},
    {"net.ipv4.tcp_max_syn_backlog", &KernelFacts::mutable_tcp_max_syn_backlog,
     &KernelFacts::mutable_tcp_max_syn_backlog_at_boot},
};

std::string PathOf(const Parameter& parameter) {
  return absl::StrCat("/proc/sys/", NormalKey(parameter.key));
}

absl::Status Unexpected(absl::string_view path, absl::string_view text,
                        const FindingValue& expected) {
  return InFront(path,
                 InvalidWords("fact-unexpected", QuotedText(text), expected));
}

absl::StatusOr<std::string> ReadPorts(const FileReader& files) {
  ASSIGN_OR_RETURN(const std::string text, files.ReadTrimmed(kReservedPorts));
  if (PortSet::Parse(text).ok()) return text;
  return Unexpected(kReservedPorts, text, Worded("want-ports"));
}

// Two numbers separated by a tab.
absl::StatusOr<std::string> ReadPortRange(const FileReader& files) {
  static const LazyRE2 kForm = {R"((\d{1,5})\s+(\d{1,5}))"};
  ASSIGN_OR_RETURN(const std::string text, files.ReadTrimmed(kPortRange));
  absl::string_view first;
  absl::string_view last;
  std::string range;
  if (HasForm(text, *kForm, &first, &last)) {
    range = absl::StrCat(first, "-", last);
  }
  if (!range.empty() && PortSet::Parse(range).ok()) return range;
  return Unexpected(kPortRange, text, Worded("want-two-ports"));
}

absl::StatusOr<uint64_t> ReadNumber(const FileReader& files,
                                    const std::string& path) {
  static const LazyRE2 kNumber = {R"((\d+))"};
  ASSIGN_OR_RETURN(const std::string text, files.ReadTrimmed(path));
  uint64_t number = 0;
  if (HasForm(text, *kNumber, &number)) return number;
  return Unexpected(path, text, Worded("want-number"));
}

absl::StatusOr<uint64_t> ReadNamespace(const FileReader& files,
                                       absl::string_view path) {
  static const LazyRE2 kLink = {R"(net:\[(\d+)\])"};
  ASSIGN_OR_RETURN(const std::string link, files.ReadLink(path));
  uint64_t inode = 0;
  if (HasForm(link, *kLink, &inode)) return inode;
  return Unexpected(path, link, Worded("want-such-as", "net:[4026531840]"));
}

// `inode` is a namespace's; it is the initial one if it is process 1's.
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

absl::StatusOr<SysctlFiles> ReadSysctlFiles(const FileReader& files) {
  SysctlFiles read;
  for (const absl::string_view directory : kSysctlDirectories) {
    const auto names = files.List(directory);
    if (absl::IsNotFound(names.status())) continue;
    RETURN_IF_ERROR(names.status());
    for (const std::string& name : *names) {
      if (!absl::EndsWith(name, ".conf")) continue;
      const std::string path = absl::StrCat(directory, "/", name);
      absl::StatusOr<FileText> file = ReadSysctlFile(files, path);
      // Skips a dangling link, as systemd does.
      if (absl::IsNotFound(file.status())) continue;
      RETURN_IF_ERROR(file.status());
      // A file in an earlier directory hides it.
      read.try_emplace(name, SysctlFile{path, std::move(file->text)});
    }
  }
  return read;
}

void ReadNextBoot(const FileReader& files, KernelFacts* facts) {
  const absl::StatusOr<SysctlFiles> read = ReadSysctlFiles(files);
  for (const Parameter& parameter : kParameters) {
    PersistentValueFact* const fact = (facts->*parameter.at_boot)();
    if (read.ok()) {
      *fact->mutable_value() = FindSysctlAssignments(*read, parameter.key);
    } else {
      SetMissing(MissingFor(read.status()), fact);
    }
  }
}

// Reads the namespace that the calling thread is in.
void ReadRunning(const FileReader& files, KernelFacts* facts) {
  SetFact(ReadPorts(files), facts->mutable_reserved_ports());
  SetFact(ReadPortRange(files), facts->mutable_local_port_range());
  for (const Parameter& parameter : kParameters) {
    if (parameter.number == nullptr) continue;
    SetFact(ReadNumber(files, PathOf(parameter)), (facts->*parameter.number)());
  }
  const std::string neighbours = "/proc/sys/net/ipv4/neigh/default/gc_thresh";
  SetFact(ReadNumber(files, neighbours + "3"),
          facts->mutable_neighbours_most());
  SetFact(ReadNumber(files, neighbours + "2"),
          facts->mutable_neighbours_kept());
  SetFact(files.IsOnWritableMount(kNetworkParameters),
          facts->mutable_proc_sys_writable());
  SetFact(ReadNetworkNamespaceCookie(),
          facts->mutable_network_namespace_cookie());
}

// Explains a missing file: the kernel does not keep the value for each
// namespace. Without /proc/sys/net this does not apply.
template <typename Fact>
void ExplainAbsence(absl::string_view path, Fact* fact) {
  if (fact->missing().reason() != Missing::ABSENT) return;
  SetMissing(Missing::ABSENT, Worded("fact-kept-for-host", path), fact);
}

}  // namespace

absl::StatusOr<KernelFacts> ReadKernelIn(const OpenNetworkNamespace& opened,
                                         const FileReader& files) {
  KernelFacts facts;
  RETURN_IF_ERROR(opened.Run([&] { ReadRunning(files, &facts); }));
  const bool has_parameters =
      facts.proc_sys_writable().state_case() == BoolFact::kValue;
  if (has_parameters) {
    ExplainAbsence(kReservedPorts, facts.mutable_reserved_ports());
    ExplainAbsence(kPortRange, facts.mutable_local_port_range());
  }
  for (const Parameter& parameter : kParameters) {
    if (has_parameters && parameter.number != nullptr) {
      ExplainAbsence(PathOf(parameter), (facts.*parameter.number)());
    }
    SetMissing(Missing::NOT_QUERIED, Worded("fact-sysctl-d"),
               (facts.*parameter.at_boot)());
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

PersistentValue FindSysctlAssignments(const SysctlFiles& files,
                                      absl::string_view key) {
  KeySettings settings(key);
  for (const auto& [name, file] : files) {
    uint32_t number = 0;
    for (const absl::string_view line : absl::StrSplit(file.text, '\n')) {
      settings.TakeLine(file, ++number, line);
    }
  }
  PersistentValue persistent;
  for (const Setting& setting : settings.effective()) {
    *persistent.add_assignments() = setting.assignment;
  }
  return persistent;
}

}  // namespace clusterd
