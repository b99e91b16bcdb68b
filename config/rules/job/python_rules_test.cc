#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/rules/host_rules.h"
#include "gmock/gmock.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::ElementsAre, ::testing::HasSubstr;

using Packages = std::vector<std::pair<const char*, const char*>>;

void Install(const Packages& packages, HostFacts* host) {
  PythonFact::Python* const python = host->mutable_python()->mutable_value();
  python->Clear();
  python->set_version("3.10.12");
  for (const auto& [name, version] : packages) {
    PythonPackage* const package = python->add_packages();
    package->set_name(name);
    package->set_version(version);
  }
}

// A job of two servers that have these packages.
TestCluster Needing(const std::string& requirements,
                    const Packages& packages = {{"torch", "2.1.0"}}) {
  TestCluster cluster("atlas-a2");
  JobSpec& job = cluster.StartJob();
  job.set_user("ann");
  job.set_python("/venv/bin/python");
  job.set_requirements(requirements);
  for (HostFacts& host : cluster.facts) Install(packages, &host);
  return cluster;
}

std::string Check(const TestCluster& cluster) {
  return Lines(cluster.Check("job-python"));
}

TEST(JobPythonTest, PassesWhereEveryServerHasWhatTheJobNeeds) {
  const TestCluster cluster = Needing(
      "Torch==2.1.0\nnumpy>=1.24,<2\nzope.interface\n",
      {{"torch", "2.1.0+cpu"}, {"numpy", "1.26.4"}, {"zope-interface", "6.0"}});
  EXPECT_EQ(Check(cluster), "");
  EXPECT_EQ(cluster.Check("job-python").state(), PASS);
}

TEST(JobPythonTest, NamesWhatAServerLacksAndWhatHasAnotherVersion) {
  TestCluster cluster =
      Needing("torch==2.1.0\nnumpy<2\napex\n",
              {{"torch", "2.1.0"}, {"numpy", "1.26.4"}, {"apex", "0.1"}});
  Install({{"torch", "2.2.0"}, {"numpy", "1.26.4"}}, &cluster.facts[1]);
  EXPECT_EQ(Check(cluster),
            "FAIL server1 lacks packages=apex, python=/venv/bin/python\nFAIL "
            "server1 other-version packages=torch 2.2.0 (==2.1.0), "
            "python=/venv/bin/python\nWARN cluster differs package=torch, "
            "versions=2.1.0 on server0, 2.2.0 on server1\n");
}

TEST(JobPythonTest, ComparesServersAlsoWithoutRequirements) {
  TestCluster cluster = Needing("");
  EXPECT_EQ(cluster.Check("job-python").state(), PASS);
  Install({{"torch", "2.1.0.post1"}}, &cluster.facts[1]);
  cluster.facts[1].mutable_python()->mutable_value()->set_version("3.11.2");
  const std::string lines = Check(cluster);
  EXPECT_THAT(lines,
              HasSubstr("WARN cluster differs package=Python, versions=3.10.12 "
                        "on server0, 3.11.2 on server1"));
  EXPECT_THAT(lines,
              HasSubstr("WARN cluster differs package=torch, versions=2.1.0 on "
                        "server0, 2.1.0.post1 on server1"));
}

TEST(JobPythonTest, FailsWithoutTheInterpreterAndIsUnknownWhereItCannotTell) {
  TestCluster cluster = Needing("torch\n");
  cluster.facts[0].clear_python();
  SetMissing(Missing::ABSENT, "/venv/bin/python: not there",
             cluster.facts[1].mutable_python());
  EXPECT_EQ(cluster.Check("job-python").state(), FAIL);
  EXPECT_THAT(
      Check(cluster),
      HasSubstr("FAIL server1 no-interpreter why=/venv/bin/python: not there"));
  EXPECT_THAT(Check(cluster),
              HasSubstr("UNKNOWN server0 not-known what=Python packages, "));
}

