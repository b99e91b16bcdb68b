#include <gmock/gmock.h>

#include "client/recording/recording.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::Not;

std::string Hidden(const std::string& text) {
  NameMap names;
  CollectSwitchNames(text, &names);
  return HideToolText(text, &names);
}

TEST(HideToolTextTest, ReplacesTheSystemNameAndKeepsItsIndentation) {
  EXPECT_EQ(
      Hidden("System Name TLV\n\tleaf-01.dc.example\nEnd of LLDPDU TLV\n"),
      "System Name TLV\n\tswitch-1\nEnd of LLDPDU TLV\n");
  EXPECT_EQ(Hidden("System Name TLV\n  leaf-01"),
            "System Name TLV\n  switch-1");
}

TEST(HideToolTextTest, KeepsWhatAReaderOfLldpNeeds) {
  const std::string text =
      "Chassis ID TLV\n\tMAC: 00:11:22:33:44:55\n"
      "Port ID TLV\n\tIfname: 400GE1/1/20:2\n"
      "Time to Live TLV\n\t120\n"
      "System Description TLV\n\tVersatile Routing Platform Software\n"
      "VRP (R) software, Version 8.211\n\nHuarong DX511\n\n"
      "System Capabilities TLV\n\tEnabled capabilities: Bridge, Router\n"
      "Management Address TLV\n\tIPv4: 26.1.2.3\n"
      "Maximum Frame Size TLV\n\t9216\nEnd of LLDPDU TLV\n\n";
  EXPECT_EQ(Hidden(text), text);
}

TEST(HideToolTextTest, HidesChassisAndPortNamesByNumber) {
  EXPECT_EQ(Hidden("Chassis ID TLV\n\tLocal: row-4-rack-7\n"
                   "Port ID TLV\n\tLocal: to node-17\n"),
            "Chassis ID TLV\n\tLocal: chassis-1\n"
            "Port ID TLV\n\tLocal: port-1\n");
}

TEST(HideToolTextTest, RemovesTextThatPeopleWrite) {
  EXPECT_EQ(
      Hidden("Port Description TLV\n\tto node-17 of customer X\n"
             "VLAN Name TLV\n\tVID 20: Name customer-x\n"
             "Unidentified Org Specific TLV\n\tOUI: 0x00e0fc, Info: 6e6f64\n"),
      "Port Description TLV\n\tremoved\nVLAN Name TLV\n\tremoved\n"
      "Unidentified Org Specific TLV\n\tremoved\n");
}

TEST(HideToolTextTest, RemovesCertificateOwners) {
  const std::string before =
      "dev_id:0, tls switch[0](0:disable, 1:enable)\n"
      "dev_id:0, [pub cert] info:\n";
  const std::string after = "\t start_time[Wed Feb 19 03:19:21 2020 GMT]\n";
  EXPECT_EQ(Hidden(before +
                   "\t subject[/C=CN/O=Example [DC]/CN=node-17]\n"
                   "\t issuer[/C=CN/O=Example/CN=Example CA]\n" +
                   after),
            before + "\t subject[removed]\n\t issuer[removed]\n" + after);
  // One that is cut off.
  EXPECT_THAT(Hidden("\t issuer[/C=CN/O=Examp"), Not(HasSubstr("Examp")));
}

TEST(HideToolTextTest, LeavesOtherTextAlone) {
  const std::string text = "ipaddr:10.0.0.1\nnetmask:255.255.255.0\n";
  EXPECT_EQ(Hidden(text), text);
  EXPECT_EQ(Hidden("\n"), "\n");
}

TEST(HideConfCommentsTest, RemovesCommentsOnly) {
  EXPECT_EQ(HideConfComments("# set up by Ada, rack 7\naddress_0=10.0.0.1\n#x"),
            "# removed\naddress_0=10.0.0.1\n# removed");
}

TEST(HideToolTextTest, RemovesTheSerialNumberOfAModule) {
  const std::string before = "vendor part number   : PN-400G\n";
  const std::string after = "\nRx Los Flag          : 0x0\n";
  EXPECT_EQ(Hidden(before + "vendor serial number : SN0001 A" + after),
            before + "vendor serial number : removed" + after);
}

}  // namespace
}  // namespace clusterd
