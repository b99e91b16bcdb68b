// How many ports HCCL takes on a host, from its base port on, by the version of
// CANN. The pages of HCCL_IF_BASE_PORT say 16 for CANN 5.0.4, 6.3 and 8.0, and
// 32 from 8.2 on (https://www.hiascend.com/document/detail/zh/canncommercial/
// 82RC1/maintenref/envvar/envref_07_0074.html); what 8.1 takes is not
// published.
#ifndef CONFIG_HCCL_CANN_PORTS_H_
#define CONFIG_HCCL_CANN_PORTS_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"

namespace clusterd {

// Of a version that is not known: at least the 16 of every one.
struct CannPorts {
  uint32_t certain = 16;
  uint32_t possible = 32;
};

// By "8.0.0" or "8.2.RC1"; nothing for a text that is no version.
std::optional<CannPorts> CannPortsOf(absl::string_view version);

}  // namespace clusterd

#endif  // CONFIG_HCCL_CANN_PORTS_H_
