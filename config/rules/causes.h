// Which finding explains which: link DOWN is why the same device's health probe
// gets no answer, and a wrong netmask why its subnets overlap. What may explain
// what is `explained_by` of the rows in texts/; here is what was really found.
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

// Explains what is gone once every device has its planned address.
inline constexpr absl::string_view kPlannedAddressRule = "device-ip-planned";

// Whether a finding of the rule can be explained by that cause; empty: by any.
bool IsExplained(const Rule& rule, absl::string_view cause = "");

// How many rules, each explained by the one before, come before this one: 0 if
// no other explains it.
int CausesBefore(const Rule& rule);

// What the rules of the catalogue found about devices. One thread may note what
// a rule found while others note for other rules, and ask about rules for which
// nobody notes any more.
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

  // The first rule of "link/detect-address" that found as bad a thing, or a
  // worse one, about one of the places; empty: none. What `as_planned` still
  // has of `rule` there is not explained by a device's address.
  std::string Explaining(absl::string_view rule, absl::string_view explained_by,
                         absl::Span<const Place> places, State state,
                         const Causes* as_planned) const;

 private:
  // Each place's worst; one number each, as they are looked up for every
  // finding.
  using Worst = absl::flat_hash_map<uint64_t, State>;
  static uint64_t KeyOf(const Place& place) {
    // A host may claim any 32 bits as the id of a device.
    const uint64_t device =
        place.device.has_value() ? uint64_t{1} + *place.device : 0;
    return uint64_t{place.host_order} << 33 | device;
  }
  bool HasOneOf(absl::string_view rule, absl::Span<const Place> places,
                State at_least) const;

  // Of every rule of the catalogue, from the beginning.
  absl::flat_hash_map<absl::string_view, Worst> rules_;
};

}  // namespace clusterd

#endif  // CONFIG_RULES_CAUSES_H_
