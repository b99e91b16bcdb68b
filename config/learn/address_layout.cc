#include "config/learn/address_layout.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/spec/mistakes.h"
#include "config/spec/spec_loader.h"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// "3 + 8*n + d", without the terms that are zero: a constant, and each factor
// with what it counts.
std::string SumText(int64_t constant,
                    const std::vector<std::pair<int64_t, std::string>>& terms) {
  std::string text = constant == 0 ? "" : absl::StrCat(constant);
  for (const auto& [factor, name] : terms) {
    if (factor == 0) continue;
    const absl::string_view sign = factor < 0 ? " - " : " + ";
    absl::StrAppend(
        &text, text.empty() ? (factor < 0 ? "-" : "") : sign,
        std::abs(factor) == 1 ? "" : absl::StrCat(std::abs(factor), "*"),
        std::abs(factor) == 1 || name.find('%') == name.npos
            ? name
            : absl::StrCat("(", name, ")"));
  }
  return text.empty() ? "0" : text;
}

constexpr size_t kLineNames = 8;

// How many hosts from `first` on have addresses that each increase by one.
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

// The folded names, if they expand in the same order.
std::string HostsOf(const std::vector<std::string>& names) {
  const std::string folded = FoldHostlist(names);
  const auto again = ExpandHostlist(folded);
  if (again.ok() && *again == names) return YamlName(folded);
  return ListText(Each<std::string>(names, YamlName));
}

// How servers are counted: letter `x` from `first`, `per_subnet` of them to a
// subnet; 0: all to one.
struct Counting {
  int64_t FormulaInputs::*x = &FormulaInputs::n;
  std::string letter;
  int64_t first = 0;
  int64_t per_subnet = 0;
  bool by_group = false;

  // The subnet, and the place in it.
  std::pair<int64_t, int64_t> Of(const FormulaInputs& inputs) const {
    if (by_group) return {inputs.g, inputs.i};
    const int64_t x_value = inputs.*x - first;
    if (per_subnet == 0) return {0, x_value};
    return {x_value / per_subnet, x_value % per_subnet};
  }
  std::string Letter() const {
    return first == 0 ? letter : absl::StrCat("(", letter, " - ", first, ")");
  }
  std::string SubnetText() const {
    if (by_group) return "g";
    if (per_subnet == 0) return "0";
    return per_subnet == 1 ? Letter() : absl::StrCat(Letter(), "/", per_subnet);
  }
  std::string PlaceText() const {
    if (by_group) return "i";
    return per_subnet == 0 ? Letter() : absl::StrCat(Letter(), "%", per_subnet);
  }
};

// The address of device k at subnet q and place r:
// subnets[k] + step*q, host part hosts[k] + stride*r.
struct Fit {
  int64_t step = 0;
  int64_t stride = 0;
  std::vector<int64_t> subnets;  // Counted in whole subnets from 0.0.0.0.
  std::vector<int64_t> hosts;
};

using Votes = std::map<int64_t, size_t>;

// Prefers, on a tie, the value that continues `before`.
int64_t Elect(const Votes& votes, std::optional<int64_t> before) {
  const int64_t best = Majority(votes).value_or(0);
  for (const int64_t next : {int64_t{0}, int64_t{1}}) {
    const auto found = before ? votes.find(*before + next) : votes.end();
    if (found != votes.end() && found->second == votes.at(best)) {
      return found->first;
    }
  }
  return best;
}

class Finder {
 public:
  Finder(absl::Span<const PlacedServer> servers, absl::Span<const uint32_t> ids)
      : servers_(servers), ids_(ids) {
    std::map<int, size_t> lengths;
    for (const PlacedServer& server : servers) {
      for (const auto& address : server.addresses) {
        const int length = address ? address->prefix_length() : 0;
        if (length >= 1 && length <= 30) ++lengths[length];
      }
    }
    prefix_length_ = Majority(lengths).value_or(0);
    const int host_bits = 32 - prefix_length_;
    for (size_t k = 0; k < ids.size(); ++k) {
      for (const PlacedServer& server : servers) {
        const auto& address = server.addresses[k];
        if (!address || address->prefix_length() != prefix_length_) continue;
        const int64_t bits = address->address().bits();
        seen_.push_back({k, &server.inputs, bits >> host_bits,
                         bits & ((int64_t{1} << host_bits) - 1)});
      }
    }
  }

