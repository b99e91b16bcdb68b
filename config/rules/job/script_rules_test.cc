#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/support/config/script_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::StartsWith;

TEST(JobScriptTest, PassesTheScriptOfTheVendorsGuide) {
  const RuleResult result = Running(kGood).Check("job-script");
  EXPECT_THAT(result, Passes());
  EXPECT_EQ(Lines(result), "");
  EXPECT_EQ(result.summary(), "read train.py");
  EXPECT_EQ(Observed(WithAll({{"\n", "\r\n"}, {"\"", "'"}})), "");
}

TEST(JobScriptTest, ABackendOtherThanHcclIsAWarningWithItsLine) {
  const std::string nccl = With(kBackend, "backend=\"nccl\"");
  EXPECT_EQ(Lines(Running(nccl).Check("job-script")),
            "WARN cluster " + Backend(12, "nccl"));
  ExpectEach(kBackend, {"'gloo'"}, Backend(12, "gloo"));
  ExpectEach(kBackend,
             {"'cpu:gloo,npu:hccl'", "backend='HCCL'",
              "args.backend, init_method='env://'"},
             "");
  ExpectEach("import torch_npu\n",
             {"from torch_npu.contrib import transfer_to_npu\n"}, "");
  ExpectUntold(With(kBackend, "backend=args.backend"), "which backend is used");
}

TEST(JobScriptTest, ABackendForMachinesWithoutNpusIsNone) {
  const std::string both =
      With("    dist.init_process_group(backend=\"hccl\")\n",
           "    if use_npu:\n"
           "        dist.init_process_group(backend=\"hccl\")\n"
           "    else:\n"
           "        dist.init_process_group(\"gloo\")\n");
  EXPECT_EQ(Observed(both), "");
  EXPECT_EQ(Observed(absl::StrReplaceAll(both, {{"hccl", "nccl"}})),
            Backend(15, "gloo") + Backend(13, "nccl"));
}

TEST(JobScriptTest, ABackendIsFoundInTheCallOfDeepSpeed) {
  ExpectEach(kJoin,
             {"deepspeed.init_distributed(dist_backend='nccl')",
              "init_distributed('nccl')", "init_distributed(backend='nccl')",
              "deepspeed.comm.init_distributed(\"nccl\", timeout=t)"},
             Backend(12, "nccl", "init_distributed"));
  EXPECT_EQ(Observed("from deepspeed import init_distributed as start\n" +
                     With(kJoin, "start('gloo')")),
            Backend(13, "gloo", "init_distributed"));
  EXPECT_EQ(Summary(With(kJoin, "deepspeed.init_distributed('hccl')")),
            "read train.py");
  // DeepSpeed has a default, and others a function of that name.
  for (const char* unknown :
       {"deepspeed.init_distributed()", "init_distributed(args)",
        "init_distributed(8, 'npu')"}) {
    ExpectUntold(With(kJoin, unknown), "which backend is used");
  }
}

TEST(JobScriptTest, ATransferredScriptMayKeepTheNamesOfCuda) {
  EXPECT_EQ(
      Observed(WithAll({{"import torch_npu\n",
                         "from torch_npu.contrib import transfer_to_npu\n"},
                        {"hccl", "nccl"},
                        {"torch.npu.", "torch.cuda."}})),
      "");
}

TEST(JobScriptTest, CommentsAndStringsDoNotFoolIt) {
  const std::string noise =
      "# dist.init_process_group(\"nccl\"); torch.npu.set_device(0)\n"
      "\"\"\"Usage:\n"
      "dist.init_process_group('gloo', rank=0)\n"
      "torch.npu.set_device(0)  os.environ['RANK'] = '0'\n"
      "\"\"\"\n"
      "print('DDP(model) and DataLoader(data, sampler=s, shuffle=True)')\n"
      "help = 'it\\'s init_process_group(\"nccl\")'\n"
      "raw = r'\\'\n";
  EXPECT_EQ(Observed(noise + kGood), "");
  EXPECT_EQ(Observed(noise + With(kBackend, "backend=\"nccl\"")),
            Backend(20, "nccl"));
  // Text in a comment does not count.
  EXPECT_EQ(Observed(With("    model = DDP(", "    # model = DDP(")),
            At("no-wrapper", "12"));
}

