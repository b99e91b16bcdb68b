// Assignments are printable, stand in lines that exist, and in order.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/sysctl_conf.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const uint32_t lines = 1 + std::count(text.begin(), text.end(), '\n');
  const std::vector<clusterd::SysctlFile> files =
      clusterd::OrderSysctlFiles({{"/etc/sysctl.d", "a.conf", text}});
  for (const char* key : {"net.core.somaxconn", "net.ipv4.tcp_max_syn_backlog",
                          "net.ipv4.ip_local_reserved_ports"}) {
    uint32_t last = 0;
    const clusterd::PersistentValue found =
        clusterd::FindSysctlAssignments(files, key);
    for (const clusterd::PersistentValue::Assignment& assignment :
         found.assignments()) {
      if (assignment.line() <= last || assignment.line() > lines) std::abort();
      last = assignment.line();
      for (const unsigned char c : assignment.value()) {
        if (c < 0x20 || c > 0x7e) std::abort();
      }
    }
  }
  return 0;
}
