// Runs real `readlink`, `find` and `grep` as another user, which needs root
// outside a user namespace; otherwise as the test's own user.
#include <sys/stat.h>
#include <unistd.h>

#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/launch_observer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/host/user_machine.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr char kVenv[] = "/home/ann/venv";
constexpr char kSites[] = "/home/ann/venv/lib/python3.10/site-packages";

// A machine with one user, ann, and her virtual environment.
class PythonObserverTest : public UserMachineTest {
 protected:
  PythonObserverTest() : UserMachineTest({"readlink", "find", "grep"}) {
    // A run of the interpreter would leave a file, which TearDown() checks.
    root_.MakeFolder("/traces");
    root_.SetMode("/traces", 0777);
    root_.WriteProgram(
        "/usr/bin/python3.10",
        absl::StrCat("#!/bin/sh\necho ran >", Full("/traces/python"), "\n"));
    root_.MakeFolder("/home/ann/venv/bin");
    root_.Link("/home/ann/venv/bin/python", "python3");
    root_.Link("/home/ann/venv/bin/python3", "../../../../usr/bin/python3.10");
    Configure(
        "home = /usr/bin\ninclude-system-site-packages = false\n"
        "version = 3.10.12\n");
    question_.set_user("ann");
    question_.set_interpreter(absl::StrCat(kVenv, "/bin/python"));
    for (const char* name : {"torch", "torch-npu", "pyyaml", "six", "mine"}) {
      question_.add_names(name);
    }
  }

  // Only files are read: no test may have run the interpreter.
  void TearDown() override {
    EXPECT_NE(access(Full("/traces/python").c_str(), F_OK), 0);
  }

  void Configure(absl::string_view text) {
    root_.Write(absl::StrCat(kVenv, "/pyvenv.cfg"), text);
  }
  void Install(absl::string_view folder, absl::string_view entry,
               absl::string_view version) {
    const absl::string_view file =
        absl::EndsWith(entry, ".dist-info") ? "/METADATA" : "/PKG-INFO";
    root_.Write(absl::StrCat(folder, "/", entry, file),
                absl::StrCat("Metadata-Version: 2.1\nName: x\nVersion: ",
                             version, "\n\nVersion: 9 is said further down\n"));
  }
  PythonFact Read(absl::Duration patience = kPatience) {
    const TimeBudget budget(&clock_, patience, patience);
    return ReadPython({root_.paths(), &runner_, &budget}, question_);
  }
  // Returns "torch 2.1.0" for each.
  std::vector<std::string> Packages() {
    const PythonFact fact = Read();
    EXPECT_TRUE(fact.has_value()) << fact.DebugString();
    std::vector<std::string> packages;
    for (const PythonPackage& each : fact.value().packages()) {
      packages.push_back(absl::StrCat(each.name(), " ", each.version()));
    }
    return packages;
  }

  PythonQuestion question_;
};

TEST_F(PythonObserverTest, ReadsEveryKindOfMetadataOfAVirtualEnvironment) {
  Install(kSites, "torch-2.1.0+cpu.dist-info", "2.1.0+cpu");
  Install(kSites, "torch_npu-2.1.0.post6.dist-info", "2.1.0.post6\r");
  Install(kSites, "PyYAML-6.0-py3.10.egg-info", "6.0");
  root_.Write(absl::StrCat(kSites, "/six-1.16.0.egg-info"),
              "Metadata-Version: 1.1\nVersion: 1.16.0\n");
  // Forms of old and current `pip install -e`.
  root_.Write(absl::StrCat(kSites, "/mine.egg-link"), "/home/ann/mine\n.\n");
  root_.Write(absl::StrCat(kSites, "/easy-install.pth"),
              "import sys\n/home/ann/gone\n/home/ann/mine\r\n");
  Install("/home/ann/mine", "mine.egg-info", "0.3");
  Install(kSites, "nobody_asked-1.0.dist-info", "1.0");
  Install("/usr/lib/python3/dist-packages", "six-1.0.dist-info", "1.0");
  EXPECT_THAT(Packages(),
              ElementsAre("torch 2.1.0+cpu", "torch-npu 2.1.0.post6",
                          "pyyaml 6.0", "six 1.16.0", "mine 0.3"));
  EXPECT_EQ(Read().value().version(), "3.10.12");
  EXPECT_THAT(Read().value().folders(), ElementsAre(kSites, "/home/ann/mine"));
}

