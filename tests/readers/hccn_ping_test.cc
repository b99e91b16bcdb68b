#include "tests/readers/hccn_ping.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr, ::testing::SizeIs;

constexpr absl::string_view kPing =
    "device 3 PING 29.1.137.205\n"
    "recv seq=0,time=1.418000ms\n"
    "recv seq=1,time=0.034000ms\n"
    "recv seq=2,time=0.040000ms\n"
    "3 packets transmitted, 3 received, 0.00% packet loss\n";

constexpr absl::string_view kHccsPing =
    "device 0 PING 192.0.2.199\n\n"
    "This pkt ping success!\n"
    "recv seq 0, time = 12.345us, L1 plane check result = 0x0\n\n"
    "1 packets transmitted, 1 received, 0.00% packets loss\n"
    "max time 12.345us\nmin time 12.345us\naverage time 12.345us\n"
    "TP95 time 12.345us\nCmd executed successfully!\n";

// An empty answer, after a failure, if it cannot be read.
HccnPing Parse(absl::string_view output) {
  const absl::StatusOr<HccnPing> ping = ParseHccnPing(output);
  EXPECT_TRUE(ping.ok()) << ping.status() << " for " << output;
  return ping.ok() ? *ping : HccnPing();
}

void ExpectCounts(absl::string_view output, uint32_t transmitted,
                  uint32_t received) {
  const HccnPing ping = Parse(output);
  EXPECT_EQ(ping.transmitted, transmitted) << output;
  EXPECT_EQ(ping.received, received) << output;
}

void ExpectRejected(absl::string_view output, const std::string& said) {
  const absl::Status status = ParseHccnPing(output).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << output;
  EXPECT_THAT(std::string(status.message()), HasSubstr(said)) << output;
}

TEST(ParseHccnPingTest, ReadsCountsKindAndMarkers) {
  const struct {
    const char* name;
    absl::string_view output;
    uint32_t transmitted;
    uint32_t received;
    bool hccs = false;
    // Each once, in the order of the text.
    std::vector<std::string> markers = {};
  } kCases[] = {
      {"a ping", kPing, 3, 3},
      {"an HCCS ping", kHccsPing, 1, 1, true},
      {"no final newline",
       "3 packets transmitted, 3 received, 0.00% packet loss", 3, 3},
      {"all packets lost without a marker",
       "3 packets transmitted, 0 received, 100.00% packet loss\n", 3, 0},
      {"markers",
       "Message too long\nrecv time out seq=0\nrecv time out seq=1\n"
       "From 10.0.0.1: Destination Host Unreachable\n"
       "3 packets transmitted, 0 received, 100.00% packet loss\n",
       3,
       0,
       false,
       {"Message too long", "recv time out seq",
        "Destination Host Unreachable"}},
      {"markers of an HCCS ping",
       "This pkt send fail!\nThis pkt ping not start to send!\n"
       "This pkt check recv msg fail!\n"
       "3 packets transmitted, 0 received, 100.00% packets loss\n",
       3,
       0,
       true,
       {"This pkt send fail!", "This pkt ping not start to send!",
        "This pkt check recv msg fail!"}}};
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    ExpectCounts(each.output, each.transmitted, each.received);
    EXPECT_EQ(Parse(each.output).hccs, each.hccs);
    EXPECT_EQ(Parse(each.output).markers, each.markers);
  }
}

TEST(ParseHccnPingTest, AcceptsAPercentageRoundedOrCut) {
  ExpectCounts("3 packets transmitted, 1 received, 66.67% packet loss", 3, 1);
  ExpectCounts("3 packets transmitted, 1 received, 66.66% packet loss", 3, 1);
  ExpectCounts("3 packets transmitted, 2 received, 33.33% packet loss", 3, 2);
  ExpectCounts("1000 packets transmitted, 999 received, 0.10% packets loss",
               1000, 999);
  ExpectCounts(
      "4294967295 packets transmitted, 0 received, 100.00% packet loss",
      4294967295u, 0);
}

TEST(ParseHccnPingTest, RejectsAPercentageOfOtherNumbers) {
  for (const absl::string_view percentage :
       {"0.00", "33.32", "33.35", "66.67", "100.00"}) {
    ExpectRejected(absl::StrCat("3 packets transmitted, 2 received, ",
                                percentage, "% packet loss"),
                   "expected the percentage of the packets not received");
  }
}

TEST(ParseHccnPingTest, RejectsNumbersThatCannotBe) {
  ExpectRejected("3 packets transmitted, 4 received, 0.00% packet loss",
                 "at most as many received as transmitted");
  ExpectRejected("0 packets transmitted, 0 received, 0.00% packet loss",
                 "at least one packet transmitted");
}

TEST(ParseHccnPingTest, RejectsAnAnswerWithoutTheLossLine) {
  for (const absl::string_view output :
       {"", "\n\n", "device 3 PING 10.0.0.9\n\n",
        "recv seq=0,time=1.418000ms\n", "Cmd executed successfully!\n"}) {
    ExpectRejected(output, "no line with the packet loss in \"");
  }
  ExpectRejected("device 3 PING 10.0.0.9\n", "\"device 3 PING 10.0.0.9\\n\"");
}

TEST(ParseHccnPingTest, RejectsASecondLossLine) {
  ExpectRejected(absl::StrCat(kPing, kPing), "expected one line with the loss");
  ExpectRejected(absl::StrCat(kPing, kHccsPing),
                 "unexpected \"1 packets transmitted, 1 received, 0.00% "
                 "packets loss\"");
}

TEST(ParseHccnPingTest, RejectsALossLineCutAnywhere) {
  const absl::string_view line =
      "3 packets transmitted, 3 received, 0.00% packet loss";
  for (size_t size = 0; size < line.size(); ++size) {
    EXPECT_FALSE(ParseHccnPing(line.substr(0, size)).ok()) << size;
  }
}

TEST(ParseHccnPingTest, RejectsUnfamiliarLossLines) {
  for (const absl::string_view line : {
           " 3 packets transmitted, 3 received, 0.00% packet loss",
           "+3 packets transmitted, 3 received, 0.00% packet loss",
           "03 packets transmitted, 3 received, 0.00% packet loss",
           "3 packets transmitted, -3 received, 0.00% packet loss",
           "3 packets transmitted, 3 received, 0% packet loss",
           "3 packets transmitted, 3 received, 0.0% packet loss",
           "3 packets transmitted, 3 received, 0.000% packet loss",
           "3 packets transmitted, 3 received, nan% packet loss",
           "3 packets transmitted, 0 received, 429496729.00% packet loss",
           "4294967299 packets transmitted, 3 received, 0.00% packet loss",
           "3 packets transmitted, 3 received, 0.00% packet loss, time 2ms",
           "3 packets transmitted, 3 received, +1 errors, 0.00% packet loss",
       }) {
    ExpectRejected(line, "expected \"N packets transmitted, N received, ");
  }
}

TEST(ParseHccnPingTest, QuotesHostileTextBoundedAndPrintable) {
  const std::string hostile =
      absl::StrCat("\x1b[2J", std::string(100000, 'x'), " packet loss");
  const absl::Status status = ParseHccnPing(hostile).status();
  EXPECT_THAT(std::string(status.message()), HasSubstr("\"\\x1b[2Jxxx"));
  EXPECT_THAT(std::string(status.message()), SizeIs(testing::Lt(300u)));
}

}  // namespace
}  // namespace clusterd
