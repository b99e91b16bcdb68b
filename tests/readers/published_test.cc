// Answers that others have published, read by the daemon: captures of an
// 8-device host ("GPU Advanced Notes 2", arthurchiao.art, 2023-09-16), the
// fixtures of MindCluster's ascend-faultdiag, the texts that msprechecker looks
// for, pages of the vendor's documentation, and formats of the hccn_tool
// source, hicann/driver ef377e95 and 05354178. Lines that an author left out of
// a capture are left out here.
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/readers/invented_values.h"
#include "tests/readers/read_answer.h"

namespace clusterd {
namespace {

using ::testing::AllOf, ::testing::HasSubstr, ::testing::IsEmpty,
    ::testing::StartsWith;

constexpr char kWarning[] =
    "[WARNING] \"/var/log/hccn_tool\" is not a directory, hccn_tool logs may "
    "be lost.\n";

struct PublishedAnswer {
  std::string query;
  std::string output;
  std::string value;  // As read_answer.h writes it.
};

// Reads a run in which the tool printed only `output`.
std::string Read(absl::string_view query, const std::string& output,
                 int exit_status = 0) {
  EXPECT_THAT(InventedValues(output), IsEmpty()) << output;
  CommandResult run;
  run.standard_output = output;
  run.exit_status = exit_status;
  return ReadAnswer(query, 0, run);
}

std::vector<PublishedAnswer> SettingAnswers() {
  return {
      // With or without an empty line between.
      {"-ip", "ipaddr:29.1.112.213\nnetmask:255.255.0.0\n",
       "29.1.112.213/255.255.0.0"},
      {"-ip", "ipaddr:29.1.112.213\n\nnetmask:255.255.0.0\n",
       "29.1.112.213/255.255.0.0"},
      {"-ip", "ipaddr:29.1.112.213\n  \nnetmask:255.255.0.0",
       "29.1.112.213/255.255.0.0"},
      // Of several ports, once per address.
      {"-ip",
       "ipaddr:10.0.0.1\nnetmask:255.255.255.0\n"
       "ipaddr:10.0.0.1\nnetmask:255.255.255.0\n",
       "10.0.0.1/255.255.255.0"},
      {"-ip",
       "ipaddr:10.0.0.1\nnetmask:255.255.255.0\n"
       "ipaddr:10.0.1.1\nnetmask:255.255.254.0\n",
       "10.0.0.1/255.255.255.0 10.0.1.1/255.255.254.0"},
      {"-gateway", "default gateway:11.12.165.1, Iface:eth0\n", "11.12.165.1"},
      {"-gateway", "default gateway:11.12.165.1\n", "11.12.165.1"},
      {"-gateway", "default gateway:10.0.0.9, Iface:eth0", "10.0.0.9"},
      {"-netdetect", "netdetect addr: 11.12.165.1\n", "11.12.165.1"},
      {"-netdetect", "netdetect address: 11.12.165.1\n", "11.12.165.1"},
      {"-netdetect", "netdetect address:11.12.165.1\n", "11.12.165.1"},
      {"-netdetect", "netdetect address: 0.0.0.0\n", "0.0.0.0"},
      {"-link", "link status: UP\n", "UP"},
      {"-link", "link status: DOWN\n", "DOWN"},
      // The older and the newer form.
      {"-tls",
       "dev_id:0, tls switch[1](0:disable, 1:enable), tls "
       "preconfigured[1](0:non-preset, 1:preset), tls alarm time "
       "threshold[60]days\n",
       "on"},
      {"-tls",
       "dev_id:0, tls switch[0](0:disable, 1:enable), tls alarm time "
       "threshold[60]days\n"
       "dev_id:0, [pub cert] info:\n"
       "\t issuer[/C=CN]\n"
       "\t tls expiration status[0](0:normal, 1:near expiration, "
       "2:has expired)\n"
       "[Warning] The currently loaded is a preset certificate, "
       "which has security risks.It is recommended to configure a "
       "security certificate.\n",
       "off"},
      {"-net_health", "net health status: Init\n", "NET_HEALTH_INIT"},
      {"-mtu", "mtu:4200\n", "4200"},
  };
}

std::vector<PublishedAnswer> NeighbourAnswers() {
  return {
      {"-lldp", "\n", "none"},
      // A user's capture with its elisions; the indentation is blanks.
      {"-lldp",
       "Chassis ID TLV\n"
       "        MAC: ...\n"
       "Port ID TLV\n"
       "        Ifname: 400GE1/1/20:2\n"
       "System Description TLV\n"
       "        Versatile Routing Platform Software\n"
       "VRP (R) software, Version 8.211 (DX511 V200R021C10SPC600)\n"
       "\n"
       "Huarong DX511\n"
       "\n"
       "System Capabilities TLV\n"
       "        Enabled capabilities: Bridge, Router\n"
       "Management Address TLV\n"
       "        IPv4: 26.xx.xx.xx\n"
       "...\n"
       "Maximum Frame Size TLV\n"
       "        9216\n"
       "End of LLDPDU TLV\n\n",
       "chassis=... port=400GE1/1/20:2 address=26.xx.xx.xx peer=SWITCH"},
      {"-lldp",
       "Port ID TLV\n  Ifname: eth0\nSystem Name TLV\n"
       "  switch-01\n",
       "port=eth0 system=switch-01"},
      {"-lldp", "Port ID TLV\n\tMAC: 00:11:22:33:44:55\n",
       "port=00:11:22:33:44:55"},
      {"-lldp", "Port ID TLV\n\tLocal: 17\n", "port=17"},
      {"-lldp", "Port ID TLV\n\tIfname: 1/1\n\n", "port=1/1"},
      {"-lldp",
       "Port ID TLV\n\tMAC: 00:11:22:33:44:55\n"
       "System Description TLV\n\tAscendNPU\nEnd of LLDPDU TLV\n",
       "port=00:11:22:33:44:55 peer=NPU"},
  };
}

std::vector<PublishedAnswer> PortAnswers() {
  return {
      {"-vnic",
       "vnic link status: UP\nvnic ipaddr: 192.168.2.199\n"
       "vnic netmask: 255.255.255.0\n",
       "UP 192.168.2.199/24"},
      {"-speed", "Speed: 200000 Mb/s\n", "200000 Mb/s"},
      {"-speed", "Speed: Unknown!\n", "unknown"},
  };
}

// The weekdays of the first one are the author's.
std::vector<PublishedAnswer> HistoryAnswers() {
  return {
      {"-link_stat",
       "[devid 0]current time        : Wed Aug  2 03:09:26 2022\n"
       "[devid 0]link up count       : 2\n"
       "[devid 0]link down count     : 1\n"
       "[devid 0]link change records :\n"
       "[devid 0]    Tue Aug  1 14:43:40 2022    LINK UP\n"
       "[devid 0]    Tue Aug  1 14:43:40 2022    LINK DOWN\n",
       "up 2 down 1 changes 44746s UP 44746s DOWN"},
      {"-link_stat",
       "[device 0]current time        : Wed Jun  7 10:08:28 2023\n"
       "[device 0]link up count       : 2\n"
       "[device 0]link change records :\n"
       "[device 0]    Tue Jun  6 16:32:12 2023    LINK UP\n"
       "[device 0]    Tue Jun  6 16:32:10 2023    LINK DOWN\n",
       "up 2 changes 63376s UP 63378s DOWN"},
      {"-link_stat",
       "[devid 0]current time        : Wed Aug  2 03:09:26 2022\n"
       "[devid 0]link up count       : 0\n"
       "[devid 0]link down count     : 0\n"
       "[devid 0]link change records : NA\n",
       "up 0 down 0 changes none"},
      {"-stat",
       "packet statistics:\nmac_tx_mac_pause_num:0\nmac_rx_mac_pause_num:0\n"
       "mac_tx_pfc_pkt_num:0\nroce_qp_status_err_num:0\n"
       "nic_tx_all_pkg_num:122404\nnic_tx_all_oct_num:16921741\n"
       "nic_rx_all_pkg_num:6414803\nnic_rx_all_oct_num:482237805\n",
       "mac_tx_mac_pause_num=0 mac_rx_mac_pause_num=0 mac_tx_pfc_pkt_num=0 "
       "roce_qp_status_err_num=0 nic_tx_all_pkg_num=122404 "
       "nic_tx_all_oct_num=16921741 nic_rx_all_pkg_num=6414803 "
       "nic_rx_all_oct_num=482237805"},
  };
}

std::vector<PublishedAnswer> ModuleAnswers() {
  return {
      {"-optical",
       "optical info:\n"
       "present              : present\n"
       "temperature          : 47 C\n"
       "high power enable reg: enabled\n"
       "vendor name          : Hisense\n"
       "Tx Power0            : 4.4035 mW\n"
       "Rx Power0            : 1.0189 mW\n"
       "RxPower Low Thres    : 0.1445 mW\n"
       "Tx Los Flag          : 0x0\n"
       "Rx Los Flag          : 0xff\n"
       "Host SNR Lane0       : not supported\n"
       "Media SNR Lane0      : 23.1211 dB\n",
       "present; temperature=47 C; Tx Power0=4.4035 mW; "
       "Rx Power0=1.0189 mW; RxPower Low Thres=0.1445 mW; "
       "Host SNR Lane0=none; Media SNR Lane0=23.1211 dB; "
       "Tx Los Flag=0x0; Rx Los Flag=0xff"},
      {"-optical",
       "optical info:\npresent              : not present\n"
       "temperature          : NA\nhigh power enable reg: not enabled\n",
       "not present; temperature=none"},
      {"-optical",
       "optical info:\npresent              : present\n"
       "temperature          : get failed\n",
       "present; temperature=none"},
  };
}

std::vector<PublishedAnswer> TableAnswers() {
  return {
      {"-route",
       "Routing table:\n"
       "Destination     Gateway         Genmask         Flags Metric Ref    "
       "Use Iface\n"
       "default         29.1.0.1        0.0.0.0         UG    0      0        "
       "0 eth3\n"
       "29.1.0.0        *               255.255.0.0     U     0      0        "
       "0 eth3\n"
       "127.0.0.1       *               255.255.255.255 UH    0      0        "
       "0 lo\n"
       "192.168.1.0     *               255.255.255.0   U     0      0        "
       "0 end3v0\n"
       "192.168.2.0     *               255.255.255.0   U     0      0        "
       "0 end3v0\n",
       "0.0.0.0/0 via 29.1.0.1; "
       "29.1.0.0/16; "
       "127.0.0.1/32; "
       "192.168.1.0/24; "
       "192.168.2.0/24"},
      {"-dscp_to_tc", "dscp      tc\n   0       0\n  63       3\n", "0=0 63=3"},
      {"-pfc",
       "PFC configuration:\npriority   0 1 2 3 4 5 6 7\n"
       "enabled    0 0 0 0 1 0 0 0\n",
       "00001000"},
  };
}

std::vector<PublishedAnswer> PublishedAnswers() {
  std::vector<PublishedAnswer> all = SettingAnswers();
  for (const auto& answers :
       {NeighbourAnswers(), PortAnswers(), HistoryAnswers(), ModuleAnswers(),
        TableAnswers()}) {
    all.insert(all.end(), answers.begin(), answers.end());
  }
  return all;
}

TEST(PublishedAnswerTest, IsReadAsItsValueAlsoAfterAWarning) {
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    EXPECT_EQ(Read(answer.query, answer.output), answer.value) << answer.output;
    EXPECT_EQ(Read(answer.query, kWarning + answer.output), answer.value)
        << answer.output;
  }
}

TEST(PublishedAnswerTest, IsThereForEveryReader) {
  std::set<absl::string_view> unread(kQueries.begin(), kQueries.end());
  unread.erase("-cfg status");  // Recorded, and nobody has published one.
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    unread.erase(answer.query);
  }
  EXPECT_THAT(unread, IsEmpty());
}

