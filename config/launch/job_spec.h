// A job as users and schedulers name it: a file of `check --job`, or hosts and
// devices; and the cluster narrowed to it.
#ifndef CONFIG_LAUNCH_JOB_SPEC_H_
#define CONFIG_LAUNCH_JOB_SPEC_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "proto/job.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// The values of JobSpec.method.
inline constexpr absl::string_view kLaunchMethods[] = {
    "torchrun", "torch-npu-run", "torch-distributed-launch",
    "mp-spawn", "shell",         "horovodrun"};

// The values of JobSpec.framework.
inline constexpr absl::string_view kFrameworks[] = {"pytorch", "tensorflow",
                                                    "mindspore"};

// Reads a job file, YAML or JSON:
//   id: slurm:1234.0
//   nodes: node[01-16]       # the first is the master
//   devices: 8               # a number, or ids "0-3,6"; one id: [3]
//   product: atlas-a2
//   dtypes: [fp16, bfp16]    # also as PyTorch calls them: float16, bf16
//   method: torchrun
//   processes_per_device: 1
//   user: ann
//   rank_table: hccl.json
//   master_addr: 10.0.0.1    # what the launch gives every server
//   master_port: 29500
//   world_size: 128
//   logic_super_pod: a       # HCCL_LOGIC_SUPERPOD_ID of the launch
//   framework: mindspore     # or pytorch, tensorflow
//   ports: [6379, 8265]      # of its other services
//   ssh: {user: ann, port: 22, container_port: 12345, before: true}
//   python: /home/ann/venv/bin/python
//   requirements: requirements.txt   # or a list: [torch==2.1.0, numpy]
//   script: train.py
//   servers:                 # in place of nodes, where they differ
//     - {host: node01, devices: 0-3, node_rank: 0, master_addr: 10.0.0.1}
//     - {host: "node[02-16]", devices: 8}
// InvalidArgument with every mistake, one per line with line and column, value,
// expectation and nearest key. `rank_table_path`, if given, gets the path in
// rank_table. The caller reads that file into the job, and those of
// requirements and script; without it these keys are mistakes.
absl::StatusOr<JobSpec> LoadJobSpec(absl::string_view file_name,
                                    absl::string_view text,
                                    std::string* rank_table_path = nullptr);

// Sets the job's devices from "8" or "0-3,6" for every server that has none.
// InvalidArgument for a text that is neither.
absl::Status SetJobDevices(absl::string_view text, JobSpec* job);

// The cluster as the job sees it: its servers in its order and only its
// devices, one_job set; the job's MASTER_PORT and containers' ssh port, if
// given, replace the spec's. A server may be named by its address or with the
// spec's domain appended. InvalidArgument with every mistake, at most 100, one
// per line: servers that the spec does not name, with the nearest name, or that
// the job names twice; devices that it does not plan; another product;
// LoadJobSpec's mistakes of ports, data types and methods; no servers.
// `only_host`: only that server, for a host that judges itself and need not
// know others. NotFound if it is not the job's.
absl::StatusOr<ClusterSpec> NarrowToJob(const ClusterSpec& spec,
                                        const JobSpec& job,
                                        absl::string_view only_host = "");

// SHA-256 in hex of all that a verdict depends on: the job without its id.
std::string JobDigest(const JobSpec& job);

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_JOB_SPEC_H_
