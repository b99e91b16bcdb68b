#include "config/learn/address_layout.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/learn/seen_cluster.h"
#include "config/values/number_list.h"

namespace clusterd {
namespace {

// How servers are counted: letter `x` from `first`, `per_subnet` of them to a
// subnet; 0: all to one.
struct Counting {
  int64_t FormulaInputs::*x = &FormulaInputs::n;
  std::string letter;
  int64_t first = 0;
  int64_t per_subnet = 0;
  bool by_group = false;

  // Which subnet, and which place in it.
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
  int prefix_length = 0;
  int64_t step = 0;
  int64_t stride = 0;
  std::vector<int64_t> subnets;  // Counted in whole subnets from 0.0.0.0.
  std::vector<int64_t> hosts;
};

using Votes = std::map<int64_t, size_t>;

// Of equals the one that goes on from `before`.
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
    ForEach([&](size_t, size_t, const Ipv4Interface& address) {
      if (address.prefix_length() >= 1 && address.prefix_length() <= 30) {
        ++lengths[address.prefix_length()];
      }
    });
    prefix_length_ = Majority(lengths).value_or(0);
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
  template <typename Visit>
  void ForEach(Visit visit) const {
    for (size_t s = 0; s < servers_.size(); ++s) {
      for (size_t k = 0; k < ids_.size(); ++k) {
        const auto& address = servers_[s].addresses[k];
        if (address.has_value()) visit(s, k, *address);
      }
    }
  }

  int64_t SubnetOf(const Ipv4Interface& address) const {
    return address.address().bits() >> (32 - prefix_length_);
  }
  int64_t HostOf(const Ipv4Interface& address) const {
    return address.address().bits() &
           ((int64_t{1} << (32 - prefix_length_)) - 1);
  }
  bool IsUsual(const Ipv4Interface& address) const {
    return address.prefix_length() == prefix_length_;
  }

  // The simplest first.
  std::vector<Counting> Countings() const {
    std::vector<Counting> bases;
    const bool named = absl::c_none_of(servers_, [](const auto& server) {
      return server.inputs.name == FormulaInputs::kNoNumber;
    });
    if (named) bases.push_back({&FormulaInputs::name, "name"});
    bases.push_back({&FormulaInputs::n, "n"});
    std::vector<Counting> all;
    for (const Counting& base : bases) AddCountings(base, &all);
    absl::c_stable_sort(all, [](const Counting& a, const Counting& b) {
      return a.per_subnet < b.per_subnet;
    });
    // Groups say more than how many servers happen to be in each.
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
    std::set<int64_t> sizes = {0, 1};
    std::map<std::pair<size_t, int64_t>, std::pair<int64_t, int64_t>> spans;
    ForEach([&](size_t s, size_t k, const Ipv4Interface& address) {
      const int64_t value = servers_[s].inputs.*x;
      const auto [span, is_new] =
          spans.try_emplace({k, SubnetOf(address)}, value, value);
      span->second.first = std::min(span->second.first, value);
      span->second.second = std::max(span->second.second, value);
    });
    Votes widths;
    for (const auto& [subnet, span] : spans) {
      ++widths[span.second - span.first + 1];
    }
    sizes.insert(Majority(widths).value_or(1));
    if (!widths.empty()) sizes.insert(widths.rbegin()->first);
    for (const int64_t size : sizes) {
      counting.per_subnet = size;
      all->push_back(counting);
    }
  }

  Fit FitTo(const Counting& counting) const {
    Fit fit;
    fit.prefix_length = prefix_length_;
    Votes steps;
    Votes strides;
    for (size_t k = 0; k < ids_.size(); ++k) {
      const PlacedServer* before = nullptr;
      for (const PlacedServer& server : servers_) {
        if (!server.addresses[k] || !IsUsual(*server.addresses[k])) continue;
        if (before != nullptr) {
          const auto [q, r] = counting.Of(server.inputs);
          const auto [old_q, old_r] = counting.Of(before->inputs);
          Vote(SubnetOf(*server.addresses[k]) - SubnetOf(*before->addresses[k]),
               q - old_q, &steps);
          if (q == old_q) {
            Vote(HostOf(*server.addresses[k]) - HostOf(*before->addresses[k]),
                 r - old_r, &strides);
          }
        }
        before = &server;
      }
    }
    fit.step = Majority(steps).value_or(0);
    fit.stride = Majority(strides).value_or(0);
    ElectBases(counting, &fit);
    return fit;
  }