TEST(PublishedAnswerTest, IsNotTakenForAnotherQuerys) {
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    if (IsObserved(answer.query)) continue;
    for (const absl::string_view query : kQueries) {
      if (query == answer.query || IsObserved(query)) continue;
      EXPECT_THAT(Read(query, answer.output),
                  StartsWith("missing UNREADABLE: "))
          << answer.query << " read as " << query;
    }
  }
}

TEST(PublishedAnswerTest, CutHasNoValueThatIsNotThere) {
  for (const PublishedAnswer& answer : PublishedAnswers()) {
    for (size_t size = 0; size < answer.output.size(); ++size) {
      EXPECT_THAT(InventedValues(answer.output.substr(0, size)), IsEmpty())
          << answer.query << " cut after " << size;
    }
  }
}

// Pipelines that drop stderr take no output for "no address"; it does not mean
// that.
TEST(PublishedAnswerTest, OfAnotherFormIsMissingAndQuoted) {
  std::vector<PublishedAnswer> others = {
      {"-ip", "", ""},
      {"-ip", "ipv6_address:fd00::1\nprefix_length:64\n",
       "ipv6_address:fd00::1"},
      {"-net_health", "net health status: Succession\n", "Succession"}};
  for (const absl::string_view query : kQueries) {
    if (IsObserved(query)) continue;
    const std::string name(query);
    others.push_back({name, "another form: 17\n", "another form: 17"});
    others.push_back({name, "\n", "\"\\n\""});
  }
  for (const PublishedAnswer& other : others) {
    EXPECT_THAT(
        Read(other.query, other.output),
        AllOf(StartsWith("missing UNREADABLE: "), HasSubstr(other.value)));
  }
}