TEST(JobPythonTest, AReasonOfTheHostHasItsOwnRepair) {
  const auto with = [](Missing::Reason reason, const char* detail) {
    TestCluster cluster = Needing("torch\n");
    SetMissing(reason, detail, cluster.facts[1].mutable_python());
    EXPECT_EQ(cluster.Check("job-python").state(), UNKNOWN);
    return Check(cluster);
  };
  EXPECT_EQ(with(Missing::NOT_QUERIED, "no account ann"),
            "UNKNOWN server1 not-queried why=no account ann, user=ann\n");
  EXPECT_EQ(
      with(Missing::NOT_PERMITTED, "find: '/venv/lib/a': Permission denied"),
      "UNKNOWN server1 not-readable why=find: '/venv/lib/a': Permission "
      "denied, user=ann\n");
}

TEST(JobPythonTest, NamesEveryPackageAndLine) {
  std::string requirements, packages, lines;
  for (int i = 1; i <= 200; ++i) {
    absl::StrAppend(&requirements, "pk", i, "\n");
    absl::StrAppend(&packages, i > 1 ? ", pk" : "pk", i);
  }
  EXPECT_THAT(
      Check(Needing(requirements)),
      HasSubstr("lacks packages=" + packages + ", python=/venv/bin/python\n"));
  EXPECT_THAT(Check(Needing(requirements + "pk201\n")),
              HasSubstr("lacks packages=" + packages + " and 1 more, python="));
  requirements.clear();
  for (int i = 1; i <= 20; ++i) {
    absl::StrAppend(&requirements, "-r ", i, ".txt\n");
    absl::StrAppend(&lines, i > 1 ? ", line " : "line ", i, ": -r ", i, ".txt");
  }
  EXPECT_THAT(Check(Needing(requirements)),
              HasSubstr("not-judged lines=" + lines + "\n"));
}

TEST(JobPythonTest, TorchNpuWithoutTorchFails) {
  for (const char* version : {"2.1.0.post6", "9.9.9", ""}) {
    TestCluster cluster = Needing("", {{"torch-npu", version}});
    EXPECT_EQ(cluster.Check("job-python").state(), FAIL) << version;
    EXPECT_THAT(Check(cluster),
                HasSubstr(absl::StrCat("FAIL server0 server1 no-torch npu=",
                                       *version == '\0' ? "?" : version,
                                       ", python=/venv/bin/python\n")));
  }
  EXPECT_THAT(Check(Needing("", {{"torch", ""}, {"torch-npu", "2.1.0.post6"}})),
              HasSubstr("WARN server0 server1 pair npu=2.1.0.post6, torch=?, "
                        "published=2.1.0"));
}

TEST(JobPythonTest, SaysWhichFoldersItDoesNotCheck) {
  TestCluster cluster = Needing("");
  EXPECT_EQ(cluster.Check("job-python").summary(), "2 hosts");
  cluster.SetInJob("PYTHONPATH", "/opt/a:/opt/b");
  EXPECT_EQ(cluster.Check("job-python").summary(), "2 hosts");
  cluster.job->clear_environment();
  cluster.SetInJob("PYTHONPATH", "src:/opt/mine:../lib");
  cluster.SetInJob("PYTHONUSERBASE", "base");
  EXPECT_EQ(cluster.Check("job-python").state(), PASS);
  EXPECT_THAT(cluster.Check("job-python").summary(),
              HasSubstr(": src ../lib base"));
}

TEST(JobPythonTest, ASecondVersionOrNoneIsUnknown) {
  TestCluster cluster = Needing(
      "torch==2.1.0\nmine>=1\nother\n",
      {{"torch", "2.1.0"}, {"torch", "2.2.0"}, {"mine", ""}, {"other", ""}});
  EXPECT_EQ(cluster.Check("job-python").state(), UNKNOWN);
  EXPECT_THAT(Check(cluster), HasSubstr("unclear packages=torch 2.1.0/2.2.0, "
                                        "mine ?, python=/venv/bin/python"));
}

TEST(JobPythonTest, SaysWhichLinesItDoesNotJudge) {
  TestCluster cluster = Needing(
      "torch\n-r base.txt\nnumpy ; platform_release > '5'\n"
      "six ; sys_platform == 'win32'\n--pre\ntorch --hash=sha256:1\n");
  EXPECT_EQ(cluster.Check("job-python").state(), WARN);
  EXPECT_THAT(Check(cluster),
              HasSubstr("WARN cluster not-judged lines=line 2: -r base.txt, "
                        "line 3: numpy ; platform_release > '5'"));
  EXPECT_EQ(cluster.Check("job-python").notes(0).words(), "python-ignored");
  EXPECT_THAT(cluster.Check("job-python").summary(),
              HasSubstr("line 6: --hash"));
}

