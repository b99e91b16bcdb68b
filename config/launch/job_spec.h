// A job as people and schedulers name it: a file of `check --job`, or hosts and
// devices; and the cluster narrowed to it.
#ifndef CONFIG_LAUNCH_JOB_SPEC_H_
#define CONFIG_LAUNCH_JOB_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// Reads a job file, YAML or JSON:
//   id: slurm:1234.0
//   nodes: node[01-16]       # the first is the master
//   devices: 8               # a number, or ids "0-3,6"
//   product: atlas-a2
//   dtypes: [fp16, bfp16]
//   method: torchrun
//   servers:                 # in place of nodes, where they differ
//     - {host: node01, devices: 0-3, node_rank: 0, master_addr: 10.0.0.1}
// InvalidArgument with every mistake, one per line with line and column, value,
// expectation and nearest key.
absl::StatusOr<JobSpec> LoadJobSpec(absl::string_view file_name,
                                    absl::string_view text);

// Fills in the job's devices from "8" or "0-3,6" for every server that has none
// of its own. InvalidArgument for a text that is neither.
absl::Status SetJobDevices(absl::string_view text, JobSpec* job);

// The cluster as the job sees it: its servers in its order and its devices
// alone, one_job set. InvalidArgument with every mistake, one per line: servers
// that the spec does not name, with the nearest name, or names twice; devices
// that it does not plan; another product; none at all.
absl::StatusOr<ClusterSpec> NarrowToJob(const ClusterSpec& spec,
                                        const JobSpec& job);

// SHA-256 in hex of all that a verdict depends on: the job without its id.
std::string JobDigest(const JobSpec& job);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_JOB_SPEC_H_