TEST(PublishedHealthTest, HasTenStatesAndASecondSpelling) {
  const std::pair<const char*, const char*> kStates[] = {
      {"Success", "NET_HEALTH_SUCCESS"},
      {"Socket fail", "NET_HEALTH_SOCKET_FAIL"},
      {"Socket failed", "NET_HEALTH_SOCKET_FAIL"},
      {"Receive timeout", "NET_HEALTH_RECEIVE_TIMEOUT"},
      {"Unreachable", "NET_HEALTH_UNREACHABLE"},
      {"Time exceeded", "NET_HEALTH_TIME_EXCEEDED"},
      {"Fault", "NET_HEALTH_FAULT"},
      {"Init", "NET_HEALTH_INIT"},
      {"Thread error", "NET_HEALTH_THREAD_ERROR"},
      {"Detect ip set", "NET_HEALTH_DETECT_IP_SET"},
      {"Unknown", "NET_HEALTH_UNKNOWN"},
  };
  for (const auto& [words, state] : kStates) {
    EXPECT_EQ(
        Read("-net_health", absl::StrCat("net health status: ", words, "\n")),
        state);
  }
}

// The tool's buffer holds 1999 bytes of it and the line it adds.
TEST(PublishedNeighbourTest, IsReadUpToTheCutAndCalledTruncated) {
  std::string text =
      "Chassis ID TLV\n\tMAC: 00:11:22:33:44:55\nPort ID TLV\n"
      "\tIfname: 400GE1/1/20:2\nSystem Description TLV\n"
      "\tVersatile Routing Platform Software\n";
  const size_t kRest = 1999 - text.size() - 30;
  text.append(kRest, 'x');
  text.append("\nManagement Address TLV\n\tIPv4: 10.0.0.123");
  const std::string cut = text.substr(0, 1999);
  ASSERT_THAT(cut, testing::EndsWith("Address TLV\n\tIPv4:"));
  EXPECT_EQ(Read("-lldp", cut + "\n"),
            "chassis=00:11:22:33:44:55 port=400GE1/1/20:2 peer=SWITCH "
            "truncated");
}

