// Rule job-script about the model, the data and the constants of a script, and
// about scripts that it does not judge. script_rules_test.cc: devices and
// ranks.
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/config/script_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::Not,
    ::testing::StartsWith;

TEST(JobScriptTest, AModelWithoutItsDeviceOrWithoutAWrapperIsAWarning) {
  constexpr char kWrapped[] =
      "model = DDP(model, device_ids=[local_rank], output_device=local_rank)";
  ExpectObserved({{kWrapped, "model = DDP(model)", At("no-device-ids", "14")},
                  {kWrapped, "model = DDP(model, [local_rank])", ""},
                  {"DDP(model, ", "DDP(f(g(h(i(j(model))))), ", ""},
                  {kWrapped, "pass", At("no-wrapper", "12")}});
  ExpectUntold(With(kWrapped, "model = FSDP(model)"), "what wraps the model");
}

TEST(JobScriptTest, DevicesOfDistributedDataParallelAreOneForEachProcess) {
  constexpr char kPlace[] = "device_ids=[local_rank], output_device=local_rank";
  for (const std::string many :
       {"list(range(8))", "[i for i in range(8)]", "[0, 1]", "(0, 1)",
        "list((0, 1))", "[*range(8)]", "range(torch.npu.device_count())",
        "[local_rank, local_rank + 1]"}) {
    ExpectEach(kPlace, {"device_ids=" + many, many},
               At("several-devices", "14", "devices=" + many));
  }
  ExpectEach(kPlace, {"[0]"}, At("one-device", "14", "device=0"));
  EXPECT_EQ(Observed("IDS = [0, 1]\n" + With(kPlace, "IDS")),
            At("several-devices", "15", "devices=[0, 1]"));
  ExpectFine(kPlace, {"[local_rank,]", "[device_of(a, b)]",
                      "device_ids=[local_rank] if npu else None"});
  // PyTorch takes the device of the model, which the text does not show.
  for (const char* unknown : {"None", "device_ids=None", "device_ids=args.ids",
                              "device_ids=[]", "**options"}) {
    ExpectUntold(With(kPlace, unknown), "device the model uses");
  }
}

TEST(JobScriptTest, ACallByAnotherNameIsTheSame) {
  const std::pair<Replacements, std::string> kCases[] = {
      {{{"import DistributedSampler", "import DistributedSampler as Share"},
        {kSampler, "Share(train_data, 8, 0)"}},
       Literal(15, "num_replicas", "8") + Literal(15, "rank", "0")},
      {{{"import torch.distributed as dist",
         "from torch.distributed import init_process_group as join"},
        {kJoin, "join(\"nccl\")"}},
       Backend(12, "nccl")},
      {{{"from torch.nn.parallel import DistributedDataParallel as DDP",
         "DDP = torch.nn.parallel.DistributedDataParallel"}},
       ""}};
  for (const auto& [replacements, observed] : kCases) {
    EXPECT_EQ(Observed(WithAll(replacements)), observed);
  }
}

TEST(JobScriptTest, DataThatAreNotSharedOutAreAWarning) {
  constexpr char kSamplerOfLoader[] =
      ",\n                        sampler=sampler";
  ExpectObserved(
      {{"sampler=sampler", "sampler=sampler, shuffle=True",
        At("shuffle", "16")},
       {kSamplerOfLoader, "", At("sampler-unused", "15")},
       // Fourth by its place.
       {kLoader, "Data(a, b), 4, False, sampler", ""},
       {kLoader, "train_data, 4, False, None", At("sampler-unused", "15")},
       {kLoader, "train_data, 4, True, sampler", At("shuffle", "16")},
       {"sampler=sampler", "sampler=None, shuffle=True",
        At("sampler-unused", "15")}});
  EXPECT_EQ(Observed(WithAll({{"DistributedSampler", "SequentialOrder"},
                              {kSamplerOfLoader, ""}})),
            At("no-sampler", "16"));
  // Each rank takes its share in another way.
  EXPECT_EQ(Observed(WithAll(
                {{kSampler, "split_dataset_by_node(train_data, rank, size)"},
                 {kSamplerOfLoader, ""}})),
            "");
  ExpectUntold(WithAll({{"DistributedSampler", "MyOwnSampler"}}),
               "how ranks share the data");
}

TEST(JobScriptTest, EachLoaderOfTrainingDataHasASampler) {
  constexpr char kPlace[] =
      "checked = DataLoader(test_data, batch_size=32, shuffle=False)";
  ExpectEach(kPlace,
             {"other = DataLoader(d, batch_size=8, shuffle=True)",
              "other = DataLoader(d, 8, True)", "train_loader = DataLoader(d)",
              "other = DataLoader(values, sampler=None, shuffle=True)",
              "loaders = {'val': DataLoader(a), 'train': DataLoader(b)}"},
             At("loader-unshared", "18"));
  ExpectFine(
      kPlace,
      {"val_loader = DataLoader(d, 8, shuffle=True)", "x = DataLoader(testset)",
       "self.eval_loader = DataLoader(d)", "loaders['val'] = DataLoader(d)",
       "loader: DataLoader = DataLoader(dataVal)", "x = DataLoader(**options)",
       "x = DataLoader(d, batch_sampler=b)", "x = DataLoader(d, 8, False, s)",
       "if rank == 0: x = DataLoader(d, 8, True)"});
  ExpectUntold(With(kPlace, "latest = DataLoader(interval)"), "for what line ");
  ExpectUntold("import webdataset\n" +
                   With(kPlace, "pass\nother = DataLoader(d, shuffle=True)"),
               "for what line ");
}

