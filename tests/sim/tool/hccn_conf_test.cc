#include "tests/sim/tool/hccn_conf.h"

#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <sstream>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace clusterd::sim {
namespace {

using ::testing::Optional;

class HccnConfTest : public ::testing::Test {
 protected:
  HccnConfTest() {
    const char* folder = getenv("TEST_TMPDIR");
    folder_ = absl::StrCat(folder == nullptr ? "/tmp" : folder, "/conf.XXXXXX");
    mkdtemp(folder_.data());
  }
  ~HccnConfTest() override { std::filesystem::remove_all(folder_); }

  HccnConf With(const std::string& text) {
    std::ofstream(path(), std::ios::binary) << text;
    return HccnConf(path());
  }
  std::string path() const { return folder_ + "/hccn.conf"; }
  std::string Text() const {
    std::ifstream file(path(), std::ios::binary);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }

  std::string folder_;
};

std::optional<std::string> ValueOf(const HccnConf& conf,
                                   const std::string& key) {
  std::optional<std::string> value;
  EXPECT_EQ(conf.Read(key, &value), std::nullopt) << key;
  return value;
}

TEST_F(HccnConfTest, WriteAndRemoveLeaveTheOtherLines) {
  const std::string junk(HccnConf::kMaxLineBytes, 'z');
  const auto writes_mtu = [](const HccnConf& conf) {
    return conf.Write("mtu_0", "9000");
  };
  const struct {
    const char* name;
    std::string before;
    std::function<Outcome(const HccnConf&)> edit;
    std::string after;
  } kCases[] = {
      {"WriteJoinsALastLineWithoutNewline", "mtu_1=1500", writes_mtu,
       "mtu_1=1500mtu_0=9000\n"},
      {"LongLineCountsAsSeveral", junk + "mtu_0=7\nmtu_1=8\n", writes_mtu,
       junk + "mtu_1=8\nmtu_0=9000\n"},
      {"WriteLosesWhatFollowsAZeroByte",
       std::string("a_0=1\nx\0y\nb_0=2\n", 16), writes_mtu,
       "a_0=1\nxb_0=2\nmtu_0=9000\n"},
      {"RemoveContainingTakesTheTextAnywhere",
       "gateway_0=1\nIPv6gateway_0=2\n# gateway_0=3\ngateway_00=4\n",
       [](const HccnConf& conf) { return conf.RemoveContaining("gateway_0="); },
       "gateway_00=4\n"},
      {"RemoveTakesExactlyItsKey", "a_0=1\na_00=2\nxa_0=3\n",
       [](const HccnConf& conf) { return conf.Remove("a_0"); },
       "a_00=2\nxa_0=3\n"},
      {"AppendReplacesTheFirstLineThatHoldsAllParts",
       "arp_1=-i eth1 a \narp_0=-i eth1 a \n",
       [](const HccnConf& conf) {
         return conf.Append("new", {"arp_0=", "a "});
       },
       "arp_1=-i eth1 a \nnew\n"},
      {"AppendAddsALine", "arp_1=-i eth1 a \nnew\n",
       [](const HccnConf& conf) { return conf.Append("new"); },
       "arp_1=-i eth1 a \nnew\nnew\n"}};
  for (const auto& each : kCases) {
    SCOPED_TRACE(each.name);
    EXPECT_EQ(each.edit(With(each.before)), std::nullopt);
    EXPECT_EQ(Text(), each.after);
  }
  EXPECT_THAT(ValueOf(With(junk + "mtu_0=7\n"), "mtu_0"),
              Optional(std::string("7")));
  EXPECT_EQ(ValueOf(With("mtu_1=1500mtu_0=9000\n"), "mtu_0"), std::nullopt);
}

TEST_F(HccnConfTest, FullFileStaysAsItIs) {
  const std::string full(HccnConf::kMaxFileBytes, '#');
  const HccnConf conf = With(full);
  EXPECT_EQ(conf.Write("mtu_0", "1")->status, 15);
  EXPECT_EQ(Text(), full);
}

}  // namespace
}  // namespace clusterd::sim