TEST(PublishedNeighbourTest, IsMissingIfTheCutFallsInItsPort) {
  std::string text = "Chassis ID TLV\n\tMAC: 00:11:22:33:44:55\n";
  text.append("System Description TLV\n\t");
  text.append(1999 - text.size() - 32, 'x');
  text.append("\nPort ID TLV\n\tIfname: 400GE1/1/20:2\n");
  const std::string cut = text.substr(0, 1999);
  ASSERT_THAT(cut, testing::EndsWith("400GE1/1/2"));
  EXPECT_THAT(Read("-lldp", cut + "\n"), StartsWith("missing UNREADABLE: "));
}

TEST(PublishedModuleTest, ThatCannotBeAskedIsMissing) {
  CommandResult run;
  run.standard_error = "Control link unreachable.\n";
  EXPECT_THAT(ReadAnswer("-optical", 0, run),
              AllOf(StartsWith("missing TOOL_FAILED: "),
                    HasSubstr("Control link unreachable.")));
}

TEST(PublishedStatusTest, WithoutTextIsMissingPermission) {
  for (const absl::string_view query : kQueries) {
    EXPECT_THAT(Read(query, "", 234),
                StartsWith("missing NOT_PERMITTED: `hccn_tool -i 0 "))
        << query;
  }
}

}  // namespace
}  // namespace clusterd
