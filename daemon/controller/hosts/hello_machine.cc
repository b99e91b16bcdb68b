#include "daemon/controller/hosts/hello_machine.h"

#include <cstdint>

namespace clusterd {
namespace {

bool TellsATime(int64_t booted_at_s, absl::Time now) {
  return booted_at_s <= absl::ToUnixSeconds(now + kMostAhead) &&
         booted_at_s >= absl::ToUnixSeconds(now - kMostBehind);
}

}  // namespace

bool SameMachine(const Hello& a, const Hello& b) {
  return a.machine_id() == b.machine_id() && a.boot_id() == b.boot_id();
}

bool IsLaterStart(const Hello& a, const Hello& b, absl::Time now) {
  return !a.machine_id().empty() && a.machine_id() == b.machine_id() &&
         a.boot_id() != b.boot_id() && a.booted_at_s() != 0 &&
         TellsATime(b.booted_at_s(), now) &&
         (!TellsATime(a.booted_at_s(), now) ||
          b.booted_at_s() > a.booted_at_s());
}

}  // namespace clusterd
