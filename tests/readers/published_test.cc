// Answers that others have published, read by the daemon: captures of an
// 8-device host ("GPU Advanced Notes 2", arthurchiao.art, 2023-09-16), the
// fixtures of MindCluster's ascend-faultdiag, the texts that msprechecker looks
// for, and formats of the hccn_tool source, hicann/driver ef377e95.
#include <string>
#include <utility>

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

// Reads a run in which the tool printed only `output`.
std::string Read(absl::string_view query, const std::string& output,
                 int exit_status = 0) {
  EXPECT_THAT(InventedValues(output), IsEmpty()) << output;
  CommandResult run;
  run.standard_output = output;
  run.exit_status = exit_status;
  return ReadAnswer(query, 0, run);
}

struct PublishedAnswer {
  const char* query;
  const char* output;
  const char* value;  // As read_answer.h writes it.
};

constexpr PublishedAnswer kAnswers[] = {
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
    {"-lldp",
     "Port ID TLV\n\tMAC: 00:11:22:33:44:55\n"
     "System Description TLV\n\tAscendNPU\nEnd of LLDPDU TLV\n",
     "port=00:11:22:33:44:55 peer=NPU"},
};

// The same after a warning of the tool.
constexpr PublishedAnswer kWarned[] = {
    {"-ip", "ipaddr:10.0.0.1\nnetmask:255.0.0.0\n", "10.0.0.1/255.0.0.0"},
    {"-gateway", "default gateway:10.0.0.9, Iface:eth0", "10.0.0.9"},
    {"-netdetect", "netdetect addr: 10.0.0.9\n", "10.0.0.9"},
    {"-net_health", "net health status: Init\n", "NET_HEALTH_INIT"},
    {"-link", "link status: UP\n", "UP"},
    {"-mtu", "mtu:4200\n", "4200"},
    {"-lldp", "Port ID TLV\n\tIfname: 1/1\n\n", "port=1/1"},
    {"-lldp", "\n", "none"},
};

TEST(PublishedAnswerTest, IsReadAsItsValueAlsoAfterAWarning) {
  for (const PublishedAnswer& answer : kAnswers) {
    EXPECT_EQ(Read(answer.query, answer.output), answer.value) << answer.output;
  }
  for (const PublishedAnswer& answer : kWarned) {
    EXPECT_EQ(Read(answer.query, absl::StrCat(kWarning, answer.output)),
              answer.value)
        << answer.output;
  }
}

// Pipelines that drop stderr take no output for "no address"; it does not mean
// that.
TEST(PublishedAnswerTest, OfAnotherFormIsMissingAndQuoted) {
  constexpr PublishedAnswer kOthers[] = {
      {"-ip", "", ""},
      {"-ip", "ipv6_address:fd00::1\nprefix_length:64\n",
       "ipv6_address:fd00::1"},
      {"-net_health", "net health status: Succession\n", "Succession"}};
  for (const PublishedAnswer& other : kOthers) {
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

TEST(PublishedStatusTest, WithoutTextIsMissingPermission) {
  for (const absl::string_view query : kQueries) {
    EXPECT_THAT(Read(query, "", 234),
                StartsWith("missing NOT_PERMITTED: `hccn_tool -i 0 "))
        << query;
  }
}

}  // namespace
}  // namespace clusterd
