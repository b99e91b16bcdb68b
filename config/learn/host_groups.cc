#include "config/learn/host_groups.h"

#include <algorithm>
#include <map>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/values/address_pattern.h"
#include "config/values/hostlist.h"
#include "config/values/status_macros.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr size_t kLineNames = 8;
constexpr char kHostsFile[] =
    "; a hosts file gives them: --hosts-file of config learn, one more FILE of "
    "config import";

// How far hosts from `first` on has addresses that count by one each.
size_t RunBy(absl::Span<const SeenHost* const> hosts, size_t first,
             bool by_name) {
  const auto number = [&](size_t s) {
    return by_name ? NumberInName(hosts[s]->name) : static_cast<int64_t>(s);
  };
  const auto base = [&](size_t s) {
    return int64_t{hosts[s]->address->bits()} - number(s);
  };
  if (number(first) < 0 || base(first) < 0) return first;
  size_t end = first + 1;
  while (end < hosts.size() && number(end) >= 0 && base(end) == base(first)) {
    ++end;
  }
  return end;
}

// Folded where that expands in the same order.
std::string HostsOf(const std::vector<std::string>& names) {
  const std::string folded = FoldHostlist(names);
  const auto again = ExpandHostlist(folded);
  if (again.ok() && *again == names) return NameText(folded);
  std::vector<std::string> quoted;
  for (const std::string& name : names) quoted.push_back(NameText(name));
  return ListText(quoted);
}

}  // namespace

std::string NameText(const std::string& name) {
  return absl::EqualsIgnoreCase(name, "null") ? absl::StrCat("\"", name, "\"")
                                              : name;
}

std::string ListText(const std::vector<std::string>& items) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i % kLineNames == 0 ? ",\n      " : ", ";
    text += items[i];
  }
  return text + "]";
}

absl::StatusOr<std::vector<const SeenHost*>> OrderHosts(
    absl::Span<const SeenHost> hosts, std::vector<std::string>* notes) {
  std::map<std::string, const SeenHost*> by_name;
  std::map<uint32_t, std::string> by_address;
  std::vector<std::string> names;
  std::vector<std::string> lost;
  for (const SeenHost& host : hosts) {
    if (!by_name.emplace(host.name, &host).second) {
      return absl::InvalidArgumentError(
          absl::StrCat("host ", host.name, " stands twice"));
    }
    if (!host.address.has_value() ||
        !CheckUsableAddress(*host.address, 32).ok()) {
      lost.push_back(host.name);
      continue;
    }
    const auto [first, is_new] =
        by_address.emplace(host.address->bits(), host.name);
    if (!is_new) {
      return absl::InvalidArgumentError(absl::StrCat(
          "hosts ", first->second, " and ", host.name, " have one address, ",
          host.address->ToString(), ": expected their own ones", kHostsFile));
    }
    names.push_back(host.name);
  }
  const std::string who = HostsText(lost, 100);
  if (names.empty()) {
    return absl::InvalidArgumentError(
        absl::StrCat("no host has an address that others reach it by",
                     lost.empty() ? "" : absl::StrCat(": ", who, kHostsFile)));
  }
  if (!lost.empty()) {
    notes->push_back(
        absl::StrCat("left out, since no address is known that others reach "
                     "them by: ",
                     who, kHostsFile));
  }
  ASSIGN_OR_RETURN(names, ExpandHostlist(FoldHostlist(names)));
  std::vector<const SeenHost*> ordered;
  for (const std::string& name : names) ordered.push_back(by_name.at(name));
  return ordered;
}

std::string GroupHosts(absl::Span<const SeenHost* const> hosts,
                       std::vector<PlacedServer>* placed) {
  std::string text = "servers:\n";
  int64_t groups = 0;
  for (size_t first = 0; first < hosts.size();) {
    const size_t by_index = RunBy(hosts, first, /*by_name=*/false);
    const size_t by_name = RunBy(hosts, first, /*by_name=*/true);
    const bool named = by_name >= by_index && by_name > first + 1;
    const size_t end = std::max(by_index, by_name);
    std::vector<std::string> names;
    for (size_t s = first; s < end; ++s) {
      names.push_back(hosts[s]->name);
      PlacedServer& server = placed->emplace_back();
      server.inputs.n = static_cast<int64_t>(s);
      server.inputs.i = static_cast<int64_t>(s - first);
      server.inputs.g = groups;
      server.inputs.name = NumberInName(names.back());
    }
    const Ipv4Address start = *hosts[first]->address;
    const std::string address =
        named ? absl::StrCat(
                    Ipv4Address(static_cast<uint32_t>(start.bits() -
                                                      NumberInName(names[0])))
                        .ToString(),
                    " + name")
              : absl::StrCat(start.ToString(), end > first + 1 ? " + i" : "");
    absl::StrAppend(&text, "  - hosts: ", HostsOf(names),
                    "\n    address: ", address, "\n");
    first = end;
    ++groups;
  }
  return text;
}

}  // namespace clusterd
