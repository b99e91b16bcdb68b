#include <cstdio>
#include <fstream>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "google/protobuf/util/json_util.h"
#include "gtest/gtest.h"
#include "tests/support/client/fake_controller.h"
#include "tests/support/client/program_run.h"

namespace clusterd {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

LogsEvent EventOf(const std::string& name) {
  LogsEvent event;
  LogsOfHost& host = *event.mutable_host();
  host.set_host(name);
  LogHit& hit = *host.mutable_logs()->add_hits();
  hit.set_code("EI0006");
  hit.set_file("/home/ann/ascend/log/debug/plog/plog-1.log");
  hit.set_line(88);
  hit.set_text("[ERROR] HCCL(1): Getting socket\x1b[2J times out");
  hit.set_count(6);
  LogFile& file = *host.mutable_logs()->add_files();
  file.set_path(hit.file());
  file.set_user("ann");
  file.set_size_bytes(5000);
  file.set_changed_at_ms(1735689600000);
  file.set_content("HF_TOKEN=hunter2\nEI0006\n");
  host.mutable_logs()->set_read_bytes(5000);
  return event;
}

ProgramWorld WorldOfLogs() {
  ProgramWorld world;
  *world.script.spec.mutable_spec() = SpecOfServers(2);
  world.script.logs_events = {EventOf("server1"), EventOf("server0")};
  LogHit& rare =
      *world.script.logs_events[0].mutable_host()->mutable_logs()->add_hits();
  rare.set_code("EJ0003");
  rare.set_count(1);
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
      AllOf(HasSubstr("EI0006  12 lines on server[0-1]: no connection"),
            HasSubstr("first  server0:/home/ann/ascend/log/debug/plog/"
                      "plog-1.log:88\n"),
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
    link.set_kind(LogDetail::LINK);
    link.set_here(here);
    link.set_here_rank(1);
    link.set_there(there);
    link.set_status("time out");
  }
  LogDetail& ranks = *hit.add_details();
  ranks.set_kind(LogDetail::MISSING_RANKS);
  ranks.add_ranks(0);
  const ProgramOutput output =
      RunProgram({"logs", "server1", "-o", "json"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  LogsAnswer answer;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(output.out, &answer).ok());
  ASSERT_EQ(answer.codes_size(), 1);
  EXPECT_THAT(
      answer.codes(0).details(),
      ElementsAre(HasSubstr("rank 1 on server1 device 0 (10.20.0.2) waited for "
                            "rank 0 on server0 device 0 (10.20.0.1): time out"),
                  HasSubstr("server1 (10.0.0.2) waited for rank 0 on server0 "
                            "(10.0.0.1): time out"),
                  HasSubstr("rank 0 on 10.20.0.9: time out"),
                  // A job of the requested hosts, as far as that is known.
                  HasSubstr("missing ranks: 0 (server1 device 0)")));
}

TEST(LogsCommandTest, AsksForWhatTheLineSays) {
  ProgramWorld world = WorldOfLogs();
  FakeController controller(world.script);
  world.controller = &controller;
  const ProgramOutput output =
      RunProgram({"logs", "server1", "--job", "7", "--user", "ann", "--since",
                  "1h", "--bytes", "2M"},
                 world);
  EXPECT_EQ(output.status, 0) << output.err;
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
  const ProgramOutput output =
      RunProgram({"logs", "-o", "json"}, WorldOfLogs());
  LogsAnswer answer;
  ASSERT_TRUE(
      google::protobuf::util::JsonStringToMessage(output.out, &answer).ok());
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
  none.mutable_host()->mutable_logs()->mutable_missing()->set_detail(
      "this host does not allow logs");
  world.script.logs_events.push_back(none);
  const ProgramOutput output = RunProgram({"logs"}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.out, HasSubstr("server0: this host does not allow logs"));
  world.script.logs_events.pop_back();
  const ProgramOutput left = RunProgram({"logs"}, world);
  EXPECT_EQ(left.status, 2);
  EXPECT_THAT(left.err, HasSubstr("leaves out 1 of the hosts"));
}

TEST(LogsCommandTest, HostsWithoutLogsAreAnAnswer) {
  ProgramWorld world = WorldOfLogs();
  for (LogsEvent& event : world.script.logs_events) {
    event.mutable_host()->mutable_logs()->Clear();
  }
  const ProgramOutput output = RunProgram({"logs"}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out,
              AllOf(HasSubstr("there are no logs on 2 hosts; --user "
                              "NAME reads those of one user\n"),
                    Not(HasSubstr("--since"))));
  // The advice leaves out options that were given.
  EXPECT_THAT(RunProgram({"logs", "--user", "ann"}, world).out,
              HasSubstr("there are no logs on 2 hosts\n"));
  EXPECT_THAT(
      RunProgram({"logs", "--user", "ann", "--since", "1h"}, world).out,
      HasSubstr("on 2 hosts; an earlier --since takes in older files\n"));
  EXPECT_EQ(RunProgram({"logs", "-o", "short"}, world).out, "no logs\n");
  // With files but no code, the text differs.
  world.script.logs_events[0].mutable_host()->mutable_logs()->add_files();
  EXPECT_THAT(RunProgram({"logs"}, world).out,
              HasSubstr("the logs have no code of HCCL; 1 file"));
}

TEST(LogsCommandTest, NamesEveryWrongOption) {
  const ProgramOutput output = RunProgram(
      {"logs", "--since", "yesterday", "--bytes", "0"}, WorldOfLogs());
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(output.err, AllOf(HasSubstr("--since: \"yesterday\", expected"),
                                HasSubstr("--bytes: \"0\", expected")));
}

TEST(LogsCommandTest, AMomentThatIsYetToComeWouldLeaveOutEveryFile) {
  const ProgramOutput output =
      RunProgram({"logs", "--since", "2099-01-01"}, WorldOfLogs());
  EXPECT_EQ(output.status, 3);
  EXPECT_THAT(output.err,
              HasSubstr("--since: \"2099-01-01\" is in the future, expected"));
}

std::string Ask(const std::string& command) {
  std::string said;
  FILE* const pipe = popen(command.c_str(), "r");
  char buffer[4096];
  while (const size_t got = fread(buffer, 1, sizeof(buffer), pipe)) {
    said.append(buffer, got);
  }
  EXPECT_EQ(pclose(pipe), 0) << command;
  return said;
}

TEST(BundleCommandTest, WritesAnArchiveThatTarReadsWithoutSecrets) {
  const std::string path = absl::StrCat(testing::TempDir(), "/ticket.tar.gz");
  std::remove(path.c_str());
  ProgramWorld world = WorldOfLogs();
  for (LogsEvent& event : world.script.logs_events) {
    HostRecording& recording = *event.mutable_host()->mutable_recording();
    recording.mutable_facts()->set_host(event.host().host());
    HostRecording::Run& run = *recording.add_runs();
    run.add_argv("hccn_tool");
    run.add_argv("-g");
    run.set_standard_output("link status: UP\n");
    run.set_hccn_conf_before("address_0=10.0.0.1\n");
    HostRecording::Run& table = *recording.add_runs();
    table.add_argv("/usr/local/sbin/npu-smi");
    table.add_argv("info");
    table.set_standard_output("| npu-smi 24.1.rc1 |\n");
    recording.set_kernel_log("[1.0] devmm: out of memory\n" +
                             std::string(128 << 10, 'k'));
    recording.set_msnpureport("/opt/driver/tools/msnpureport");
    recording.set_complete(true);
  }
  world.script.logs_events[0].mutable_host()->set_host("../server1");
  const ProgramOutput output = RunProgram({"bundle", "--out", path}, world);
  EXPECT_EQ(output.status, 0) << output.err;
  EXPECT_THAT(output.out, HasSubstr("2 secrets taken out"));
  const std::string list = Ask(absl::StrCat("tar -tzf '", path, "' 2>&1"));
  EXPECT_THAT(list, AllOf(HasSubstr("clusterd-bundle/INDEX.txt\n"),
                          HasSubstr("clusterd-bundle/check.json\n"),
                          HasSubstr("clusterd-bundle/server0/facts.json\n"),
                          HasSubstr("server0/hccn_tool.txt\n"),
                          HasSubstr("server0/hccn.conf\n"),
                          HasSubstr("server0/npu-smi.txt\n"),
                          HasSubstr("server0/dmesg.txt\n"),
                          HasSubstr("server0/logs/001-plog-1.log\n"),
                          Not(HasSubstr("../"))));
  const std::string all = Ask(absl::StrCat("tar -xOzf '", path, "' 2>&1"));
  EXPECT_THAT(
      all, AllOf(HasSubstr("HF_TOKEN=[removed]\nEI0006\n"),
                 Not(HasSubstr("hunter2")), HasSubstr("taken out: 1 value"),
                 HasSubstr("cut: the last 24 of 5000 bytes"),
                 HasSubstr("cut: its last 128 KiB"),
                 HasSubstr("$ hccn_tool -g\nlink status: UP\n[status 0"),
                 HasSubstr("$ /usr/local/sbin/npu-smi info\n| npu-smi "),
                 HasSubstr("[1.0] devmm: out of memory\n"),
                 HasSubstr("server0: the devices' own logs: run /opt/driver"),
                 HasSubstr("Secrets taken out, each replaced by [removed]: "
                           "2 value")));
  EXPECT_EQ(Ask(absl::StrCat("stat -c %a '", path, "'")), "600\n");
  const ProgramOutput again = RunProgram({"bundle", "--out", path}, world);
  EXPECT_EQ(again.status, 3);
  EXPECT_THAT(again.err, HasSubstr("already exists"));
}

TEST(BundleCommandTest, IsNotWholeWithoutWhatAHostCouldNotGet) {
  const std::string path = absl::StrCat(testing::TempDir(), "/gaps.tar.gz");
  std::remove(path.c_str());
  ProgramWorld world = WorldOfLogs();
  for (LogsEvent& event : world.script.logs_events) {
    event.mutable_host()->mutable_recording()->set_complete(true);
  }
  world.script.logs_events[0].mutable_host()->mutable_recording()->add_gaps(
      "kernel log: `dmesg`: status 1");
  EXPECT_EQ(RunProgram({"bundle", "--out", path}, world).status, 2);
  EXPECT_THAT(
      Ask(absl::StrCat("tar -xOzf '", path, "' clusterd-bundle/INDEX.txt")),
      AllOf(HasSubstr("server1: kernel log: `dmesg`: status 1"),
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
    event.mutable_host()->set_error("recording: clusterd answered: no");
    world.script.logs_events.push_back(event);
  }
  world.script.description.mutable_facts()->set_host("server0");
  const ProgramOutput output = RunProgram({"bundle", "--out", path}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(Ask(absl::StrCat("tar -xOzf '", path, "' 2>&1")),
              AllOf(HasSubstr("server0/facts.json"),
                    HasSubstr("server1: recording: clusterd answered: no")));
}

TEST(BundleCommandTest, WritesNothingWhenTheControllerRefuses) {
  const std::string path = absl::StrCat(testing::TempDir(), "/no.tar.gz");
  std::remove(path.c_str());
  ProgramWorld world = WorldOfLogs();
  world.script.logs_status =
      grpc::Status(grpc::StatusCode::PERMISSION_DENIED, "needs operator");
  const ProgramOutput output = RunProgram({"bundle", "--out", path}, world);
  EXPECT_EQ(output.status, 2);
  EXPECT_THAT(output.err, HasSubstr("needs operator"));
  EXPECT_FALSE(std::ifstream(path).good());
}

}  // namespace
}  // namespace clusterd
