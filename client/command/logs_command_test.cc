#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"
#include "tests/support/wait/from_text.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::ElementsAre, ::testing::EndsWith,
    ::testing::HasSubstr, ::testing::Not;

constexpr char kPlog[] = "/home/ann/ascend/log/debug/plog/plog-1.log";

LogsEvent EventOf(const std::string& name) {
  auto event = FromText<LogsEvent>(R"(
      host {logs {
        read_bytes: 5000
        hits {code: "EI0006" line: 88 count: 6
              text: "[ERROR] HCCL(1): Getting socket\x1b[2J times out"}
        files {user: "ann" size_bytes: 5000 changed_at_ms: 1735689600000
               content: "HF_TOKEN=hunter2\nEI0006\n"}}})");
  HostLogs& logs = *event.mutable_host()->mutable_logs();
  event.mutable_host()->set_host(name);
  logs.mutable_hits(0)->set_file(kPlog);
  logs.mutable_files(0)->set_path(kPlog);
  return event;
}

ProgramWorld WorldOfLogs() {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  world.script.logs_events = {EventOf("server1"), EventOf("server0")};
  MergeText(R"(host {logs {hits {code: "EJ0003" count: 1}}})",
            &world.script.logs_events[0]);
  CheckEvent report;
  report.mutable_report()->set_schema_version(1);
  world.script.check_events = {report};
  return world;
}

TEST(LogsCommandTest, FoldsHostsByCodeAndSaysWhatIsKnownOfIt) {
  const ProgramOutput output = RunProgram({"logs"}, WorldOfLogs());
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(
      output.out,
      AllOf(HasSubstr("EI0006  " +
                      Say("logs-lines-on", Counted(12, "line"), "server[0-1]")),
            HasSubstr(absl::StrCat("first  server0:", kPlog, ":88\n")),
            HasSubstr("net-health"), HasSubstr("`clusterctl explain EI0006`"),
            HasSubstr("\\x1b[2J"), HasSubstr("2 codes; 2 files")));
  // The most frequent code is last, next to the prompt.
  EXPECT_LT(output.out.find("EJ0003"), output.out.find("EI0006  12"));
}

TEST(LogsCommandTest, SpeaksChineseToPeopleAlone) {
  ProgramWorld world = WorldOfLogs();
  LogDetail& detail = *world.script.logs_events[0]
                           .mutable_host()
                           ->mutable_logs()
                           ->mutable_hits(0)
                           ->add_details();
  detail.set_kind(LogDetail::SAME_DEVICE);
  detail.set_here("10.20.0.9");
  const std::string english = RunProgram({"logs", "-o", "json"}, world).out;
  EXPECT_THAT(english, HasSubstr("both ends are 10.20.0.9"));
  world.environment["CLUSTERD_LANG"] = "zh";
  EXPECT_EQ(RunProgram({"logs", "-o", "json"}, world).out, english);
  EXPECT_THAT(RunProgram({"logs"}, world).out,
              AllOf(HasSubstr("EI0006  server[0-1] 上 12 行："),
                    HasSubstr("  两端   两端均为 10.20.0.9："),
                    HasSubstr("2 种错误码；2 个文件")));
}

