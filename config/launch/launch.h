// The start of each server of a job: variables and command line, with this
// cluster's values, as the vendor's documents write them for six ways to launch
// (launch_methods.cc names the pages beside the rows). Pure: facts and options
// in, words out; launch_text.h turns them into runnable forms.
#ifndef CONFIG_LAUNCH_LAUNCH_H_
#define CONFIG_LAUNCH_LAUNCH_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"
#include "proto/spec.pb.h"

namespace clusterd {

// "torchrun", "torch-npu-run", …; the first is the default.
std::vector<absl::string_view> LaunchMethods();

struct LaunchOptions {
  std::string method = "torchrun";
  uint32_t master_port = 0;                   // 0: chosen.
  std::string port_option = "--master-port";  // It names `master_port`.
  // "2" or "min:max"; empty: all servers of the job.
  std::string nnodes;
  std::string python = "python3";
  std::string script = "train.py";
  // The script's arguments. {MASTER_ADDR}, {MASTER_PORT}, {NODE_RANK},
  // {NNODES}, {NPUS_PER_NODE} and {WORLD_SIZE} stand for the node's values.
  std::vector<std::string> arguments;
  // The path on the hosts; empty: there is no rank table.
  std::string rank_table;
  // For torch-npu-run; unset: by size.
  std::optional<bool> tiered;
  uint32_t asd = 1;  // NPU_ASD_ENABLE.
  // Files to source if a host has them; unset: those of the method.
  std::optional<std::vector<std::string>> sources;
  std::string job_id;  // Names an elastic job; may be empty.
  // For horovodrun.
  std::string mpi_args;
  uint32_t ssh_port = 0;  // The containers' sshd; 0: 22.
  // For torch-npu-run.
  std::string rdzv_endpoint;  // The first server and MASTER_PORT; or empty.
  std::string rdzv_id;
  bool standalone = false;
  bool local_addr = false;  // Each server gets its own address.
  // Name and value of what the job file itself sets. Overrides the variables
  // for HCCL, but not those by which the launch counts, such as MASTER_PORT.
  std::vector<std::pair<std::string, std::string>> environment;
  // HCCL_LOGIC_SUPERPOD_ID of each server, which overrides `environment`; empty
  // text: the job does not set it. No entries: no server has one.
  std::vector<std::string> super_pods;
};

struct LaunchVariable {
  std::string name;
  std::string value;
  bool exported = true;
  // The shell expression of the value, e.g. "$(($NPUS_PER_NODE*$NNODES))";
  // empty: the value.
  std::string formula;
};

struct LaunchWord {
  std::string value;
  // The form for a shell, with names of variables in place of their values;
  // empty: the value, quoted.
  std::string shell;
};

// A folder to prepend to a variable that is a list of folders, if it exists.
struct SearchFolder {
  std::string name;  // "PATH"
  std::string folder;
};

struct NodeLaunch {
  std::string host;
  uint32_t node_rank = 0;
  // `variables` are set before the files are sourced, the others after that.
  std::vector<LaunchVariable> variables;
  std::vector<std::string> sources;
  std::vector<SearchFolder> folders;
  std::vector<LaunchVariable> hccl_variables;
  // Empty: this server starts nothing.
  std::vector<LaunchWord> command;
  // The words of the command, from the second on, that a shell variable
  // gathers; empty name: there is none.
  std::string gathered_name;
  size_t gathered = 0;
  // If not 0, the command is started this many times, each time with the next
  // LOCAL_RANK and RANK.
  uint32_t processes = 0;
  // Manual steps on this host, one per line.
  std::vector<std::string> remarks;
};

struct Launch {
  std::string method;
  std::vector<NodeLaunch> nodes;  // The master first.
  // Why a value was chosen, and which values may not be right.
  std::vector<FindingValue> notes;
};

// `job` is the cluster narrowed to it (job_spec.h), whose first server is the
// master; `facts` are those of its servers, in its order. InvalidArgument with
// every mistake, one per line: options that the method does not have or that
// are not valid, a port that is in use or HCCL's, servers with different
// numbers of devices where ranks are counted by them, a host without an
// address, an unknown network interface.
absl::StatusOr<Launch> MakeLaunch(const ClusterSpec& job,
                                  absl::Span<const HostFacts* const> facts,
                                  const LaunchOptions& options);

// The port of the rendezvous on the master.
struct MasterPort {
  uint32_t port = 0;
  std::vector<FindingValue> notes;
};

// Chooses `asked`, or the port of cluster.yaml, or the first from 29501 on (as
// in the vendor's example) that is not HCCL's, ssh's or seen in use. It is
// below 32768-60999, from which Linux assigns ports to outgoing connections, so
// that no other program gets it before the job. InvalidArgument if the
// requested port, or that of cluster.yaml, is HCCL's or in use.
absl::StatusOr<MasterPort> ChooseMasterPort(
    const ClusterSpec& job, const HostFacts& master, uint32_t asked,
    absl::string_view option = "--master-port");

}  // namespace clusterd

#endif  // CONFIG_LAUNCH_LAUNCH_H_
