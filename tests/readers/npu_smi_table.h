// Reads the tables of `npu-smi info`, devices and the processes on them. The
// daemon does not read them: the kernel shows which process has a device open.
//   | NPU   Name       | Health        | Power(W)    Temp(C)  …               |
//   | Chip  Phy-ID     | Bus-Id        | AICore(%)   Memory-Usage(MB) …       |
//   | 0     Ascend910  | OK            | 182.0       36       …               |
//   | 0     0          | 0000:9D:00.0  | 0     0 / 0   3412 / 65536           |
//   | NPU   Chip       | Process id    | Process name | Process memory(MB)    |
//   | 0     0          | 139667        | python       | 30780                 |
//   | No running processes found in NPU 1                                     |
// Column widths differ between releases and anonymised captures are misaligned:
// cells end at a bar, words at blanks, positions do not count. Layouts:
//   A1, A2     second header "Chip", no Phy-ID
//   A3         "Chip  Phy-ID", one pair of rows a die
//   Ascend 950 "NPU ID" in a cell of its own, no chip
// Texts of the published source (hicann/driver ef377e95, dev_prod/user/npucli)
// and published captures (Ascend/mind-cluster, vllm-ascend issues). Runs
// nothing.
#ifndef TESTS_READERS_NPU_SMI_TABLE_H_
#define TESTS_READERS_NPU_SMI_TABLE_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

// One chip, or one die of an A3 NPU.
struct NpuSmiChip {
  uint32_t npu = 0;
  // Unset on Ascend 950, which lacks the column.
  std::optional<uint32_t> chip;
  // A3 only: the id that `hccn_tool -i` takes there.
  std::optional<uint32_t> phy_id;
  std::string name;    // "910B2", "Ascend910"
  std::string health;  // The tool's: OK, Warning, Alarm, Critical, …
  std::string bus_id;  // "NA" in some 950 releases.
  // Unset if the tool prints no number.
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
  // NPUs that are unused according to the tool.
  std::set<uint32_t> idle_npus;
};

// InvalidArgument, quoting the line: an unknown line, a table without its
// header, a row without its second line, an NPU both idle and in use. A process
// name may hold any text, bars included.
absl::StatusOr<NpuSmiInfo> ParseNpuSmiInfo(absl::string_view output);

enum class NpuUse { kUnknown, kIdle, kInUse };

// kUnknown if the table says neither, e.g. because it was cut. The tool lists a
// limited number of processes a chip, and perhaps not those of other
// containers: kIdle only repeats the tool.
NpuUse UseOfNpu(const NpuSmiInfo& info, uint32_t npu);

}  // namespace clusterd

#endif  // TESTS_READERS_NPU_SMI_TABLE_H_
