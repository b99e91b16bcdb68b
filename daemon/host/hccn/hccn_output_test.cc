#include "daemon/host/hccn/hccn_output.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(HccnDataLinesTest, DropsEmptyLinesAndBlanksAtTheEnd) {
  EXPECT_THAT(HccnDataLines("mtu:1500 \n\n\t\nnext\r\n"),
              ElementsAre("mtu:1500", "next"));
}

TEST(HccnDataLinesTest, DropsWhatTheToolSaysAboutItself) {
  EXPECT_THAT(
      HccnDataLines("[WARNING] \"/var/log/hccn_tool\" is not a directory, "
                    "hccn_tool logs may be lost.\n"
                    "mtu:1500\n"
                    "Cmd executed successfully!\n"),
      ElementsAre("mtu:1500"));
}

TEST(HccnDataLinesTest, HasNoLinesForNoOutput) {
  EXPECT_THAT(HccnDataLines(""), IsEmpty());
  EXPECT_THAT(HccnDataLines("\n"), IsEmpty());
}

void ExpectRejected(const absl::Status& status, const std::string& said) {
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), HasSubstr(said));
}

TEST(ParseHccnNumberTest, ReadsNumbersUpToItsBound) {
  EXPECT_EQ(*ParseHccnNumber("0", 0), 0u);
  EXPECT_EQ(*ParseHccnNumber("18446744073709551615", ~uint64_t{0}),
            ~uint64_t{0});
  ExpectRejected(ParseHccnNumber("8", 7).status(), "a number from 0 to 7");
}

TEST(ParseHccnNumberTest, RejectsWhatPrintfWouldNotWrite) {
  for (const absl::string_view text : {"", "-1", "+1", " 1", "1 ", "01", "1.0",
                                       "0x1", "1e3", "18446744073709551616"}) {
    EXPECT_FALSE(ParseHccnNumber(text, ~uint64_t{0}).ok()) << text;
  }
}

}  // namespace
}  // namespace clusterd