TEST_F(PythonObserverTest, SeesTheSystemsFoldersBehindItsOwnWhereItMay) {
  Configure(
      "home = /usr/bin\r\nInclude-System-Site-Packages = True\r\n"
      "version_info = 3.10.12.final.0\r\n");
  root_.Write("/etc/debian_version", "12.5\n");
  Install(kSites, "six-1.16.0.dist-info", "1.16.0");
  Install("/home/ann/.local/lib/python3.10/site-packages",
          "torch-2.2.0.dist-info", "2.2.0");
  Install("/usr/lib/python3/dist-packages", "six-1.0.dist-info", "1.0");
  Install("/usr/lib/python3/dist-packages", "torch-1.0.dist-info", "1.0");
  Install("/usr/lib/python3/dist-packages", "PyYAML-5.0.egg-info", "5.0");
  // Debian's interpreter does not search it.
  Install("/usr/local/lib/python3.10/site-packages", "mine-1.0.dist-info",
          "1.0");
  EXPECT_THAT(Packages(),
              ElementsAre("six 1.16.0", "torch 2.2.0", "pyyaml 5.0"));
  EXPECT_EQ(Read().value().version(), "3.10.12");
  question_.set_user_base("/opt/base");
  Install("/opt/base/lib/python3.10/site-packages", "torch-2.3.0.dist-info",
          "2.3.0");
  EXPECT_THAT(Packages(),
              ElementsAre("six 1.16.0", "torch 2.3.0", "pyyaml 5.0"));
  // The value is not a folder, and must not become an option of find.
  question_.set_user_base("-delete");
  EXPECT_THAT(Packages(), ElementsAre("six 1.16.0", "torch 1.0", "pyyaml 5.0"));
  question_.clear_user_base();
  question_.set_no_user_site(true);
  EXPECT_THAT(Packages(), ElementsAre("six 1.16.0", "torch 1.0", "pyyaml 5.0"));
}

TEST_F(PythonObserverTest, TakesFoldersBelowUsrThatAreNotTheSystemsOnDebian) {
  constexpr char kVendor[] =
      "/usr/local/Ascend/ascend-toolkit/latest/python/site-packages";
  root_.Write("/etc/debian_version", "12.5\n");
  Install("/usr/lib/python3/dist-packages", "six-1.0.dist-info", "1.0");
  Install("/usr/lib/python3/dist-packages", "torch-1.0.dist-info", "1.0");
  Install(kVendor, "mine-2.0.dist-info", "2.0");
  Install("/usr/lib/python3.10/site-packages", "six-3.0.dist-info", "3.0");
  question_.set_interpreter("/usr/bin/python3.10");
  EXPECT_THAT(Packages(), ElementsAre("torch 1.0", "six 1.0"));
  question_.set_path(
      absl::StrCat(kVendor, "/:/usr/lib/python3.10/site-packages/"));
  EXPECT_THAT(Packages(), ElementsAre("mine 2.0", "six 3.0", "torch 1.0"));
  question_.clear_path();
  root_.MakeFolder("/usr/local/venv/bin");
  root_.Link("/usr/local/venv/bin/python3", "../../../bin/python3.10");
  root_.Write("/usr/local/venv/pyvenv.cfg",
              "home = /usr/bin\ninclude-system-site-packages = true\n"
              "version = 3.10.12\n");
  Install("/usr/local/venv/lib/python3.10/site-packages",
          "torch-2.1.0.dist-info", "2.1.0");
  question_.set_interpreter("/usr/local/venv/bin/python3");
  EXPECT_THAT(Packages(), ElementsAre("torch 2.1.0", "six 1.0"));
  // A locally built interpreter.
  root_.WriteProgram("/usr/local/bin/python3.10", "");
  Install("/usr/local/lib/python3.10/site-packages", "torch-2.2.0.dist-info",
          "2.2.0");
  question_.set_interpreter("/usr/local/bin/python3.10");
  EXPECT_THAT(Packages(), ElementsAre("torch 2.2.0"));
}

TEST_F(PythonObserverTest, AnInterpreterIsAFileThatTheUserMayExecute) {
  const auto why = [&](const std::string& interpreter) {
    question_.set_interpreter(interpreter);
    const Missing missing = Read().missing();
    EXPECT_EQ(missing.reason(), Missing::ABSENT);
    return missing.detail();
  };
  root_.MakeFolder("/opt/bin/python3.10");
  EXPECT_EQ(why("/opt/bin/python3.10"),
            "/opt/bin/python3.10: a directory, as docker -v makes for a "
            "missing file; ann may not run it");
  root_.Write("/opt/bin/python3.9", "");
  EXPECT_EQ(why("/opt/bin/python3.9"),
            "/opt/bin/python3.9: ann may not run it");
  EXPECT_EQ(why("/opt/bin/python3.8"),
            "/opt/bin/python3.8: not there, or ann may not run it");
  root_.SetMode("/usr/bin/python3.10", 0644);
  const std::string link = absl::StrCat(kVenv, "/bin/python");
  EXPECT_EQ(why(link), link + ": ann may not run it");
}

TEST_F(PythonObserverTest, ReadsTheSystemsInterpreter) {
  root_.Link("/usr/bin/python3", "python3.10");
  question_.set_interpreter("/usr/bin/python3");
  question_.set_path(":relative:/opt/first");
  Install("/opt/first", "six-2.0.dist-info", "2.0");
  Install("/usr/local/lib/python3.10/site-packages", "six-1.0.dist-info",
          "1.0");
  Install("/usr/lib64/python3.10/site-packages", "torch-2.1.0.dist-info",
          "2.1.0");
  EXPECT_THAT(Packages(), ElementsAre("six 2.0", "torch 2.1.0"));
  EXPECT_EQ(Read().value().version(), "3.10");
}

