#include "config/hccl/job_variables.h"

#include <iterator>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "config/values/ipv4.h"
#include "config/values/nearest_word.h"
#include "config/values/port_set.h"
#include "config/values/text_form.h"

namespace clusterd {
namespace {

using Text = absl::string_view;

constexpr uint64_t kAnySize = UINT32_MAX;

// Decimal digits, at most ten (HCOMM, IsAllDigit and MAX_LEN_OF_DIGIT_ENV).
bool IsNumber(Text value, uint64_t least, uint64_t most, uint64_t step = 1) {
  uint64_t number = 0;
  return value.size() <= 10 && absl::c_all_of(value, absl::ascii_isdigit) &&
         absl::SimpleAtoi(value, &number) && number >= least &&
         number <= most && number % step == 0;
}

template <uint64_t least, uint64_t most, uint64_t step = 1>
bool IsFrom(Text value) {
  return IsNumber(value, least, most, step);
}

// "0" or "1" of digits: HCOMM reads "01" as 1.
bool IsSwitch(Text value) { return IsNumber(value, 0, 1); }

constexpr char kTrueOrFalse[] = "(?i)true|false";
constexpr char kDeterministic[] = "(?i)true|false|strict";
constexpr char kSocketFamily[] = "AF_INET6?";
constexpr char kAlgorithms[] =
    "(?:(?:^|[;/]) *(?:[a-z]+=)? *level[0-3]: *(?:NA|null|ring|pipeline|H-D_R|"
    "fullmesh|pairwise|NHR|NHR_V1|NB|AHC|AHC_BROKE) *)+";
constexpr char kRetryParams[] =
    R"(MaxCnt:\s*0*([1-9]|10),\s*HoldTime:\s*0*([1-5]?\d{1,4}|60000),)"
    R"(\s*IntervalTime:\s*0*([1-5]?\d{1,4}|60000)(?:\D.*)?)";
constexpr char kRetryEnable[] = " *L[012]: *[01](?: *, *L[012]: *[01])* *";
constexpr char kExpansionMode[] =
    "AI_CPU|AICPU_TS|AICPU_CacheDisable|AIV|CCU_MS|CCU_SCHED|HOST_TS|HOST";

// "auto", or ports and ranges from 1 to 65535 without overlap.
bool IsPortRange(Text value) {
  if (value == "auto") return true;
  PortSet seen;
  for (const Text part : absl::StrSplit(value, ',')) {
    const absl::StatusOr<PortSet> ports = PortSet::Parse(part);
    if (!ports.ok() || ports->empty() || ports->Contains(0) ||
        seen.Minus(*ports) != seen) {
      return false;
    }
    seen.Add(*ports);
  }
  return true;
}

bool IsIfnames(Text value) {
  absl::ConsumePrefix(&value, "^");
  absl::ConsumePrefix(&value, "=");
  static const LazyRE2 kForm = {R"([^\s,/]+(?:,[^\s,/]+)*)"};
  return HasForm(value, *kForm);
}

// Gloo and TensorPipe take names as they are.
bool IsPlainIfnames(Text value) {
  return IsIfnames(value) && value[0] != '^' && value[0] != '=';
}

bool IsAddress(Text value) {
  static const LazyRE2 kIpv6 = {R"([0-9A-Fa-f:.]*:[0-9A-Fa-f:.]*)"};
  return Ipv4Address::Parse(value).ok() || HasForm(value, *kIpv6);
}

// Ids must ascend: HCCL ignores the rest of the list otherwise.
bool IsIdList(Text value) {
  int last = -1;
  for (const Text part : absl::StrSplit(value, ',')) {
    const int before = last;
    if (!IsNumber(part, 0, 1023) || !absl::SimpleAtoi(part, &last) ||
        last <= before) {
      return false;
    }
  }
  return true;
}

bool IsExecTimeout(Text value) {
  static const LazyRE2 kForm = {R"((\d+)(?:\.\d{1,2})?)"};
  Text whole;
  return value.size() <= 10 && HasForm(value, *kForm, &whole) &&
         IsNumber(whole, 0, 2147483647);
}

constexpr char kPorts[] = "env-port-ranges";
constexpr char kZeroOrOne[] = "env-either|0|1";
constexpr char kAddress[] = "env-address";

// Pages of one variable each, such as HCCL_BUFFSIZE.md (hicann/hccl 09300b70),
// and what HCOMM checks (libochao-huawei/hcomm 8958adbf).
constexpr char kHccl[] =
    "HCCL user guide, hccl_env; HCOMM externalinput.cc and env_config.cc";
constexpr char kCann[] =
    "CANN and Ascend PyTorch environment variable references, "
    "https://www.hiascend.com/document/detail/zh/canncommercial/900/maintenref";
constexpr char kMindSpore[] =
    "https://www.mindspore.cn/vllm_mindspore/docs/en/r0.4.0/user_guide/"
    "environment_variables/environment_variables.html";
constexpr char kVllm[] =
    "https://docs.vllm.ai/en/v0.13.0/configuration/env_vars/";
constexpr char kTorch[] =
    "https://docs.pytorch.org/docs/stable/distributed.html";

constexpr bool kMayDiffer = true;
// A name whose value no source bounds; curly quotes are never valid.
constexpr JobVariable Free(Text name, bool may_differ = false) {
  return {name, nullptr, "env-ascii", "its readers know ASCII", "", may_differ};
}
// A variable whose illegal values CANN replaces by the default.
constexpr JobVariable Tolerant(Text name, bool (*is_legal)(Text),
                               Text expected) {
  return {name, is_legal, expected, kCann, "", false, /*falls_back=*/true};
}

// Rows of one name stand together, the one for the rest last.
constexpr JobVariable kRows[] = {
    {"HCCL_BUFFSIZE", IsFrom<1, kAnySize>, "env-least-mb|1", kHccl, "200"},
    {"HCCL_CONNECT_TIMEOUT", IsFrom<120, 7200>, "env-seconds|120|7200", kHccl,
     "120"},
    {"HCCL_DETERMINISTIC", IsOfForm<kDeterministic>,
     "env-one-of-three|true|false|strict", kHccl, "false"},
    {"HCCL_DIAGNOSE_ENABLE", IsSwitch, kZeroOrOne, kHccl, "", kMayDiffer},
    {"HCCL_ENTRY_LOG_ENABLE", IsSwitch, kZeroOrOne, kHccl, "", kMayDiffer},
    {"HCCL_EXEC_TIMEOUT", IsExecTimeout, "env-exec-timeout", kHccl},
    {"HCCL_HOST_SOCKET_PORT_RANGE", IsPortRange, kPorts, kHccl},
    {"HCCL_IF_BASE_PORT", IsFrom<1024, 65520>, "env-range|1024|65520", kHccl},
    {"HCCL_IF_IP", [](Text v) { return IsAddress(v.substr(0, v.find('%'))); },
     kAddress, kHccl, "", kMayDiffer},
    {"HCCL_INTER_HCCS_DISABLE", IsOfForm<kTrueOrFalse>, "env-either|TRUE|FALSE",
     kHccl, "FALSE"},
    {"HCCL_INTRA_PCIE_ENABLE", IsSwitch, kZeroOrOne, kHccl, "1"},
    {"HCCL_INTRA_ROCE_ENABLE", IsSwitch, kZeroOrOne, kHccl, "0"},
    {"HCCL_LOGIC_SUPERPOD_ID", [](Text v) { return v.size() < 128; },
     "env-text|128", kHccl, "", kMayDiffer},
    {"HCCL_MULTI_QP_THRESHOLD", IsFrom<1, 8192>, "env-kb|1|8192", kHccl, "512"},
    {"HCCL_NPU_SOCKET_PORT_RANGE", IsPortRange, kPorts, kHccl},
    {"HCCL_OP_EXPANSION_MODE", IsOfForm<kExpansionMode>, "env-expansion-mode",
     kHccl},
    {"HCCL_OP_RETRY_ENABLE", IsOfForm<kRetryEnable>, "env-form|L1:0,L2:0",
     kHccl, "L1:0,L2:0"},
    {"HCCL_OP_RETRY_PARAMS", IsOfForm<kRetryParams>, "env-retry-params", kHccl},
    {"HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", IsOfForm<kTrueOrFalse>,
     "env-either|TRUE|FALSE", kHccl, "FALSE"},
    {"HCCL_RDMA_QPS_PER_CONNECTION", IsFrom<1, 32>, "env-range|1|32", kHccl,
     "1"},
    {"HCCL_RDMA_RETRY_CNT", IsFrom<1, 7>, "env-range|1|7", kHccl, "7"},
    {"HCCL_RDMA_SL", IsFrom<0, 7>, "env-range|0|7", kHccl, "4"},
    {"HCCL_RDMA_TC", IsFrom<0, 255, 4>, "env-multiple|4|0|252", kHccl, "132"},
    {"HCCL_RDMA_TIMEOUT", IsFrom<5, 20>, "env-range|5|20", kHccl, "20", false,
     false, "A2,A3"},
    // From 32 on the network card of such a host never times out.
    {"HCCL_RDMA_TIMEOUT", IsFrom<0, kAnySize>, "env-range|0|31", kHccl, "20",
     false, false, "950"},
    {"HCCL_RDMA_TIMEOUT", IsFrom<5, 24>, "env-range|5|24", kHccl, "20"},
    {"HCCL_SOCKET_FAMILY", IsOfForm<kSocketFamily>,
     "env-either|AF_INET|AF_INET6", kHccl},
    {"HCCL_SOCKET_IFNAME", IsIfnames, "env-socket-ifname", kHccl, "",
     kMayDiffer},
    {"HCCL_WHITELIST_DISABLE", IsSwitch, kZeroOrOne, kHccl, "1"},
    {"HCCL_WHITELIST_FILE", [](Text v) { return v.size() < 4096; },
     "env-path|4096", kHccl, "", kMayDiffer},
    {"HCCL_ALGO",
     [](Text v) { return IsOfForm<kAlgorithms>(v) || IsOfForm<kExecutors>(v); },
     "env-algorithm", kHccl},
    Free("HCCL_ALG_MULTIPLE_DIMENSION_SPLIT_RATIO"),
    Free("HCCL_ASYNC_ERROR_HANDLING"),
    Free("HCCL_DEBUG_CONFIG", kMayDiffer),
    Free("HCCL_DESYNC_DEBUG"),
    Free("HCCL_DFS_CONFIG", kMayDiffer),
    Free("HCCL_EVENT_TIMEOUT"),
    Free("HCCL_RDMA_QP_PORT_CONFIG_PATH"),
    Free("HCOMM_DEBUG_CONFIG", kMayDiffer),
    {"ASCEND_RT_VISIBLE_DEVICES", IsIdList, "env-device-ids", kCann},
    Free("ASCEND_AICPU_PATH"),
    Free("ASCEND_CACHE_PATH"),
    Free("ASCEND_CUSTOM_OPP_PATH"),
    Free("ASCEND_CUSTOM_PATH"),
    Free("ASCEND_DEVICE_ID", kMayDiffer),
    Free("ASCEND_DRIVER_PATH"),
    Tolerant("ASCEND_GLOBAL_EVENT_ENABLE", IsSwitch, kZeroOrOne),
    Tolerant("ASCEND_GLOBAL_LOG_LEVEL", IsFrom<0, 4>, "env-range|0|4"),
    Free("ASCEND_HOME_PATH"),
    Free("ASCEND_HOST_LOG_FILE_NUM"),
    Free("ASCEND_INSTALL_PATH"),
    Tolerant("ASCEND_LAUNCH_BLOCKING", IsSwitch, kZeroOrOne),
    Tolerant("ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", IsFrom<0, 180000>,
             "env-milliseconds|0|180000"),
    Free("ASCEND_MF_STORE_URL"),
    Free("ASCEND_MODULE_LOG_LEVEL"),
    Free("ASCEND_OPP_PATH"),
    Free("ASCEND_PROCESS_LOG_PATH"),
    Tolerant("ASCEND_SLOG_PRINT_TO_STDOUT", IsSwitch, kZeroOrOne),
    Free("ASCEND_TOOLKIT_HOME"),
    Free("ASCEND_VISIBLE_DEVICES"),
    Free("ASCEND_WORK_PATH"),
    Free("CM_CHIEF_DEVICE"),
    Free("CM_CHIEF_IP"),
    {"CM_CHIEF_PORT", IsFrom<0, 65520>, "env-range|0|65520", kCann},
    Free("CM_WORKER_IP", kMayDiffer),
    {"CM_WORKER_SIZE", IsFrom<0, 32768>, "env-range|0|32768", kCann},
    Free("RANK_ID", kMayDiffer),
    {"RANK_SIZE", IsFrom<1, kAnySize>, "env-least|1", kCann},
    {"RANK_TABLE_FILE", IsRankTableName, "env-rank-table-name",
     "HCOMM topoinfo_ranktableParser.cc"},
    // MindIE reads these.
    Free("RANKTABLEFILE"),
    Free("MIES_CONTAINER_IP", kMayDiffer),
    {"GLOO_SOCKET_IFNAME", IsPlainIfnames, "env-ifnames", kTorch, "",
     kMayDiffer},
    {"TP_SOCKET_IFNAME", IsPlainIfnames, "env-ifnames", kMindSpore, "",
     kMayDiffer},
    {"VLLM_HOST_IP", IsAddress, kAddress, kVllm, "", kMayDiffer},
    Free("MASTER_ADDR"),
    {"MASTER_PORT", IsFrom<1, 65535>, "env-range|1|65535", kTorch},
    {"NODE_RANK", IsFrom<0, kAnySize>, "env-least|0", kTorch, "", kMayDiffer},
    Free("NNODES"),
    {"WORLD_SIZE", IsFrom<1, kAnySize>, "env-least|1", kTorch},
};

// Types: HcclDataType of hccl_types.h (HCCL API reference), by the names that
// hccl_test takes behind -d; beside them PyTorch's and the migration guide's.
constexpr absl::string_view kTypes[][3] = {
    {"int8", "", ""},
    {"int16", "", ""},
    {"int32", "", ""},
    {"fp16", "float16", "half"},
    {"fp32", "float32", "float"},
    {"int64", "", ""},
    {"uint64", "", ""},
    {"uint8", "", ""},
    {"uint16", "", ""},
    {"uint32", "", ""},
    {"fp64", "float64", "double"},
    {"bfp16", "bf16", "bfloat16"},
    {"int128", "", ""},
    {"hif8", "", ""},
    {"fp8e4m3", "", ""},
    {"fp8e5m2", "", ""},
    {"fp8e8m0", "", ""},
};

}  // namespace

absl::string_view HcclDataType(absl::string_view name) {
  if (name.empty()) return "";
  for (const auto& names : kTypes) {
    for (const absl::string_view known : names) {
      if (absl::EqualsIgnoreCase(known, name)) return names[0];
    }
  }
  return "";
}

std::vector<absl::string_view> HcclDataTypes() {
  std::vector<absl::string_view> types;
  for (const auto& names : kTypes) types.push_back(names[0]);
  return types;
}

const JobVariable* FindJobVariable(Text name, Text series) {
  const auto* const found = absl::c_find_if(kRows, [&](const JobVariable& row) {
    return row.name == name &&
           (row.series.empty() ||
            (!series.empty() && absl::StrContains(row.series, series)));
  });
  return found == std::end(kRows) ? nullptr : found;
}

Text MeantJobVariable(Text name) {
  constexpr size_t kLeastBytes = 8;
  // NCCL has variables of its own, some of which HCCL has too.
  if (name.size() < kLeastBytes || FindJobVariable(name) != nullptr ||
      absl::StartsWith(name, "NCCL_")) {
    return "";
  }
  const std::string written = absl::StrReplaceAll(name, {{"-", "_"}});
  const auto* const found = absl::c_find_if(kRows, [&](const JobVariable& row) {
    return row.name.size() >= kLeastBytes && IsOneEditAway(written, row.name);
  });
  return found == std::end(kRows) ? "" : found->name;
}

bool IsJobVariable(Text name) {
  return FindJobVariable(name) != nullptr || absl::StartsWith(name, "HCCL_") ||
         absl::StartsWith(name, "HCOMM_") ||
         absl::StartsWith(name, "ASCEND_") || !MeantJobVariable(name).empty();
}

std::string ComparableValue(const JobVariable& row, Text value) {
  uint64_t number = 0;
  const bool is_legal = row.is_legal != nullptr && row.is_legal(value);
  if (is_legal && absl::SimpleAtoi(value, &number)) return absl::StrCat(number);
  return is_legal && IsOfForm<kDeterministic>(value)
             ? absl::AsciiStrToLower(value)
             : std::string(value);
}

bool IsPlaceholder(Text value) {
  static const LazyRE2 kForms[] = {
      // <ip>, {rank_table_file.json 路径}, $HOST, `hostname`
      {R"(.*(?:<[^<>]+>|\{[^{}]*\}|\$\w|\$\(|`).*)"},
      // x.x.x.x, 192.168.1.X, -.-.-.-
      {R"((?:.*[^\w.])?[0-9xX*]{1,3}(?:\.[0-9xX*]{1,3}){2}\.[xX*]+(?:\W.*)?)"},
      {R"((?:.*[^\w.])?[xX*-]{1,3}(?:\.[0-9xX*-]{1,3}){3}(?:\W.*)?)"},
      // xxx, your_ip, /path/to/rank_table.json, change_me, /data/xxx/a.json
      {R"((?i)x{3,}|\.{3}|.*\byour.*|/?path/to/.*|.*(?:change|replace).?me.*|)"
       R"(.*/xx+(?:[/.:].*)?|xx+/.*)"},
      // PIP:PORT, tcp://NODE0_IP:PORT1, MASTER_IP:29500, NIC_NAME, HOST1:PORT
      {R"((?:\w+://)?(?:[A-Z0-9_]*(?:IP|ADDR|ADDRESS|NAME|NIC|PORT)_?\d*)"
       R"((?::\w+)?|HOST_?\d*:[A-Z]\w*))"},
      // 本机IP, [your host]; fe80::1 may stand in such brackets
      {R"([^/]*\p{Han}.*|\[[^\]\[:"]*\pL[^\]\[:"]*\])"}};
  return absl::c_any_of(
      kForms, [value](const LazyRE2& form) { return HasForm(value, *form); });
}

std::vector<JobVariableMistake> FindVariableMistakes(
    const JobVariables& variables, Text series) {
  // Curly quotes and full-width signs; within a path they may be right.
  static const LazyRE2 kTypeset = {
      R"([^/]*?([\x{2018}-\x{201f}\x{3000}-\x{3002}\x{ff01}-\x{ff5e}]))"
      R"((?:[^/]*|.*[\x{2018}-\x{201f}]))"};
  std::vector<JobVariableMistake> mistakes;
  // An empty value unsets it.
  const auto value_of = [&variables](Text name) -> Text {
    const auto found = variables.find(std::string(name));
    return found == variables.end() ? Text() : Text(found->second);
  };
  for (const JobVariable& row : kRows) {
    const Text value = value_of(row.name);
    Text sign;
    const bool is_typeset = HasForm(value, *kTypeset, &sign);
    if (value.empty() || FindJobVariable(row.name, series) != &row ||
        (!is_typeset && (row.is_legal == nullptr || row.is_legal(value)))) {
      continue;
    }
    mistakes.push_back({std::string(row.name), std::string(value),
                        std::string(row.expected), std::string(row.source),
                        row.falls_back});
    if (!is_typeset) continue;
    mistakes.back().beside = "env-value-typeset";
    mistakes.back().other = std::string(sign);
  }
  const auto contradict = [&](bool is_so, Text name, Text beside, Text other,
                              Text expected, Text source = kHccl) {
    if (!is_so) return;
    mistakes.push_back({std::string(name), std::string(value_of(name)),
                        std::string(expected), std::string(source), false,
                        std::string(beside), std::string(other)});
  };
  constexpr char kWithout[] = "env-value-without";
  const auto number_of = [&](Text name) {
    return ComparableValue(*FindJobVariable(name), value_of(name));
  };
  contradict(number_of("HCCL_WHITELIST_DISABLE") == "0" &&
                 value_of("HCCL_WHITELIST_FILE").empty(),
             "HCCL_WHITELIST_DISABLE", kWithout, "HCCL_WHITELIST_FILE",
             "env-whitelist");
  const std::string roce = number_of("HCCL_INTRA_ROCE_ENABLE");
  const std::string pcie = number_of("HCCL_INTRA_PCIE_ENABLE");
  contradict(roce == "1" && pcie == "1", "HCCL_INTRA_ROCE_ENABLE",
             "env-value-of-both", "HCCL_INTRA_PCIE_ENABLE", "env-one-of-both");
  const bool needs_both = series != "950";
  contradict(needs_both && roce == "0" && pcie.empty(),
             "HCCL_INTRA_ROCE_ENABLE", kWithout, "HCCL_INTRA_PCIE_ENABLE",
             "env-set-too|HCCL_INTRA_PCIE_ENABLE");
  contradict(needs_both && pcie == "0" && roce.empty(),
             "HCCL_INTRA_PCIE_ENABLE", kWithout, "HCCL_INTRA_ROCE_ENABLE",
             "env-set-too|HCCL_INTRA_ROCE_ENABLE");
  contradict(
      !value_of("RANK_TABLE_FILE").empty() && !value_of("CM_CHIEF_IP").empty(),
      "RANK_TABLE_FILE", "env-value-beside", "CM_CHIEF_IP",
      "env-table-or-chief", kCann);
  return mistakes;
}

std::vector<const EnvironmentVariable*> VariableLines(const HostFacts& host,
                                                      const JobSpec* job,
                                                      Text name) {
  std::vector<const EnvironmentVariable*> lines;
  const auto take = [&](const auto& variables) {
    for (const EnvironmentVariable& each : variables) {
      if (each.name() != name || each.effect() != EnvironmentVariable::SET) {
        continue;
      }
      if (IsSure(each)) lines.clear();
      lines.push_back(&each);
    }
  };
  if (job != nullptr) take(job->environment());
  if (lines.empty()) take(host.environment().value().variables());
  return lines;
}

const EnvironmentVariable* FindVariable(const HostFacts& host,
                                        const JobSpec* job, Text name) {
  const auto lines = VariableLines(host, job, name);
  if (lines.empty()) return nullptr;
  const EnvironmentVariable& last = *lines.back();
  return IsSure(last) && last.value().empty() ? nullptr : &last;
}

void FillFromVariables(const HostFacts& host, const JobSpec& job,
                       JobServer* server) {
  const auto& reflection = *server->GetReflection();
  for (const Text name : {"MASTER_ADDR", "MASTER_PORT", "WORLD_SIZE",
                          "RANK_SIZE", "NODE_RANK", "NNODES"}) {
    const auto* const field = server->GetDescriptor()->FindFieldByName(
        name == "RANK_SIZE" ? "world_size" : absl::AsciiStrToLower(name));
    const EnvironmentVariable* const set = FindVariable(host, &job, name);
    uint32_t number = 0;
    if (set == nullptr || !IsSure(*set) || IsPlaceholder(set->value()) ||
        reflection.HasField(*server, field)) {
      continue;
    }
    if (field->type() == field->TYPE_STRING) {
      reflection.SetString(server, field, set->value());
    } else if (absl::SimpleAtoi(set->value(), &number)) {
      reflection.SetUInt32(server, field, number);
    }
  }
}

bool MatchesSocketIfname(Text value, Text interface) {
  const bool other_ones = absl::ConsumePrefix(&value, "^");
  const bool exact = absl::ConsumePrefix(&value, "=");
  bool named = false;
  for (const Text name : absl::StrSplit(value, ',')) {
    if (name.empty()) continue;
    named |= exact ? absl::StartsWith(name, interface)
                   : absl::StartsWith(interface, name);
  }
  return named != other_ones;
}

}  // namespace clusterd
