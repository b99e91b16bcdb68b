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

// Among these a port is chosen for a job's rendezvous (MASTER_PORT) that names
// none, so hosts are asked who has them. The vendor's example has the first
// (PyTorch on two servers of eight); 29500 is what torchrun takes where nobody
// names one, and so the likeliest to be taken. Below the ports that Linux gives
// to outgoing connections.
inline constexpr uint32_t kFirstMasterPort = 29501;
inline constexpr uint32_t kLastMasterPort = 29999;

// By "8.0.0" or "8.2.RC1"; nothing for a text that is no version.
std::optional<CannPorts> CannPortsOf(absl::string_view version);

}  // namespace clusterd

#endif  // CONFIG_HCCL_CANN_PORTS_H_
