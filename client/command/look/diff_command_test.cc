#include <string>

#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

HistoryRecord Check(const std::string& id, const Report& report) {
  HistoryRecord record;
  record.mutable_entry()->set_id(id);
  record.mutable_entry()->set_kind(HISTORY_CHECK);
  record.mutable_entry()->set_hosts(static_cast<uint32_t>(report.hosts_size()));
  *record.mutable_report() = report;
  record.mutable_report()->set_run_id(id);
  return record;
}

Report Healthy(const std::vector<std::string>& hosts) {
  return PassingReport(hosts);
}

Report Failing(const std::vector<std::string>& hosts) {
  Report report = PassingReport(hosts);
  report.set_verdict(FAIL);
  report.mutable_rules(0)->set_state(FAIL);
  Finding& finding = *report.mutable_rules(0)->add_findings();
  finding.set_rule("link");
  finding.set_state(FAIL);
  finding.set_observed("link is DOWN");
  finding.add_subjects()->set_host(hosts[0]);
  return report;
}

Report WithoutRule(const std::vector<std::string>& hosts) {
  Report report = PassingReport(hosts);
  report.mutable_rules(0)->set_state(SKIPPED);
  report.mutable_rules(0)->set_not_run(true);
  return report;
}

// All are in the history, newest first; its list leaves out the first one.
ProgramWorld WorldOf(const std::vector<HistoryRecord>& records) {
  ProgramWorld world;
  world.script.records = records;
  ListHistoryResponse list;
  for (size_t i = 1; i < records.size(); ++i) {
    *list.add_entries() = records[i].entry();
  }
  world.script.history = {list};
  return world;
}

const std::vector<std::string> kHosts = {"node0", "node1"};

TEST(DiffCommandTest, ComparesTwoChecksTheEarlierOneFirst) {
  const ProgramWorld world = WorldOf(
      {Check("bbbb1111", Failing(kHosts)), Check("aaaa1111", Healthy(kHosts))});
  EXPECT_THAT(
      RunProgram({"diff", "aaaa", "bbbb"}, world),
      Ends(1, Out(HasSubstr("× " + Say("history-worse", "link", "node0", "pass",
                                       "fail", "link is DOWN")))));
  EXPECT_THAT(RunProgram({"diff", "bbbb", "aaaa", "-o", "short"}, world),
              Ends(0, Out("bbbb1111 to aaaa1111: 1 resolved\n")));
}

TEST(DiffCommandTest, SpeaksChineseAndPrintsTheSameJson) {
  TestCluster cluster("atlas-training");
  const Report before = cluster.MakeReport();
  cluster.device(0, 3).mutable_link()->set_value(LinkFact::DOWN);
  ProgramWorld world = WorldOf(
      {Check("bbbb1111", cluster.MakeReport()), Check("aaaa1111", before)});
  const std::string json =
      RunProgram({"diff", "aaaa", "bbbb", "-o", "json"}, world).out;
  EXPECT_THAT(json, HasSubstr("\"observed\": \"link is DOWN\""));
  world.environment["CLUSTERD_LANG"] = "zh";
  EXPECT_EQ(RunProgram({"diff", "aaaa", "bbbb", "-o", "json"}, world).out,
            json);
  const ProgramOutput table = RunProgram({"diff", "aaaa", "bbbb"}, world);
  EXPECT_THAT(table.out, HasSubstr("链路为 DOWN"));
  EXPECT_THAT(table.out, HasSubstr("检查线缆、光模块和交换机端口"));
  EXPECT_THAT(table.out, Not(HasSubstr("link is DOWN")));
}

TEST(DiffCommandTest, ExitsWithTwoWhereNothingIsWorseAndNotAllIsJudged) {
  const ProgramWorld world = WorldOf({Check("bbbb1111", WithoutRule(kHosts)),
                                      Check("aaaa1111", Failing(kHosts))});
  EXPECT_THAT(
      RunProgram({"diff", "aaaa", "bbbb"}, world),
      Ends(2, Out(HasSubstr("fail -> not judged")),
           Out(Tells("diff-only-judged", Worded("diff-older"), "link"))));
}

