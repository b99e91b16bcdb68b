// Setting a cluster up with the real programs: certificates, daemons that find
// their files automatically, and a shell that completes known names.
#include <signal.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/time/clock.h"
#include "config/identity/root_bundle.h"
#include "config/values/hostlist.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/demo_cluster.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

namespace fs = std::filesystem;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

class CertificatesTest : public ::testing::Test {
 protected:
  CertificatesTest() { fs::remove_all(folder_); }

  ProcessResult Make(const std::string& verb,
                     const std::vector<std::string>& words = {},
                     const std::string& cluster = "demo") {
    std::vector<std::string> argv = {
        "/bin/bash", Runfile("deploy/certificates.sh"), verb, folder_, cluster};
    argv.insert(argv.end(), words.begin(), words.end());
    return RunProgram(argv);
  }

  std::string Read(const std::string& name) {
    return TextOfFile(absl::StrCat(folder_, "/", name));
  }

  // The names with a certificate and a key, besides the CA.
  std::vector<std::string> Pairs() {
    std::vector<std::string> names;
    for (const auto& entry : fs::directory_iterator(folder_)) {
      const fs::path& path = entry.path();
      if (path.extension() != ".crt" || path.stem() == "ca") continue;
      EXPECT_TRUE(fs::exists(fs::path(path).replace_extension(".key")));
      names.push_back(path.stem());
    }
    std::sort(names.begin(), names.end());
    return names;
  }