TEST(JobScriptTest, TakesANameForTheOneLiteralThatItHas) {
  const auto with_backend = [](const std::string& before,
                               const std::string& value) {
    return Observed(absl::StrReplaceAll(
        kGood,
        {{"def main(args):\n", absl::StrCat("def main(args):\n", before)},
         {"\"hccl\"", value}}));
  };
  EXPECT_EQ(
      with_backend("    args.dist_backend = 'nccl'\n", "args.dist_backend"),
      Backend(13, "nccl"));
  EXPECT_EQ(with_backend("    BACKEND = \"nccl\"  # all\n", "BACKEND"),
            Backend(13, "nccl"));
  EXPECT_EQ(with_backend("    BACKEND = \"hccl\"\n", "BACKEND"), "");
  EXPECT_EQ(Observed("class Config:\n    backend: str = \"nccl\"\n" +
                     With("\"hccl\"", "config.backend")),
            Backend(14, "nccl"));
  // Other code may give it another value.
  for (const char* other :
       {"    if npu: BACKEND = 'hccl'\n", "    x, BACKEND = names\n",
        "    for BACKEND in names: pass\n", "    def f(a, BACKEND): pass\n",
        "    p.add_argument('--BACKEND')\n", "    f(BACKEND='hccl')\n"}) {
    const std::string line = absl::StrCat("    BACKEND = 'nccl'\n", other);
    EXPECT_EQ(with_backend(line, "BACKEND"), "") << other;
  }
  ExpectEach("set_device(local_rank)", {"set_device(DEVICE_ID)\nDEVICE_ID = 3"},
             At("one-device", "11", "device=3"));
}

TEST(JobScriptTest, WhatOnlySomeRanksDoIsNotDoneByAll) {
  ExpectEach(
      kSize,
      {"    if dist.get_rank() == 0:\n"
       "        # One of them.\n\n"
       "        x.to(\"npu:0\")\n"
       "    if rank == 0: x.to('npu:0')\n"
       "    x.to('npu:1')\n"
       "    if local_rank == -1:\n"
       "        x.to('npu:2')\n"
       "    world_size = 16"},
      At("one-device", "24", "device=1") + At("one-device", "26", "device=2"));
}

TEST(JobScriptTest, TheOtherBranchOfAConditionOnTheRankIsOfSomeRanks) {
  const auto with = [](const std::string& lines) {
    return Observed(With(kSize, lines + "    y.to('npu:7')"));
  };

  for (const char* condition :
       {"rank == 0", "dist.get_rank() != 0", "int(os.environ['RANK']) == 0",
        "not is_main_process()", "not rank", "rank > 0"}) {
    const std::string branches = absl::StrCat(
        "    if ", condition, ":\n        x.sum()\n\n    # The others.\n",
        "    elif x: y.to('npu:1')\n    else:\n        x.to('npu:0')\n");
    EXPECT_EQ(with(branches), At("one-device", "26", "device=7")) << condition;
    EXPECT_EQ(
        Observed(absl::StrReplaceAll(With(kSize, branches), {{"\n", "\r\n"}})),
        "");
  }
  // All ranks may reach these.
  for (const char* condition :
       {"npu", "rank == 0 and resume", "local_rank != -1", "rank >= 0"}) {
    EXPECT_EQ(
        with(absl::StrCat("    if ", condition, ":\n        pass\n",
                          "    else:\n        x.to('npu:0')\n")),
        At("one-device", "22", "device=0") + At("one-device", "23", "device=7"))
        << condition;
  }
}

TEST(JobScriptTest, WhatAStartWithoutALauncherSetsIsNoConstant) {
  for (const char* lines :
       {"    if 'RANK' not in os.environ:\n"
        "        os.environ['RANK'] = '0'\n"
        "        os.environ['MASTER_ADDR'] = '127.0.0.1'\n",
        "    if os.environ.get('RANK') is None:\n"
        "        os.environ['RANK'] = '0'\n",
        "    if 'RANK' in os.environ and 'WORLD_SIZE' in os.environ:\n"
        "        pass\n"
        "    elif slurm: pass\n"
        "    else:\n"
        "        os.environ['RANK'] = '0'\n"}) {
    EXPECT_EQ(Observed(With(kSize, lines)), "") << lines;
    EXPECT_THAT(Observed(With(kSize, absl::StrCat(lines,
                                                  "    os.environ['RANK'] = "
                                                  "'3'\n"))),
                AllOf(StartsWith("literal where=train.py:"),
                      EndsWith(", name=RANK, value=3\n")));
  }
}

