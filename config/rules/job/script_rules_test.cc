#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::EndsWith, ::testing::HasSubstr,
    ::testing::Not, ::testing::StartsWith;

// The script of the vendor's guide for several servers.
constexpr char kGood[] = R"(import os
import torch
import torch_npu
import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader
from torch.utils.data.distributed import DistributedSampler

def main(args):
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.npu.set_device(local_rank)
    dist.init_process_group(backend="hccl")
    model = Model().to(f"npu:{local_rank}")
    model = DDP(model, device_ids=[local_rank], output_device=local_rank)
    sampler = DistributedSampler(train_data)
    loader = DataLoader(dataset=train_data, batch_size=32,
                        sampler=sampler)
    checked = DataLoader(test_data, batch_size=32, shuffle=False)
    world_size = 16
)";

TestCluster Running(const std::string& script) {
  TestCluster cluster("atlas-a2");  // Two servers of eight devices.
  JobSpec& job = cluster.StartJob();
  job.set_script(script);
  job.set_script_file("train.py");
  return cluster;
}

std::string Check(const std::string& script) {
  return Lines(Running(script).Check("job-script"));
}

// The good script with another text in one place.
std::string With(const char* old, const std::string& text) {
  const std::string script = absl::StrReplaceAll(kGood, {{old, text}});
  EXPECT_NE(script, kGood) << old;
  return script;
}

// All findings begin with these, one line each.
std::string Observed(const std::string& script) {
  const RuleResult result = Running(script).Check("job-script");
  std::string observed;
  for (const Finding& finding : result.findings()) {
    EXPECT_EQ(finding.state(), WARN);
    absl::StrAppend(&observed, Brief(finding), "\n");
  }
  return observed;
}

std::string Summary(const std::string& script) {
  return Running(script).Check("job-script").summary();
}

// The observed text for the good script with `text` in place of `old`.
struct Case {
  const char* old;
  std::string text;
  const char* observed;
};

void ExpectObserved(const std::vector<Case>& cases) {
  for (const Case& c : cases) {
    EXPECT_EQ(Observed(With(c.old, c.text)), c.observed) << c.text;
  }
}

constexpr char kBackend[] = "backend=\"hccl\"";
constexpr char kSampler[] = "DistributedSampler(train_data)";
constexpr char kLoader[] =
    "dataset=train_data, batch_size=32,\n"
    "                        sampler=sampler";
constexpr char kSize[] = "    world_size = 16";

TEST(JobScriptTest, PassesTheScriptOfTheVendorsGuide) {
  EXPECT_EQ(Check(kGood), "");
  const RuleResult result = Running(kGood).Check("job-script");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_EQ(result.summary(), "read train.py");
  EXPECT_EQ(Check(absl::StrReplaceAll(kGood, {{"\n", "\r\n"}, {"\"", "'"}})),
            "");
}

TEST(JobScriptTest, ABackendOtherThanHcclIsAWarningWithItsLine) {
  EXPECT_EQ(Check(With(kBackend, "backend=\"nccl\"")),
            "WARN cluster backend where=train.py:12, call=init_process_group, "
            "backend=nccl\n");
  ExpectObserved(
      {{kBackend, "'gloo'",
        "backend where=train.py:12, call=init_process_group, backend=gloo\n"},
       {kBackend, "'cpu:gloo,npu:hccl'", ""},
       {kBackend, "backend='HCCL'", ""},
       {kBackend, "args.backend, init_method='env://'", ""},
       {"import torch_npu\n", "from torch_npu.contrib import transfer_to_npu\n",
        ""}});
  const std::string variable = With(kBackend, "backend=args.backend");
  EXPECT_EQ(Observed(variable), "");
  EXPECT_THAT(Summary(variable), HasSubstr("which backend is used"));
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
            "backend where=train.py:15, call=init_process_group, "
            "backend=gloo\nbackend where=train.py:13, call=init_process_group, "
            "backend=nccl\n");
}

