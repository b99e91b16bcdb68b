#include <sys/stat.h>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr;

// The record of that id, which is added if it is not there.
HistoryRecord& RecordOf(const std::string& id, ControllerScript& script) {
  for (HistoryRecord& record : script.records) {
    if (record.entry().id() == id) return record;
  }
  HistoryRecord& record = script.records.emplace_back();
  record.mutable_entry()->set_id(id);
  return record;
}

// A check in the history; `hosts` are its own.
void AddCheck(const std::string& id, const std::vector<std::string>& hosts,
              State state, ControllerScript& script) {
  HistoryRecord& record = RecordOf(id, script);
  record.mutable_entry()->set_kind(HISTORY_CHECK);
  Report report = PassingReport(hosts);
  report.set_run_id(id);
  if (state == FAIL) {
    RuleResult& rule = *report.mutable_rules(0);
    rule.set_state(FAIL);
    Finding& finding = *rule.add_findings();
    finding.set_rule(rule.rule());
    finding.set_state(FAIL);
    finding.set_observed("<DOWN>");
    finding.add_subjects()->set_host(hosts[0]);
    report.set_verdict(FAIL);
  }
  *record.mutable_report() = report;
}

ListHistoryResponse PageOf(const std::vector<std::string>& ids) {
  ListHistoryResponse page;
  for (const std::string& id : ids) {
    page.add_entries()->set_id(id);
    page.mutable_entries()->rbegin()->set_kind(HISTORY_CHECK);
  }
  return page;
}

class ReportCommandTest : public testing::Test {
 protected:
  ReportCommandTest() {
    AddCheck("3fa2c4d5e6f70812", {"a", "b"}, FAIL, world_.script);
    AddCheck("1111c4d5e6f70812", {"a"}, FAIL, world_.script);
    AddCheck("2222c4d5e6f70812", {"b", "a"}, PASS, world_.script);
    path_ = TestFile("report.html", "old");
  }

  ProgramWorld world_;
  std::string path_;
};

TEST_F(ReportCommandTest, WritesTheNewestCheckComparedWithTheOneBeforeIt) {
  world_.script.history = {PageOf({"3fa2c4d5e6f70812"}),
                           PageOf({"1111c4d5e6f70812", "gone",
                                   "2222c4d5e6f70812", "3333c4d5e6f70812"})};
  WatchedController controller(world_);
  EXPECT_THAT(
      RunProgram({"report", "--out", path_}, world_),
      Ends(
          0,
          Err(HasSubstr(absl::StrCat("saved to ", path_, ": demo: FAIL on a"))),
          Out("")));
  const std::string html = FileContent(path_);
  EXPECT_THAT(html, HasSubstr("FAIL: demo is not ready"));
  EXPECT_THAT(html, Tells("html-since", "pass", "2222c4d5e6f70812", "fail"));
  EXPECT_THAT(html, HasSubstr("&lt;DOWN&gt;"));
  EXPECT_EQ(controller.history_requests()[0].limit(), 1u);
  EXPECT_THAT(controller.history_requests()[1].kinds(),
              ElementsAre(HISTORY_CHECK));
  EXPECT_EQ(controller.history_requests()[1].before_id(), "3fa2c4d5e6f70812");
}

TEST_F(ReportCommandTest, TakesTheCheckBeforeThatTheScheduleNames) {
  RecordOf("3fa2c4d5e6f70812", world_.script)
      .mutable_entry()
      ->set_previous_id("4444c4d5e6f70812");
  AddCheck("4444c4d5e6f70812", {"a", "b"}, FAIL, world_.script);
  world_.script.history = {PageOf({"2222c4d5e6f70812"})};
  EXPECT_THAT(
      RunProgram({"report", "3fa2c4d5e6f70812", "--out", "-"}, world_),
      Ends(0, Err(""),
           Out(Tells("html-since", "fail", "4444c4d5e6f70812", "fail"))));
}

TEST_F(ReportCommandTest, SaysWhereThereIsNoneToCompareWith) {
  world_.script.history = {PageOf({"1111c4d5e6f70812"})};
  EXPECT_EQ(
      RunProgram({"report", "3fa2c4d5e6f70812", "--out", path_}, world_).status,
      0);
  EXPECT_THAT(FileContent(path_), Tells("html-not-compared"));
}

TEST_F(ReportCommandTest, TheFileMayBeReadByWhomTheUmaskLets) {
  const std::string path = absl::StrCat(path_, ".new");
  const mode_t before = umask(0027);
  const ProgramOutput output =
      RunProgram({"report", "3fa2c4d5e6f70812", "--out", path}, world_);
  umask(before);
  EXPECT_EQ(output.status, 0) << output.err;
  struct stat status;
  ASSERT_EQ(stat(path.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0640u);
}

TEST_F(ReportCommandTest, LeavesTheOldFileWhereItHasNothingToWrite) {
  EXPECT_THAT(RunProgram({"report", "--out", path_}, world_),
              Ends(3, Err(Tells("msg-job-history-without-check"))));
  RecordOf("3fa2c4d5e6f70812", world_.script).clear_report();
  RecordOf("3fa2c4d5e6f70812", world_.script).mutable_plan();
  EXPECT_THAT(
      RunProgram({"report", "3fa2c4d5e6f70812", "--out", path_}, world_),
      Ends(3,
           Err(Tells("msg-job-run-not-a-check", "RUN", "3fa2c4d5e6f70812"))));
  EXPECT_EQ(FileContent(path_), "old");
}

TEST_F(ReportCommandTest, AsksNothingWhereTheFileCannotBeMade) {
  WatchedController controller(world_);
  EXPECT_THAT(RunProgram({"report", "x!", "--out",
                          absl::StrCat(path_, "/no/report.html")},
                         world_),
              Ends(3, Err(HasSubstr("--out ")), Err(HasSubstr("RUN"))));
  EXPECT_TRUE(controller.history_requests().empty());
  EXPECT_THAT(RunProgram({"report"}, world_).err, HasSubstr("--out"));
}

}  // namespace
}  // namespace clusterd
