// Audit files of the real programs. An apply leaves lines on both sides, each
// side keeps the other's newest, and clusterctl finds altered or cut files.

#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/audit/audit_chain.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/e2e/change_cluster.h"
#include "tests/e2e/process.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::HasSubstr;

constexpr char kAdmin[] = "spiffe://demo/user/admin/role/admin";

// "WHO WHAT SUBJECT: RESULT" of each line.
std::vector<std::string> AuditLines(const std::string& path) {
  std::vector<std::string> lines;
  for (const absl::string_view line :
       absl::StrSplit(TextOfFile(path), '\n', absl::SkipEmpty())) {
    const AuditEntry entry = ReadAuditLine(line).value_or(AuditEntry());
    lines.push_back(absl::StrCat(entry.who(), " ", entry.what(), " ",
                                 entry.subject(), ": ", entry.result()));
  }
  return lines;
}

TEST(AuditE2eTest, AnApplyIsAuditedOnBothSidesAndTamperingIsFound) {
  ChangeCluster cluster(1);
  cluster.Break("server0", {"host:somaxconn=4096"});
  cluster.StartController();
  cluster.StartAll();
  cluster.AddUser("vera", "viewer");
  cluster.Plan();
  EXPECT_NE(cluster.Apply({}, "vera").process.exit_status, 0);
  const ChangeOutcome applied = cluster.Apply();
  ASSERT_EQ(applied.process.exit_status, 0) << applied.process.standard_error;
  const std::string run = applied.report.run_id();
  EXPECT_EQ(applied.report.actor(), kAdmin);

  const std::string controller = cluster.folder() + "/state/audit.jsonl";
  const std::string host =
      cluster.Root("server0") + "/var/lib/clusterd/audit.jsonl";
  EXPECT_THAT(
      AuditLines(controller),
      AllOf(Contains(HasSubstr(
                "spiffe://demo/user/vera/role/viewer ApplyPlan : refused")),
            Contains(absl::StrCat(kAdmin, " ApplyPlan ", run, ": begins")),
            Contains(absl::StrCat(kAdmin, " ApplyPlan ", run,
                                  ": succeeded: 1 applied"))));
  EXPECT_THAT(
      AuditLines(host),
      AllOf(Contains(absl::StrCat(kAdmin, " apply ", run, ": begins")),
            Contains(absl::StrCat(kAdmin, " apply ", run, ": APPLIED"))));

  // Each side's newest line, as the other side keeps it.
  const auto verify = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"audit", "verify"});
    return cluster.RunClusterctl(arguments);
  };
  EXPECT_EQ(verify({controller}).exit_status, 0);
  const ProcessResult intact = verify({host, "--of", "server0"});
  EXPECT_EQ(intact.exit_status, 0) << intact.standard_output;
  const auto known = [&] {
    return VerifyAudit(std::vector<AuditText>{{"host", TextOfFile(host)}}, {})
        .known.newest;
  };
  const std::string other(kControllerFile);
  ASSERT_TRUE(WaitUntil([&] { return known().count(other) > 0; }));
  const std::string head = AuditHeadText(known().at(other));
  EXPECT_EQ(verify({controller, "--head", head}).exit_status, 0);

  const std::string copy = cluster.folder() + "/copy.jsonl";
  std::ofstream(copy) << absl::StrReplaceAll(TextOfFile(host),
                                             {{"APPLIED", "UNDONE"}});
  const ProcessResult altered = verify({copy});
  EXPECT_EQ(altered.exit_status, 1);
  EXPECT_THAT(altered.standard_output, HasSubstr(": altered: "));

  // Cuts whole lines off the end: only the other side notices. A line about the
  // other's newest head, which has no copy, may already follow the apply's.
  std::string cut = TextOfFile(host);
  cut.resize(cut.rfind('\n', cut.find("\"result\":\"APPLIED")) + 1);
  std::ofstream(copy) << cut;
  EXPECT_EQ(verify({copy}).exit_status, 0);
  const ProcessResult short_one = verify({copy, "--of", "server0"});
  EXPECT_EQ(short_one.exit_status, 1);
  EXPECT_THAT(short_one.standard_output, HasSubstr("1 lines are cut off"));
}

TEST(AuditE2eTest, TruncatedTailShowsAlsoAfterTheHostWasRestarted) {
  ChangeCluster cluster(1);
  cluster.Break("server0", {"host:somaxconn=4096"});
  cluster.StartController();
  cluster.StartAllAndPlan();
  ASSERT_EQ(cluster.Apply().process.exit_status, 0);
  const std::string host =
      cluster.Root("server0") + "/var/lib/clusterd/audit.jsonl";
  const auto verify = [&] {
    return cluster.RunClusterctl({"audit", "verify", host, "--of", "server0"});
  };
  ASSERT_EQ(verify().exit_status, 0);
  cluster.KillHost("server0");
  const std::string whole = TextOfFile(host);
  const size_t begins = whole.find("\"result\":\"begins\"");
  ASSERT_NE(begins, std::string::npos);
  std::ofstream(host) << whole.substr(0, whole.find('\n', begins) + 1);
  cluster.StartHost("server0");
  // The host sends its new head right after the welcome.
  EXPECT_TRUE(WaitUntil([&] {
    const ProcessResult heads = cluster.RunClusterctl({"audit", "head"});
    return absl::StrContains(heads.standard_output, "contradicted");
  }));
  const ProcessResult found = verify();
  EXPECT_EQ(found.exit_status, 1) << found.standard_output;
  EXPECT_THAT(found.standard_output, HasSubstr("that the other side keeps"));
}

}  // namespace
}  // namespace clusterd
