// For tests of rule job-script: the script of the vendor's guide, of which a
// test replaces a part, and what the rule then observes.
#ifndef TESTS_SUPPORT_CONFIG_SCRIPT_TESTING_H_
#define TESTS_SUPPORT_CONFIG_SCRIPT_TESTING_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {

// The script of the vendor's guide for several servers.
inline constexpr char kGood[] = R"(import os
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

inline TestCluster Running(const std::string& script) {
  TestCluster cluster("atlas-a2");  // Two servers of eight devices.
  JobSpec& job = cluster.StartJob();
  job.set_script(script);
  job.set_script_file("train.py");
  return cluster;
}

// The same on one server of eight devices.
inline TestCluster RunningOnOne(const std::string& script) {
  TestCluster cluster("atlas-a2", "", 1);
  JobSpec& job = cluster.StartJob();
  job.set_script(
      absl::StrReplaceAll(script, {{"world_size = 16", "world_size = 8"}}));
  job.set_script_file("train.py");
  return cluster;
}

// The good script with another text in one place.
inline std::string With(const char* old, const std::string& text) {
  const std::string script = absl::StrReplaceAll(kGood, {{old, text}});
  EXPECT_NE(script, kGood) << old;
  return script;
}

// The good script with other texts in several places.
using Replacements = std::vector<std::pair<const char*, const char*>>;
inline std::string WithAll(const Replacements& replacements) {
  return absl::StrReplaceAll(kGood, replacements);
}

// All findings begin with these, one line each.
inline std::string Observed(const std::string& script) {
  const RuleResult result = Running(script).Check("job-script");
  std::string observed;
  for (const Finding& finding : result.findings()) {
    EXPECT_EQ(finding.state(), WARN);
    absl::StrAppend(&observed, Brief(finding), "\n");
  }
  return observed;
}

inline std::string Summary(const std::string& script) {
  return Running(script).Check("job-script").summary();
}

// An observed line: a finding of these lines of the script.
inline std::string At(const char* name, const std::string& lines,
                      const std::string& values = "") {
  return absl::StrCat(name, " where=train.py:", lines,
                      values.empty() ? "" : ", ", values, "\n");
}
inline std::string Backend(int line, const char* backend,
                           const char* call = "init_process_group") {
  return At("backend", absl::StrCat(line),
            absl::StrCat("call=", call, ", backend=", backend));
}
inline std::string Literal(int line, const char* name, const char* value) {
  return At("literal", absl::StrCat(line),
            absl::StrCat("name=", name, ", value=", value));
}

// The observed text for the good script with `text` in place of `old`.
struct ScriptCase {
  const char* old;
  std::string text;
  std::string observed;
};

inline void ExpectObserved(const std::vector<ScriptCase>& cases) {
  for (const ScriptCase& c : cases) {
    EXPECT_EQ(Observed(With(c.old, c.text)), c.observed) << c.text;
  }
}

// The same with each of the texts.
inline void ExpectEach(const char* old, const std::vector<std::string>& texts,
                       const std::string& observed) {
  for (const std::string& text : texts) {
    EXPECT_EQ(Observed(With(old, text)), observed) << text;
  }
}

// The script tells all that is asked, and nothing is wrong.
inline void ExpectFine(const char* old, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    EXPECT_EQ(Observed(With(old, text)), "") << text;
    EXPECT_EQ(Summary(With(old, text)), "read train.py") << text;
  }
}

// Nothing is wrong, and the summary names what the script does not tell.
inline void ExpectUntold(const std::string& script, const char* untold) {
  EXPECT_EQ(Observed(script), "") << script;
  EXPECT_THAT(Summary(script), testing::HasSubstr(untold)) << script;
}

inline constexpr char kBackend[] = "backend=\"hccl\"";
inline constexpr char kSampler[] = "DistributedSampler(train_data)";
inline constexpr char kLoader[] =
    "dataset=train_data, batch_size=32,\n"
    "                        sampler=sampler";
inline constexpr char kSize[] = "    world_size = 16";
inline constexpr char kJoin[] = "dist.init_process_group(backend=\"hccl\")";
inline constexpr char kLocalRank[] = "int(os.environ[\"LOCAL_RANK\"])";

}  // namespace clusterd

#endif  // TESTS_SUPPORT_CONFIG_SCRIPT_TESTING_H_