// The vendor's table: 2.1.0.post6 is for PyTorch 2.1.0 and CANN 8.0.RC2.
TEST(JobPythonTest, ComparesTorchTorchNpuAndCannWithTheVendorsTable) {
  const auto with = [](const char* torch, const char* npu, const char* cann) {
    TestCluster cluster = Needing("", {{"torch", torch}, {"torch-npu", npu}});
    for (HostFacts& host : cluster.facts) {
      host.mutable_versions()->mutable_cann()->set_value(cann);
    }
    return cluster.Check("job-python");
  };
  const RuleResult published = with("2.1.0+cpu", "2.1.0.post6", "8.0.RC2");
  EXPECT_EQ(published.state(), PASS);
  EXPECT_EQ(published.summary(), "2 hosts");
  EXPECT_EQ(with("1.5.0", "1.5.0.post6", "5.1.RC2").summary(), "2 hosts");
  const RuleResult other_cann = with("2.1.0", "2.1.0.post6", "8.1.RC1");
  EXPECT_EQ(other_cann.state(), PASS);
  EXPECT_THAT(other_cann.summary(),
              AllOf(HasSubstr("torch_npu 2.1.0.post6"),
                    HasSubstr("CANN 8.1.RC1"), HasSubstr("8.0.RC2")));
  const RuleResult unlisted = with("2.1.0", "2.1.0.post7", "8.0.RC2");
  EXPECT_EQ(unlisted.state(), PASS);
  EXPECT_THAT(unlisted.summary(), HasSubstr(": torch_npu 2.1.0.post7"));
  EXPECT_THAT(Lines(with("2.3.1", "2.1.0.post6", "8.0.RC2")),
              HasSubstr("WARN server0 server1 pair npu=2.1.0.post6, "
                        "torch=2.3.1, published=2.1.0"));
}

TEST(JobPythonTest, IsSkippedOrUnknownWhereTheJobDoesNotSayEnough) {
  TestCluster cluster("atlas-a2");
  cluster.StartJob();
  EXPECT_EQ(cluster.Check("job-python").state(), SKIPPED);
  cluster.job->set_requirements("torch\n");
  EXPECT_EQ(Check(cluster), "UNKNOWN cluster not-asked key=python\n");
  cluster.job->set_python("/usr/bin/python3");
  EXPECT_THAT(Check(cluster), HasSubstr("not-asked key=user"));
}

TEST(MakePythonQuestionTest, NamesThePackagesAndThoseOfTheVendorsTable) {
  TestCluster cluster = Needing("Six\nnumpy\n");
  for (const auto& [name, value] :
       {std::pair("PYTHONPATH", "/opt/mine:/opt/other"),
        std::pair("PYTHONUSERBASE", "/opt/base"),
        std::pair("PYTHONNOUSERSITE", "0")}) {
    cluster.SetInJob(name, value);
  }
  const auto ask = [&] {
    return MakeObserveRequest(cluster.spec, {}, &*cluster.job).python();
  };
  const PythonQuestion question = ask();
  EXPECT_EQ(question.user(), "ann");
  EXPECT_EQ(question.interpreter(), "/venv/bin/python");
  EXPECT_EQ(question.path(), "/opt/mine:/opt/other");
  EXPECT_EQ(question.user_base(), "/opt/base");
  // Python only checks whether it has a text, whatever that is.
  EXPECT_TRUE(question.no_user_site());
  cluster.job->mutable_environment(2)->set_value("");
  EXPECT_FALSE(ask().no_user_site());
  EXPECT_THAT(question.names(),
              ElementsAre("numpy", "six", "torch", "torch-npu"));
  // It is asked only for the rule, and for a user.
  RuleSelection selection;
  selection.add_only("link");
  EXPECT_FALSE(MakeObserveRequest(cluster.spec, {}, &*cluster.job, &selection)
                   .has_python());
  cluster.job->clear_user();
  EXPECT_FALSE(
      MakeObserveRequest(cluster.spec, {}, &*cluster.job).has_python());
}

}  // namespace
}  // namespace clusterd