TEST(JobScriptTest, ABackendIsFoundInTheCallOfDeepSpeed) {
  const auto with = [](const char* call) {
    return With("dist.init_process_group(backend=\"hccl\")", call);
  };
  for (const char* nccl :
       {"deepspeed.init_distributed(dist_backend='nccl')",
        "init_distributed('nccl')", "init_distributed(backend='nccl')",
        "deepspeed.comm.init_distributed(\"nccl\", timeout=t)"}) {
    EXPECT_EQ(
        Observed(with(nccl)),
        "backend where=train.py:12, call=init_distributed, backend=nccl\n")
        << nccl;
  }
  EXPECT_EQ(Observed("from deepspeed import init_distributed as start\n" +
                     with("start('gloo')")),
            "backend where=train.py:13, call=init_distributed, backend=gloo\n");
  EXPECT_EQ(Summary(with("deepspeed.init_distributed('hccl')")),
            "read train.py");
  // DeepSpeed has a default, and others a function of that name.
  for (const char* unknown :
       {"deepspeed.init_distributed()", "init_distributed(args)",
        "init_distributed(8, 'npu')"}) {
    EXPECT_EQ(Observed(with(unknown)), "") << unknown;
    EXPECT_THAT(Summary(with(unknown)), HasSubstr("which backend is used"))
        << unknown;
  }
}

