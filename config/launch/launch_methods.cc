#include "config/launch/launch_methods.h"

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "config/hccl/job_variables.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

// CANN's installer puts it here; the Rec SDK's multi-server guide sources it.
constexpr absl::string_view kToolkit =
    "/usr/local/Ascend/ascend-toolkit/set_env.sh";
constexpr absl::string_view kTestEnvironment = "./test/env_npu.sh";

using When = LaunchConditions;

const std::vector<absl::string_view>& TorchVariables() {
  static const auto& names = *new std::vector<absl::string_view>{
      "MASTER_ADDR", "MASTER_PORT",   "NODE_RANK",
      "NNODES",      "NPUS_PER_NODE", "WORLD_SIZE"};
  return names;
}

// Limits of a script's arguments: their number, and the bytes of each.
constexpr size_t kMostWords = 1000;
constexpr size_t kMostBytes = 4096;

FindingValue OfOtherMethod(absl::string_view given,
                           const LaunchOptions& options,
                           absl::string_view expected) {
  return Worded("msg-job-option-of-other-method", given, options.method,
                expected);
}

void AddRendezvousMistakes(const LaunchMethod& method,
                           const LaunchOptions& options,
                           std::vector<FindingValue>* mistakes) {
  static const LazyRE2 kId = {"[A-Za-z0-9_.:+@-]{0,128}"};
  std::vector<absl::string_view> given;
  if (!options.rdzv_endpoint.empty()) given.push_back("--rdzv-endpoint");
  if (!options.rdzv_id.empty()) given.push_back("--rdzv-id");
  if (options.local_addr) given.push_back("--local-addr");
  if (method.name != "torch-npu-run" &&
      (options.standalone || !given.empty())) {
    if (options.standalone) given.push_back("--standalone");
    return mistakes->push_back(
        OfOtherMethod(absl::StrJoin(given, ", "), options, "torch-npu-run"));
  }
  if (options.tiered.value_or(false)) given.push_back("--tiered on");
  if (!options.nnodes.empty()) given.push_back("--nnodes");
  if (options.master_port != 0 && options.port_option == "--master-port") {
    given.push_back("--master-port");
  }
  // torch/distributed/run.py: c10d on localhost and a free port.
  if (options.standalone && !given.empty()) {
    mistakes->push_back(
        Worded("msg-job-standalone-with", absl::StrJoin(given, ", ")));
  }
  if (!HasForm(options.rdzv_id, *kId)) {
    mistakes->push_back(
        Worded("msg-job-letters", "--rdzv-id", QuotedText(options.rdzv_id)));
  }
}

}  // namespace

absl::Span<const LaunchMethod> AllLaunchMethods() {
  static const auto& methods = *new std::vector<LaunchMethod>{
      // PyTorch's migration guide, "multi-server, multi-device",
      // PT_LMTMOG_0022; with a range of nodes PyTorch wants a rendezvous that
      // is not static
      // (https://docs.pytorch.org/docs/stable/elastic/run.html).
      {"torchrun",
       {{"torchrun"},
        {"--nproc_per_node $NPUS_PER_NODE"},
        {"--nnodes $NNODES"},
        {"--node_rank $NODE_RANK", &When::fixed_nodes},
        {"--master_addr $MASTER_ADDR", &When::fixed_nodes},
        {"--master_port $MASTER_PORT", &When::fixed_nodes},
        {"--rdzv_id {JOB_ID}", &When::node_range},
        {"--rdzv_backend c10d", &When::node_range},
        {"--rdzv_endpoint $MASTER_ADDR:$MASTER_PORT", &When::node_range}},
       "DISTRIBUTED_ARGS",
       TorchVariables(),
       /*exports=*/false,
       {kToolkit, kTestEnvironment},
       {},
       /*takes_range=*/true},
      // The guide of torch_npu_run.
      {"torch-npu-run",
       {{"torch_npu_run"},
        {"--standalone", &When::standalone},
        {"--rdzv_backend=parallel", &When::joined},
        {"--rdzv_endpoint=$MASTER_IP_ADDR:$MASTER_PORT", &When::rdzv_endpoint},
        {"--rdzv_id={RDZV_ID}", &When::rdzv_id},
        {"--master_addr=$MASTER_IP_ADDR", &When::joined},
        {"--master_port=$MASTER_PORT", &When::joined},
        {"--nnodes={NNODES}"},
        {"--node_rank {NODE_RANK}", &When::several_nodes},
        {"--nproc_per_node={NPUS_PER_NODE}"},
        {"--local_addr={LOCAL_ADDR}", &When::local_addr},
        {"--enable_tiered_parallel_tcpstore=true", &When::tiered}},
       "",
       {"MASTER_IP_ADDR", "MASTER_PORT"},
       /*exports=*/true,
       {kToolkit, "./env_npu.sh"},
       {},
       /*takes_range=*/true},
      // "Start the training" of the guide for PyTorch on two servers of eight.
      {"torch-distributed-launch",
       {{"{PYTHON}"},
        {"-m torch.distributed.launch"},
        {"--nnodes={NNODES}"},
        {"--node_rank={NODE_RANK}"},
        {"--nproc_per_node {NPUS_PER_NODE}"},
        {"--master_addr {MASTER_ADDR}"},
        {"--master_port {MASTER_PORT}"}},
       "",
       {},
       /*exports=*/false,
       {kToolkit, "./env_npu.sh"}},
      // The migration guide requires for both: the same MASTER_ADDR and
      // MASTER_PORT in all scripts, a world size of devices x servers, one
      // process per device.
      {"mp-spawn",
       {{"{PYTHON}"}},
       "",
       TorchVariables(),
       /*exports=*/true,
       {kToolkit, kTestEnvironment}},
      {"shell",
       {{"{PYTHON}"}},
       "",
       TorchVariables(),
       /*exports=*/true,
       {kToolkit, kTestEnvironment},
       {},
       /*takes_range=*/false,
       /*of_torch=*/true,
       /*per_device=*/true},
      // The Rec SDK's guide for several servers, and horovodrun's own help:
      // --network-interface, -np, -p, --mpi, -H.
      {"horovodrun",
       {{"horovodrun"},
        {"--network-interface \"${interface}\""},
        {"-np ${num_process}"},
        {"--mpi-args \"${mpi_args}\"", &When::mpi_args},
        {"-p {SSH_PORT}", &When::ssh_port},
        {"--mpi"},
        {"-H {HOSTS}"},
        {"{PYTHON}"}},
       "",
       {"num_server", "local_rank_size", "num_process", "interface",
        "mpi_args"},
       /*exports=*/false,
       {"/etc/profile", kToolkit, "/usr/local/Ascend/driver/bin/setenv.bash",
        "/usr/local/Ascend/tfplugin/set_env.sh"},
       {{"PATH", "/usr/local/openmpi/bin"},
        {"PATH", "/usr/local/python3.7.5/bin"},
        {"PATH", "/usr/local/gcc7.3.0/bin"},
        {"LD_LIBRARY_PATH", "/usr/local/python3.7.5/lib"},
        {"LD_LIBRARY_PATH", "/usr/local/gcc7.3.0/lib64"},
        {"LD_LIBRARY_PATH", "/usr/local/openmpi/lib"}},
       /*takes_range=*/false,
       /*of_torch=*/false,
       /*per_device=*/false,
       /*from_master=*/true}};
  return methods;
}

