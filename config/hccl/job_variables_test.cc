#include "config/hccl/job_variables.h"

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(FindVariableMistakesTest, KnowsTheRangeOfEachVariable) {
  const struct {
    const char* name;
    std::vector<std::string> good;
    std::vector<std::string> bad;
  } kCases[] = {
      {"HCCL_CONNECT_TIMEOUT", {"120", "7200", ""}, {"119", "7201", "2m"}},
      {"HCCL_EXEC_TIMEOUT", {"0", "0.05", "2147483647"}, {"-1", "2147483648"}},
      {"HCCL_IF_BASE_PORT", {"1024", "65520"}, {"1023", "65521", "x"}},
      {"HCCL_RDMA_TC", {"0", "132", "252"}, {"1", "133", "256"}},
      {"HCCL_RDMA_SL", {"0", "7"}, {"8"}},
      {"HCCL_RDMA_RETRY_CNT", {"1", "7"}, {"0", "8"}},
      {"HCCL_SOCKET_FAMILY", {"AF_INET", "AF_INET6"}, {"inet"}},
      {"HCCL_SOCKET_IFNAME",
       {"eth", "^=eth0,eth1"},
       {",eth", "eth,", "=", "a,,b"}},
      {"HCCL_HOST_SOCKET_PORT_RANGE",
       {"auto", "60000", "60000-60031,61000"},
       {"0", "60000-60031,60010", "60031-60000", "1,", "a"}},
      {"HCCL_NPU_SOCKET_PORT_RANGE", {"auto"}, {"Auto"}},
      {"HCCL_INTRA_ROCE_ENABLE", {"1", "01"}, {"2", "true"}},
      {"MASTER_ADDR", {"10.0.0.1"}, {"“10.0.0.1”", "１０.0.0.1"}},
      {"HCCL_INTRA_PCIE_ENABLE", {"1"}, {"on"}},
      {"HCCL_RDMA_TIMEOUT", {"5", "24"}, {"4", "25", "99"}},
      {"HCCL_BUFFSIZE", {"1", "200"}, {"0", "-1", "200M", " 200", "+200"}},
      {"HCCL_DETERMINISTIC", {"true", "FALSE", "strict"}, {"yes", "1"}},
      {"HCCL_OP_EXPANSION_MODE", {"AIV", "HOST_TS"}, {"aiv", "AI CPU"}},
      {"HCCL_OP_RETRY_ENABLE", {"L1:0,L2:1"}, {"1", "L3:0"}},
      {"HCCL_OP_RETRY_PARAMS",
       {"MaxCnt:1,HoldTime:0,IntervalTime:60000"},
       {"MaxCnt:11,HoldTime:0,IntervalTime:0", "1",
        "MaxCnt:0,HoldTime:0,IntervalTime:0",
        "MaxCnt:1,HoldTime:60001,IntervalTime:0",
        "MaxCnt:1,HoldTime:0,IntervalTime:60001"}},
      {"HCCL_IF_IP", {"10.0.0.1", "fe80::1", "10.0.0.1%eth0"}, {"eth0"}},
      {"ASCEND_RT_VISIBLE_DEVICES", {"0", "0,3,7"}, {"1, 2", "2,1", "0-7"}},
      {"ASCEND_GLOBAL_LOG_LEVEL", {"0", "4"}, {"5", "INFO"}},
      {"GLOO_SOCKET_IFNAME", {"eth0"}, {"=eth0", "eth0,"}},
      {"VLLM_HOST_IP", {"10.0.0.1"}, {"eth0"}},
      {"MASTER_PORT", {"29500"}, {"0", "65536"}},
      {"HCCL_INTER_HCCS_DISABLE", {"TRUE", "false"}, {"1"}},
      {"HCCL_WHITELIST_DISABLE", {"1"}, {"2"}},
      {"HCCL_WHITELIST_FILE", {"/a"}, {std::string(4096, 'a')}},
      {"HCCL_ALGO",
       {"level0:NA;level1:H-D_R", "level0:NA; level1:NHR_V1; level2:ring",
        "allreduce=level0:NA;level1:ring/alltoall=level0:NA;level1:pairwise",
        "allreduce:sequence{mesh2die,nhrmultilink};sole{nhr}", "nhr",
        "not(parallel{mesh,nhr})", "sequence{level0=not(nhr),level1=nhr}",
        "mesh_chunk;allgather:nhr"},
       {"foo", "level0:NA;level1:rng", "level4:ring", "level0:NA;",
        "level0:NA;level1:{algo}", "sole{$ALGO}", "nhr;ring"}},
      {"RANK_TABLE_FILE",
       {"/a/b.json", "/a.jsn/json.json"},
       {"/nonexist", "/a.json.bak", "v3.json.json", "d.json.old/v6.json",
        "/opt/a.json/hccl.json"}},
      {"HCCL_DIAGNOSE_ENABLE", {"0", "1"}, {"2", "on"}},
      {"HCCL_ENTRY_LOG_ENABLE", {"1"}, {"true"}},
      {"HCCL_LOGIC_SUPERPOD_ID",
       {"pod-1", std::string(127, 'a')},
       {std::string(128, 'a')}},
      {"HCCL_MULTI_QP_THRESHOLD", {"1", "8192"}, {"0", "8193"}},
      {"HCCL_RDMA_PCIE_DIRECT_POST_NOSTRICT", {"TRUE", "false"}, {"1"}},
      {"HCCL_RDMA_QPS_PER_CONNECTION", {"1", "32"}, {"0", "33"}},
      {"TP_SOCKET_IFNAME", {"eth0", "eth0,eth1"}, {"^lo"}},
      {"ASCEND_GLOBAL_EVENT_ENABLE", {"0"}, {"2"}},
      {"ASCEND_LAUNCH_BLOCKING", {"1"}, {"true"}},
      {"ASCEND_LOG_DEVICE_FLUSH_TIMEOUT", {"0", "180000"}, {"180001"}},
      {"ASCEND_SLOG_PRINT_TO_STDOUT", {"1"}, {"yes"}},
      {"CM_CHIEF_PORT", {"0", "65520"}, {"65521"}},
      {"CM_WORKER_SIZE", {"0", "32768"}, {"32769"}},
      {"WORLD_SIZE", {"16"}, {"0", "all"}},
      {"RANK_SIZE", {"16"}, {"0", "-1"}},
      {"NODE_RANK", {"0"}, {"first"}},
      {"HCCL_SOMETHING_NEW", {"x"}, {}},
  };
  for (const auto& each : kCases) {
    for (const std::string& value : each.good) {
      EXPECT_TRUE(FindVariableMistakes({{each.name, value}}).empty())
          << each.name << " " << value;
    }
    for (const std::string& value : each.bad) {
      EXPECT_EQ(FindVariableMistakes({{each.name, value}}).size(), 1u)
          << each.name << " " << value;
    }
    if (each.bad.empty()) continue;
    EXPECT_FALSE(FindJobVariable(each.name)->source.empty()) << each.name;
  }
}