  std::vector<AddressLayout> Find() const {
    std::vector<AddressLayout> layouts;
    if (prefix_length_ == 0) return layouts;
    for (const Counting& counting : Countings()) {
      const Fit fit = FitTo(counting);
      const size_t explained = Explained(counting, fit);
      if (explained > 0) layouts.push_back({Rails(counting, fit), explained});
    }
    absl::c_stable_sort(layouts, [](const auto& a, const auto& b) {
      return a.explained > b.explained;
    });
    return layouts;
  }

 private:
  // An address of device `k` whose prefix has the most common length.
  struct Seen {
    size_t k;
    const FormulaInputs* inputs;
    int64_t subnet;  // Counted in whole subnets from 0.0.0.0.
    int64_t host;
  };

  std::vector<Counting> Countings() const {
    std::vector<Counting> all;
    const bool named = absl::c_none_of(servers_, [](const auto& server) {
      return server.inputs.name == FormulaInputs::kNoNumber;
    });
    if (named) AddCountings({&FormulaInputs::name, "name"}, &all);
    AddCountings({&FormulaInputs::n, "n"}, &all);
    absl::c_stable_sort(all, [](const Counting& a, const Counting& b) {
      return a.per_subnet < b.per_subnet;
    });
    // Groups matter only if there are several servers in one.
    const int64_t groups = servers_.rbegin()->inputs.g + 1;
    if (groups > 1 && groups < static_cast<int64_t>(servers_.size())) {
      all.insert(absl::c_find_if(
                     all, [](const Counting& c) { return c.per_subnet > 1; }),
                 {nullptr, "", 0, 0, /*by_group=*/true});
    }
    return all;
  }

  void AddCountings(Counting counting, std::vector<Counting>* all) const {
    const auto x = counting.x;
    counting.first = servers_[0].inputs.*x;
    for (const PlacedServer& server : servers_) {
      counting.first = std::min(counting.first, server.inputs.*x);
    }
    // The numbers of the servers that each device's subnet has.
    std::map<std::pair<size_t, int64_t>, std::set<int64_t>> numbers;
    for (const Seen& seen : seen_) {
      numbers[{seen.k, seen.subnet}].insert(seen.inputs->*x);
    }
    Votes widths;
    for (const auto& [subnet, values] : numbers) {
      ++widths[*values.rbegin() - *values.begin() + 1];
    }
    for (const int64_t size :
         std::set<int64_t>{0, 1, *Majority(widths), widths.rbegin()->first}) {
      counting.per_subnet = size;
      all->push_back(counting);
    }
  }

  Fit FitTo(const Counting& counting) const {
    Votes steps;
    Votes strides;
    for (size_t i = 1; i < seen_.size(); ++i) {
      const Seen& before = seen_[i - 1];
      if (before.k != seen_[i].k) continue;
      const auto [q, r] = counting.Of(*seen_[i].inputs);
      const auto [old_q, old_r] = counting.Of(*before.inputs);
      Vote(seen_[i].subnet - before.subnet, q - old_q, &steps);
      if (q == old_q) Vote(seen_[i].host - before.host, r - old_r, &strides);
    }
    Fit fit;
    fit.step = Majority(steps).value_or(0);
    fit.stride = Majority(strides).value_or(0);
    ElectBases(counting, &fit);
    return fit;
  }

  // Votes for the step of one place, if it is a whole number.
  static void Vote(int64_t difference, int64_t places, Votes* votes) {
    if (places != 0 && difference % places == 0)
      ++(*votes)[difference / places];
  }

  void ElectBases(const Counting& counting, Fit* fit) const {
    std::vector<Votes> subnets(ids_.size());
    std::vector<Votes> hosts(ids_.size());
    for (const Seen& seen : seen_) {
      const auto [q, r] = counting.Of(*seen.inputs);
      ++subnets[seen.k][seen.subnet - fit->step * q];
      ++hosts[seen.k][seen.host - fit->stride * r];
    }
    for (size_t k = 0; k < ids_.size(); ++k) {
      std::optional<int64_t> subnet;
      std::optional<int64_t> host;
      if (k > 0) subnet = fit->subnets.back();
      if (k > 0) host = fit->hosts.back();
      // An unknown device continues from the device before it.
      const bool follows = k > 0 && subnets[k].empty();
      fit->subnets.push_back(follows ? *subnet : Elect(subnets[k], subnet));
      fit->hosts.push_back(follows ? *host + 1 : Elect(hosts[k], host));
    }
  }