TEST(JobScriptTest, AConstantInPlaceOfWhatTheLaunchGivesIsAWarning) {
  const std::string replicas =
      Literal(15, "num_replicas", "8") + Literal(15, "rank", "0");
  const std::string group =
      Literal(12, "rank", "0") + Literal(12, "world_size", "16");
  ExpectObserved(
      {{kBackend, "\"hccl\", rank=0,\n        world_size=16", group},
       {kBackend, "'hccl', None, None, 16, 0", group},
       {kBackend, "\"hccl\", rank=node * 8 + local_rank", ""},
       {kBackend, "'hccl', init_method='tcp://10.0.0.1:29500'",
        Literal(12, "init_method", "tcp://10.0.0.1:29500")},
       {kBackend, "'hccl', init_method=f'tcp://{ip}:29500'", ""},
       {kSize,
        "    os.environ['MASTER_ADDR'] = '127.0.0.1'\n"
        "    assert os.environ['RANK'] == '0'\n"
        "    os.environ['RANK'] = str(local_rank)",
        Literal(19, "MASTER_ADDR", "127.0.0.1")},
       {kSize,
        "    os.environ.update({\"MASTER_ADDR\": \"127.0.0.1\",\n"
        "                       \"WORLD_SIZE\": \"1\"})\n"
        "    os.environ.update(RANK=\"0\", LOCAL_RANK=str(0))",
        Literal(19, "MASTER_ADDR", "127.0.0.1") + Literal(21, "RANK", "0") +
            Literal(20, "WORLD_SIZE", "1")},
       {kSampler, "DistributedSampler(train_data, num_replicas=8, rank=0)",
        replicas},
       {kSampler, "DistributedSampler(f(a, b), 8, 0)", replicas},
       {kSampler, "DistributedSampler(train_data, rank=rank)", ""}});
  const std::string of_server =
      With(kSampler,
           "DistributedSampler(train_data, torch.npu.device_count(), "
           "local_rank)");
  EXPECT_EQ(Observed(of_server),
            At("one-server", "15",
               "name=num_replicas, value=torch.npu.device_count()") +
                At("one-server", "15", "name=rank, value=local_rank"));
  EXPECT_EQ(
      Observed(With(kBackend, "'hccl', rank=int(os.environ['LOCAL_RANK'])")),
      At("one-server", "12", "name=rank, value=LOCAL_RANK"));
  const std::string one = With(kSize,
                               "    os.environ['MASTER_ADDR'] = '127.0.0.1'\n"
                               "    os.environ['WORLD_SIZE'] = '8'");
  TestCluster nameless = RunningOnOne(one);
  nameless.job->clear_script_file();
  EXPECT_EQ(Lines(nameless.Check("job-script")),
            "WARN cluster literal where=:20, name=WORLD_SIZE, value=8\n");
  EXPECT_EQ(Lines(RunningOnOne(of_server).Check("job-script")), "");
}

// A finding about a number of devices, and the values that go with it.
std::string FewerDevices(int line, const char* name, int number, int has,
                         const char* rate = "") {
  return At("fewer-devices", absl::StrCat(line),
            absl::StrCat("name=", name, ", number=", number, ", has=", has,
                         ", scaled=batch_size 32 in line 16, batch_size 32 in "
                         "line 18",
                         rate));
}

TEST(JobScriptTest, ANumberOfDevicesAboveTheJobsNamesBatchSizeAndRate) {
  ExpectObserved(
      {{kSize, "    world_size = 32\n    lr = 1e-4",
        FewerDevices(19, "world_size", 32, 16, ", lr 1e-4 in line 20")},
       {kSize, "    p.add_argument('--npus-per-node', type=int, default=16)",
        FewerDevices(19, "npus-per-node", 16, 8)},
       {kSize, "    LR = 0.1\n    WORLD_SIZE: int = 32\n    NPUS_PER_NODE = 16",
        FewerDevices(20, "WORLD_SIZE", 32, 16, ", LR 0.1 in line 19") +
            FewerDevices(21, "NPUS_PER_NODE", 16, 8, ", LR 0.1 in line 19")}});
  const std::string line = FewerDevices(19, "", 16, 8);
  const std::string values = line.substr(line.find(", number="));
  for (const char* name :
       {"ngpus_per_node", "NGPUS_PER_NODE", "num_npus_per_node",
        "nproc_per_node", "args.n_gpus_per_node", "devices_per_server",
        "local_world_size"}) {
    EXPECT_THAT(Observed(With("world_size = 16", absl::StrCat(name, " = 16"))),
                AllOf(StartsWith("fewer-devices where=train.py:19, name="),
                      HasSubstr(values)))
        << name;
    ExpectEach("world_size = 16", {absl::StrCat(name, " = 8")}, "");
  }
  for (const char* other : {"", "    world_size = 1\n"}) {
    ExpectUntold(With("    world_size = 16\n", other), "for how many devices");
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
