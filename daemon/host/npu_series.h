// Tells an NPU's product series from its PCI ids, as the files vendor and
// device under /sys/bus/pci/devices/*/ have them: "0x19e5" and "0xd802". The
// labels are those of Huawei's msprechecker (Ascend/msit). Text in, value out.
#ifndef DAEMON_HOST_NPU_SERIES_H_
#define DAEMON_HOST_NPU_SERIES_H_

#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace clusterd {

// "A1", "A2", "A3", "Atlas-300" or "300I-Duo"; empty for any other device, such
// as the accelerators of the same vendor that are no NPUs.
absl::string_view NpuSeriesOf(absl::string_view vendor,
                              absl::string_view device);

// "A2 x 8", or "A2 x 7, A3 x 1" with the most frequent first. Empty for none.
std::string CountNpuSeries(const std::vector<std::string>& series);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SERIES_H_