  const std::string folder_ = absl::StrCat(
      testing::TempDir(), "/certificates-",
      testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(CertificatesTest, TakeHostlistsAsTheSpecDoes) {
  ASSERT_EQ(Make("init").exit_status, 0);
  const std::vector<std::string> lists = {"node[001-003,10]",
                                          "r[1-2]n[08-12/2],login"};
  const ProcessResult made = Make("host", lists);
  EXPECT_EQ(made.exit_status, 0) << made.standard_error;
  std::vector<std::string> expected;
  for (const std::string& list : lists) {
    const std::vector<std::string> names = ExpandHostlist(list).value();
    expected.insert(expected.end(), names.begin(), names.end());
  }
  std::sort(expected.begin(), expected.end());
  EXPECT_EQ(Pairs(), expected);
}

TEST_F(CertificatesTest, RefuseListsThatTheSpecRefusesAndMakeNothing) {
  ASSERT_EQ(Make("init").exit_status, 0);
  for (const char* list : {"", "node[", "node]", "node[2-1]", "node[x]", "a,,b",
                           "../node", "node[1]]", "node[1-2,]", "$(id)"}) {
    EXPECT_FALSE(ExpandHostlist(list).ok()) << list;
    const ProcessResult refused = Make("host", {"good", list});
    EXPECT_EQ(refused.exit_status, 3) << list;
    EXPECT_THAT(refused.standard_error, HasSubstr("deploy/certificates.sh: "));
  }
  EXPECT_THAT(Pairs(), IsEmpty());
}

TEST_F(CertificatesTest, ContinuePastPairsThatExistAndKeepThem) {
  ASSERT_EQ(Make("init").exit_status, 0);
  ASSERT_EQ(Make("host", {"node02"}).exit_status, 0);
  const std::string ca = Read("ca.crt");
  const std::string before = Read("node02.crt") + Read("node02.key");
  EXPECT_EQ(Make("init").exit_status, 0);
  const ProcessResult again = Make("host", {"node[01-03]"});
  EXPECT_EQ(again.exit_status, 0) << again.standard_error;
  EXPECT_THAT(again.standard_error,
              HasSubstr("2 made, 1 kept that were there, 0 failed"));
  EXPECT_THAT(Pairs(), ElementsAre("node01", "node02", "node03"));
  EXPECT_EQ(Read("node02.crt") + Read("node02.key"), before);
  EXPECT_EQ(Read("ca.crt"), ca);
}

TEST_F(CertificatesTest, OnlyTheControllersIsAServers) {
  ASSERT_EQ(Make("init").exit_status, 0);
  ASSERT_EQ(Make("controller").exit_status, 0);
  ASSERT_EQ(Make("host", {"controller2"}).exit_status, 0);
  ASSERT_EQ(Make("user", {"ann", "admin"}).exit_status, 0);
  for (const std::string name : {"controller", "controller2", "user-ann"}) {
    const ProcessResult usage =
        RunProgram({"/usr/bin/openssl", "x509", "-noout", "-ext",
                    "extendedKeyUsage", "-in", folder_ + "/" + name + ".crt"});
    ASSERT_EQ(usage.exit_status, 0) << usage.standard_error;
    EXPECT_THAT(usage.standard_output,
                HasSubstr("TLS Web Client Authentication"));
    EXPECT_EQ(absl::StrContains(usage.standard_output,
                                "TLS Web Server Authentication"),
              name == "controller")
        << name;
  }
}

TEST_F(CertificatesTest, FinishAnInterruptedPair) {
  ASSERT_EQ(Make("init").exit_status, 0);
  ASSERT_EQ(Make("host", {"node01"}).exit_status, 0);
  const std::string key = Read("node01.key");
  fs::remove(folder_ + "/node01.crt");
  EXPECT_EQ(Make("host", {"node01"}).exit_status, 0);
  EXPECT_THAT(Pairs(), ElementsAre("node01"));
  EXPECT_EQ(Read("node01.key"), key);
}

TEST_F(CertificatesTest, NamePairsOfAnotherIdentityAndMakeTheOthers) {
  ASSERT_EQ(Make("init").exit_status, 0);
  ASSERT_EQ(Make("user", {"ann", "viewer"}).exit_status, 0);
  const ProcessResult ours = Make("user", {"clusterd-controller", "admin"});
  EXPECT_EQ(ours.exit_status, 3);
  EXPECT_THAT(ours.standard_error, HasSubstr("would pass for"));
  EXPECT_EQ(Make("user", {"slurm", "hook"}).exit_status, 0);
  const ProcessResult other = Make("user", {"ann", "admin"});
  EXPECT_EQ(other.exit_status, 1);
  EXPECT_THAT(
      other.standard_error,
      HasSubstr("is there and not of spiffe://demo/user/ann/role/admin"));
  ASSERT_EQ(Make("host", {"node01"}).exit_status, 0);
  fs::remove(folder_ + "/node01.key");
  const ProcessResult half = Make("host", {"node[01-02]"});
  EXPECT_EQ(half.exit_status, 1);
  EXPECT_THAT(half.standard_error, HasSubstr("node01.crt has no node01.key"));
  EXPECT_TRUE(fs::exists(folder_ + "/node02.crt"));
  const ProcessResult cluster = Make("host", {"node03"}, "prod");
  EXPECT_EQ(cluster.exit_status, 1);
  EXPECT_THAT(cluster.standard_error,
              HasSubstr("is not a CA of cluster \"prod\""));
}

TEST_F(CertificatesTest, ARoleThatIsMistypedIsNamedWithTheNearestOne) {
  ASSERT_EQ(Make("init").exit_status, 0);
  for (const auto& [typed, meant] :
       {std::pair<std::string, std::string>{"opertor", "operator"},
        {"Admin", "admin"},
        {"viewr", "viewer"},
        {"hok", "hook"}}) {
    const ProcessResult refused = Make("user", {"ann", typed});
    EXPECT_EQ(refused.exit_status, 3) << typed;
    EXPECT_THAT(refused.standard_error,
                HasSubstr(absl::StrCat("role \"", typed,
                                       "\", expected hook, viewer, operator or "
                                       "admin; did you mean \"",
                                       meant, "\"?")));
  }
  EXPECT_THAT(Pairs(), IsEmpty());
}

TEST_F(CertificatesTest, LongNamesHaveRoomBesideTheNumber) {
  const std::string cluster(150, 'c');
  const std::string host(100, 'h');
  const ProcessResult made = Make("init", {}, cluster);
  ASSERT_EQ(made.exit_status, 0) << made.standard_error;
  const ProcessResult pair = Make("host", {host}, cluster);
  EXPECT_EQ(pair.exit_status, 0) << pair.standard_error;
  EXPECT_THAT(Pairs(), ElementsAre(host));
  const ProcessResult below = Make("ca-dir", {folder_ + "/ca"}, cluster);
  EXPECT_EQ(below.exit_status, 0) << below.standard_error;
}

TEST_F(CertificatesTest, BundleThatCannotBeSignedLeavesTheFileAsItWas) {
  ASSERT_EQ(Make("init").exit_status, 0);
  const std::string file = folder_ + "/roots.bundle";
  const std::vector<std::string> words = {file, folder_ + "/ca.crt"};
  for (uint64_t number = 1; number <= 2; ++number) {
    const ProcessResult made = Make("roots", words);
    ASSERT_EQ(made.exit_status, 0) << made.standard_error;
    const auto bundles = ReadRootBundles(Read("roots.bundle"));
    ASSERT_TRUE(bundles.ok()) << bundles.status();
    ASSERT_EQ(bundles->size(), number);
    EXPECT_EQ(bundles->back().number, number);
    EXPECT_EQ(bundles->back().cluster, "demo");
  }
  // Hosts judge bundles like this.
  const Roots taken = TakeRootBundles(
      {Read("ca.crt"), ""}, Read("roots.bundle"), "", "demo", absl::Now());
  EXPECT_THAT(taken.news, IsEmpty());
  EXPECT_EQ(taken.bundle, ReadRootBundles(Read("roots.bundle"))->back().text);

  const std::string before = Read("roots.bundle");
  const ProcessResult other =
      RunProgram({"/usr/bin/openssl", "genpkey", "-algorithm", "EC", "-pkeyopt",
                  "ec_paramgen_curve:P-256", "-out", folder_ + "/other.key"});
  ASSERT_EQ(other.exit_status, 0) << other.standard_error;
  for (const std::string& key : {std::string("no key\n"), Read("other.key")}) {
    std::ofstream(folder_ + "/ca.key") << key;
    const ProcessResult refused = Make("roots", words);
    EXPECT_EQ(refused.exit_status, 1);
    EXPECT_THAT(refused.standard_error, HasSubstr("is as it was"));
    EXPECT_EQ(Read("roots.bundle"), before);
    EXPECT_FALSE(fs::exists(file + ".new"));
  }
}

// The files are in /etc/clusterd of the host; no options are needed.
TEST(DefaultPlacesTest, ClusterdNeedsOnlyTheControllersAddress) {
  DemoCluster cluster(DemoSpec(1), {"server0"});
  cluster.StartController();
  const std::string folder = cluster.Root("server0") + "/etc/clusterd";
  fs::create_directories(folder);
  for (const auto& [from, to] :
       {std::pair("ca.crt", "ca.crt"), std::pair("server0.crt", "host.crt"),
        std::pair("server0.key", "host.key")}) {
    fs::copy_file(absl::StrCat(cluster.Certificates(), "/", from),
                  absl::StrCat(folder, "/", to));
  }
  std::ofstream(folder + "/agent.yaml")
      << "controller: 127.0.0.1:" << cluster.port() << "\n";
  Process daemon({Runfile("daemon/agent/clusterd"), "--root",
                  cluster.Root("server0"), "--socket",
                  cluster.Socket("server0")});
  daemon.ExpectError("host server0 of cluster demo");
  cluster.controller().ExpectError("host server0: attached from");
}

TEST(DefaultPlacesTest, ClusterctlNeedsOnlyTheControllersAddress) {
  DemoCluster cluster(DemoSpec(1), {"server0"});
  cluster.StartAll();
  const std::string folder = cluster.folder() + "/home/.config/clusterd";
  fs::create_directories(folder);
  for (const auto& [from, to] :
       {std::pair("ca.crt", "ca.crt"), std::pair("user-admin.crt", "user.crt"),
        std::pair("user-admin.key", "user.key")}) {
    fs::copy_file(absl::StrCat(cluster.Certificates(), "/", from),
                  absl::StrCat(folder, "/", to));
  }
  std::ofstream(folder + "/client.yaml")
      << "controller: 127.0.0.1:" << cluster.port() << "\n";
  const ProcessResult hosts =
      RunProgram({Runfile("client/clusterctl"), "hosts"},
                 {absl::StrCat("HOME=", cluster.folder(), "/home")});
  EXPECT_EQ(hosts.exit_status, 0) << hosts.standard_error;
  EXPECT_THAT(hosts.standard_output, HasSubstr("server0"));
}

// Bash's completions for `line`, a word each, with the function that
// `clusterctl completion bash` defines.
std::vector<std::string> BashOffers(const DemoCluster& cluster,
                                    const std::string& line) {
  const std::string script = R"(
    source <("$1" completion bash)
    COMP_LINE=$2 COMP_POINT=${#2}
    read -r -a COMP_WORDS <<<"$2"
    case $2 in *" ") COMP_WORDS+=("") ;; esac
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _clusterctl "$1"
    printf '%s\n' "${COMPREPLY[@]}")";
  // The environment has the controller's address, as a user has it.
  const std::string tls = cluster.Certificates();
  const ProcessResult result = RunProgram(
      {"/bin/bash", "-c", script, "bash", Runfile("client/clusterctl"), line},
      {absl::StrCat("CLUSTERD_CONTROLLER=127.0.0.1:", cluster.port()),
       absl::StrCat("CLUSTERD_CA=", tls, "/ca.crt"),
       absl::StrCat("CLUSTERD_CERT=", tls, "/user-admin.crt"),
       absl::StrCat("CLUSTERD_KEY=", tls, "/user-admin.key"),
       "PATH=/usr/bin:/bin"});
  EXPECT_EQ(result.exit_status, 0);
  EXPECT_EQ(result.standard_error, "");
  return absl::StrSplit(result.standard_output, '\n', absl::SkipEmpty());
}

TEST(CompletionTest, FillsInHostsAndRunsThatTheControllerKnows) {
  DemoCluster cluster(DemoSpec(2), {"server0", "server1"});
  cluster.StartAll();
  EXPECT_THAT(BashOffers(cluster, "clusterctl check ser"),
              ElementsAre("server0", "server1"));
  EXPECT_THAT(BashOffers(cluster, "clusterctl show "), IsEmpty());
  const std::string id = cluster.Check().report.run_id();
  EXPECT_THAT(BashOffers(cluster, "clusterctl show " + id.substr(0, 4)),
              ElementsAre(id));
  // A check cannot be rolled back.
  EXPECT_THAT(BashOffers(cluster, "clusterctl rollback "), IsEmpty());
  cluster.controller().EndBy(SIGTERM);
  EXPECT_THAT(BashOffers(cluster, "clusterctl check ser"), IsEmpty());
  EXPECT_THAT(BashOffers(cluster, "clusterctl che"), ElementsAre("check"));
}

}  // namespace
}  // namespace clusterd