  // One server goes on from the other by a whole number for each.
  static void Vote(int64_t difference, int64_t places, Votes* votes) {
    if (places != 0 && difference % places == 0)
      ++(*votes)[difference / places];
  }

  void ElectBases(const Counting& counting, Fit* fit) const {
    for (size_t k = 0; k < ids_.size(); ++k) {
      Votes subnets;
      Votes hosts;
      for (const PlacedServer& server : servers_) {
        if (!server.addresses[k] || !IsUsual(*server.addresses[k])) continue;
        const auto [q, r] = counting.Of(server.inputs);
        ++subnets[SubnetOf(*server.addresses[k]) - fit->step * q];
        ++hosts[HostOf(*server.addresses[k]) - fit->stride * r];
      }
      const bool first = k == 0;
      const auto last_subnet =
          first ? std::nullopt : std::make_optional(fit->subnets.back());
      const auto last_host =
          first ? std::nullopt : std::make_optional(fit->hosts.back());
      // A device of which nothing is known goes on from the one before.
      fit->subnets.push_back(subnets.empty() && !first
                                 ? *last_subnet
                                 : Elect(subnets, last_subnet));
      fit->hosts.push_back(hosts.empty() && !first ? *last_host + 1
                                                   : Elect(hosts, last_host));
    }
  }

  size_t Explained(const Counting& counting, const Fit& fit) const {
    size_t explained = 0;
    ForEach([&](size_t s, size_t k, const Ipv4Interface& address) {
      const auto [q, r] = counting.Of(servers_[s].inputs);
      explained += IsUsual(address) &&
                   SubnetOf(address) == fit.subnets[k] + fit.step * q &&
                   HostOf(address) == fit.hosts[k] + fit.stride * r;
    });
    return explained;
  }

  std::string Rails(const Counting& counting, const Fit& fit) const {
    std::string rails = "  rails:\n";
    for (size_t k = 0; k < ids_.size();) {
      size_t end = k + 1;
      int64_t slope = 0;
      while (end < ids_.size() && GoesOn(fit, k, end, &slope)) ++end;
      // The constant as it counts from d, and from the letter itself where
      // that gives no negative number.
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

  // Whether device `k` continues the rail that begins at `first`.
  bool GoesOn(const Fit& fit, size_t first, size_t k, int64_t* slope) const {
    const int64_t ids = int64_t{ids_[k]} - ids_[first];
    const int64_t difference = fit.hosts[k] - fit.hosts[first];
    if (k == first + 1) {
      if (difference % ids != 0) return false;
      *slope = difference / ids;
    }
    return difference == *slope * ids &&
           VaryingOctets(fit, first, k + 1).size() <= 1;
  }

  uint32_t Bits(const Fit& fit, size_t k) const {
    return static_cast<uint32_t>(fit.subnets[k] << (32 - fit.prefix_length));
  }

  std::set<int> VaryingOctets(const Fit& fit, size_t k, size_t end) const {
    std::set<int> varying;
    for (size_t other = k + 1; other < end; ++other) {
      for (int shift = 24; shift >= 0; shift -= 8) {
        const uint32_t differs = Bits(fit, k) ^ Bits(fit, other);
        if ((differs >> shift & 0xff) != 0) varying.insert(shift);
      }
    }
    return varying;
  }

  std::string SubnetText(const Counting& counting, const Fit& fit, size_t k,
                         size_t end) const {
    const std::set<int> varying = VaryingOctets(fit, k, end);
    std::vector<std::string> octets;
    for (int shift = 24; shift >= 0; shift -= 8) {
      std::vector<uint32_t> values;
      for (size_t each = k; each < end; ++each) {
        values.push_back(Bits(fit, each) >> shift & 0xff);
      }
      const bool rises =
          std::is_sorted(values.begin(), values.end(), std::less_equal<>());
      octets.push_back(
          varying.count(shift) == 0 ? absl::StrCat(values[0])
          : rises                   ? absl::StrCat("[", FoldIds(values), "]")
                  : absl::StrCat("[", absl::StrJoin(values, ","), "]"));
    }
    const std::string subnets =
        absl::StrCat(absl::StrJoin(octets, "."), "/", fit.prefix_length);
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
};

}  // namespace

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

std::vector<AddressLayout> FindLayouts(absl::Span<const PlacedServer> servers,
                                       absl::Span<const uint32_t> ids) {
  if (servers.empty() || ids.empty()) return {};
  return Finder(servers, ids).Find();
}

}  // namespace clusterd
