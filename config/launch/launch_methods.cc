#include "config/launch/launch_methods.h"

namespace clusterd {
namespace {

// Where CANN's installer puts it; the Rec SDK's multi-server guide sources it.
constexpr absl::string_view kToolkit =
    "/usr/local/Ascend/ascend-toolkit/set_env.sh";

using When = WordWhen;

// PyTorch's migration guide, "multi-server, multi-device", PT_LMTMOG_0022; with
// a range of nodes PyTorch wants a rendezvous that is not static
// (https://docs.pytorch.org/docs/stable/elastic/run.html).
LaunchMethod Torchrun() {
  LaunchMethod row;
  row.name = "torchrun";
  row.words = {{"torchrun"},
               {"--nproc_per_node $NPUS_PER_NODE"},
               {"--nnodes $NNODES"},
               {"--node_rank $NODE_RANK", When::kFixedNodes},
               {"--master_addr $MASTER_ADDR", When::kFixedNodes},
               {"--master_port $MASTER_PORT", When::kFixedNodes},
               {"--rdzv_id {JOB_ID}", When::kNodeRange},
               {"--rdzv_backend c10d", When::kNodeRange},
               {"--rdzv_endpoint $MASTER_ADDR:$MASTER_PORT", When::kNodeRange}};
  row.gathered_name = "DISTRIBUTED_ARGS";
  row.variables = {"MASTER_ADDR", "MASTER_PORT",   "NODE_RANK",
                   "NNODES",      "NPUS_PER_NODE", "WORLD_SIZE"};
  row.sources = {kToolkit, "./test/env_npu.sh"};
  row.takes_range = true;
  return row;
}

// The guide of torch_npu_run.
LaunchMethod TorchNpuRun() {
  LaunchMethod row;
  row.name = "torch-npu-run";
  row.words = {{"torch_npu_run"},
               {"--rdzv_backend=parallel"},
               {"--master_addr=$MASTER_IP_ADDR"},
               {"--master_port=$MASTER_PORT"},
               {"--nnodes={NNODES}"},
               {"--node_rank {NODE_RANK}", When::kSeveralNodes},
               {"--nproc_per_node={NPUS_PER_NODE}"},
               {"--enable_tiered_parallel_tcpstore=true", When::kTiered}};
  row.variables = {"MASTER_IP_ADDR", "MASTER_PORT"};
  row.exports = true;
  row.sources = {kToolkit, "./env_npu.sh"};
  row.takes_range = true;
  return row;
}

// "Start the training" of the guide for PyTorch on two servers of eight.
LaunchMethod TorchDistributedLaunch() {
  LaunchMethod row;
  row.name = "torch-distributed-launch";
  row.words = {{"{PYTHON}"},
               {"-m torch.distributed.launch"},
               {"--nnodes={NNODES}"},
               {"--node_rank={NODE_RANK}"},
               {"--nproc_per_node {NPUS_PER_NODE}"},
               {"--master_addr {MASTER_ADDR}"},
               {"--master_port {MASTER_PORT}"}};
  row.sources = {kToolkit, "./env_npu.sh"};
  return row;
}

// The migration guide asks of both: the same MASTER_ADDR and MASTER_PORT in all
// scripts, a world size of devices x servers, one process per device.
LaunchMethod MpSpawn() {
  LaunchMethod row;
  row.name = "mp-spawn";
  row.words = {{"{PYTHON}"}};
  row.variables = Torchrun().variables;
  row.exports = true;
  row.sources = Torchrun().sources;
  return row;
}

LaunchMethod Shell() {
  LaunchMethod row = MpSpawn();
  row.name = "shell";
  row.per_device = true;
  return row;
}

// The Rec SDK's guide for several servers, and horovodrun's own help:
// --network-interface, -np, -p, --mpi, -H.
LaunchMethod Horovodrun() {
  LaunchMethod row;
  row.name = "horovodrun";
  row.words = {{"horovodrun"},
               {"--network-interface \"${interface}\""},
               {"-np ${num_process}"},
               {"--mpi-args \"${mpi_args}\"", When::kMpiArgs},
               {"-p {SSH_PORT}", When::kSshPort},
               {"--mpi"},
               {"-H {HOSTS}"},
               {"{PYTHON}"}};
  row.variables = {"num_server", "local_rank_size", "num_process", "interface",
                   "mpi_args"};
  row.sources = {"/etc/profile", kToolkit,
                 "/usr/local/Ascend/driver/bin/setenv.bash",
                 "/usr/local/Ascend/tfplugin/set_env.sh"};
  row.folders = {{"PATH", "/usr/local/openmpi/bin"},
                 {"PATH", "/usr/local/python3.7.5/bin"},
                 {"PATH", "/usr/local/gcc7.3.0/bin"},
                 {"LD_LIBRARY_PATH", "/usr/local/python3.7.5/lib"},
                 {"LD_LIBRARY_PATH", "/usr/local/gcc7.3.0/lib64"},
                 {"LD_LIBRARY_PATH", "/usr/local/openmpi/lib"}};
  row.of_torch = false;
  row.from_master = true;
  return row;
}

}  // namespace

absl::Span<const LaunchMethod> AllLaunchMethods() {
  static const auto& methods = *new std::vector<LaunchMethod>{
      Torchrun(), TorchNpuRun(), TorchDistributedLaunch(),
      MpSpawn(),  Shell(),       Horovodrun()};
  return methods;
}

}  // namespace clusterd