std::vector<FindingValue> FindOptionMistakes(const LaunchMethod& method,
                                             const LaunchOptions& options) {
  std::vector<FindingValue> mistakes;
  const auto wrong = [&](absl::string_view row, const auto&... values) {
    mistakes.push_back(Worded(row, values...));
  };
  const auto check_word = [&](const auto& subject, const std::string& word) {
    if (!word.empty() && word.size() <= kMostBytes &&
        SafeText(word, /*utf8=*/true) == word) {
      return;
    }
    wrong("msg-job-text-not-valid", subject, QuotedText(word), kMostBytes);
  };
  check_word("--python", options.python);
  check_word("--script", options.script);
  if (options.arguments.size() > kMostWords) {
    wrong("msg-job-too-many-arguments", options.arguments.size(), kMostWords);
  }
  for (const std::string& argument : options.arguments) {
    if (!argument.empty()) check_word(Worded("job-say-argument"), argument);
  }
  for (const std::string& file :
       options.sources.value_or(std::vector<std::string>())) {
    check_word("--source", file);
  }
  // https://www.hiascend.com/document/detail/zh/Pytorch/700/comref/
  // Envvariables/Envir_028.html
  if (options.asd > 3) {
    wrong("msg-job-out-of-range", "--asd", options.asd, 0, 3);
  }
  for (const auto& [name, value] : options.environment) {
    if (!value.empty()) check_word(absl::StrCat("environment.", name), value);
  }
  const std::string& table = options.rank_table;
  if (!table.empty()) check_word("--rank-table", table);
  // HCCL refuses a table of another name (topoinfo_ranktableParser: EI0004).
  if (!table.empty() &&
      (!absl::StartsWith(table, "/") || !IsRankTableName(table))) {
    wrong("msg-job-table-path", QuotedText(table));
  }
  const std::string& mpi = options.mpi_args;
  if (!method.from_master && (!mpi.empty() || options.ssh_port != 0)) {
    mistakes.push_back(
        OfOtherMethod("--mpi-args, --ssh-port", options, "horovodrun"));
  }
  if (!mpi.empty()) check_word("--mpi-args", mpi);
  // The Rec SDK's guide removes it: it allows MPI all other interfaces, and
  // contradicts the named one.
  if (absl::StrContains(mpi, "btl_tcp_if_exclude")) {
    wrong("msg-job-mpi-exclude", QuotedText(mpi));
  }
  AddRendezvousMistakes(method, options, &mistakes);
  if (options.tiered.has_value() && method.name != "torch-npu-run") {
    mistakes.push_back(OfOtherMethod("--tiered", options, "torch-npu-run"));
  }
  return mistakes;
}

}  // namespace clusterd
