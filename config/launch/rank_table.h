// Reads an HCCL rank table ("cluster info file"), versions 1.0 and 1.2:
//   {"version":"1.0","status":"completed","server_count":"1","server_list":[
//     {"server_id":"node_0","device":[
//       {"device_id":"0","device_ip":"192.168.100.101","rank_id":"0"}]}]}
// Text in, value or every mistake out. Does not compare with live devices and
// does not wait for "completed", as HCCL does.
//
// The rules are those of HCCL's own parser (hcomm, topoinfo_ranktableParser.cc,
// topoinfo_ranktableStandard.cc, commit 8958adbf) and of the HCCL user guide
// (hccl, docs/zh/user_guide/cluster_info_config, commit 09300b70).
#ifndef CONFIG_LAUNCH_RANK_TABLE_H_
#define CONFIG_LAUNCH_RANK_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace clusterd {

struct RankTableDevice {
  uint32_t device_id = 0;
  uint32_t rank_id = 0;
  // Dotted quads or IPv6 text, in the order of the file; several are separated
  // by commas there. Empty: the table names none.
  std::vector<std::string> device_ips;
  // Version 1.2 only; 0 and empty otherwise. The second is optional.
  uint32_t super_device_id = 0;
  std::vector<std::string> backup_device_ips;
};

struct RankTableServer {
  std::string server_id;
  std::string host_ip;  // Empty: not in the table.
  std::vector<RankTableDevice> devices;
};

struct RankTableSuperPod {
  std::string super_pod_id;
  std::vector<std::string> server_ids;
};

struct RankTable {
  std::string version;  // "1.0" or "1.2".
  // HCCL polls the file until this is "completed", for up to 30 minutes.
  std::string status;
  std::vector<RankTableServer> servers;
  std::vector<RankTableSuperPod> super_pods;
  // The line of text after the last }, which HCCL does not read, because
  // nlohmann's operator>> stops after the value. 0: there is none.
  size_t behind_line = 0;
};

// The largest file that is read: twice the size of 1,152 servers of 16 devices,
// with every value on a separate line.
inline constexpr size_t kMaxRankTableBytes = 8 << 20;

// InvalidArgument if HCCL would refuse the table. The message has every
// mistake, one per line, each with its place as a path into the file and, if
// there is one, the code that HCCL would return:
//   server_list[0].device[3].rank_id: number 3, expected a JSON string (EI0017)
// Skips a byte order mark, as HCCL does. Names another program's file of the
// same name: MindIE's server_group_list. Unimplemented, naming the version, for
// other tables: 1.1 (heterogeneous), 2.0 (Ascend 950), the old second template
// (group_list) and one of which only the status is written yet. For a refused
// table, also names server_ids of Docker's default bridge.
absl::StatusOr<RankTable> ParseRankTable(absl::string_view json);

// InvalidArgument for the first byte that is not UTF-8, which HCCL's parser
// refuses: "hccl.json: line 3: byte 17 is not UTF-8".
absl::Status CheckUtf8(absl::string_view file, absl::string_view text);

// True for an address of Docker's default bridge, 172.17.0.0/16
// (docs.docker.com, bridge network driver): other hosts cannot reach it.
bool IsOfDockerBridge(const std::string& server_id);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_RANK_TABLE_H_