TEST_F(PythonObserverTest, TellsTwoVersionsAndOneWithoutMetadata) {
  Install(kSites, "torch-2.1.0.dist-info", "2.1.0");
  Install(kSites, "torch-2.2.0.dist-info", "2.2.0");
  root_.MakeFolder(absl::StrCat(kSites, "/six-1.16.0.dist-info"));
  root_.MakeFolder(absl::StrCat(kSites, "/~ine-1.0.dist-info"));
  EXPECT_THAT(Packages(), ElementsAre("torch 2.1.0", "torch 2.2.0", "six "));
}

TEST_F(PythonObserverTest, WaitsForNoPipeAndGoesThroughLinksAsTheUserMay) {
  root_.MakeFolder(absl::StrCat(kSites, "/six-1.0.dist-info"));
  ASSERT_EQ(
      mkfifo(Full(absl::StrCat(kSites, "/six-1.0.dist-info/METADATA")).c_str(),
             0666),
      0);
  root_.Link(absl::StrCat(kSites, "/round.dist-info"), ".");
  root_.Link(absl::StrCat(kSites, "/self"), "self");
  Install("/opt/cache", "torch-2.1.0.dist-info", "2.1.0");
  root_.Link(absl::StrCat(kSites, "/torch-2.1.0.dist-info"),
             "../../../../../../opt/cache/torch-2.1.0.dist-info");
  // Packages in an unreadable folder yield no reads.
  root_.MakeFolder(absl::StrCat(kSites, "/closed"), 0);
  EXPECT_THAT(Packages(), ElementsAre("torch 2.1.0", "six "));
  root_.SetMode(absl::StrCat(kSites, "/closed"), 0755);
}

TEST_F(PythonObserverTest, AFolderThatTheUserMayNotReadIsNoAnswer) {
  if (geteuid() != 0) GTEST_SKIP() << "everything here is the user's own";
  Install(kSites, "torch-2.1.0.dist-info", "2.1.0");
  root_.SetMode(kSites, 0700);
  const PythonFact fact = Read();
  EXPECT_EQ(fact.missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_THAT(fact.missing().detail(), HasSubstr("Permission denied"));
}

TEST_F(PythonObserverTest, MetadataThatTheUserMayNotReadIsNoAnswer) {
  Install(kSites, "torch-2.1.0.dist-info", "2.1.0");
  root_.SetMode(absl::StrCat(kSites, "/torch-2.1.0.dist-info/METADATA"), 0);
  const PythonFact fact = Read();
  EXPECT_EQ(fact.missing().reason(), Missing::NOT_PERMITTED);
  EXPECT_THAT(fact.missing().detail(),
              HasSubstr("torch-2.1.0.dist-info/METADATA: Permission denied"));
}

TEST_F(PythonObserverTest, SaysWhyItCannotTell) {
  const auto missing = [&](const char* interpreter) {
    question_.set_interpreter(interpreter);
    return Read().missing();
  };
  EXPECT_EQ(missing("/home/ann/other/bin/python3").reason(), Missing::ABSENT);
  for (const char* path :
       {"python3", "", "/bin/sh", "/usr/bin/python3.10 -c", "-exec"}) {
    EXPECT_EQ(missing(path).reason(), Missing::UNREADABLE) << path;
  }
  EXPECT_THAT(missing("/home/ann/venv/bin/python").detail(),
              HasSubstr("none in "));
  root_.WriteProgram("/opt/own/bin/python", "");
  EXPECT_THAT(missing("/opt/own/bin/python").detail(),
              HasSubstr("its version does not follow"));
  question_.set_user("-x");
  EXPECT_EQ(missing("/usr/bin/python3.10").reason(), Missing::UNREADABLE);
  // A missing program of ours is not a fault of the interpreter.
  question_.set_user("ann");
  root_.WriteProgram("/usr/bin/getent", "#!/bin/sh\nexit 2\n");
  EXPECT_EQ(missing("/usr/bin/python3.10").reason(), Missing::NOT_QUERIED);
  EXPECT_EQ(missing("/usr/bin/python3.10").detail(),
            "the host has no account ann");
  for (const char* program :
       {"/usr/bin/getent", "/usr/bin/grep", "/usr/bin/find"}) {
    root_.Remove(program);
    EXPECT_EQ(missing("/usr/bin/python3.10").reason(), Missing::NOT_QUERIED);
    EXPECT_EQ(missing("/usr/bin/python3.10").detail(),
              absl::StrCat(program, ": No such file or directory"));
  }
}

TEST_F(PythonObserverTest, ReadsNoMoreThanItsBound) {
  const std::string name(200, 'a');
  for (int i = 0; i < 40; ++i) {
    Install(kSites, absl::StrCat(name, i, "-1.0.dist-info"), "1.0");
  }
  Install(kSites, "six-1.0.dist-info",
          absl::StrCat("1.0", std::string(1 << 20, ' '), "x"));
  Install(kSites, "torch-1.0.dist-info", std::string(2 << 20, '1'));
  EXPECT_THAT(Read().missing().detail(), HasSubstr("endless output"));
}

}  // namespace
}  // namespace clusterd
