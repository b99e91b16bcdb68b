#include "daemon/host/hccn/hccn_answers.h"

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/has_fields.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

TEST(ParseHccnGatewayTest, ReadsTheAddressWithAndWithoutInterface) {
  EXPECT_EQ(
      ParseHccnGateway("default gateway:11.12.165.1, Iface:eth0\n")->ToString(),
      "11.12.165.1");
  EXPECT_EQ(ParseHccnGateway("default gateway:10.0.0.254\n")->ToString(),
            "10.0.0.254");
  const std::pair<const char*, const char*> kRejected[] = {
      {"", "no answer in \"\""},
      {"\n", "no answer in \"\\n\""},
      {"gateway:10.0.0.1\n", "gateway:10.0.0.1"},
      {"default gateway:, Iface:eth0\n", "IPv4 address"},
      {"default gateway:10.0.0.1, Metric:3\n", "Metric:3"},
      {"default gateway:10.0.0.1, Iface:\x1b[0m\n", "\\x1b[0m"},
      {"default gateway:10.0.0.1\ndefault gateway:10.0.0.2\n",
       "unexpected line \"default gateway:10.0.0.2\" after"}};
  for (const auto& [text, quoted] : kRejected)
    ExpectRejected(ParseHccnGateway(text), quoted);
}

TEST(ParseHccnNetdetectTest, ReadsBothSpellings) {
  const std::pair<const char*, const char*> kRead[] = {
      {"netdetect addr: 10.0.0.254\n", "10.0.0.254"},
      {"netdetect address: 11.12.165.1\n", "11.12.165.1"},
      {"netdetect address:10.0.0.1\n", "10.0.0.1"}};
  for (const auto& [text, read] : kRead)
    EXPECT_EQ(ParseHccnNetdetect(text)->ToString(), read);
  EXPECT_TRUE(ParseHccnNetdetect("netdetect addr: 0.0.0.0\n")->IsUnset());
  const std::pair<const char*, const char*> kRejected[] = {
      {"netdetect addresses: 10.0.0.1\n", "addresses"},
      {"netdetect addr ess: 10.0.0.1\n", "addr ess"},
      {"netdetect addr: 10.0.0\n", "10.0.0"}};
  for (const auto& [text, quoted] : kRejected)
    ExpectRejected(ParseHccnNetdetect(text), quoted);
}

TEST(ParseHccnNetHealthTest, ReadsEveryStateOfTheVendorAndNoOther) {
  const std::pair<const char*, NetHealth> states[] = {
      {"Success", NET_HEALTH_SUCCESS},
      {"Socket fail", NET_HEALTH_SOCKET_FAIL},
      {"Socket failed", NET_HEALTH_SOCKET_FAIL},
      {"Receive timeout", NET_HEALTH_RECEIVE_TIMEOUT},
      {"Unreachable", NET_HEALTH_UNREACHABLE},
      {"Time exceeded", NET_HEALTH_TIME_EXCEEDED},
      {"Fault", NET_HEALTH_FAULT},
      {"Init", NET_HEALTH_INIT},
      {"Thread error", NET_HEALTH_THREAD_ERROR},
      {"Detect ip set", NET_HEALTH_DETECT_IP_SET},
      {"Unknown", NET_HEALTH_UNKNOWN}};
  for (const auto& [text, health] : states) {
    const auto parsed =
        ParseHccnNetHealth(absl::StrCat("net health status: ", text, "\n"))
            .value();
    EXPECT_EQ(parsed, health) << text;
  }
  const std::pair<const char*, const char*> kRejected[] = {
      {"net health status: Successful\n", "Successful"},
      {"net health status: success\n", "success"},
      {"net health status: \n", "unexpected"},
      {"Success\n", "\"Success\""}};
  for (const auto& [text, quoted] : kRejected) {
    ExpectRejected(ParseHccnNetHealth(text), quoted);
  }
}

