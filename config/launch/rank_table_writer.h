// Writes an HCCL rank table from live facts, in the layout of the vendor's
// sample (hccl_json_16p_2_host.json of the Rec SDK's multi-server guide):
//   {
//       "server_count":"2",
//       "server_list":[
//           {
//               "device":[
//                   { "device_id":"0", "device_ip":"10.0.0.1", "rank_id":"0" },
// Pure: the same cluster and facts give the same bytes, so all hosts of a job
// get the same table. Versions 1.0 and 1.2; not the Ascend 950's 2.0.
#ifndef CONFIG_LAUNCH_RANK_TABLE_WRITER_H_
#define CONFIG_LAUNCH_RANK_TABLE_WRITER_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/facts.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The version that the product's HCCL reads: "1.2" in a super pod, otherwise
// "1.0". Unimplemented for the Ascend 950.
absl::StatusOr<std::string> RankTableVersionOf(const ClusterSpec& job);

// The table of a job: `job` is the cluster narrowed to it (job_spec.h), whose
// first server is the master; `facts` are those of its servers, in its order.
// Ranks ascend by server, then by device; server_id is the host's address;
// device_ip is the live address, which may be missing within one server or
// super pod. In 1.2 super_device_id is the chip's SDID, and super_pod_id the
// pod's own number. Ends with a newline.
//
// FailedPrecondition with every reason, one per line: a host without facts; an
// address of host or device that is missing, not known, not the planned one, or
// there twice; a place in the super pod that is not known, or differs within a
// server; servers of a pod that do not follow each other; and all that
// ParseRankTable would refuse. InvalidArgument for another version.
absl::StatusOr<std::string> WriteRankTable(
    const ClusterSpec& job, absl::Span<const HostFacts* const> facts,
    absl::string_view version);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_RANK_TABLE_WRITER_H_