  size_t Explained(const Counting& counting, const Fit& fit) const {
    return static_cast<size_t>(absl::c_count_if(seen_, [&](const Seen& seen) {
      const auto [q, r] = counting.Of(*seen.inputs);
      return seen.subnet == fit.subnets[seen.k] + fit.step * q &&
             seen.host == fit.hosts[seen.k] + fit.stride * r;
    }));
  }

  std::string Rails(const Counting& counting, const Fit& fit) const {
    std::string rails = "  rails:\n";
    for (size_t k = 0; k < ids_.size();) {
      size_t end = k + 1;
      int64_t slope = 0;
      while (end < ids_.size() && GoesOn(fit, k, end, &slope)) ++end;
      // The constant, counted from d, or from the letter itself if it is >= 0.
      int64_t constant = fit.hosts[k] - slope * ids_[k];
      Counting shown = counting;
      if (!counting.by_group && counting.per_subnet == 0 &&
          constant >= fit.stride * counting.first) {
        constant -= fit.stride * counting.first;
        shown.first = 0;
      }
      const auto ids = ids_.subspan(k, end - k);
      absl::StrAppend(
          &rails, "    - device: ", FoldIds(ids),
          "\n      subnet: ", SubnetText(counting, fit, k, end),
          "\n      host: ",
          SumText(constant, {{fit.stride, shown.PlaceText()}, {slope, "d"}}),
          "\n");
      k = end;
    }
    return rails;
  }

  // True if device `k` continues the rail that begins at `first`.
  bool GoesOn(const Fit& fit, size_t first, size_t k, int64_t* slope) const {
    const int64_t ids = int64_t{ids_[k]} - ids_[first];
    const int64_t difference = fit.hosts[k] - fit.hosts[first];
    if (k == first + 1) {
      if (difference % ids != 0) return false;
      *slope = difference / ids;
    }
    const auto is_list = [](const std::string& octet) {
      return octet[0] == '[';
    };
    return difference == *slope * ids &&
           absl::c_count_if(Octets(fit, first, k + 1), is_list) <= 1;
  }

  // The octets of the subnets of devices from `k` until `end`: "10", "[20-27]".
  std::vector<std::string> Octets(const Fit& fit, size_t k, size_t end) const {
    std::vector<std::string> octets;
    for (int shift = 24; shift >= 0; shift -= 8) {
      std::vector<uint32_t> values;
      for (size_t each = k; each < end; ++each) {
        const int64_t bits = fit.subnets[each] << (32 - prefix_length_);
        values.push_back(static_cast<uint32_t>(bits >> shift & 0xff));
      }
      const std::set<uint32_t> distinct(values.begin(), values.end());
      const bool rises =
          distinct.size() == values.size() && absl::c_is_sorted(values);
      octets.push_back(
          distinct.size() == 1 ? absl::StrCat(values[0])
          : rises              ? absl::StrCat("[", FoldIds(values), "]")
                  : absl::StrCat("[", absl::StrJoin(values, ","), "]"));
    }
    return octets;
  }

  std::string SubnetText(const Counting& counting, const Fit& fit, size_t k,
                         size_t end) const {
    const std::string subnets = absl::StrCat(
        absl::StrJoin(Octets(fit, k, end), "."), "/", prefix_length_);
    const std::string text = counting.SubnetText();
    if (fit.step == 0 || text == "0") return subnets;
    // A pattern is split at its first plus.
    return absl::StrCat(
        subnets, " + ",
        fit.step == 1 ? text : absl::StrCat(fit.step, "*(", text, ")"));
  }

  absl::Span<const PlacedServer> servers_;
  absl::Span<const uint32_t> ids_;
  int prefix_length_ = 0;
  std::vector<Seen> seen_;  // By device, then in the order of the servers.
};

}  // namespace

std::string ListText(const std::vector<std::string>& items) {
  std::string text = "[";
  for (size_t i = 0; i < items.size(); ++i) {
    if (i > 0) text += i % kLineNames == 0 ? ",\n      " : ", ";
    text += items[i];
  }
  return text + "]";
}