TEST(ParseHccnLinkTest, ReadsUpAndDownAndNothingElse) {
  EXPECT_EQ(*ParseHccnLink("link status: UP\n"), LinkFact::UP);
  EXPECT_EQ(*ParseHccnLink("link status: DOWN\n"), LinkFact::DOWN);
  ExpectRejected(ParseHccnLink("link status: UPP\n"), "UPP");
  ExpectRejected(ParseHccnLink("link status: up\n"), "up");
  ExpectRejected(ParseHccnLink("vnic link status: UP\n"), "vnic");
}

TEST(ParseHccnRecoveryTest, ReadsEveryWordOfTheToolAndNoOther) {
  const std::pair<const char*, RecoveryFact::Recovery> kRead[] = {
      {"SUCCESS", RecoveryFact::SUCCESS},
      {"FAIL", RecoveryFact::FAIL},
      {"NONE", RecoveryFact::NONE},
      {"START", RecoveryFact::START},
      {"FAULT", RecoveryFact::FAULT}};
  for (const auto& [word, state] : kRead)
    EXPECT_EQ(*ParseHccnRecovery(absl::StrCat("config status:", word, "\n")),
              state);
  ExpectRejected(ParseHccnRecovery("config status:fail\n"), "fail");
  ExpectRejected(ParseHccnRecovery("link status: UP\n"), "link");
}

TEST(ParseHccnMtuTest, ReadsBytesAndRejectsWhatIsNoSize) {
  EXPECT_EQ(*ParseHccnMtu("mtu:1500\n"), 1500u);
  EXPECT_EQ(*ParseHccnMtu("mtu:4200\n"), 4200u);
  EXPECT_EQ(*ParseHccnMtu("mtu: 65535 \n"), 65535u);
  for (const char* text : {"0", "65536", "-1", "1500x", "+1", "01", "1.0",
                           "0x1", "1e3", "4294968796"}) {
    ExpectRejected(ParseHccnMtu(std::string("mtu:") + text + "\n"),
                   "expected a number of bytes from 1 to 65535");
  }
  ExpectRejected(ParseHccnMtu("mtu:\n"), "unexpected");
}

constexpr char kTlsOff[] =
    "dev_id:0, tls switch[0](0:disable, 1:enable), tls preconfigured[1]"
    "(0:non-preset, 1:preset), tls alarm time threshold[60]days\n"
    "dev_id:0, [pub cert] info:\n"
    "\t issuer[/C=CN/O=Huawei]\n"
    "\t start_time[Wed Feb 19 03:19:21 2020 GMT]\n";

TEST(ParseHccnTlsTest, ReadsTheSwitchOfThatDeviceBeforeTheCertificates) {
  EXPECT_FALSE(*ParseHccnTls(kTlsOff, 0));
  constexpr char kOlder[] =
      "dev_id:7, tls switch[1](0:disable, 1:enable), tls alarm time "
      "threshold[60]days\n";
  EXPECT_TRUE(*ParseHccnTls(kOlder, 7));
  ExpectRejected(ParseHccnTls(kTlsOff, 1), "dev_id:1");
  ExpectRejected(
      ParseHccnTls("dev_id:0, tls switch[2](0:disable, 1:enable)\n", 0),
      "switch[2]");
  ExpectRejected(
      ParseHccnTls(
          absl::StrCat(kTlsOff,
                       "dev_id:0, tls switch[1](0:disable, 1:enable)\n"),
          0),
      "switch[1]");
}

