#include "config/launch/launch_methods.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"

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
  row.words = {
      {"torch_npu_run"},
      {"--standalone", When::kStandalone},
      {"--rdzv_backend=parallel", When::kJoined},
      {"--rdzv_endpoint=$MASTER_IP_ADDR:$MASTER_PORT", When::kRdzvEndpoint},
      {"--rdzv_id={RDZV_ID}", When::kRdzvId},
      {"--master_addr=$MASTER_IP_ADDR", When::kJoined},
      {"--master_port=$MASTER_PORT", When::kJoined},
      {"--nnodes={NNODES}"},
      {"--node_rank {NODE_RANK}", When::kSeveralNodes},
      {"--nproc_per_node={NPUS_PER_NODE}"},
      {"--local_addr={LOCAL_ADDR}", When::kLocalAddr},
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

// Of a script's arguments, and of each of them.
constexpr size_t kMostWords = 1000;
constexpr size_t kMostBytes = 4096;

// What may stand in a file that a person or a shell reads line by line.
bool IsOneLine(absl::string_view text) {
  return text.size() <= kMostBytes && SafeText(text, /*utf8=*/true) == text;
}

class OptionCheck {
 public:
  OptionCheck(const LaunchMethod& method, const LaunchOptions& options)
      : method_(method), options_(options) {}

  std::vector<std::string> Check() {
    CheckWord("--python", options_.python);
    CheckWord("--script", options_.script);
    if (options_.arguments.size() > kMostWords) {
      Wrong("arguments of the script: ", options_.arguments.size(),
            ", expected at most ", kMostWords);
    }
    for (const std::string& argument : options_.arguments) {
      if (!argument.empty()) CheckWord("argument of the script", argument);
    }
    for (const std::string& file :
         options_.sources.value_or(std::vector<std::string>())) {
      CheckWord("--source", file);
    }
    // https://www.hiascend.com/document/detail/zh/Pytorch/700/comref/
    // Envvariables/Envir_028.html
    if (options_.asd > 3) {
      Wrong("--asd: ", options_.asd, ", expected 0 to 3");
    }
    for (const auto& [name, value] : options_.environment) {
      if (!value.empty()) {
        CheckWord(absl::StrCat("environment.", name), value);
      }
    }
    CheckRankTablePath();
    CheckMpi();
    CheckRendezvous();
    if (options_.tiered.has_value() && method_.name != "torch-npu-run") {
      Wrong("--tiered: ", options_.method,
            " has no tiers, expected --method torch-npu-run");
    }
    return std::move(mistakes_);
  }

 private:
  void CheckWord(absl::string_view option, const std::string& word) {
    if (!word.empty() && IsOneLine(word)) return;
    Wrong(option, ": ", QuotedText(word),
          ", expected text on one line of at most ", kMostBytes,
          " bytes without signs that cannot be seen");
  }

  // HCCL refuses a table under another name (facts of topoinfo_ranktableParser:
  // EI0004).
  void CheckRankTablePath() {
    const std::string& path = options_.rank_table;
    if (path.empty()) return;
    CheckWord("--rank-table", path);
    if (!absl::StartsWith(path, "/") || !absl::EndsWith(path, ".json")) {
      Wrong("--rank-table: ", QuotedText(path),
            ", expected a path from / on whose name ends in .json: HCCL reads "
            "no other");
    }
  }

  void CheckMpi() {
    if (!method_.from_master &&
        (!options_.mpi_args.empty() || options_.ssh_port != 0)) {
      Wrong("--mpi-args, --ssh-port: ", options_.method,
            " uses neither, expected --method horovodrun");
    }
    if (options_.mpi_args.empty()) return;
    CheckWord("--mpi-args", options_.mpi_args);
    // The Rec SDK's guide has it taken out: it leaves MPI all other interfaces,
    // and contradicts the one that is named.
    if (absl::StrContains(options_.mpi_args, "btl_tcp_if_exclude")) {
      Wrong("--mpi-args: ", QuotedText(options_.mpi_args),
            ", expected no btl_tcp_if_exclude: the interface of each host's "
            "address is named instead");
    }
  }

  void CheckRendezvous() {
    static const LazyRE2 kId = {"[A-Za-z0-9_.:+@-]{0,128}"};
    std::vector<absl::string_view> given;
    if (!options_.rdzv_endpoint.empty()) given.push_back("--rdzv-endpoint");
    if (!options_.rdzv_id.empty()) given.push_back("--rdzv-id");
    if (options_.local_addr) given.push_back("--local-addr");
    if (method_.name != "torch-npu-run" &&
        (options_.standalone || !given.empty())) {
      if (options_.standalone) given.push_back("--standalone");
      return Wrong(absl::StrJoin(given, ", "), ": ", options_.method,
                   " is not started so, expected --method torch-npu-run");
    }
    if (options_.tiered.value_or(false)) given.push_back("--tiered on");
    if (!options_.nnodes.empty()) given.push_back("--nnodes");
    if (options_.master_port != 0) given.push_back("--master-port");
    // torch/distributed/run.py: c10d on localhost and a free port.
    if (options_.standalone && !given.empty()) {
      Wrong("--standalone: does not go with ", absl::StrJoin(given, ", "),
            ": PyTorch then chooses store, address, port and id itself");
    }
    if (!HasForm(options_.rdzv_id, *kId)) {
      Wrong("--rdzv-id: ", QuotedText(options_.rdzv_id),
            ", expected letters, digits and _.:+@-");
    }
  }

  template <typename... Parts>
  void Wrong(const Parts&... parts) {
    mistakes_.push_back(absl::StrCat(parts...));
  }

  const LaunchMethod& method_;
  const LaunchOptions& options_;
  std::vector<std::string> mistakes_;
};

}  // namespace

absl::Span<const LaunchMethod> AllLaunchMethods() {
  static const auto& methods = *new std::vector<LaunchMethod>{
      Torchrun(), TorchNpuRun(), TorchDistributedLaunch(),
      MpSpawn(),  Shell(),       Horovodrun()};
  return methods;
}

std::vector<std::string> FindOptionMistakes(const LaunchMethod& method,
                                            const LaunchOptions& options) {
  return OptionCheck(method, options).Check();
}

}  // namespace clusterd
