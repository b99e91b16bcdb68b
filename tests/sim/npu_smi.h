// The simulated server's npu-smi: a script below its root folder. It answers
// from a file for each device and query, as for a healthy chip. Faults of a
// chip are written into these files.
#ifndef TESTS_SIM_NPU_SMI_H_
#define TESTS_SIM_NPU_SMI_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tests/sim/host_folder.h"

namespace clusterd::sim {

inline constexpr char kNpuSmi[] = "usr/local/sbin/npu-smi";

// `product` as in tool/product.h. On A3 two devices are a card; only A2 and A3
// know HCCS. In a super pod `server`, a number in the cluster, gives the place.
absl::Status WriteNpuSmi(const HostFolder& folder, const std::string& product,
                         const std::vector<int>& devices, int server = 0);

// A program instead of npu-smi that "hangs", is "silent" and exits 0, prints no
// table ("garbled"), or is "refused" the devices, with -8020.
absl::Status WriteBrokenNpuSmi(const HostFolder& folder,
                               const std::string& how);

// "Alarm" or "Alarm/80E18402/80E01801": the answer of `health`, with its codes.
absl::Status SetChipHealth(const HostFolder& folder, int device,
                           const std::string& value);

// The number of double bit errors; as many pages wait to be isolated.
absl::Status SetMemoryErrors(const HostFolder& folder, int device,
                             const std::string& value);

// The driver and firmware lines of `board`, for the card that has the device.
absl::Status SetCompatibility(const HostFolder& folder, int device,
                              const std::string& value);

// MB of HBM in use.
absl::Status SetMemoryUse(const HostFolder& folder, int device,
                          const std::string& value);

// Neither the mapping nor the table lists it, and no query finds it.
absl::Status HideChip(const HostFolder& folder, int device);

// The text instead of each answer about the chip.
absl::Status SetChipAnswer(const HostFolder& folder, int device,
                           const std::string& text);

// "OK", "NOK", or "OK/2" with that many lanes on the first port.
absl::Status SetHccs(const HostFolder& folder, int device,
                     const std::string& value);

// The value of spod-info under that key, in a super pod. FailedPrecondition
// elsewhere.
absl::Status SetSuperPodValue(const HostFolder& folder, int device,
                              const std::string& key, const std::string& value);

}  // namespace clusterd::sim

#endif  // TESTS_SIM_NPU_SMI_H_