TEST(LogsCommandTest, NamesPeersAmongTheHostsThatWereNotAsked) {
  ProgramWorld world = WorldOfLogs();
  ClusterSpec& spec = *world.script.spec.mutable_spec();
  for (int i = 0; i < 2; ++i) {
    spec.mutable_servers(i)->set_address(absl::StrCat("10.0.0.", i + 1));
    spec.mutable_servers(i)->mutable_devices(0)->set_address(
        absl::StrCat("10.20.0.", i + 1));
  }
  world.script.logs_events = {EventOf("server1")};
  LogHit& hit =
      *world.script.logs_events[0].mutable_host()->mutable_logs()->mutable_hits(
          0);
  for (const auto& [here, there] :
       {std::pair<const char*, const char*>{"10.20.0.2", "10.20.0.1"},
        {"10.0.0.2", "10.0.0.1"},
        {"10.20.0.2", "10.20.0.9"}}) {
    LogDetail& link = *hit.add_details();
    MergeText("kind: LINK here_rank: 1 status: 'time out'", &link);
    link.set_here(here);
    link.set_there(there);
  }
  LogDetail& ranks = *hit.add_details();
  ranks.set_kind(LogDetail::MISSING_RANKS);
  ranks.add_ranks(0);
  const ProgramOutput output =
      RunProgram({"logs", "server1", "-o", "json"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  const auto answer = FromJson<LogsAnswer>(output.out);
  ASSERT_EQ(answer.codes_size(), 1);
  const auto end = [](int rank, const char* name, const char* address) {
    return Worded("logs-end", rank, Worded("logs-place", name, address));
  };
  const FindingValue here = end(1, "server1 device 0", "10.20.0.2");
  EXPECT_THAT(
      answer.codes(0).details(),
      ElementsAre(
          Tells("logs-waited", here, end(0, "server0 device 0", "10.20.0.1"),
                "time out", ""),
          Tells("logs-waited", end(1, "server1", "10.0.0.2"),
                end(0, "server0", "10.0.0.1"), "time out", ""),
          Tells("logs-waited", here, Worded("logs-end", 0, "10.20.0.9"),
                "time out", ""),
          // A job of the requested hosts, as far as that is known.
          Tells("logs-ranks-by-spec",
                Worded("logs-place", 0, "server1 device 0"))));
}

TEST(LogsCommandTest, AsksForWhatTheLineSays) {
  ProgramWorld world = WorldOfLogs();
  WatchedController controller(world);
  EXPECT_EQ(RunProgram({"logs", "server1", "--job", "7", "--user", "ann",
                        "--since", "1h", "--bytes", "2M"},
                       world)
                .status,
            0);
  const LogsRequest request = *controller.logs_request();
  EXPECT_THAT(request.hosts(), ElementsAre("server1"));
  EXPECT_EQ(request.query().job_id(), "7");
  EXPECT_EQ(request.query().user(), "ann");
  EXPECT_EQ(request.query().since_ms(), 1735689600000 - 3600000);
  EXPECT_EQ(request.query().max_read_bytes(), 2u << 20);
  EXPECT_EQ(request.query().max_sent_bytes(), 0u);
  EXPECT_FALSE(request.record());
}

TEST(LogsCommandTest, PrintsOneJsonDocument) {
  const auto answer = FromJson<LogsAnswer>(
      RunProgram({"logs", "-o", "json"}, WorldOfLogs()).out);
  EXPECT_GT(answer.schema_version(), 0u);
  ASSERT_EQ(answer.codes_size(), 2);
  EXPECT_EQ(answer.codes(1).code(), "EI0006");
  EXPECT_EQ(answer.codes(1).lines(), 12u);
  EXPECT_THAT(answer.codes(1).hosts(), ElementsAre("server0", "server1"));
  EXPECT_EQ(RunProgram({"logs", "-o", "short"}, WorldOfLogs()).out,
            "EJ0003 1 on server1; EI0006 12 on server[0-1]\n");
}

TEST(LogsCommandTest, IsNotWholeWhereAHostCannotBeRead) {
  ProgramWorld world = WorldOfLogs();
  world.script.logs_events.pop_back();
  LogsEvent none;
  none.mutable_host()->set_host("server0");
  none.mutable_host()->mutable_logs()->mutable_missing()->set_detail("why");
  world.script.logs_events.push_back(none);
  EXPECT_THAT(RunProgram({"logs"}, world),
              Ends(2, Out(HasSubstr("server0: why"))));
  world.script.logs_events.pop_back();
  EXPECT_THAT(RunProgram({"logs"}, world),
              Ends(2, Err(Tells("ctl-answer-leaves-out", 1, "server0"))));
}

TEST(LogsCommandTest, HostsWithoutLogsAreAnAnswer) {
  ProgramWorld world = WorldOfLogs();
  for (LogsEvent& event : world.script.logs_events) {
    event.mutable_host()->mutable_logs()->Clear();
  }
  const std::string none = Say("logs-none-on", Counted(2, "host"));
  EXPECT_THAT(RunProgram({"logs"}, world),
              Ends(0, Out(EndsWith(absl::StrCat(none, "; ",
                                                Say("logs-try-user"), "\n")))));
  // The advice leaves out options that were given.
  EXPECT_THAT(RunProgram({"logs", "--user", "ann"}, world).out,
              EndsWith(none + "\n"));
  EXPECT_THAT(RunProgram({"logs", "--user", "ann", "--since", "1h"}, world).out,
              EndsWith(absl::StrCat(none, "; ", Say("logs-try-since"), "\n")));
  EXPECT_EQ(RunProgram({"logs", "-o", "short"}, world).out, "no logs\n");
  // With files but no code, the text differs.
  world.script.logs_events[0].mutable_host()->mutable_logs()->add_files();
  EXPECT_THAT(RunProgram({"logs"}, world).out,
              HasSubstr(Say("logs-no-code") + "; 1 file"));
}

TEST(LogsCommandTest, NamesEveryWrongOption) {
  EXPECT_THAT(RunProgram({"logs", "--since", "yesterday", "--bytes", "0"},
                         WorldOfLogs()),
              Ends(3, Err(Tells("msg-time-not-valid", "--since", "yesterday")),
                   Err(HasSubstr("--bytes: \"0\", expected"))));
  // It would leave out every file.
  EXPECT_THAT(
      RunProgram({"logs", "--since", "2099-01-01"}, WorldOfLogs()),
      Ends(3, Err(Tells("msg-time-in-future", "--since", "2099-01-01"))));
}

TEST(BundleCommandTest, WritesAnArchiveThatTarReadsWithoutSecrets) {
  const std::string path = absl::StrCat(testing::TempDir(), "/ticket.tar.gz");
  std::remove(path.c_str());
  ProgramWorld world = WorldOfLogs();
  for (LogsEvent& event : world.script.logs_events) {
    HostRecording& recording = *event.mutable_host()->mutable_recording();
    recording.mutable_facts()->set_host(event.host().host());
    MergeText(R"(
        runs {argv: "hccn_tool" argv: "-g" standard_output: "link status: UP\n"
        hccn_conf_before: "address_0=10.0.0.1\n"}
        runs {argv: "/usr/local/sbin/npu-smi" argv: "info"
        standard_output: "| npu-smi 24.1.rc1 |\n"})",
              &recording);
    recording.set_kernel_log("[1.0] devmm: out of memory\n" +
                             std::string(128 << 10, 'k'));
    recording.set_msnpureport("/opt/driver/tools/msnpureport");
    recording.set_complete(true);
  }
  world.script.logs_events[0].mutable_host()->set_host("../server1");
  EXPECT_THAT(RunProgram({"bundle", "--out", path}, world),
              Ends(0, Out(HasSubstr("2 secrets taken out"))));
  const std::string list = OutputOf(absl::StrCat("tar -tzf '", path, "' 2>&1"));
  EXPECT_THAT(list, AllOf(HasSubstr("clusterd-bundle/INDEX.txt\n"),
                          HasSubstr("-bundle/check.json\n"),
                          HasSubstr("-bundle/server0/facts.json\n"),
                          HasSubstr("server0/hccn_tool.txt\n"),
                          HasSubstr("server0/hccn.conf\n"),
                          HasSubstr("server0/npu-smi.txt\n"),
                          HasSubstr("server0/dmesg.txt\n"),
                          HasSubstr("server0/logs/001-plog-1.log\n"),
                          Not(HasSubstr("../"))));
  const std::string all = OutputOf(absl::StrCat("tar -xOzf '", path, "' 2>&1"));
  EXPECT_THAT(
      all,
      AllOf(HasSubstr("HF_TOKEN=[removed]\nEI0006\n"),
            Not(HasSubstr("hunter2")), HasSubstr("taken out: 1 value"),
            HasSubstr("last 24 of 5000 bytes"), HasSubstr("its last 128 KiB"),
            HasSubstr("$ hccn_tool -g\nlink status: UP\n[status 0"),
            HasSubstr("/npu-smi info\n| npu-smi "),
            HasSubstr("[1.0] devmm: out of"),
            HasSubstr("server0: the devices' own logs: run /opt/driver"),
            HasSubstr("by [removed]: 2 value")));
  EXPECT_EQ(OutputOf(absl::StrCat("stat -c %a '", path, "'")), "600\n");
  EXPECT_THAT(RunProgram({"bundle", "--out", path}, world),
              Ends(3, Err(HasSubstr("already exists"))));
}

TEST(BundleCommandTest, IsNotWholeWithoutWhatAHostCouldNotGet) {
  const std::string path = absl::StrCat(testing::TempDir(), "/gaps.tar.gz");
  std::remove(path.c_str());
  ProgramWorld world = WorldOfLogs();
  for (LogsEvent& event : world.script.logs_events) {
    event.mutable_host()->mutable_recording()->set_complete(true);
  }
  world.script.logs_events[0].mutable_host()->mutable_recording()->add_gaps(
      "`dmesg`: status 1");
  EXPECT_EQ(RunProgram({"bundle", "--out", path}, world).status, 2);
  EXPECT_THAT(OutputOf(absl::StrCat("tar -xOzf '", path,
                                    "' clusterd-bundle/INDEX.txt")),
              AllOf(HasSubstr("server1: `dmesg`: status 1"),
                    HasSubstr("dmesg.txt"), Not(HasSubstr("128 KiB"))));
}

TEST(BundleCommandTest, TakesFactsOfHostsThatDoNotAllowMore) {
  const std::string path = absl::StrCat(testing::TempDir(), "/facts.tar.gz");
  std::remove(path.c_str());
  ProgramWorld world = WorldOfLogs();
  world.script.logs_events.clear();
  for (const char* name : {"server0", "server1"}) {
    LogsEvent event;
    event.mutable_host()->set_host(name);
    event.mutable_host()->set_error("answered: no");
    world.script.logs_events.push_back(event);
  }
  world.script.description.mutable_facts()->set_host("server0");
  EXPECT_EQ(RunProgram({"bundle", "--out", path}, world).status, 2);
  EXPECT_THAT(OutputOf(absl::StrCat("tar -xOzf '", path, "' 2>&1")),
              AllOf(HasSubstr("server0/facts.json"),
                    HasSubstr("server1: answered: no")));
}

TEST(BundleCommandTest, WritesNothingWhenTheControllerRefuses) {
  const std::string path = absl::StrCat(testing::TempDir(), "/no.tar.gz");
  std::remove(path.c_str());
  ProgramWorld world = WorldOfLogs();
  world.script.logs_status = {grpc::StatusCode::PERMISSION_DENIED, "role"};
  EXPECT_THAT(RunProgram({"bundle", "--out", path}, world),
              Ends(2, Err(HasSubstr("role"))));
  EXPECT_FALSE(std::ifstream(path).good());
}

}  // namespace
}  // namespace clusterd
