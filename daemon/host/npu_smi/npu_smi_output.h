// Reads what npu-smi says: whether a run failed, and how; its lines of data;
// and the tables of `npu-smi info`, devices and the processes on them:
//   | NPU   Name       | Health        | Power(W)    Temp(C)  …               |
//   | Chip  Phy-ID     | Bus-Id        | AICore(%)   Memory-Usage(MB) …       |
//   | 0     Ascend910  | OK            | 182.0       36       …               |
//   | 0     0          | 0000:9D:00.0  | 0     0 / 0   3412 / 65536           |
//   | NPU   Chip       | Process id    | Process name | Process memory(MB)    |
//   | 0     0          | 139667        | python       | 30780                 |
//   | No running processes found in NPU 1                                     |
// Column widths differ between releases and anonymised captures are misaligned:
// cells end at a bar, words at blanks, nothing is taken by position. Layouts:
//   A1, A2     second header "Chip", no Phy-ID
//   A3         "Chip  Phy-ID", one pair of rows a die
//   Ascend 950 "NPU ID" in a cell of its own, no chip
// Texts of the published source (hicann/driver ef377e95, dev_prod/user/npucli)
// and published captures (Ascend/mind-cluster, vllm-ascend issues). Runs
// nothing.
#ifndef DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_
#define DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

// Ok if the run brought data. The message quotes what the tool said. A known
// text counts whatever the status is, on either stream, if it begins a line:
//   There is no NPU card on this server.          NotFound
//   Invalid card id.                              NotFound
//   Failed to query "ecc" result.                 Unavailable
//   This device does not support querying hccs.   Unimplemented
//   Error parameter of -i                         InvalidArgument
//   Usage: npu-smi info <watch|proc|…> …          InvalidArgument
// A status other than 0, or a signal, without a known text: Unavailable.
// REQUIRES: the program ended by itself or by a signal, not at a deadline.
absl::Status NpuSmiFailure(const CommandResult& result);

// The lines of `output` that carry data, without blanks at their end. Left out:
// empty lines, and "[WARNING]…", which the tool prints first while
// /etc/ascend_install.info lacks Driver_Install_Status=complete. Views into
// `output`.
std::vector<absl::string_view> NpuSmiDataLines(absl::string_view output);

// One chip, or one die of an A3 NPU.
struct NpuSmiChip {
  uint32_t npu = 0;
  // Nothing on Ascend 950, which has no column for it.
  std::optional<uint32_t> chip;
  // A3 only: the id that `hccn_tool -i` takes there.
  std::optional<uint32_t> phy_id;
  std::string name;    // "910B2", "Ascend910"
  std::string health;  // As the tool has it: OK, Warning, Alarm, Critical, …
  std::string bus_id;  // "NA" in some 950 releases.
  // Nothing where the tool has no number.
  std::optional<uint64_t> hbm_used_mb;
  std::optional<uint64_t> hbm_total_mb;
};

struct NpuSmiProcess {
  uint32_t npu = 0;
  std::optional<uint32_t> chip;
  uint32_t pid = 0;
  std::string name;
  std::optional<uint64_t> memory_mb;
};

struct NpuSmiInfo {
  std::string tool_version;      // "npu-smi 24.1.rc1"; may differ from
  std::string software_version;  // "Version: 24.1.rc1"
  std::vector<NpuSmiChip> chips;
  std::vector<NpuSmiProcess> processes;
  // NPUs for which the tool says that nothing runs.
  std::set<uint32_t> idle_npus;
};

// InvalidArgument, quoting the line, for any line it does not know, a table
// without its header, a row without its second line, or an NPU that is both
// idle and in use. A process name may hold anything, bars included.
absl::StatusOr<NpuSmiInfo> ParseNpuSmiInfo(absl::string_view output);

enum class NpuUse { kUnknown, kIdle, kInUse };

// kUnknown if the table says neither, e.g. because it was cut. The tool lists a
// limited number of processes a chip, and perhaps not those of other
// containers: kIdle is what it says, not more.
NpuUse UseOfNpu(const NpuSmiInfo& info, uint32_t npu);

}  // namespace clusterd

#endif  // DAEMON_HOST_NPU_SMI_NPU_SMI_OUTPUT_H_
