// The output of `clusterctl anonymise` is in the form of the published
// captures: replay's reader takes it, with every field where it belongs.
#include "client/recording/recording.h"

#include <string>
#include <vector>

#include "absl/strings/str_split.h"
#include "gmock/gmock.h"
#include "tests/sim/capture_record.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre, ::testing::HasSubstr, ::testing::SizeIs;

HostRecording TwoRuns() {
  HostRecording recording;
  recording.mutable_facts()->add_devices()->set_id(4);
  recording.mutable_facts()->mutable_devices(0)->mutable_mtu()->set_value(1500);
  HostRecording::Run* run = recording.add_runs();
  for (const char* word : {"/opt/hccn_tool", "-i", "4", "-mtu", "-g"}) {
    run->add_argv(word);
  }
  run->set_standard_output("mtu:1500\n");
  run->set_hccn_conf_before("address_0=192.168.0.4\n");
  run->set_hccn_conf_after("");
  HostRecording::Run* killed = recording.add_runs();
  *killed = *run;
  killed->set_argv(3, "-link");
  killed->set_standard_error("busy\n");
  killed->set_signal(9);
  return recording;
}

TEST(RecordingTest, IsReadByReplay) {
  const std::string text =
      FormatRecords(MakeRecords(TwoRuns(), AddressMap("k"))).value();
  const std::vector<std::string> lines =
      absl::StrSplit(text, '\n', absl::SkipEmpty());
  ASSERT_THAT(lines, SizeIs(2));
  std::vector<sim::CaptureRecord> records;
  for (const std::string& line : lines) {
    const absl::StatusOr<sim::CaptureRecord> record =
        sim::ParseCaptureRecord(line);
    ASSERT_TRUE(record.ok()) << record.status();
    records.push_back(*record);
  }
  EXPECT_EQ(records[0].name, "recorded-4-mtu-get");
  EXPECT_THAT(records[0].argv,
              ElementsAre("hccn_tool", "-i", "4", "-mtu", "-g"));
  EXPECT_EQ(records[0].standard_output, "mtu:1500\n");
  EXPECT_EQ(records[0].exit, 0);
  EXPECT_EQ(records[0].conf_before, "address_0=192.168.0.4\n");
  EXPECT_EQ(records[0].conf_after, "");
  EXPECT_THAT(records[0].precondition, HasSubstr("mtu.4=1500"));
  EXPECT_EQ(records[1].standard_error, "busy\n");
  EXPECT_EQ(records[1].exit, -9);
}

}  // namespace
}  // namespace clusterd