TEST(ParseHccnCertificatesTest, ReadsEachWithItsEndAndStatus) {
  const auto certificate = [](absl::string_view name, absl::string_view last) {
    return absl::StrCat("dev_id:0, [", name,
                        " cert] info:\n         issuer[/C=CN/CN=Product CA]\n"
                        "         start_time[Wed Feb 19 03:19:21 2020 GMT]\n"
                        "         end_time[Mon Feb 19 03:19:21 2024 GMT]\n",
                        last);
  };
  const std::string words = "](0:normal, 1:near expiration, 2:has expired)\n";
  const std::string good =
      absl::StrCat("         tls expiration status[0", words);
  const std::string soon =
      absl::StrCat("         tls expiration status[1", words);
  const auto read = ParseHccnCertificates(
      absl::StrCat(kTlsOff, certificate("pub", good), certificate("ca1", soon)),
      "", 0);
  ASSERT_EQ(read.size(), 2u);
  EXPECT_THAT(read[0], HasFields(R"(
      name: "pub" ends: "Mon Feb 19 03:19:21 2024 GMT" status: VALID)"));
  EXPECT_EQ(read[1].status(), TlsCertificate::ENDS_SOON);
  // The tool prints the last line of an expired one on the other stream.
  const auto ended = ParseHccnCertificates(
      absl::StrCat(kTlsOff, certificate("pub", ""), certificate("ca1", good)),
      absl::StrCat("         tls expiration status[2", words), 0);
  ASSERT_EQ(ended.size(), 2u);
  EXPECT_EQ(ended[0].status(), TlsCertificate::EXPIRED);
  EXPECT_EQ(ended[1].status(), TlsCertificate::VALID);
  EXPECT_TRUE(ParseHccnCertificates(kTlsOff, "", 0).empty());
}

constexpr char kSwitch[] =
    "Chassis ID TLV\n"
    "\tMAC: 00:11:22:33:44:55\n"
    "Port ID TLV\n"
    "\tIfname: 400GE1/1/20:2\n"
    "Time to Live TLV\n"
    "\t120\n"
    "System Name TLV\n"
    "\tleaf-01\n"
    "System Description TLV\n"
    "\tVersatile Routing Platform Software\n"
    "VRP (R) software, Version 8.211 (DX511 V200R021C10SPC600)\n"
    "\n"
    "Huarong DX511\n"
    "\n"
    "System Capabilities TLV\n"
    "\tEnabled capabilities: Bridge, Router\n"
    "Management Address TLV\n"
    "\tIPv4: 26.1.2.3\n"
    "Maximum Frame Size TLV\n"
    "\t9216\n"
    "End of LLDPDU TLV\n\n";

LldpNeighbour Read(const std::string& output) {
  return ParseHccnLldp(output).value();
}

TEST(ParseHccnLldpTest, ReadsASwitch) {
  const LldpNeighbour neighbour = Read(kSwitch);
  EXPECT_THAT(neighbour, HasFields(R"(
      heard: true chassis_id: "00:11:22:33:44:55" port_id: "400GE1/1/20:2"
      system_name: "leaf-01" management_address: "26.1.2.3" peer: SWITCH
      truncated: false)"));
}

// Output of open-lldp's lldptool for both forms of DCBX.
TEST(ParseHccnLldpTest, ReadsThePfcOfASwitchThatSendsDcbx) {
  const std::string end = "End of LLDPDU TLV\n\n";
  const std::string text(kSwitch, std::string(kSwitch).find(end));
  const struct {
    const char* tlv;
    const char* pfc;
  } kCases[] = {
      {"IEEE 8021QAZ PFC TLV\n\t Willing: no\n\t MACsec Bypass Capable: no\n"
       "\t PFC capable traffic classes: 8\n\t PFC enabled: 3 5\n",
       "0,0,0,1,0,1,0,0"},
      {"IEEE 8021QAZ PFC TLV\n\t PFC enabled: none\r\n", "0,0,0,0,0,0,0,0"},
      {"CEE DCBX TLV\n\tPriority Flow Control TLV:\n\t  Enabled, Willing\n"
       "\t  PFC enabled priorities: 4\n",
       "0,0,0,0,1,0,0,0"},
      {"Port Description TLV\n\tPFC enabled: 3\n", ""},
      {"IEEE 8021QAZ PFC TLV\n\t PFC enabled: 9\n", ""},
      {"", ""}};
  for (const auto& test_case : kCases) {
    EXPECT_EQ(ParseHccnLldp(text + test_case.tlv + end)->pfc(), test_case.pfc)
        << test_case.tlv;
  }
}

TEST(ParseHccnLldpTest, ReadsOneValue) {
  using Neighbour = LldpNeighbour;
  const auto port = [](const Neighbour& each) { return each.port_id(); };
  const auto system = [](const Neighbour& each) { return each.system_name(); };
  const auto peer = [](const Neighbour& each) {
    return Neighbour::Peer_Name(each.peer());
  };
  const struct {
    const char* name;
    const char* output;
    std::function<std::string(const Neighbour&)> part;
    const char* value;
  } kCases[] = {
      {"spaces like tabs", "Port ID TLV\n  Ifname: eth0\n", port, "eth0"},
      {"more spaces",
       "Port ID TLV\n  Ifname: eth0\nSystem Name TLV\n        sw\n", system,
       "sw"},
      {"port by MAC", "Chassis ID TLV\n\tMAC: a\nPort ID TLV\n\tMAC: port-7\n",
       port, "port-7"},
      {"local port", "Chassis ID TLV\n\tMAC: a\nPort ID TLV\n\tLocal: port-7\n",
       port, "port-7"},
      {"named port",
       "Chassis ID TLV\n\tMAC: a\nPort ID TLV\n\tIfname: port-7\n", port,
       "port-7"},
      {"an NPU",
       "Port ID TLV\n\tMAC: 6c:b1:58:00:00:01\n"
       "System Description TLV\n\tAscendNPU 910B\n",
       peer, "NPU"},
      {"does not guess at other peers",
       "Port ID TLV\n\tIfname: Ethernet1\nSystem Description TLV\n"
       "\tSome Operating System\nAscendNPU, Routing\n",
       peer, "PEER_UNSPECIFIED"},
      {"ignores titles forged in a description",
       "Chassis ID TLV\n\tMAC: a\nPort ID TLV\n\tIfname: real\n"
       "System Description TLV\n\tx\nPort ID TLV\n"
       "\tIfname: forged\nMade Up TLV\n",
       port, "real"},
      {"skips TLVs that it does not know",
       "Chassis ID TLV\n\tMAC: a\nPort ID TLV\n\tIfname: p\n"
       "Power via MDI TLV\n\tIPv4: 1.1.1.1\n"
       "Management Address TLV\n\tIPv6: ::1\n\tIPv4: 2.2.2.2\n",
       [](const Neighbour& each) { return each.management_address(); },
       "2.2.2.2"},
      {"escapes what the neighbour writes",
       "Port ID TLV\n\tIfname: p\nSystem Name TLV\n\t\x1b[2J\xff\n", system,
       "\\x1b[2J\\xff"}};
  for (const auto& each : kCases) {
    EXPECT_EQ(each.part(Read(each.output)), each.value) << each.name;
  }
}

TEST(ParseHccnLldpTest, ReadsNewlinesAndAWarningAsNoNeighbour) {
  for (const char* output :
       {"\n", "", "\n\n",
        "[WARNING] \"/var/log/hccn_tool\" is not a directory, hccn_tool logs "
        "may be lost.\n\n"}) {
    EXPECT_FALSE(Read(output).heard()) << output;
  }
}

TEST(ParseHccnLldpTest, DropsTheHalfLineOfACutAnswer) {
  std::string text = kSwitch;
  text.resize(text.find("Management Address TLV"));
  text += "Port Description TLV\n\t" + std::string(2000, 'x');
  text.resize(kHccnLldpMaxBytes - 40);
  text += "\nManagement Address TLV\n\tIPv4: 26.1.2.34";
  text.resize(kHccnLldpMaxBytes);
  const LldpNeighbour neighbour = Read(text + "\n");
  EXPECT_THAT(neighbour, HasFields(R"(
      truncated: true port_id: "400GE1/1/20:2" management_address: "")"));
}

TEST(ParseHccnLldpTest, RejectsTextWithoutTitleOrPort) {
  ExpectRejected(ParseHccnLldp("lldp is off\n"), "\"lldp is off\"");
  ExpectRejected(ParseHccnLldp("Chassis ID TLV\n\tMAC: a\n"), "");
}

std::vector<std::string> Parse(absl::string_view output) {
  const auto interfaces = ParseHccnIp(output);
  if (!interfaces.ok()) return {std::string(interfaces.status().message())};
  std::vector<std::string> texts;
  for (const Ipv4Interface& interface : *interfaces) {
    texts.push_back(interface.ToString());
  }
  return texts;
}

TEST(ParseHccnIpTest, ReadsEachPairOnceAndInOrder) {
  const std::pair<const char*, std::vector<std::string>> kCases[] = {
      {"ipaddr:29.1.112.213\nnetmask:255.255.0.0\n", {"29.1.112.213/16"}},
      {"ipaddr:10.0.0.1\n\nnetmask:255.255.255.0\n", {"10.0.0.1/24"}},
      {"ipaddr:10.0.0.1\nnetmask:255.255.255.0\nipaddr:10.0.0.1\nnetmask:255."
       "255.255.0\n",
       {"10.0.0.1/24"}},
      {"ipaddr:10.0.0.2\nnetmask:255.255.255.0\nipaddr:10.0.0.1\nnetmask:255."
       "255.255.0\n",
       {"10.0.0.2/24", "10.0.0.1/24"}},
      // Behind the warning about its log folder.
      {"[WARNING] \"/var/log/hccn_tool\" is not a directory, hccn_tool logs "
       "may be lost.\nipaddr:10.0.0.1\nnetmask:255.255.255.0\n",
       {"10.0.0.1/24"}},
      // The tool accepts these masks.
      {"ipaddr:10.0.0.1\nnetmask:0.0.0.0\n", {"10.0.0.1/0"}},
      {"ipaddr:10.0.0.1\nnetmask:255.255.255.255\n", {"10.0.0.1/32"}}};
  for (const auto& [output, read] : kCases) EXPECT_EQ(Parse(output), read);
}

TEST(ParseHccnIpTest, RejectsAnythingElseAndQuotesIt) {
  const std::pair<const char*, const char*> kRejected[] = {
      {"", "no ipaddr line"},
      {"ipaddr:10.20.0.17\n", "\"ipaddr:10.20.0.17\""},
      {"netmask:255.255.255.0\n", "\"netmask:255.255.255.0\""},
      {"ipaddr:10.0.0.1\nipaddr:10.0.0.2\n",
       "\"ipaddr:10.0.0.1\\nipaddr:10.0.0.2\""},
      {"ipaddr:10.0.0.1\nnetmask:255.0.255.0\n", "netmask:255.0.255.0"},
      {"ipaddr:10.0.0.300\nnetmask:255.255.255.0\n", "10.0.0.300"},
      {"ipaddr:\nnetmask:255.255.255.0\n", "ipaddr:"},
      {"ipaddr:10.0.0.1\nnetmask:255.255.255.0\nvlan:7\n", "\"vlan:7\""},
      {"Segmentation fault\n", "\"Segmentation fault\""},
      {"\x1b[2J\x07\n", "\\x1b[2J\\x07"}};
  for (const auto& [output, quoted] : kRejected) {
    ExpectRejected(ParseHccnIp(output), quoted);
  }
}

TEST(ParseHccnIpv6Test, ReadsAnAddressThatIsNotLinkLocal) {
  EXPECT_EQ(*ParseHccnIpv6("ipv6_address:fd00::1\nprefix_length:64\n"),
            "fd00::1/64");
  EXPECT_EQ(*ParseHccnIpv6("ipv6_address:fe80::1\nprefix_length:64\n"), "");
}

TEST(ParseHccnIpv6Test, RefusesAnythingElse) {
  for (const char* text :
       {"", "ipv6_address:fd00::1\n", "prefix_length:64\n",
        "ipv6_address:fd00:::1\nprefix_length:64\n",
        "ipv6_address:fd00::1\nprefix_length:129\n",
        "ipv6_address:10.20.0.1\nprefix_length:24\n",
        "ipv6_address:fd00::1\nprefix_length:64\nipv6_address:fd00::2\n"}) {
    EXPECT_FALSE(ParseHccnIpv6(text).ok()) << text;
  }
}

}  // namespace
}  // namespace clusterd