TEST(JobScriptTest, ADeviceThatIsNotTheLocalRanksIsAWarning) {
  ExpectObserved(
      {{"set_device(local_rank)", "set_device(0)",
        At("one-device", "11", "device=0")},
       {"set_device(local_rank)", "set_device('npu:3')",
        At("one-device", "11", "device=3")},
       {"device_ids=[local_rank]", "device_ids=[0]",
        At("one-device", "14", "device=0")},
       {"device_ids=[local_rank]", "device_ids=[0, 1,2,]",
        At("several-devices", "14", "devices=[0, 1,2,]")},
       {kSize, "    os.environ[\"ASCEND_RT_VISIBLE_DEVICES\"]=\"0\"",
        At("one-device", "19", "device=0")},
       {kSize,
        "    os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0,1,2,3,4,5,6,7'", ""},
       {"f\"npu:{local_rank}\"", "'npu:0'",
        At("one-device", "13", "device=0")}});
  const std::string rank = With("    torch.npu.set_device(local_rank)",
                                "    rank = int(os.environ[\"RANK\"])\n"
                                "    torch.npu.set_device(rank)");
  EXPECT_EQ(Observed(rank), At("global-rank", "12", "name=rank"));
  EXPECT_EQ(
      Observed(absl::StrReplaceAll(rank, {{"[\"RANK\"])", "[\"RANK\"]) % 8"}})),
      "");
  EXPECT_EQ(Lines(RunningOnOne(rank).Check("job-script")), "");
  const std::string none =
      WithAll({{"LOCAL_RANK", "SLURM_LOCALID"}, {"local_rank", "device"}});
  EXPECT_EQ(Observed(none), At("no-local-rank", "12"));
  TestCluster spawned = Running(none);
  spawned.job->set_method("mp-spawn");
  EXPECT_EQ(Lines(spawned.Check("job-script")), "");
  EXPECT_THAT(spawned.Check("job-script").summary(),
              HasSubstr("device a rank takes"));
}

TEST(JobScriptTest, ADeviceIsFoundInEachSpelling) {
  constexpr char kPlace[] = "Model().to(f\"npu:{local_rank}\")";
  ExpectEach(
      kPlace,
      {"Model().to('npu:0')", "Model().to(device='npu:0')", "Model().to(0)",
       "Model().npu(0)", "torch.device('npu', 0)",
       "torch.device(type='npu', index=0)", "torch_npu.npu.set_device(0)",
       "torch.set_default_device('npu:0')",
       "torch.accelerator.set_device_index(0)",
       "torch.device('npu:0' if torch.npu.is_available() else 'cpu')"},
      At("one-device", "13", "device=0"));
  ExpectEach(
      kPlace,
      {"Model().to(torch.float16)", "Model().npu()", "torch.device('npu')",
       "torch_npu.npu.set_device(f'npu:{local_rank}')",
       "torch.device('npu', local_rank)",
       "torch.device('npu:0' if local_rank == -1 else 'cpu')"},
      "");
}

TEST(JobScriptTest, TheGlobalRankIsFoundInTextsAndArguments) {
  const auto with = [](const std::string& rank, const std::string& device) {
    return Observed(With("    model = Model().to(f\"npu:{local_rank}\")",
                         absl::StrCat("    rank = ", rank, "\n    ", device)));
  };
  const std::string found = At("global-rank", "14", "name=rank");
  for (const char* device :
       {"d = f\"npu:{rank}\"; x.to(f'npu:{rank}')", "x.to(rank)",
        "torch_npu.npu.set_device(rank)", "d = torch.device('npu', rank)",
        "d = torch.device('npu:{}'.format(rank))",
        "d = torch.device('npu:%d' % rank)", "d = DDP(m, [rank])",
        "x.to(rank if npu else 'cpu')"}) {
    EXPECT_EQ(with("int(os.environ.get('RANK', -1))", device), found) << device;
    EXPECT_EQ(with("dist.get_rank()", device), found) << device;
    EXPECT_EQ(with("dist.get_rank() % 8", device), "") << device;
    EXPECT_EQ(with("dist.get_rank()\n    rank = rank - first", device), "")
        << device;
  }
  for (const char* device :
       {"x.to(rank % 8)", "x.to(rank - 8 * node)", "x.to(f'npu:{rank % 8}')",
        "x.to(device_of(rank))"}) {
    EXPECT_EQ(with("dist.get_rank()", device), "") << device;
  }
  // The rank itself is not a device.
  EXPECT_EQ(with("dist.get_rank()", "dist.init_process_group(rank=rank)"), "");
  constexpr char kIn[] = "os.environ['RANK']";
  EXPECT_EQ(with("pick()", absl::StrCat("dist.init_process_group('hccl', "
                                        "rank=int(",
                                        kIn, "))")),
            "");
  EXPECT_EQ(with("pick()", absl::StrCat("x.to(f\"npu:{", kIn, "}\")")),
            At("global-rank", "14", "name=RANK"));
  EXPECT_EQ(with("pick()", "x.to(f'npu:{dist.get_rank()}')"),
            At("global-rank", "14", "name=get_rank"));
  EXPECT_EQ(Observed(With("    local_rank = int(os.environ[\"LOCAL_RANK\"])\n"
                          "    torch.npu.set_device(local_rank)\n",
                          "    torch.npu.set_device(f\"npu:"
                          "{os.environ['LOCAL_RANK']}\")\n")),
            "");
}

