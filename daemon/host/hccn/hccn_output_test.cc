#include "daemon/host/hccn/hccn_output.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::ElementsAre;
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

}  // namespace
}  // namespace clusterd