absl::StatusOr<std::vector<const SeenHost*>> OrderHosts(
    absl::Span<const SeenHost> hosts, std::vector<FindingValue>* notes) {
  std::map<std::string, const SeenHost*> by_name;
  std::map<uint32_t, std::string> by_address;
  std::vector<std::string> names;
  std::vector<std::string> lost;
  for (const SeenHost& host : hosts) {
    if (!by_name.emplace(host.name, &host).second) {
      return InvalidWords("msg-learn-host-twice", host.name);
    }
    if (!host.address.has_value() ||
        !CheckUsableAddress(*host.address, 32).ok()) {
      lost.push_back(host.name);
      continue;
    }
    const auto [first, is_new] =
        by_address.emplace(host.address->bits(), host.name);
    if (!is_new) {
      return InvalidWords("msg-learn-one-address", first->second, host.name,
                          host.address->ToString());
    }
    names.push_back(host.name);
  }
  if (names.empty() && lost.empty()) {
    return InvalidWords("msg-learn-no-host");
  }
  const FindingValue who = HostsValue(lost, 100);
  if (names.empty()) {
    return InvalidWords("msg-learn-no-address", who);
  }
  if (!lost.empty()) notes->push_back(Worded("spec-note-no-address", who));
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
    // Counts from 0 if that address is in the same /24, as users expect;
    // otherwise from the lowest number.
    int64_t least = NumberInName(names[0]);
    uint32_t start = hosts[first]->address->bits();
    for (size_t s = first + 1; named && s < end; ++s) {
      least = std::min(least, NumberInName(hosts[s]->name));
      start = std::min(start, hosts[s]->address->bits());
    }
    const bool from_zero = least <= int64_t{start & 0xff};
    if (named && from_zero) start -= static_cast<uint32_t>(least);
    const std::string address =
        absl::StrCat(Ipv4Address(start).ToString(),
                     !named      ? (end > first + 1 ? " + i" : "")
                     : from_zero ? std::string(" + name")
                                 : absl::StrCat(" + (name - ", least, ")"));
    absl::StrAppend(&text, "  - hosts: ", HostsOf(names),
                    "\n    address: ", address, "\n");
    first = end;
    ++groups;
  }
  return text;
}

std::vector<AddressLayout> FindLayouts(absl::Span<const PlacedServer> servers,
                                       absl::Span<const uint32_t> ids) {
  if (servers.empty() || ids.empty()) return {};
  return Finder(servers, ids).Find();
}

FindingValue PatternWords(absl::string_view rails) {
  FindingValue words;
  for (const absl::string_view rail : absl::StrSplit(rails, "    - device: ")) {
    const std::vector<absl::string_view> lines = absl::StrSplit(rail, '\n');
    if (lines.size() < 3) continue;  // Only its key.
    const FindingValue one =
        Worded("spec-one-rail", lines[0],
               absl::StripPrefix(lines[1], "      subnet: "),
               absl::StripPrefix(lines[2], "      host: "));
    words = words.words().empty() ? one : Worded("spec-both", words, one);
  }
  return words;
}

std::string DeviceComments(const ClusterSpec& spec) {
  std::string comments;
  for (const int s : std::set<int>{0, spec.servers_size() - 1}) {
    const ServerSpec& server = spec.servers(s);
    if (server.devices().empty() || server.devices(0).address().empty()) {
      continue;
    }
    absl::StrAppend(&comments, "# Devices of ", server.host(), ": ",
                    server.devices(0).address(), " to ",
                    server.devices().rbegin()->address(), "\n");
  }
  return comments;
}

std::vector<std::string> ExampleRails(const ProductProfile& profile,
                                      absl::Span<const uint32_t> ids,
                                      size_t servers) {
  const bool pairs = profile.subnet_plan == SubnetPlan::kPairs;
  const size_t in_subnet = servers * (pairs ? 2 : ids.size());
  int prefix = 24;
  while (prefix > 8 && (1u << (32 - prefix)) < in_subnet + 3) --prefix;
  std::vector<std::string> plans;
  for (const char* base : {"10.20.0.0/", "10.220.0.0/", "172.24.0.0/"}) {
    const std::string rail = absl::StrCat("\n      subnet: ", base, prefix);
    plans.push_back(
        pairs ? absl::StrCat("  rails:\n    - device: 0-3", rail,
                             " + d\n      host: 1 + 2*n\n    - device: 4-7",
                             rail, " + d - 4\n      host: 2 + 2*n\n")
              : absl::StrCat("  rails:\n    - device: ", FoldIds(ids), rail,
                             "\n      host: 1 + ", ids.size(), "*n + d\n"));
  }
  return plans;
}

std::string AsExample(const std::string& yaml) {
  const std::pair<std::string, std::string> parts =
      absl::StrSplit(yaml, absl::MaxSplits("\ndevices:", 1));
  return absl::StrCat(parts.first, "\ndevices:\n  # Fill in, for example:",
                      absl::StrReplaceAll(parts.second, {{"\n  ", "\n  # "}}));
}

}  // namespace clusterd
