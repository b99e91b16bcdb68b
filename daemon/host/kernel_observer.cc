#include "daemon/host/kernel_observer.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/spec/port_set.h"
#include "daemon/host/missing.h"
#include "daemon/host/quoted_text.h"
#include "daemon/host/sysctl_conf.h"

namespace clusterd {
namespace {

constexpr absl::string_view kReservedPorts =
    "/proc/sys/net/ipv4/ip_local_reserved_ports";
constexpr absl::string_view kSomaxconn = "/proc/sys/net/core/somaxconn";
constexpr absl::string_view kSynBacklog =
    "/proc/sys/net/ipv4/tcp_max_syn_backlog";
constexpr absl::string_view kNetworkParameters = "/proc/sys/net";
constexpr absl::string_view kFirstProcess = "/proc/1/ns/net";

void SetUnreadable(absl::string_view path, absl::string_view text,
                   absl::string_view expected, Missing* missing) {
  *missing = MakeMissing(Missing::UNREADABLE,
                         absl::StrCat(path, ": unexpected ", QuotedText(text),
                                      ", expected ", expected));
}

void ReadPorts(const FileReader& files, TextFact* fact) {
  const absl::StatusOr<std::string> text = files.ReadTrimmed(kReservedPorts);
  if (!text.ok()) return SetMissing(MissingFor(text.status()), fact);
  if (!PortSet::Parse(*text).ok()) {
    return SetUnreadable(kReservedPorts, *text, "a list of ports",
                         fact->mutable_missing());
  }
  fact->set_value(*text);
}

void ReadNumber(const FileReader& files, absl::string_view path,
                NumberFact* fact) {
  const absl::StatusOr<std::string> text = files.ReadTrimmed(path);
  if (!text.ok()) return SetMissing(MissingFor(text.status()), fact);
  uint64_t number = 0;
  const bool digits =
      !text->empty() && std::all_of(text->begin(), text->end(), [](char c) {
        return absl::ascii_isdigit(c);
      });
  if (!digits || !absl::SimpleAtoi(*text, &number)) {
    return SetUnreadable(path, *text, "a number", fact->mutable_missing());
  }
  fact->set_value(number);
}

// 4026531840 of "net:[4026531840]".
absl::StatusOr<uint64_t> ReadNamespace(const FileReader& files,
                                       absl::string_view path) {
  const absl::StatusOr<std::string> link = files.ReadLink(path);
  if (!link.ok()) return link.status();
  absl::string_view text = *link;
  uint64_t inode = 0;
  if (!absl::ConsumePrefix(&text, "net:[") ||
      !absl::ConsumeSuffix(&text, "]") || !absl::SimpleAtoi(text, &inode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": unexpected ", QuotedText(*link)));
  }
  return inode;
}

void ReadNamespaces(const FileReader& files, KernelFacts* facts) {
  const absl::StatusOr<uint64_t> own =
      ReadNamespace(files, "/proc/self/ns/net");
  const absl::StatusOr<uint64_t> first = ReadNamespace(files, kFirstProcess);
  if (own.ok()) {
    facts->mutable_network_namespace()->set_value(*own);
  } else {
    SetMissing(MissingFor(own.status()), facts->mutable_network_namespace());
  }
  if (own.ok() && first.ok()) {
    facts->mutable_initial_namespace()->set_value(*own == *first);
  } else {
    SetMissing(MissingFor(own.ok() ? first.status() : own.status()),
               facts->mutable_initial_namespace());
  }
}

// systemd takes any empty file, and a link to /dev/null, as a mask.
absl::StatusOr<std::string> ReadSysctlFile(const FileReader& files,
                                           const std::string& path) {
  const absl::StatusOr<std::string> link = files.ReadLink(path);
  if (link.ok() && *link == "/dev/null") return std::string();
  absl::StatusOr<FileText> file = files.Read(path);
  if (!file.ok()) return file.status();
  return std::move(file->text);
}

absl::StatusOr<std::vector<SysctlFile>> ReadSysctlFiles(
    const FileReader& files) {
  std::vector<SysctlFile> read;
  for (const absl::string_view directory : kSysctlDirectories) {
    const absl::StatusOr<std::vector<std::string>> names =
        files.List(directory);
    if (absl::IsNotFound(names.status())) continue;
    if (!names.ok()) return names.status();
    for (const std::string& name : *names) {
      if (!absl::EndsWith(name, ".conf")) continue;
      absl::StatusOr<std::string> text =
          ReadSysctlFile(files, absl::StrCat(directory, "/", name));
      // A link to nothing is passed over, as systemd does.
      if (absl::IsNotFound(text.status())) continue;
      if (!text.ok()) return text.status();
      read.push_back({std::string(directory), name, *std::move(text)});
    }
  }
  return OrderSysctlFiles(std::move(read));
}

void ReadNextBoot(const FileReader& files, KernelFacts* facts) {
  const absl::StatusOr<std::vector<SysctlFile>> ordered =
      ReadSysctlFiles(files);
  const std::pair<absl::string_view, PersistentValueFact*> keys[] = {
      {"net.ipv4.ip_local_reserved_ports",
       facts->mutable_reserved_ports_at_boot()},
      {"net.core.somaxconn", facts->mutable_somaxconn_at_boot()},
      {"net.ipv4.tcp_max_syn_backlog",
       facts->mutable_tcp_max_syn_backlog_at_boot()},
  };
  for (const auto& [key, fact] : keys) {
    if (ordered.ok()) {
      *fact->mutable_value() = FindSysctlAssignments(*ordered, key);
    } else {
      SetMissing(MissingFor(ordered.status()), fact);
    }
  }
}

// Of the namespace that the calling thread is in.
void ReadRunning(const FileReader& files, KernelFacts* facts) {
  ReadPorts(files, facts->mutable_reserved_ports());
  ReadNumber(files, kSomaxconn, facts->mutable_somaxconn());
  ReadNumber(files, kSynBacklog, facts->mutable_tcp_max_syn_backlog());
  const absl::StatusOr<bool> read_only =
      files.IsOnReadOnlyMount(kNetworkParameters);
  if (read_only.ok()) {
    facts->mutable_proc_sys_writable()->set_value(!*read_only);
  } else {
    SetMissing(MissingFor(read_only.status()),
               facts->mutable_proc_sys_writable());
  }
  const absl::StatusOr<uint64_t> cookie = ReadNetworkNamespaceCookie();
  if (cookie.ok()) {
    facts->mutable_network_namespace_cookie()->set_value(*cookie);
  } else {
    SetMissing(MissingFor(cookie.status()),
               facts->mutable_network_namespace_cookie());
  }
}

// The file is missing where the kernel does not keep the value for each
// namespace; without /proc/sys/net nothing of the kind can be told.
template <typename Fact>
void ExplainAbsence(absl::string_view path, Fact* fact) {
  if (fact->missing().reason() != Missing::ABSENT) return;
  SetMissing(MakeMissing(Missing::ABSENT,
                         absl::StrCat(path,
                                      ": this kernel keeps it for the host "
                                      "alone, not in each network namespace")),
             fact);
}

void SkipNextBoot(KernelFacts* facts) {
  for (PersistentValueFact* fact :
       {facts->mutable_reserved_ports_at_boot(),
        facts->mutable_somaxconn_at_boot(),
        facts->mutable_tcp_max_syn_backlog_at_boot()}) {
    SetMissing(MakeMissing(Missing::NOT_QUERIED,
                           "systemd applies sysctl.d to the host's own network "
                           "namespace only"),
               fact);
  }
}

}  // namespace

