#include "daemon/host/hccn/hccn_answers.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
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

TEST(ParseHccnNetHealthTest, ReadsEveryStateOfTheVendor) {
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
      {"Unknown", NET_HEALTH_UNKNOWN},
  };
  for (const auto& [text, health] : states) {
    const absl::StatusOr<NetHealth> parsed =
        ParseHccnNetHealth(std::string("net health status: ") + text + "\n");
    ASSERT_TRUE(parsed.ok()) << parsed.status();
    EXPECT_EQ(*parsed, health) << text;
  }
}

TEST(ParseHccnNetHealthTest, RejectsStatesThatItDoesNotKnow) {
  ExpectRejected(ParseHccnNetHealth("net health status: Successful\n"),
                 "Successful");
  ExpectRejected(ParseHccnNetHealth("net health status: success\n"), "success");
  ExpectRejected(ParseHccnNetHealth("net health status: \n"), "unexpected");
  ExpectRejected(ParseHccnNetHealth("Success\n"), "\"Success\"");
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
  EXPECT_EQ(read[0].name(), "pub");
  EXPECT_EQ(read[0].ends(), "Mon Feb 19 03:19:21 2024 GMT");
  EXPECT_EQ(read[0].status(), TlsCertificate::VALID);
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

}  // namespace
}  // namespace clusterd
