#include "daemon/controller/hosts/hello_machine.h"

namespace clusterd {

bool SameMachine(const Hello& a, const Hello& b) {
  return a.machine_id() == b.machine_id() && a.boot_id() == b.boot_id();
}

bool IsLaterStart(const Hello& a, const Hello& b) {
  return !a.machine_id().empty() && a.machine_id() == b.machine_id() &&
         a.boot_id() != b.boot_id() && a.booted_at_s() > 0 &&
         b.booted_at_s() > a.booted_at_s();
}

}  // namespace clusterd
