#include "config/hccl/hccl_variables.h"

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

TEST(FindHcclMistakesTest, KnowsTheRangeOfEachVariable) {
  const struct {
    const char* name;
    std::vector<std::string> good;
    std::vector<std::string> bad;
  } kCases[] = {
      {"HCCL_CONNECT_TIMEOUT", {"120", "7200", ""}, {"119", "7201", "2m"}},
      {"HCCL_EXEC_TIMEOUT", {"0", "1836", "2147483647"}, {"-1", "2147483648"}},
      {"HCCL_IF_BASE_PORT", {"1024", "65520"}, {"1023", "65521", "x"}},
      {"HCCL_RDMA_TC", {"0", "132", "252"}, {"1", "133", "256"}},
      {"HCCL_RDMA_SL", {"0", "7"}, {"8"}},
      {"HCCL_RDMA_RETRY_CNT", {"1", "7"}, {"0", "8"}},
      {"HCCL_SOCKET_FAMILY", {"AF_INET", "AF_INET6"}, {"inet"}},
      {"HCCL_SOCKET_IFNAME",
       {"eth", "^=eth0,eth1"},
       {",eth", "eth,", "=", "a,,b"}},
      {"HCCL_HOST_SOCKET_PORT_RANGE",
       {"auto", "60000", "60000-60031,61000"},
       {"0", "60000-60031,60010", "60031-60000", "1,", "a"}},
      {"HCCL_NPU_SOCKET_PORT_RANGE", {"auto"}, {"Auto"}},
      {"HCCL_INTRA_ROCE_ENABLE", {"0", "1"}, {"2", "true"}},
      {"HCCL_INTRA_PCIE_ENABLE", {"0", "1"}, {"on"}},
      {"HCCL_INTER_HCCS_DISABLE", {"TRUE", "FALSE"}, {"1"}},
      {"HCCL_WHITELIST_DISABLE", {"1"}, {"2"}},
      {"HCCL_WHITELIST_FILE", {"/a"}, {std::string(4096, 'a')}},
      {"HCCL_SOMETHING_NEW", {"x"}, {}},
  };
  for (const auto& each : kCases) {
    for (const std::string& value : each.good) {
      EXPECT_TRUE(FindHcclMistakes({{each.name, value}}).empty())
          << each.name << " " << value;
    }
    for (const std::string& value : each.bad) {
      EXPECT_EQ(FindHcclMistakes({{each.name, value}}).size(), 1u)
          << each.name << " " << value;
    }
  }
}

TEST(FindHcclMistakesTest, WhiteListThatIsOnNeedsItsFile) {
  const auto mistakes = FindHcclMistakes({{"HCCL_WHITELIST_DISABLE", "0"}});
  ASSERT_EQ(mistakes.size(), 1u);
  EXPECT_THAT(mistakes[0].expected, HasSubstr("HCCL_WHITELIST_FILE"));
  EXPECT_TRUE(FindHcclMistakes({{"HCCL_WHITELIST_DISABLE", "0"},
                                {"HCCL_WHITELIST_FILE", "/etc/hccl.json"}})
                  .empty());
}

TEST(FindHcclMistakesTest, RoceAndPcieInAServerContradictEachOther) {
  EXPECT_EQ(FindHcclMistakes({{"HCCL_INTRA_ROCE_ENABLE", "1"},
                              {"HCCL_INTRA_PCIE_ENABLE", "1"}})
                .size(),
            1u);
  EXPECT_TRUE(FindHcclMistakes({{"HCCL_INTRA_ROCE_ENABLE", "1"},
                                {"HCCL_INTRA_PCIE_ENABLE", "0"}})
                  .empty());
}

TEST(MatchesSocketIfnameTest, TakesTheFourForms) {
  EXPECT_TRUE(MatchesSocketIfname("ib,eth", "eth0"));
  EXPECT_FALSE(MatchesSocketIfname("ib", "eth0"));
  EXPECT_TRUE(MatchesSocketIfname("=eth0", "eth0"));
  EXPECT_FALSE(MatchesSocketIfname("=eth", "eth0"));
  EXPECT_TRUE(MatchesSocketIfname("=eth0.7", "eth0"));
  EXPECT_FALSE(MatchesSocketIfname("^eth", "eth0"));
  EXPECT_TRUE(MatchesSocketIfname("^=eth", "eth0"));
}

}  // namespace
}  // namespace clusterd