TEST(JobScriptTest, ATransferredScriptMayKeepTheNamesOfCuda) {
  EXPECT_EQ(Observed(absl::StrReplaceAll(
                kGood, {{"import torch_npu\n",
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
  EXPECT_EQ(
      Observed(noise + With(kBackend, "backend=\"nccl\"")),
      "backend where=train.py:20, call=init_process_group, backend=nccl\n");
  // Text in a comment does not count.
  EXPECT_EQ(Observed(With("    model = DDP(", "    # model = DDP(")),
            "no-wrapper where=train.py:12\n");
}

TEST(JobScriptTest, TakesANameForTheOneLiteralThatItHas) {
  const auto with_backend = [](const std::string& before,
                               const std::string& value) {
    return Observed(absl::StrReplaceAll(
        kGood,
        {{"def main(args):\n", absl::StrCat("def main(args):\n", before)},
         {"\"hccl\"", value}}));
  };
  constexpr char kNccl[] =
      "backend where=train.py:13, call=init_process_group, backend=nccl\n";
  EXPECT_EQ(
      with_backend("    args.dist_backend = 'nccl'\n", "args.dist_backend"),
      kNccl);
  EXPECT_EQ(with_backend("    BACKEND = \"nccl\"  # all\n", "BACKEND"), kNccl);
  EXPECT_EQ(with_backend("    BACKEND = \"hccl\"\n", "BACKEND"), "");
  EXPECT_EQ(
      Observed("class Config:\n    backend: str = \"nccl\"\n" +
               With("\"hccl\"", "config.backend")),
      "backend where=train.py:14, call=init_process_group, backend=nccl\n");
  // Other code may give it another value.
  for (const char* other :
       {"    if npu: BACKEND = 'hccl'\n", "    x, BACKEND = names\n",
        "    for BACKEND in names: pass\n", "    def f(a, BACKEND): pass\n",
        "    p.add_argument('--BACKEND')\n", "    f(BACKEND='hccl')\n"}) {
    const std::string line = absl::StrCat("    BACKEND = 'nccl'\n", other);
    EXPECT_EQ(with_backend(line, "BACKEND"), "") << other;
  }
  EXPECT_EQ(Observed(With("set_device(local_rank)",
                          "set_device(DEVICE_ID)\nDEVICE_ID = 3")),
            "one-device where=train.py:11, device=3\n");
}

TEST(JobScriptTest, WhatOnlySomeRanksDoIsNotDoneByAll) {
  EXPECT_EQ(Observed(With(kSize,
                          "    if dist.get_rank() == 0:\n"
                          "        # One of them.\n\n"
                          "        x.to(\"npu:0\")\n"
                          "    if rank == 0: x.to('npu:0')\n"
                          "    x.to('npu:1')\n"
                          "    if local_rank == -1:\n"
                          "        x.to('npu:2')\n"
                          "    world_size = 16")),
            "one-device where=train.py:24, device=1\none-device "
            "where=train.py:26, device=2\n");
}

TEST(JobScriptTest, TheOtherBranchOfAConditionOnTheRankIsOfSomeRanks) {
  const auto with = [](const std::string& lines) {
    return Observed(With(kSize, lines + "    y.to('npu:7')"));
  };
  constexpr char kLater[] = ", device=7\n";
  for (const char* condition :
       {"rank == 0", "dist.get_rank() != 0", "int(os.environ['RANK']) == 0",
        "not is_main_process()", "not rank", "rank > 0"}) {
    const std::string branches = absl::StrCat(
        "    if ", condition, ":\n        x.sum()\n\n    # The others.\n",
        "    elif x: y.to('npu:1')\n    else:\n        x.to('npu:0')\n");
    EXPECT_EQ(with(branches),
              absl::StrCat("one-device where=train.py:26", kLater))
        << condition;
    EXPECT_EQ(
        Observed(absl::StrReplaceAll(With(kSize, branches), {{"\n", "\r\n"}})),
        "");
  }
  // All ranks may reach these.
  for (const char* condition :
       {"npu", "rank == 0 and resume", "local_rank != -1", "rank >= 0"}) {
    EXPECT_EQ(with(absl::StrCat("    if ", condition, ":\n        pass\n",
                                "    else:\n        x.to('npu:0')\n")),
              absl::StrCat("one-device where=train.py:22, device=0\n",
                           "one-device where=train.py:23", kLater))
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
        "one-device where=train.py:11, device=0\n"},
       {"set_device(local_rank)", "set_device('npu:3')",
        "one-device where=train.py:11, device=3\n"},
       {"device_ids=[local_rank]", "device_ids=[0]",
        "one-device where=train.py:14, device=0\n"},
       {"device_ids=[local_rank]", "device_ids=[0, 1,2,]",
        "several-devices where=train.py:14, devices=[0, 1,2,]\n"},
       {kSize, "    os.environ[\"ASCEND_RT_VISIBLE_DEVICES\"]=\"0\"",
        "one-device where=train.py:19, device=0\n"},
       {kSize,
        "    os.environ['ASCEND_RT_VISIBLE_DEVICES'] = '0,1,2,3,4,5,6,7'", ""},
       {"f\"npu:{local_rank}\"", "'npu:0'",
        "one-device where=train.py:13, device=0\n"}});
  const std::string rank = With("    torch.npu.set_device(local_rank)",
                                "    rank = int(os.environ[\"RANK\"])\n"
                                "    torch.npu.set_device(rank)");
  EXPECT_EQ(Observed(rank), "global-rank where=train.py:12, name=rank\n");
  EXPECT_EQ(
      Observed(absl::StrReplaceAll(rank, {{"[\"RANK\"])", "[\"RANK\"]) % 8"}})),
      "");
  TestCluster one("atlas-a2", "", 1);
  one.StartJob().set_script(
      absl::StrReplaceAll(rank, {{"world_size = 16", "world_size = 8"}}));
  EXPECT_EQ(Lines(one.Check("job-script")), "");
  const std::string none = absl::StrReplaceAll(
      kGood, {{"LOCAL_RANK", "SLURM_LOCALID"}, {"local_rank", "device"}});
  EXPECT_EQ(Observed(none), "no-local-rank where=train.py:12\n");
  TestCluster spawned = Running(none);
  spawned.job->set_method("mp-spawn");
  EXPECT_EQ(Lines(spawned.Check("job-script")), "");
  EXPECT_THAT(spawned.Check("job-script").summary(),
              HasSubstr("device a rank takes"));
}

TEST(JobScriptTest, ADeviceIsFoundInEachSpelling) {
  const auto with = [](const std::string& device) {
    return Observed(With("Model().to(f\"npu:{local_rank}\")", device));
  };
  for (const char* zero :
       {"Model().to('npu:0')", "Model().to(device='npu:0')", "Model().to(0)",
        "Model().npu(0)", "torch.device('npu', 0)",
        "torch.device(type='npu', index=0)", "torch_npu.npu.set_device(0)",
        "torch.set_default_device('npu:0')",
        "torch.accelerator.set_device_index(0)",
        "torch.device('npu:0' if torch.npu.is_available() else 'cpu')"}) {
    EXPECT_EQ(with(zero), "one-device where=train.py:13, device=0\n") << zero;
  }
  for (const char* fine :
       {"Model().to(torch.float16)", "Model().npu()", "torch.device('npu')",
        "torch_npu.npu.set_device(f'npu:{local_rank}')",
        "torch.device('npu', local_rank)",
        "torch.device('npu:0' if local_rank == -1 else 'cpu')"}) {
    EXPECT_EQ(with(fine), "") << fine;
  }
}

TEST(JobScriptTest, TheGlobalRankIsFoundInTextsAndArguments) {
  const auto with = [](const std::string& rank, const std::string& device) {
    return Observed(With("    model = Model().to(f\"npu:{local_rank}\")",
                         absl::StrCat("    rank = ", rank, "\n    ", device)));
  };
  constexpr char kRank[] = "global-rank where=train.py:14, name=rank\n";
  for (const char* device :
       {"d = f\"npu:{rank}\"; x.to(f'npu:{rank}')", "x.to(rank)",
        "torch_npu.npu.set_device(rank)", "d = torch.device('npu', rank)",
        "d = torch.device('npu:{}'.format(rank))",
        "d = torch.device('npu:%d' % rank)", "d = DDP(m, [rank])",
        "x.to(rank if npu else 'cpu')"}) {
    EXPECT_EQ(with("int(os.environ.get('RANK', -1))", device), kRank) << device;
    EXPECT_EQ(with("dist.get_rank()", device), kRank) << device;
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
            "global-rank where=train.py:14, name=RANK\n");
  EXPECT_EQ(with("pick()", "x.to(f'npu:{dist.get_rank()}')"),
            "global-rank where=train.py:14, name=get_rank\n");
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
  constexpr char kNone[] = "no-local-rank where=train.py:12\n";
  const auto with = [](const std::string& text) {
    return With("int(os.environ[\"LOCAL_RANK\"])", text);
  };
  for (const char* read :
       {"int(os.getenv('LOCAL_RANK', 0))", "env('LOCAL_RANK')",
        "os.environ.get(\n  'LOCAL_RANK')", "dist.get_node_local_rank()"}) {
    const RuleResult result = Running(with(read)).Check("job-script");
    EXPECT_EQ(result.state(), PASS) << read;
    EXPECT_FALSE(absl::StrContains(result.summary(), "device a rank takes"));
  }
  EXPECT_EQ(Observed(with("0")),
            "one-device where=train.py:11, 13, 14, device=0\n");
  EXPECT_EQ(Observed(with("pick()")), kNone);
  EXPECT_EQ(Observed("class Config:\n    local_rank: int = 0\n" +
                     absl::StrReplaceAll(with("pick()"),
                                         {{"    local_rank = pick()\n", ""},
                                          {"local_rank", "c.local_rank"}})),
            "one-device where=train.py:12, 14, 15, device=0\n");
  EXPECT_EQ(Observed(with("pick()\n    os.environ['LOCAL_RANK'] = '0'")),
            "literal where=train.py:11, name=LOCAL_RANK, "
            "value=0\nno-local-rank where=train.py:13\n");
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
      absl::StrReplaceAll(With("world_size = 16", "world_size = 8"),
                          {{"LOCAL_RANK", "RANK"}, {"local_rank", "rank"}});
  TestCluster one("atlas-a2", "", 1);
  one.StartJob().set_script(script);
  one.job->set_script_file("train.py");
  EXPECT_EQ(one.Check("job-script").summary(), "read train.py");
  EXPECT_THAT(Observed(script),
              HasSubstr("global-rank where=train.py:11, 13, 14, name=rank"));
  EXPECT_EQ(Observed(absl::StrReplaceAll(script, {{"\"])", "\"]) % 8"}})), "");
}

TEST(JobScriptTest, AModelWithoutItsDeviceOrWithoutAWrapperIsAWarning) {
  constexpr char kWrapped[] =
      "model = DDP(model, device_ids=[local_rank], output_device=local_rank)";
  ExpectObserved(
      {{kWrapped, "model = DDP(model)", "no-device-ids where=train.py:14\n"},
       {kWrapped, "model = DDP(model, [local_rank])", ""},
       {"DDP(model, ", "DDP(f(g(h(i(j(model))))), ", ""},
       {kWrapped, "pass", "no-wrapper where=train.py:12\n"}});
  const std::string sharded = With(kWrapped, "model = FSDP(model)");
  EXPECT_EQ(Observed(sharded), "");
  EXPECT_THAT(Summary(sharded), HasSubstr("what wraps the model"));
}

TEST(JobScriptTest, DevicesOfDistributedDataParallelAreOneForEachProcess) {
  const auto with = [](const std::string& devices) {
    return With("device_ids=[local_rank], output_device=local_rank", devices);
  };
  for (const char* many :
       {"list(range(8))", "[i for i in range(8)]", "[0, 1]", "(0, 1)",
        "list((0, 1))", "[*range(8)]", "range(torch.npu.device_count())",
        "[local_rank, local_rank + 1]"}) {
    for (const char* place : {"device_ids=", ""}) {
      EXPECT_EQ(Observed(with(absl::StrCat(place, many))),
                absl::StrCat(
                    "several-devices where=train.py:14, devices=", many, "\n"));
    }
  }
  EXPECT_EQ(Observed(with("[0]")), "one-device where=train.py:14, device=0\n");
  EXPECT_EQ(Observed("IDS = [0, 1]\n" + with("IDS")),
            "several-devices where=train.py:15, devices=[0, 1]\n");
  for (const char* one : {"[local_rank,]", "[device_of(a, b)]",
                          "device_ids=[local_rank] if npu else None"}) {
    EXPECT_EQ(Observed(with(one)), "") << one;
    EXPECT_EQ(Summary(with(one)), "read train.py") << one;
  }
  // PyTorch takes the device of the model, which the text does not show.
  for (const char* unknown : {"None", "device_ids=None", "device_ids=args.ids",
                              "device_ids=[]", "**options"}) {
    EXPECT_EQ(Observed(with(unknown)), "") << unknown;
    EXPECT_THAT(Summary(with(unknown)), HasSubstr("device the model uses"))
        << unknown;
  }
}

TEST(JobScriptTest, ACallByAnotherNameIsTheSame) {
  const auto with =
      [](const std::vector<std::pair<const char*, const char*>>& replacements) {
        return Observed(absl::StrReplaceAll(kGood, replacements));
      };
  EXPECT_EQ(
      with({{"import DistributedSampler", "import DistributedSampler as Share"},
            {kSampler, "Share(train_data, 8, 0)"}}),
      "literal where=train.py:15, name=num_replicas, value=8\nliteral "
      "where=train.py:15, name=rank, value=0\n");
  EXPECT_EQ(
      with({{"import torch.distributed as dist",
             "from torch.distributed import init_process_group as join"},
            {"dist.init_process_group(backend=\"hccl\")", "join(\"nccl\")"}}),
      "backend where=train.py:12, call=init_process_group, backend=nccl\n");
  EXPECT_EQ(with({{"from torch.nn.parallel import DistributedDataParallel as "
                   "DDP",
                   "DDP = torch.nn.parallel.DistributedDataParallel"}}),
            "");
}

TEST(JobScriptTest, DataThatAreNotSharedOutAreAWarning) {
  ExpectObserved(
      {{"sampler=sampler", "sampler=sampler, shuffle=True",
        "shuffle where=train.py:16\n"},
       {",\n                        sampler=sampler", "",
        "sampler-unused where=train.py:15\n"},
       // Fourth by its place.
       {kLoader, "Data(a, b), 4, False, sampler", ""},
       {kLoader, "train_data, 4, False, None",
        "sampler-unused where=train.py:15\n"},
       {kLoader, "train_data, 4, True, sampler", "shuffle where=train.py:16\n"},
       {"sampler=sampler", "sampler=None, shuffle=True",
        "sampler-unused where=train.py:15\n"}});
  EXPECT_EQ(Observed(absl::StrReplaceAll(
                kGood, {{"DistributedSampler", "SequentialOrder"},
                        {",\n                        sampler=sampler", ""}})),
            "no-sampler where=train.py:16\n");
  // Each rank takes its share in another way.
  EXPECT_EQ(Observed(absl::StrReplaceAll(
                kGood, {{"DistributedSampler(train_data)",
                         "split_dataset_by_node(train_data, rank, size)"},
                        {",\n                        sampler=sampler", ""}})),
            "");
  const std::string other =
      absl::StrReplaceAll(kGood, {{"DistributedSampler", "MyOwnSampler"}});
  EXPECT_EQ(Observed(other), "");
  EXPECT_THAT(Summary(other), HasSubstr("how ranks share the data"));
}

TEST(JobScriptTest, EachLoaderOfTrainingDataHasASampler) {
  const auto with = [](const std::string& loader) {
    return With("checked = DataLoader(test_data, batch_size=32, shuffle=False)",
                loader);
  };
  for (const char* training :
       {"other = DataLoader(d, batch_size=8, shuffle=True)",
        "other = DataLoader(d, 8, True)", "train_loader = DataLoader(d)",
        "other = DataLoader(values, sampler=None, shuffle=True)",
        "loaders = {'val': DataLoader(a), 'train': DataLoader(b)}"}) {
    EXPECT_EQ(Observed(with(training)), "loader-unshared where=train.py:18\n")
        << training;
  }
  for (const char* fine :
       {"val_loader = DataLoader(d, 8, shuffle=True)",
        "x = DataLoader(testset)", "self.eval_loader = DataLoader(d)",
        "loaders['val'] = DataLoader(d)",
        "loader: DataLoader = DataLoader(dataVal)", "x = DataLoader(**options)",
        "x = DataLoader(d, batch_sampler=b)", "x = DataLoader(d, 8, False, s)",
        "if rank == 0: x = DataLoader(d, 8, True)"}) {
    EXPECT_EQ(Observed(with(fine)), "") << fine;
    EXPECT_EQ(Summary(with(fine)), "read train.py") << fine;
  }
  for (const std::string& unknown :
       {with("latest = DataLoader(interval)"),
        "import webdataset\n" +
            with("pass\nother = DataLoader(d, shuffle=True)")}) {
    EXPECT_EQ(Observed(unknown), "");
    EXPECT_THAT(Summary(unknown), HasSubstr("for what line "));
  }
}

TEST(JobScriptTest, AConstantInPlaceOfWhatTheLaunchGivesIsAWarning) {
  constexpr char kReplicas[] =
      "literal where=train.py:15, name=num_replicas, value=8\nliteral "
      "where=train.py:15, name=rank, value=0\n";
  constexpr char kGroup[] =
      "literal where=train.py:12, name=rank, value=0\nliteral "
      "where=train.py:12, name=world_size, value=16\n";
  ExpectObserved(
      {{kBackend, "\"hccl\", rank=0,\n        world_size=16", kGroup},
       {kBackend, "'hccl', None, None, 16, 0", kGroup},
       {kBackend, "\"hccl\", rank=node * 8 + local_rank", ""},
       {kBackend, "'hccl', init_method='tcp://10.0.0.1:29500'",
        "literal where=train.py:12, name=init_method, "
        "value=tcp://10.0.0.1:29500\n"},
       {kBackend, "'hccl', init_method=f'tcp://{ip}:29500'", ""},
       {kSize,
        "    os.environ['MASTER_ADDR'] = '127.0.0.1'\n"
        "    assert os.environ['RANK'] == '0'\n"
        "    os.environ['RANK'] = str(local_rank)",
        "literal where=train.py:19, name=MASTER_ADDR, value=127.0.0.1\n"},
       {kSize,
        "    os.environ.update({\"MASTER_ADDR\": \"127.0.0.1\",\n"
        "                       \"WORLD_SIZE\": \"1\"})\n"
        "    os.environ.update(RANK=\"0\", LOCAL_RANK=str(0))",
        "literal where=train.py:19, name=MASTER_ADDR, value=127.0.0.1\nliteral "
        "where=train.py:21, name=RANK, value=0\nliteral where=train.py:20, "
        "name=WORLD_SIZE, value=1\n"},
       {kSampler, "DistributedSampler(train_data, num_replicas=8, rank=0)",
        kReplicas},
       {kSampler, "DistributedSampler(f(a, b), 8, 0)", kReplicas},
       {kSampler, "DistributedSampler(train_data, rank=rank)", ""}});
  const std::string of_server =
      With(kSampler,
           "DistributedSampler(train_data, torch.npu.device_count(), "
           "local_rank)");
  EXPECT_EQ(Observed(of_server),
            "one-server where=train.py:15, name=num_replicas, "
            "value=torch.npu.device_count()\none-server where=train.py:15, "
            "name=rank, value=local_rank\n");
  EXPECT_EQ(
      Observed(With(kBackend, "'hccl', rank=int(os.environ['LOCAL_RANK'])")),
      "one-server where=train.py:12, name=rank, value=LOCAL_RANK\n");
  TestCluster one("atlas-a2", "", 1);
  one.StartJob().set_script(With(kSize,
                                 "    os.environ['MASTER_ADDR'] = '127.0.0.1'\n"
                                 "    os.environ['WORLD_SIZE'] = '8'"));
  EXPECT_EQ(one.Check("job-script").findings_size(), 1);
  EXPECT_THAT(one.Check("job-script"),
              Finds("literal where=:20, name=WORLD_SIZE, value=8"));
  one.job->set_script(
      absl::StrReplaceAll(of_server, {{"world_size = 16", "world_size = 8"}}));
  EXPECT_EQ(Lines(one.Check("job-script")), "");
}

// The batch sizes of the good script.
constexpr char kScaled[] =
    "scaled=batch_size 32 in line 16, batch_size 32 in line 18";

TEST(JobScriptTest, ANumberOfDevicesAboveTheJobsNamesBatchSizeAndRate) {
  EXPECT_EQ(Observed(With(kSize, "    world_size = 32\n    lr = 1e-4")),
            absl::StrCat("fewer-devices where=train.py:19, name=world_size, "
                         "number=32, has=16, ",
                         kScaled, ", lr 1e-4 in line 20\n"));
  EXPECT_EQ(Observed(With(
                kSize,
                "    p.add_argument('--npus-per-node', type=int, default=16)")),
            absl::StrCat("fewer-devices where=train.py:19, name=npus-per-node, "
                         "number=16, has=8, ",
                         kScaled, "\n"));
  const std::string with_rate = absl::StrCat(kScaled, ", LR 0.1 in line 19\n");
  EXPECT_EQ(Observed(With(kSize,
                          "    LR = 0.1\n    WORLD_SIZE: int = 32\n"
                          "    NPUS_PER_NODE = 16")),
            absl::StrCat("fewer-devices where=train.py:20, name=WORLD_SIZE, "
                         "number=32, has=16, ",
                         with_rate,
                         "fewer-devices where=train.py:21, name=NPUS_PER_NODE, "
                         "number=16, has=8, ",
                         with_rate));
  for (const char* name :
       {"ngpus_per_node", "NGPUS_PER_NODE", "num_npus_per_node",
        "nproc_per_node", "args.n_gpus_per_node", "devices_per_server",
        "local_world_size"}) {
    EXPECT_THAT(
        Observed(With("world_size = 16", absl::StrCat(name, " = 16"))),
        AllOf(StartsWith("fewer-devices where=train.py:19, name="),
              HasSubstr(absl::StrCat(", number=16, has=8, ", kScaled, "\n"))))
        << name;
    EXPECT_EQ(Observed(With("world_size = 16", absl::StrCat(name, " = 8"))),
              "");
  }
  for (const char* other : {"", "    world_size = 1\n"}) {
    const std::string none = With("    world_size = 16\n", other);
    EXPECT_EQ(Observed(none), "");
    EXPECT_THAT(Summary(none), HasSubstr("for how many devices"));
  }
}

TEST(JobScriptTest, SaysWhatTheTextOfAnotherLibraryDoesNotTell) {
  const RuleResult result =
      Running(
          "import deepspeed\n"
          "engine, _, loader, _ = deepspeed.initialize(args=args)\n")
          .Check("job-script");
  EXPECT_EQ(result.state(), PASS);
  EXPECT_THAT(result.summary(), AllOf(HasSubstr("which backend is used"),
                                      HasSubstr("device a rank takes"),
                                      HasSubstr("what wraps the model"),
                                      HasSubstr("how ranks share the data")));
  const std::string unwrapped = With("    model = DDP(", "    # model = DDP(");
  EXPECT_EQ(
      Observed("from transformers import (\n    Trainer,\n    set_seed)\n" +
               unwrapped),
      "");
  EXPECT_THAT(Observed("class Trainer:\n    pass\n" + unwrapped),
              HasSubstr("no-wrapper where=train.py:14"));
  // These libraries may join the group themselves.
  for (const char* library : {"pytorch_lightning", "accelerate", "deepspeed"}) {
    const RuleResult joined =
        Running(absl::StrCat("import torch\nimport ", library,
                             "\ndist.init_process_group('hccl')\n"
                             "loader = DataLoader(data)\n"))
            .Check("job-script");
    EXPECT_EQ(joined.state(), PASS) << library;
    EXPECT_THAT(joined.summary(), AllOf(HasSubstr("device a rank takes"),
                                        HasSubstr("what wraps the model"),
                                        HasSubstr("how ranks share the data")))
        << library;
  }
}

TEST(JobScriptTest, ReadsCutAndHostileTexts) {
  for (const char* text :
       {"\n", "\"\"\"", "'", "f(", "init_process_group(", "\\",
        "init_process_group('nccl", "DataLoader((((((", "\"\"\"\\", "#",
        "init_process_group(\"\"\"nccl\"\"\""}) {
    EXPECT_NE(Running(text).Check("job-script").state(), FAIL) << text;
  }
  // Time and result are bounded for any text behind a cut call.
  std::string open;
  for (int i = 0; i < 20000; ++i) open += "DataLoader([";
  EXPECT_NE(Running(open).Check("job-script").state(), FAIL);
}

TEST(JobScriptTest, IsSkippedForATextThatIsNoScriptOfPyTorch) {
  for (const std::string& text :
       {std::string("\n"), std::string("#!/bin/sh\ntorchrun train.py\n"),
        std::string("\x01\x7f(\0'\x02", 6), std::string("# import torch\n")}) {
    const RuleResult result = Running(text).Check("job-script");
    EXPECT_EQ(result.state(), SKIPPED) << text;
    EXPECT_EQ(result.skip_reason(),
              Say("script-not-understood", Say("script-no-import")));
  }
  for (const char* framework : {"mindspore", "tensorflow"}) {
    EXPECT_EQ(Running(absl::StrCat("from ", framework, " import x\n"))
                  .Check("job-script")
                  .skip_reason(),
              Say("script-not-understood", Say("script-of-other", framework)));
  }
  const std::string both = absl::StrCat("import tensorflow as tf\n", kGood);
  EXPECT_EQ(Observed(both), "");
  EXPECT_EQ(Running(both).Check("job-script").state(), PASS);
}

TEST(JobScriptTest, IsSkippedForAJobOfOneRank) {
  TestCluster one("atlas-a2", "", 1);
  one.spec.mutable_servers(0)->mutable_devices()->DeleteSubrange(1, 7);
  one.StartJob().set_script("loader = DataLoader(data)\n");
  EXPECT_EQ(one.Check("job-script").state(), SKIPPED);
}

TEST(JobScriptTest, IsSkippedWithoutAScriptAndForOtherFrameworks) {
  EXPECT_EQ(Running("").Check("job-script").state(), SKIPPED);
  TestCluster other = Running(kGood);
  other.job->set_framework("mindspore");
  EXPECT_EQ(other.Check("job-script").state(), SKIPPED);
  EXPECT_THAT(other.Check("job-script").skip_reason(),
              AllOf(HasSubstr("mindspore"), Not(HasSubstr("train.py"))));
}

}  // namespace
}  // namespace clusterd
