#include "client/recording/recording.h"

#include <gmock/gmock.h>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace clusterd {
namespace {

using ::testing::Each, ::testing::ElementsAre, ::testing::HasSubstr,
    ::testing::Not;

constexpr char kLldp[] =
    "Chassis ID TLV\n\tMAC: 00:11:22:33:44:55\nPort ID TLV\n"
    "\tIfname: 400GE1/1/20:2\nPort Description TLV\n\tto node-07 npu 0\n"
    "System Name TLV\n\tleaf-01.dc.example\nSystem Description TLV\n"
    "\tVersatile Routing Platform Software\nManagement Address TLV\n"
    "\tIPv4: 26.1.2.3\nEnd of LLDPDU TLV\n\n";

HostRecording::Run ToolRun(const std::vector<std::string>& arguments,
                           const std::string& standard_output,
                           const std::string& standard_error = "",
                           int status = 0) {
  HostRecording::Run run;
  run.add_argv("/usr/local/Ascend/driver/tools/hccn_tool");
  for (const std::string& word : arguments) run.add_argv(word);
  run.set_standard_output(standard_output);
  run.set_standard_error(standard_error);
  run.set_exit_status(status);
  run.set_elapsed_us(34210);
  run.set_hccn_conf_before("# by Ada\naddress_0=29.1.112.213\nfoo_0=node-07\n");
  run.set_hccn_conf_after(run.hccn_conf_before());
  return run;
}

HostFacts TwoDevices() {
  HostFacts facts;
  facts.set_host("node-07.dc.example");
  facts.mutable_identity()->mutable_npu_series()->set_value("A2");
  facts.mutable_versions()->mutable_driver()->set_value("24.1.rc1");
  for (uint32_t id : {0u, 1u}) {
    DeviceFacts* device = facts.add_devices();
    device->set_id(id);
    Ipv4Setting* setting =
        device->mutable_address()->mutable_value()->add_settings();
    setting->set_address(id == 0 ? "29.1.112.213" : "29.1.112.214");
    setting->set_netmask("255.255.0.0");
    device->mutable_gateway()->set_value("29.1.0.1");
  }
  return facts;
}

std::vector<HostRecording::Run> Observation() {
  return {
      ToolRun({"-i", "1", "-ip", "-g"},
              "ipaddr:29.1.112.214\nnetmask:255.255.0.0\n"),
      ToolRun({"-i", "0", "-ip", "-g"},
              "ipaddr:29.1.112.213\nnetmask:255.255.0.0\n"),
      ToolRun({"-i", "0", "-gateway", "-g"},
              "default gateway:29.1.0.1, Iface:eth0\n"),
      ToolRun({"-i", "0", "-lldp", "-g"}, kLldp),
      ToolRun({"-i", "0", "-tls", "-g"},
              "dev_id:0, tls switch[0](0:disable, 1:enable)\n"
              "\t issuer[/C=CN/O=Example/CN=node-07]\n"),
      ToolRun({"-i", "0", "-mac", "-g"}, "mac addr: 6c:b1:58:00:00:01\n"),
      ToolRun({"-i", "0", "-netdetect", "-g"}, "",
              "Command execute failed! 29.1.112.213 node-07\n", 1),
  };
}

HostRecording RecordingOf(const std::vector<HostRecording::Run>& runs) {
  HostRecording recording;
  *recording.mutable_facts() = TwoDevices();
  recording.mutable_runs()->Assign(runs.begin(), runs.end());
  return recording;
}

std::vector<RunRecord> Records(const std::vector<HostRecording::Run>& runs) {
  return MakeRecords(RecordingOf(runs), AddressMap("k"));
}

TEST(MakeRecordsTest, LeavesNoOriginalAddressOrNameAnywhere) {
  const std::string file = FormatRecords(Records(Observation())).value();
  for (const char* secret :
       {"29.1.112.213", "29.1.112.214", "29.1.0.1", "26.1.2.3", "58:00:00:01",
        "33:44:55", "node-07", "leaf-01", "dc.example", "Example", "Ada",
        "npu 0"}) {
    EXPECT_THAT(file, Not(HasSubstr(secret))) << secret;
  }
}

TEST(MakeRecordsTest, ReplacesOneAddressTheSameWayInEveryField) {
  const std::vector<RunRecord> records = Records(Observation());
  const std::string address =
      AddressMap("k")
          .Replace(Ipv4Address::Parse("29.1.112.213").value())
          .ToString();
  ASSERT_EQ(records[0].name(), "recorded-0-ip-get");
  EXPECT_EQ(records[0].stdout(),
            "ipaddr:" + address + "\nnetmask:255.255.0.0\n");
  EXPECT_THAT(records[0].precondition(),
              HasSubstr("ip.0=" + address + "; mask.0=255.255.0.0"));
  EXPECT_EQ(records[0].hccn_conf_before().string_value(),
            "# removed\naddress_0=" + address + "\nfoo_0=host-1\n");
  EXPECT_EQ(records[5].stderr(),
            "Command execute failed! " + address + " host-1\n");
}

TEST(MakeRecordsTest, KeepsTheGatewayInTheSubnetOfTheAddress) {
  const std::vector<RunRecord> records = Records(Observation());
  const std::vector<std::string> address =
      absl::StrSplit(std::string(records[0].stdout()), absl::ByAnyChar(":.\n"));
  const std::vector<std::string> gateway =
      absl::StrSplit(std::string(records[1].stdout()), absl::ByAnyChar(":.,"));
  EXPECT_EQ(address[1], gateway[1]);
  EXPECT_EQ(address[2], gateway[2]);
  EXPECT_EQ(gateway[4], "1");
}

TEST(MakeRecordsTest, PutsTheLldpAnswerIntoThePrecondition) {
  const std::vector<RunRecord> records = Records(Observation());
  ASSERT_EQ(records[2].group(), "lldp");
  EXPECT_THAT(records[2].stdout(), HasSubstr("System Name TLV\n\tswitch-1\n"));
  EXPECT_THAT(records[2].precondition(),
              HasSubstr("System Name TLV\\n\\tswitch-1\\n"));
  EXPECT_THAT(records[2].precondition(), HasSubstr("End of LLDPDU TLV\\n"));
}

TEST(MakeRecordsTest, OrdersByDeviceAndNamesEachRecordOnce) {
  const std::vector<HostRecording::Run> runs = {
      ToolRun({"-i", "1", "-link", "-g"}, "link status: UP\n"),
      ToolRun({"-i", "0", "-net_health", "-g"}, "net health status: Init\n"),
      ToolRun({"-i", "0", "-net_health", "-g"}, "net health status: Success\n"),
      ToolRun({"-g", "-ip", "-i", "0", "-d", "bond0"}, "x\n"),
  };
  std::vector<std::string> names;
  for (const RunRecord& record : Records(runs)) names.push_back(record.name());
  EXPECT_THAT(names, ElementsAre("recorded-0-net_health-get",
                                 "recorded-0-net_health-get-2",
                                 "recorded-0-ip-get", "recorded-1-link-get"));
}

TEST(MakeRecordsTest, SaysWhichToolRanAndThatNothingIsStubbed) {
  const RunRecord record = Records(Observation())[0];
  EXPECT_EQ(record.product(), "A2");
  EXPECT_EQ(record.build(), "a real host's, driver 24.1.rc1");
  EXPECT_THAT(record.argv(), ElementsAre("hccn_tool", "-i", "0", "-ip", "-g"));
  EXPECT_EQ(record.seconds(), 0.034);
  EXPECT_FALSE(record.device_side_text());
  EXPECT_FALSE(record.timed_out());
}

TEST(MakeRecordsTest, TellsHowARunEnded) {
  HostRecording::Run killed = ToolRun({"-i", "0", "-link", "-g"}, "");
  killed.set_signal(9);
  killed.set_timed_out(true);
  killed.clear_hccn_conf_after();
  HostRecording::Run left = killed;
  left.set_left_running(true);
  left.set_output_cut(true);
  const std::vector<RunRecord> records = Records({killed, left});
  EXPECT_EQ(records[0].exit().number_value(), -9);
  EXPECT_TRUE(records[0].timed_out());
  EXPECT_TRUE(records[0].hccn_conf_after().has_null_value());
  EXPECT_TRUE(records[1].exit().has_null_value());
  EXPECT_THAT(records[1].note(), HasSubstr("could not be killed"));
  EXPECT_THAT(records[1].note(), HasSubstr("longer stream"));
}

TEST(MakeRecordsTest, TellsTheSizeOfAnAnswerThatTheToolCut) {
  std::string cut(kLldp);
  cut += "Maximum Frame Size TLV\n\t";
  cut.resize(1999, '9');
  const RunRecord record =
      Records({ToolRun({"-i", "0", "-lldp", "-g"}, cut + "\n")})[0];
  EXPECT_THAT(record.note(), HasSubstr("output was 2000 bytes"));
}

TEST(MakeRecordsTest, SurvivesBytesThatAreNoText) {
  const std::vector<RunRecord> records =
      Records({ToolRun({"-i", "0", "-lldp", "-g"}, "\xff\xfe\xed\xa0\x80")});
  EXPECT_THAT(records[0].note(), HasSubstr("not UTF-8"));
  EXPECT_TRUE(FormatRecords(records).ok());
}

TEST(ParseHostRecordingTest, ReadsAWholeRecordingOnly) {
  HostRecording recording = RecordingOf(Observation());
  recording.set_complete(true);
  const std::string bytes = recording.SerializeAsString();
  ASSERT_TRUE(ParseHostRecording(bytes).ok());
  EXPECT_EQ(ParseHostRecording(bytes)->runs_size(), recording.runs_size());
  for (size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_TRUE(absl::IsInvalidArgument(
        ParseHostRecording(bytes.substr(0, size)).status()))
        << size;
  }
}

TEST(ParseHostRecordingTest, LeavesOutWhatNobodyAnonymises) {
  HostRecording recording;
  *recording.add_runs() = Observation()[0];
  recording.add_runs()->add_argv("/usr/local/sbin/npu-smi");
  recording.set_complete(true);
  const auto parsed = ParseHostRecording(recording.SerializeAsString());
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  ASSERT_EQ(parsed->runs_size(), 1);
  EXPECT_EQ(parsed->runs(0).argv(0), recording.runs(0).argv(0));
}

TEST(FormatRecordsTest, WritesOneLineWithEveryFieldARecord) {
  const std::string file = FormatRecords(Records(Observation())).value();
  std::vector<std::string> lines = absl::StrSplit(file, '\n');
  ASSERT_EQ(lines.size(), 8u);
  EXPECT_EQ(lines.back(), "");
  lines.pop_back();
  for (const char* field :
       {"name", "group", "product", "build", "argv", "stdin", "precondition",
        "stdout", "stderr", "exit", "hccn_conf_before", "hccn_conf_after",
        "device_changes", "seconds", "timed_out", "note", "device_side_text"}) {
    EXPECT_THAT(lines, Each(HasSubstr(absl::StrCat("\"", field, "\":"))));
  }
}

}  // namespace
}  // namespace clusterd