TEST(FindVariableMistakesTest, WhiteListThatIsOnNeedsItsFile) {
  const auto mistakes = FindVariableMistakes({{"HCCL_WHITELIST_DISABLE", "0"}});
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_EQ(mistakes[0].expected, "env-whitelist");
  EXPECT_TRUE(FindVariableMistakes({{"HCCL_WHITELIST_DISABLE", "0"},
                                    {"HCCL_WHITELIST_FILE", "/etc/hccl.json"}})
                  .empty());
  EXPECT_EQ(FindVariableMistakes({{"HCCL_WHITELIST_DISABLE", "00"}}).size(),
            1u);
  // Names the signs of a word processor.
  const std::pair<const char*, const char*> kCases[] = {
      {"“200”", "“"}, {"２00", "２"}, {"200；", "；"}};
  for (const auto& [value, sign] : kCases) {
    const auto mistakes = FindVariableMistakes({{"HCCL_BUFFSIZE", value}});
    ASSERT_EQ(mistakes.size(), 1u) << value;
    EXPECT_THAT(mistakes[0].other, HasSubstr(sign));
  }
  EXPECT_EQ(FindVariableMistakes({{"HCCL_SOCKET_IFNAME", "eth0，eth1"}}).size(),
            1u);
  EXPECT_THAT(FindVariableMistakes({{"RANK_TABLE_FILE", "“/a.json”"}})[0].other,
              HasSubstr("“"));
  // A folder may have such a name.
  EXPECT_TRUE(
      FindVariableMistakes({{"RANK_TABLE_FILE", "/data（1）/a.json"}}).empty());
}

TEST(FindVariableMistakesTest, JudgesVariablesTogether) {
  const std::pair<JobVariables, size_t> kCases[] = {
      // RoCE and PCIe in a server contradict each other.
      {{{"HCCL_INTRA_ROCE_ENABLE", "1"}, {"HCCL_INTRA_PCIE_ENABLE", "1"}}, 1},
      {{{"HCCL_INTRA_ROCE_ENABLE", "01"}, {"HCCL_INTRA_PCIE_ENABLE", "001"}},
       1},
      {{{"HCCL_INTRA_ROCE_ENABLE", "1"}, {"HCCL_INTRA_PCIE_ENABLE", "0"}}, 0},
      // One link of a single server is not switched off.
      {{{"HCCL_INTRA_ROCE_ENABLE", "0"}}, 1},
      {{{"HCCL_INTRA_PCIE_ENABLE", "0"}}, 1},
      {{{"HCCL_INTRA_ROCE_ENABLE", "0"}, {"HCCL_INTRA_PCIE_ENABLE", "1"}}, 0},
      // Rank table and its replacement exclude each other.
      {{{"RANK_TABLE_FILE", "/a.json"}, {"CM_CHIEF_IP", "10.0.0.1"}}, 1},
  };
  for (const auto& [variables, mistakes] : kCases) {
    EXPECT_EQ(FindVariableMistakes(variables).size(), mistakes)
        << variables.begin()->first << " " << variables.begin()->second;
  }
}

