// A set of TCP/UDP ports, as the kernel writes
// net.ipv4.ip_local_reserved_ports:
//   8080,60000-60015
// Kept as sorted, merged ranges, so that sets are compared and not spellings.
#ifndef CONFIG_VALUES_PORT_SET_H_
#define CONFIG_VALUES_PORT_SET_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

class PortSet {
 public:
  using Range = std::pair<uint32_t, uint32_t>;  // Inclusive.

  PortSet() = default;  // Empty.

  // Comma-separated ports 0-65535 and ranges; blank text (also one newline, as
  // the kernel prints an empty list) is the empty set. Strict where the kernel
  // is surprising: no octal, no hex, no spaces inside. InvalidArgument, quoting
  // the part that is wrong.
  static absl::StatusOr<PortSet> Parse(absl::string_view text);

  // REQUIRES: first <= last <= 65535.
  void Add(uint32_t first, uint32_t last);
  void Add(const PortSet& other);

  bool empty() const { return ranges_.empty(); }
  bool Contains(uint32_t port) const;
  bool Contains(const PortSet& other) const;
  // The ports of `this` that `other` lacks.
  PortSet Minus(const PortSet& other) const;
  // Deleted for a temporary: the ranges live as long as the set.
  const std::vector<Range>& ranges() const& { return ranges_; }
  const std::vector<Range>& ranges() && = delete;

  // The kernel's spelling; "" when empty.
  std::string ToString() const;

  friend bool operator==(const PortSet& a, const PortSet& b) {
    return a.ranges_ == b.ranges_;
  }
  friend bool operator!=(const PortSet& a, const PortSet& b) {
    return !(a == b);
  }

 private:
  std::vector<Range> ranges_;
};

}  // namespace clusterd

#endif  // CONFIG_VALUES_PORT_SET_H_