absl::StatusOr<KernelFacts> ReadKernelIn(const OpenNetworkNamespace& place,
                                         const FileReader& files) {
  KernelFacts facts;
  const absl::Status entered = place.Run([&] { ReadRunning(files, &facts); });
  if (!entered.ok()) return entered;
  if (facts.proc_sys_writable().state_case() == BoolFact::kValue) {
    ExplainAbsence(kReservedPorts, facts.mutable_reserved_ports());
    ExplainAbsence(kSomaxconn, facts.mutable_somaxconn());
    ExplainAbsence(kSynBacklog, facts.mutable_tcp_max_syn_backlog());
  }
  SkipNextBoot(&facts);
  facts.mutable_network_namespace()->set_value(place.inode());
  const absl::StatusOr<uint64_t> first = ReadNamespace(files, kFirstProcess);
  if (first.ok()) {
    facts.mutable_initial_namespace()->set_value(place.inode() == *first);
  } else {
    SetMissing(MissingFor(first.status()), facts.mutable_initial_namespace());
  }
  return facts;
}

KernelFacts ReadKernel(const FileReader& files) {
  KernelFacts facts;
  ReadRunning(files, &facts);
  ReadNextBoot(files, &facts);
  ReadNamespaces(files, &facts);
  return facts;
}

}  // namespace clusterd