// HCOMM's bounds are those of the device (HCCL_RDMA_TIMEOUT_MAX_910_93).
TEST(FindVariableMistakesTest, RdmaTimeoutDependsOnTheSeries) {
  const auto count = [](const char* value, const char* series) {
    return FindVariableMistakes({{"HCCL_RDMA_TIMEOUT", value}}, series).size();
  };
  EXPECT_EQ(count("21", "A1"), 0u);
  EXPECT_EQ(count("21", "A2"), 1u);
  EXPECT_EQ(count("20", "A3"), 0u);
  EXPECT_EQ(count("99", "950"), 0u);
  // Every form has its source.
  for (const char* name : {"HCCL_BUFFSIZE", "ASCEND_RT_VISIBLE_DEVICES",
                           "VLLM_HOST_IP", "CM_WORKER_SIZE"}) {
    const auto mistakes = FindVariableMistakes({{name, "?"}});
    ASSERT_EQ(mistakes.size(), 1u) << name;
    EXPECT_FALSE(mistakes[0].source.empty()) << name;
  }
}

TEST(ComparableValueTest, IsTheSameForEverySpelling) {
  const auto of = [](const char* name, const char* value) {
    return ComparableValue(*FindJobVariable(name), value);
  };
  EXPECT_EQ(of("HCCL_CONNECT_TIMEOUT", "0120"), "120");
  EXPECT_EQ(of("HCCL_INTER_HCCS_DISABLE", "False"), "false");
  EXPECT_EQ(of("HCCL_DETERMINISTIC", "FALSE"), "false");
  EXPECT_EQ(of("HCCL_OP_EXPANSION_MODE", "AIV"), "AIV");
  EXPECT_EQ(of("MASTER_ADDR", "010"), "010");
}

TEST(MeantJobVariableTest, NamesTheOneThatIsOneEditAway) {
  EXPECT_EQ(MeantJobVariable("ASCEND_RT_VISIBLE_DEVICE"),
            "ASCEND_RT_VISIBLE_DEVICES");
  EXPECT_EQ(MeantJobVariable("HCCL_CONECT_TIMEOUT"), "HCCL_CONNECT_TIMEOUT");
  EXPECT_EQ(MeantJobVariable("HCCL_SOKCET_IFNAME"), "HCCL_SOCKET_IFNAME");
  EXPECT_EQ(MeantJobVariable("hccl_buffsize"), "HCCL_BUFFSIZE");
  EXPECT_EQ(MeantJobVariable("HCCL-IF-IP"), "HCCL_IF_IP");
  // MindIE reads the first, NCCL its own, and PATH is never a mistake.
  for (const char* name :
       {"RANKTABLEFILE", "HCCL_BUFFSIZE", "HCCL_SOMETHING_NEW", "PATH", "RANKS",
        "WORLD_SIZE", "NCCL_SOCKET_IFNAME", "NCCL_BUFFSIZE", "NCCL_ALGO"}) {
    EXPECT_EQ(MeantJobVariable(name), "") << name;
  }
  EXPECT_FALSE(IsJobVariable("NCCL_SOCKET_IFNAME"));
}

TEST(IsPlaceholderTest, KnowsWhatGuidesLeaveOpen) {
  constexpr char kOpen[] =
      "tcp://PIP:PORT <ip> x.x.x.x 192.168.1.x 10.0.X.X -.-.-.- your_ip xxxx "
      "NIC_NAME MASTER_IP NODE0_IP IP_1 tcp://IP1:PORT1 MASTER_IP:29500 "
      "HOST1:PORT NIC0 {rank_table_file.json} $HOST ${IP} $(hostname) "
      "/path/to/rank_table.json 本机IP ... /xxx/hccl.json "
      "/data/XX/rank_table.json xxx/a.json /data/xxx /data/xxx.json [本机IP] "
      "[IP]";
  for (const absl::string_view value : absl::StrSplit(kOpen, ' ')) {
    EXPECT_TRUE(IsPlaceholder(value)) << value;
  }
  for (const char* value : {"<your ip>", "Your SOCKET IFNAME", "[your host]"}) {
    EXPECT_TRUE(IsPlaceholder(value)) << value;
  }
  constexpr char kFilledIn[] =
      "10.0.3.2 fe80::1 eth0 =enp39s0f3 ^docker,lo TRUE HOST HOST1:29500 NODE1 "
      "AI_CPU AF_INET 60000-60031,61000 auto L1:0,L2:0 level0:NA;level1:H-D_R "
      "/data/rank_table.json /data/x/xxl.json [fe80::1] [0] 0,1,2,3 "
      "MaxCnt:3,HoldTime:5000,IntervalTime:1000 node01.example.com "
      "tcp://10.0.0.1:29500 super_pod_id_1 ALG,TASK 1836";
  for (const absl::string_view value : absl::StrSplit(kFilledIn, ' ')) {
    EXPECT_FALSE(IsPlaceholder(value)) << value;
  }
}

