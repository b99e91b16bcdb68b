#include <string>

#include "daemon/host/hccn/hccn_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/wait/telling.h"

namespace clusterd {
namespace {

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
  EXPECT_TRUE(neighbour.heard());
  EXPECT_EQ(neighbour.chassis_id(), "00:11:22:33:44:55");
  EXPECT_EQ(neighbour.port_id(), "400GE1/1/20:2");
  EXPECT_EQ(neighbour.system_name(), "leaf-01");
  EXPECT_EQ(neighbour.management_address(), "26.1.2.3");
  EXPECT_EQ(neighbour.peer(), LldpNeighbour::SWITCH);
  EXPECT_FALSE(neighbour.truncated());
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

TEST(ParseHccnLldpTest, ReadsSpacesLikeTabs) {
  const LldpNeighbour neighbour =
      Read("Port ID TLV\n  Ifname: eth0\nSystem Name TLV\n        switch-01\n");
  EXPECT_EQ(neighbour.port_id(), "eth0");
  EXPECT_EQ(neighbour.system_name(), "switch-01");
}

TEST(ParseHccnLldpTest, ReadsNewlinesAsNoNeighbour) {
  for (const char* output : {"\n", "", "\n\n"}) {
    const LldpNeighbour neighbour = Read(output);
    EXPECT_FALSE(neighbour.heard());
  }
}

TEST(ParseHccnLldpTest, ReadsEverySubtypeOfPortId) {
  for (const char* subtype : {"MAC: ", "Local: ", "Ifname: "}) {
    const LldpNeighbour neighbour =
        Read(std::string("Chassis ID TLV\n\tMAC: a\nPort ID TLV\n\t") +
             subtype + "port-7\n");
    EXPECT_EQ(neighbour.port_id(), "port-7") << subtype;
  }
}

TEST(ParseHccnLldpTest, TellsAnNpuFromASwitch) {
  const LldpNeighbour neighbour = Read(
      "Port ID TLV\n\tMAC: 6c:b1:58:00:00:01\n"
      "System Description TLV\n\tAscendNPU 910B\n");
  EXPECT_EQ(neighbour.peer(), LldpNeighbour::NPU);
}

TEST(ParseHccnLldpTest, DoesNotGuessAtOtherPeers) {
  const LldpNeighbour neighbour = Read(
      "Port ID TLV\n\tIfname: Ethernet1\n"
      "System Description TLV\n\tSome Operating System\nAscendNPU, Routing\n");
  EXPECT_EQ(neighbour.peer(), LldpNeighbour::PEER_UNSPECIFIED);
}

TEST(ParseHccnLldpTest, IgnoresTitlesForgedInADescription) {
  const LldpNeighbour neighbour = Read(
      "Chassis ID TLV\n\tMAC: a\nPort ID TLV\n\tIfname: real\n"
      "System Description TLV\n\tx\nPort ID TLV\n"
      "\tIfname: forged\nMade Up TLV\n");
  EXPECT_EQ(neighbour.port_id(), "real");
}

TEST(ParseHccnLldpTest, SkipsTlvsThatItDoesNotKnow) {
  const LldpNeighbour neighbour = Read(
      "Chassis ID TLV\n\tMAC: a\nPort ID TLV\n\tIfname: p\n"
      "Power via MDI TLV\n\tIPv4: 1.1.1.1\n"
      "Management Address TLV\n\tIPv6: ::1\n\tIPv4: 2.2.2.2\n");
  EXPECT_EQ(neighbour.management_address(), "2.2.2.2");
}

TEST(ParseHccnLldpTest, DropsTheHalfLineOfACutAnswer) {
  std::string text = kSwitch;
  text.resize(text.find("Management Address TLV"));
  text += "Port Description TLV\n\t" + std::string(2000, 'x');
  text.resize(kHccnLldpMaxBytes - 40);
  text += "\nManagement Address TLV\n\tIPv4: 26.1.2.34";
  text.resize(kHccnLldpMaxBytes);
  const LldpNeighbour neighbour = Read(text + "\n");
  EXPECT_TRUE(neighbour.truncated());
  EXPECT_EQ(neighbour.port_id(), "400GE1/1/20:2");
  EXPECT_EQ(neighbour.management_address(), "");
}

TEST(ParseHccnLldpTest, EscapesWhatTheNeighbourWrites) {
  const LldpNeighbour neighbour =
      Read("Port ID TLV\n\tIfname: p\nSystem Name TLV\n\t\x1b[2J\xff\n");
  EXPECT_EQ(neighbour.system_name(), "\\x1b[2J\\xff");
}

TEST(ParseHccnLldpTest, SkipsTheWarningAboutItsLogFolder) {
  const LldpNeighbour neighbour = Read(
      "[WARNING] \"/var/log/hccn_tool\" is not a directory, hccn_tool logs may "
      "be lost.\n\n");
  EXPECT_FALSE(neighbour.heard());
}

TEST(ParseHccnLldpTest, RejectsTextWithoutTitle) {
  const absl::Status status = ParseHccnLldp("lldp is off\n").status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(status, HasText("\"lldp is off\""));
}

TEST(ParseHccnLldpTest, RejectsNeighbourWithoutPort) {
  EXPECT_EQ(ParseHccnLldp("Chassis ID TLV\n\tMAC: a\n").status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace clusterd