TEST(DiffCommandTest, ComparesWithTheNewestCheckBeforeOfTheSameHosts) {
  HistoryRecord of_job = Check("dddd1111", Failing(kHosts));
  of_job.mutable_report()->set_job_id("slurm:1");
  HistoryRecord of_schedule = Check("cccc1111", Healthy(kHosts));
  of_schedule.mutable_entry()->set_previous_id("aaaa1111");
  const struct {
    std::vector<HistoryRecord> records;
    const char* id;
    const char* line;
  } kCases[] = {{{Check("eeee1111", Failing(kHosts)),
                  Check("cccc1111", Failing({"node0", "node2"})), of_job,
                  Check("bbbb1111", Healthy({"node1", "node0"})),
                  Check("aaaa1111", Failing(kHosts))},
                 "eeee",
                 "bbbb1111 to eeee1111: 1 worse\n"},
                // Or with the one that the controller names.
                {{of_schedule, Check("bbbb1111", Healthy(kHosts)),
                  Check("aaaa1111", Failing(kHosts))},
                 "cccc",
                 "aaaa1111 to cccc1111: 1 resolved\n"}};
  for (const auto& each : kCases) {
    const ProgramOutput output =
        RunProgram({"diff", each.id, "-o", "short"}, WorldOf(each.records));
    EXPECT_EQ(output.out, each.line) << output.err;
  }
  // Without an id it is the newest one.
  ProgramWorld world = WorldOf(
      {Check("bbbb1111", Failing(kHosts)), Check("aaaa1111", Healthy(kHosts))});
  ListHistoryResponse newest;
  *newest.add_entries() = world.script.records[0].entry();
  world.script.history.insert(world.script.history.begin(), newest);
  EXPECT_EQ(RunProgram({"diff", "-o", "short"}, world).out,
            "aaaa1111 to bbbb1111: 1 worse\n");
}

TEST(DiffCommandTest, SaysWhatItCannotCompare) {
  ProgramWorld world = WorldOf({Check("bbbb1111", Failing(kHosts))});
  EXPECT_THAT(RunProgram({"diff", "bbbb"}, world),
              Ends(3, Err(Tells("msg-job-no-earlier-check", "bbbb1111"))));
  world.script.records[0].clear_report();
  world.script.records[0].mutable_entry()->set_kind(HISTORY_APPLY);
  EXPECT_THAT(RunProgram({"diff", "bbbb"}, world),
              Ends(3, Err(Tells("msg-job-run-not-a-check", "RUN", "bbbb"))));
  world.script.history = {ListHistoryResponse()};
  EXPECT_THAT(RunProgram({"diff"}, world),
              Ends(3, Err(Tells("msg-job-history-without-check"))));
  EXPECT_THAT(RunProgram({"diff", "x!"}, world).err, HasSubstr("RUN: \"x!\""));
  world.environment["CLUSTERD_LANG"] = "zh";
  EXPECT_THAT(RunProgram({"diff"}, world).err,
              HasSubstr("历史记录中还没有检查"));
}

TEST(DiffCommandTest, PrintsJsonAndYaml) {
  const ProgramWorld world = WorldOf(
      {Check("bbbb1111", Failing(kHosts)), Check("aaaa1111", Healthy(kHosts))});
  EXPECT_THAT(RunProgram({"diff", "aaaa", "bbbb", "-o", "json"}, world),
              Ends(1, Out(HasSubstr("\"schema_version\": 1")),
                   Out(HasSubstr("\"before\": \"PASS\""))));
  EXPECT_THAT(RunProgram({"diff", "aaaa", "bbbb", "-o", "yaml"}, world).out,
              HasSubstr("before_run_id: "));
}

}  // namespace
}  // namespace clusterd
