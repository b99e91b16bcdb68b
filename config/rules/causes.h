// Finds which finding explains which: link DOWN is why the same device's health
// probe gets no answer, and a wrong netmask why its subnets overlap.
// `explained_by` of the rows in texts/ has the possible causes; this file has
// the actual ones.
#ifndef CONFIG_RULES_CAUSES_H_
#define CONFIG_RULES_CAUSES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "config/rules/catalogue.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Explains findings that disappear once all devices have planned addresses.
inline constexpr absl::string_view kPlannedAddressRule = "device-ip-planned";

// True if that cause can explain a finding of the rule; empty: any cause.
bool IsExplained(const Rule& rule, absl::string_view cause = "");

// The length of the longest chain of rules, each explained by the one before,
// that ends in this one: 0 if no other explains it.
int CausesBefore(const Rule& rule);

// Findings of the catalogue's rules about devices. Different threads may note
// findings of different rules, and ask about rules whose notes are complete.
class Causes {
 public:
  Causes();

  struct Place {
    uint32_t host_order = 0;
    std::optional<uint32_t> device = std::nullopt;  // Unset: the host itself.
  };

  void Note(absl::string_view rule, absl::Span<const Place> places,
            State state);
  bool Has(absl::string_view rule) const { return !rules_.at(rule).empty(); }
  // True if the rule found something about the place. A finding about a host is
  // about its devices, too, and the reverse.
  bool HasAt(absl::string_view rule, const Place& place) const;

  // The first rule of "link/detect-address" that found an equally bad thing, or
  // a worse one, about one of the places; empty: none. A device's address does
  // not explain findings of `rule` that `as_planned` still has there.
  std::string Explaining(absl::string_view rule, absl::string_view explained_by,
                         absl::Span<const Place> places, State state,
                         const Causes* as_planned) const;

 private:
  // Each place's worst, and each host's with its devices (kAnyDevice); keyed by
  // one number for fast look-ups.
  using Worst = absl::flat_hash_map<uint64_t, State>;
  static constexpr uint64_t kAnyDevice = (uint64_t{1} << 33) - 1;
  static uint64_t KeyOf(const Place& place) {
    // A host may claim any 32 bits as the id of a device.
    const uint64_t device =
        place.device.has_value() ? uint64_t{1} + *place.device : 0;
    return uint64_t{place.host_order} << 33 | device;
  }
  bool HasOneOf(absl::string_view rule, absl::Span<const Place> places,
                State at_least) const;

  // Has every rule of the catalogue from the beginning.
  absl::flat_hash_map<absl::string_view, Worst> rules_;
};

}  // namespace clusterd

#endif  // CONFIG_RULES_CAUSES_H_
