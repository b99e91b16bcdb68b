#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_query/query_answers.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr absl::string_view kPresent =
    "optical info:\npresent              : present\n";

// Returns an empty module, after a test failure, if it cannot be parsed.
HccnOptical Parse(absl::string_view rows) {
  const absl::StatusOr<HccnOptical> optical =
      ParseHccnOptical(absl::StrCat(kPresent, rows));
  EXPECT_TRUE(optical.ok()) << optical.status();
  return optical.ok() ? *optical : HccnOptical();
}

void ExpectRejected(absl::string_view output, const std::string& said) {
  const absl::Status status = ParseHccnOptical(output).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << output;
  EXPECT_THAT(std::string(status.message()), HasSubstr(said)) << output;
}

void ExpectRowRejected(absl::string_view row, const std::string& said) {
  ExpectRejected(absl::StrCat(kPresent, row, "\n"), said);
}

void ExpectMeasured(absl::string_view row, const std::string& name,
                    double number, const std::string& unit) {
  const HccnOptical optical = Parse(absl::StrCat(row, "\n"));
  ASSERT_THAT(optical.rows, SizeIs(1)) << row;
  EXPECT_EQ(optical.rows[0].name, name);
  EXPECT_EQ(optical.rows[0].number, number);
  EXPECT_EQ(optical.rows[0].unit, unit);
}

TEST(ParseHccnOpticalTest, ReadsWhetherAModuleIsThere) {
  EXPECT_TRUE(Parse("").present);
  const auto absent =
      ParseHccnOptical("optical info:\npresent              : not present\n");
  ASSERT_TRUE(absent.ok()) << absent.status();
  EXPECT_FALSE(absent->present);
}

TEST(ParseHccnOpticalTest, ReadsNumbersWithTheirUnits) {
  ExpectMeasured("temperature          : 47 C", "temperature", 47, "C");
  ExpectMeasured("Temp Low Thres       : -5 C", "Temp Low Thres", -5, "C");
  ExpectMeasured("Vcc                  : 3300.00 mV", "Vcc", 3300, "mV");
  ExpectMeasured("Vcc High Thres       : 3630.00 mV", "Vcc High Thres", 3630,
                 "mV");
  ExpectMeasured("Rx Power3            : 1.0189 mW", "Rx Power3", 1.0189, "mW");
  ExpectMeasured("RxPower Low Thres    : 0.1445 mW", "RxPower Low Thres",
                 0.1445, "mW");
  ExpectMeasured("Tx Bias0             : 8.0000 mA", "Tx Bias0", 8, "mA");
  ExpectMeasured("Media SNR Lane0      : 23.1211 dB", "Media SNR Lane0",
                 23.1211, "dB");
  ExpectMeasured("xsfp wave length     : 850 nm", "xsfp wave length", 850,
                 "nm");
}

TEST(ParseHccnOpticalTest, KeepsARowWithoutItsNumber) {
  const HccnOptical optical = Parse(
      "Tx Power             : NA\nHost SNR Lane0       : not supported\n"
      "temperature          : get failed\n");
  ASSERT_THAT(optical.rows, SizeIs(3));
  EXPECT_EQ(optical.rows[0].unit, "mW");
  EXPECT_EQ(optical.rows[1].unit, "dB");
  EXPECT_EQ(optical.rows[2].unit, "C");
  for (const HccnOpticalRow& row : optical.rows) {
    EXPECT_EQ(row.number, std::nullopt);
  }
}

TEST(ParseHccnOpticalTest, ReadsFlags) {
  const HccnOptical optical = Parse(
      "Tx Los Flag          : 0x0\nRx Los Flag          : 0xff\n"
      "Rx LoL Flag          : NA\n");
  ASSERT_THAT(optical.rows, SizeIs(3));
  for (const HccnOpticalRow& row : optical.rows) {
    EXPECT_THAT(row.unit, IsEmpty());
  }
  EXPECT_EQ(optical.rows[0].name, "Tx Los Flag");
  EXPECT_EQ(optical.rows[0].number, 0);
  EXPECT_EQ(optical.rows[1].number, 0xff);
  EXPECT_EQ(optical.rows[2].number, std::nullopt);
}

TEST(ParseHccnOpticalTest, LeavesOutRowsOfText) {
  EXPECT_THAT(Parse("vendor name          : \nvendor rev           : a:b\n"
                    "high power enable reg: enabled\n")
                  .rows,
              IsEmpty());
}

TEST(ParseHccnOpticalTest, KeepsNamesPrintableAndBounded) {
  const HccnOptical optical = Parse(
      absl::StrCat("Vcc\x1b[2J: 1 mV\nVcc", std::string(1000, 'x'), ": NA\n"));
  ASSERT_THAT(optical.rows, SizeIs(2));
  EXPECT_EQ(optical.rows[0].name, "Vcc\\x1b[2J");
  EXPECT_THAT(optical.rows[1].name, SizeIs(kMaxHccnTextBytes + 3));
}

TEST(ParseHccnOpticalTest, NeverTakesAnotherFormForANumber) {
  for (const char* row :
       {"temperature: 47", "temperature: 47 mW", "temperature: 47C",
        "Tx Power0: 1,2 mW", "Tx Power0: .5 mW", "Tx Power0: 1. mW",
        "Tx Power0: 1.00000 mW", "Tx Power0: 1e3 mW", "Tx Power0: nan mW",
        "Tx Power0: inf mW", "Tx Power0: 0x1 mW", "Tx Power0: +1 mW",
        "Tx Power0: 01 mW", "Tx Power0: - mW", "Vcc: ", "Vcc: na"}) {
    ExpectRowRejected(row, row);
  }
  for (const char* row : {"Tx Los Flag: 0", "Tx Los Flag: 0x", "Tx Los Flag: ",
                          "Tx Los Flag: 0x-1", "Tx Los Flag: 0x123456789"}) {
    ExpectRowRejected(row, row);
  }
}

TEST(ParseHccnOpticalTest, RejectsWhatDoesNotBeginAsItShould) {
  ExpectRejected("", "unexpected \"\", expected \"optical info:\"");
  ExpectRejected("present              : present\n", "\"optical info:\"");
  ExpectRejected("optical info:\n", "present: present");
  ExpectRejected("optical info:\ntemperature: 47 C\n", "temperature: 47 C");
  ExpectRejected("optical info:\npresent: maybe\n", "present: maybe");
  ExpectRowRejected("present: not present", "each name once");
  ExpectRowRejected("vendor rev: 1\nvendor name: a\nvendor rev: 2",
                    "unexpected \"vendor rev: 2\", expected each name once");
  ExpectRowRejected("a line without colon",
                    "unexpected \"a line without colon\", expected \"name: "
                    "value\"");
  ExpectRowRejected(" : 7", "unexpected \" : 7\", expected \"name: value\"");
}

}  // namespace
}  // namespace clusterd
