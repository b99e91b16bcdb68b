// The forms of logs, from files after published failure reports, and the texts
// of config/codes.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/host/logs/read_logs.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;

std::vector<LogHit> HitsOf(absl::string_view text) {
  bool left_out = false;
  return ScanLog(text, 1, &left_out);
}

// "EI0006x3 EI0017x1": each code and its number of lines.
std::string CodesOf(absl::string_view text) {
  const std::vector<LogHit> hits = HitsOf(text);
  return absl::StrJoin(hits, " ", [](std::string* out, const LogHit& hit) {
    absl::StrAppend(out, hit.code(), "x", hit.count());
  });
}

std::string LogFileOf(const char* name) {
  return TestData(absl::StrCat("tests/testdata/logs/", name));
}

TEST(LogFormsTest, EveryReportOfTheFieldHasItsCodesAndNoOthers) {
  const struct {
    const char* file;
    const char* codes;
  } kCases[] = {{"super_device_id_missing.log", "EI0017x2 EI0006x1"},
                {"device_ip_not_set.log", "EI0014x1"},
                // Lines 4 to 6 of the advice are none.
                {"link_error_info.log", "EI0006x3"},
                {"rank_missing.log", "ERR02200x1 EI0015x1"},
                {"npu_port_taken.log", "EI0020x2"},
                {"port_down.log", "EJ0002x1"},
                {"host_name_not_resolved.log", "host-namex1"},
                {"device_of_another_container.log", "device-namespacex1"},
                // The first event is not a fault.
                {"events_of_the_npu.log", "0x81078603x1 0x80E18404x1"},
                {"slurm-4711.out", "EI0003x1 E19999x1 507899x1"}};
  for (const auto& test_case : kCases) {
    EXPECT_EQ(CodesOf(LogFileOf(test_case.file)), test_case.codes)
        << test_case.file;
  }
}

TEST(LogFormsTest, ATlsColumnIsADetailAndAdviceAboutTlsIsNot) {
  const auto hits = HitsOf(LogFileOf("link_error_info.log"));
  ASSERT_THAT(hits, SizeIs(1));
  ASSERT_THAT(hits[0].details(), SizeIs(1));
  EXPECT_EQ(hits[0].details(0).tls(), "DISABLE");
  EXPECT_EQ(hits[0].details(0).there_rank(), 27u);
}

TEST(LogFormsTest, ALineOfARankHasItsDevice) {
  const auto hits = HitsOf(LogFileOf("rank_missing.log"));
  ASSERT_THAT(hits, SizeIs(2));
  ASSERT_THAT(hits[0].details(), SizeIs(1));
  EXPECT_EQ(hits[0].details(0).kind(), LogDetail::OWN_RANK);
  EXPECT_EQ(hits[0].details(0).here_rank(), 3u);
  EXPECT_EQ(hits[0].details(0).device(), 3u);
  ASSERT_THAT(hits[1].details(), SizeIs(1));
  EXPECT_THAT(hits[1].details(0).ranks(), ElementsAre(1, 7));
}

TEST(LogFormsTest, ColoursHideNoCodeAndShowInNoText) {
  const auto hits = HitsOf("a\n\x1b[31mEI0006\x1b[0m: x \x1b[38;5;9m y\n");
  ASSERT_THAT(hits, SizeIs(1));
  EXPECT_EQ(hits[0].line(), 2u);
  EXPECT_EQ(hits[0].text(), "EI0006: x  y");
}

// Numbers, and codes of other programs, that only look like ones.
TEST(LogFormsTest, TakesOtherNumbersForNoCode) {
  for (const char* text :
       {"step 507899 of 600000", "error code is 1", "E12345 of 20000",
        "Event id=0x12345678", "ERR1234", "the value 1E10000: big"}) {
    EXPECT_THAT(CodesOf(text), IsEmpty()) << text;
  }
}

TEST(LogFormsTest, FindsTheTextsThatRulesQuoteAndThoseOfTheCatalogue) {
  const struct {
    const char* text;
    const char* code;
  } kCases[] = {
      {"'device ip' is not set correctly, must be set", "EI0014"},
      {"Failed to get device ip from hccn.conf and hccn_tool", "EI0014"},
      {"devices have same superDeviceId[0x3000000]", "EI0014"},
      {"device_ip[10.20.0.2] is repeated", "EI0014"},
      {"ra rdev init failed, ret [-17]", "EI0014"},
      {"Value a for environment variable HCCL_IF_IP is invalid", "EI0001"},
      {"The HCCL versions are inconsistent. The local", "EI0008"},
      {"The network port is down", "EJ0002"},
      {"ra hdc message process failed ret(-67)", "EJ0002"},
      {"The IP address and port have been bound already", "EJ0003"},
      {"listen on ip[10.0.0.2] and specific port[16666] fail", "EI0020"},
      {"dcmi model initialized failed, because the device is used. ret is "
       "-8020",
       "device-namespace"},
      {"too many open files", "open-files"},
      {"neighbour: arp_cache: neighbor table overflow!", "neighbour-table"},
      {"driver and firmware packages do not match", "driver-compat"},
      {"The hccn.conf has no enough space to save user configurations.",
       "hccn-conf"},
      {"taskType[Notify Wait]", "EI0002"},
      {"[Wait][P2PConnected]connected p2p timeout", "EI0010"},
      {"cqe error status[12]", "EI0013"},
      {"Some ranks tlsStatus are inconsistent", "EI0016"},
      {"[Open][Tsd]Open TsdClient failed", "EJ0001"},
      {"NPU out of memory. Tried to allocate", "EL0004"},
      {"ip [10.0.0.9] of [host] is not found in the nic list",
       "AISW_CANN_HCCL_001"},
      {"HDC recv msg err ret(16)", "AISW_CANN_HCCP_001"},
      {"TsdOpen failed, deviceId[0]", "AISW_CANN_TSD_05"},
      {"Device lost heartbeat", "AISW_CANN_Runtime_055"},
      {"ProcessStarsSdmaErrorInfo: device_id=0, cqeStatus=0x3",
       "AISW_CANN_Runtime_041"},
      {"EZ1234 and nothing else", "EZ1234"},
      {"ErrCode=507033, desc=[x]", "507033"},
      {"write failed: No space left on device", "Comp_OS_Service_Container_04"},
      {"Memory cgroup out of memory: Killed process 1",
       "Comp_OS_Kernel_Mem_07"},
      {"Failed to connect to the meta server node url",
       "AISW_MindSpore_msrun_09"}};
  for (const auto& test_case : kCases) {
    EXPECT_EQ(CodesOf(test_case.text), absl::StrCat(test_case.code, "x1"))
        << test_case.text;
  }
}

TEST(LastLineTest, IsTheLastThatIsNotBlankWithoutColours) {
  EXPECT_EQ(LastLine("a\nb \x1b[31mc\x1b[0m\r\n \n\n"), "b c");
  EXPECT_EQ(LastLine("one"), "one");
  EXPECT_EQ(LastLine(" \n"), "");
  EXPECT_EQ(LastLine(""), "");
  EXPECT_LE(LastLine(std::string(1 << 20, 'x')).size(), kMaxHitTextBytes);
}

}  // namespace
}  // namespace clusterd