TEST(JobScriptTest, TheGlobalRankIsFoundInPlace) {
  const auto lines = [](const std::string& rank) {
    return Observed(
               With("set_device(local_rank)", "set_device(" + rank + ")")) +
           Observed(
               With("device_ids=[local_rank]", "device_ids=[" + rank + "]"));
  };
  const auto both = [](const char* name) {
    return absl::StrCat("global-rank where=train.py:11, name=", name,
                        "\nglobal-rank where=train.py:14, name=", name, "\n");
  };
  for (const char* rank :
       {"int(os.environ[\"RANK\"])", "int(os.environ.get('RANK', 0))",
        "int(os.getenv('RANK'))", "f\"npu:{os.environ['RANK']}\""}) {
    EXPECT_EQ(lines(rank), both("RANK")) << rank;
  }
  for (const char* rank :
       {"dist.get_rank()", "'npu:{}'.format(dist.get_rank())",
        "'npu:%d' % dist.get_rank()"}) {
    EXPECT_EQ(lines(rank), both("dist.get_rank")) << rank;
  }
  for (const char* other :
       {"int(os.environ['RANK']) % 8", "dist.get_rank() - 8 * node",
        "int(os.environ['RANK']) & 7", "device_of(dist.get_rank())",
        "devices[dist.get_rank()]",
        "int(os.environ.get('LOCAL_RANK', os.environ['RANK']))"}) {
    EXPECT_EQ(lines(other), "") << other;
  }
}

TEST(JobScriptTest, OnlyWhatTheLaunchSetsIsTheLocalRank) {
  for (const char* read :
       {"int(os.getenv('LOCAL_RANK', 0))", "env('LOCAL_RANK')",
        "os.environ.get(\n  'LOCAL_RANK')", "dist.get_node_local_rank()"}) {
    const RuleResult result =
        Running(With(kLocalRank, read)).Check("job-script");
    EXPECT_EQ(result.state(), PASS) << read;
    EXPECT_FALSE(absl::StrContains(result.summary(), "device a rank takes"));
  }
  ExpectObserved(
      {{kLocalRank, "0", At("one-device", "11, 13, 14", "device=0")},
       {kLocalRank, "pick()", At("no-local-rank", "12")},
       {kLocalRank, "pick()\n    os.environ['LOCAL_RANK'] = '0'",
        Literal(11, "LOCAL_RANK", "0") + At("no-local-rank", "13")}});
  EXPECT_EQ(Observed("class Config:\n    local_rank: int = 0\n" +
                     absl::StrReplaceAll(With(kLocalRank, "pick()"),
                                         {{"    local_rank = pick()\n", ""},
                                          {"local_rank", "c.local_rank"}})),
            At("one-device", "12, 14, 15", "device=0"));
}

TEST(JobScriptTest, AnOptionIsTheLocalRankIfTheLauncherGivesIt) {
  TestCluster cluster =
      Running(With("local_rank = int(os.environ[\"LOCAL_RANK\"])",
                   "p.add_argument('--local_rank', type=int, default=0)\n"
                   "    local_rank = p.parse_args().local_rank"));
  const auto summary = [&] { return cluster.Check("job-script").summary(); };
  EXPECT_EQ(cluster.Check("job-script").state(), PASS);
  EXPECT_THAT(summary(), HasSubstr("device a rank takes"));
  cluster.job->set_method("torchrun");
  EXPECT_THAT(cluster.Check("job-script"),
              Finds("no-local-rank where=train.py:13"));
  cluster.job->set_method("torch-distributed-launch");
  EXPECT_EQ(summary(), "read train.py");
}

TEST(JobScriptTest, TheRankIsTheDeviceOnOneServer) {
  const std::string script =
      WithAll({{"LOCAL_RANK", "RANK"}, {"local_rank", "rank"}});
  EXPECT_EQ(RunningOnOne(script).Check("job-script").summary(),
            "read train.py");
  EXPECT_THAT(Observed(script),
              HasSubstr(At("global-rank", "11, 13, 14", "name=rank")));
  EXPECT_EQ(Observed(absl::StrReplaceAll(script, {{"\"])", "\"]) % 8"}})), "");
}

}  // namespace
}  // namespace clusterd