EnvironmentVariable Line(const std::string& name, const std::string& value) {
  EnvironmentVariable line;
  line.set_name(name);
  line.set_value(value);
  return line;
}

TEST(FindVariableTest, TakesTheLastLineThatCounts) {
  HostFacts host;
  auto* const lines =
      host.mutable_environment()->mutable_value()->mutable_variables();
  *lines->Add() = Line("A", "1");
  *lines->Add() = Line("A", "2");
  *lines->Add() = Line("A", "3");
  lines->rbegin()->set_effect(EnvironmentVariable::NOT_EXPORTED);
  ASSERT_NE(FindVariable(host, nullptr, "A"), nullptr);
  EXPECT_EQ(FindVariable(host, nullptr, "A")->value(), "2");
  // This one may apply, or the one before it.
  *lines->Add() = Line("A", "4");
  lines->rbegin()->set_conditional(true);
  EXPECT_EQ(VariableLines(host, nullptr, "A").size(), 2u);
  EXPECT_FALSE(IsSure(*FindVariable(host, nullptr, "A")));
  *lines->Add() = Line("A", "");
  EXPECT_EQ(FindVariable(host, nullptr, "A"), nullptr);
  JobSpec job;
  *job.add_environment() = Line("A", "5");
  EXPECT_EQ(FindVariable(host, &job, "A")->value(), "5");
}

TEST(FillFromVariablesTest, JobGoesBeforeLoginsAndKeysBeforeBoth) {
  JobSpec job;
  *job.add_environment() = Line("MASTER_PORT", "60010");
  *job.add_environment() = Line("WORLD_SIZE", "12");
  *job.add_environment() = Line("NNODES", "2:4");
  // An empty value unsets the logins' one.
  *job.add_environment() = Line("NODE_RANK", "");
  HostFacts host;
  auto* const lines =
      host.mutable_environment()->mutable_value()->mutable_variables();
  *lines->Add() = Line("MASTER_PORT", "29500");
  *lines->Add() = Line("MASTER_ADDR", "172.16.0.2");
  *lines->Add() = Line("NODE_RANK", "1");
  JobServer server;
  server.set_world_size(16);
  FillFromVariables(host, job, &server);
  EXPECT_EQ(server.master_port(), 60010u);
  EXPECT_EQ(server.master_addr(), "172.16.0.2");
  EXPECT_EQ(server.world_size(), 16u);
  EXPECT_EQ(server.nnodes(), "2:4");
  EXPECT_FALSE(server.has_node_rank());
}

TEST(FillFromVariablesTest, LeavesOutWhatIsNotKnown) {
  JobSpec job;
  *job.add_environment() = Line("MASTER_ADDR", "$HEAD");
  *job.add_environment() = Line("RANK_SIZE", "16");
  HostFacts host;
  auto* const lines =
      host.mutable_environment()->mutable_value()->mutable_variables();
  *lines->Add() = Line("MASTER_PORT", "29500");
  lines->rbegin()->set_conditional(true);
  *lines->Add() = Line("NODE_RANK", "");
  lines->rbegin()->set_computed(true);
  JobServer server;
  FillFromVariables(host, job, &server);
  EXPECT_EQ(server.DebugString(), "world_size: 16\n");
}

TEST(MatchesSocketIfnameTest, TakesTheFourForms) {
  EXPECT_TRUE(MatchesSocketIfname("ib,eth", "eth0"));
  EXPECT_FALSE(MatchesSocketIfname("ib", "eth0"));
  EXPECT_TRUE(MatchesSocketIfname("=eth0", "eth0"));
  EXPECT_FALSE(MatchesSocketIfname("=eth", "eth0"));
  EXPECT_TRUE(MatchesSocketIfname("=eth0.7", "eth0"));
  EXPECT_FALSE(MatchesSocketIfname("^eth", "eth0"));
  EXPECT_TRUE(MatchesSocketIfname("^=eth", "eth0"));
}

}  // namespace
}  // namespace clusterd
