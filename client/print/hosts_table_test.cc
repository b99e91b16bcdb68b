#include "client/print/hosts_table.h"

#include <sstream>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/number_text.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/client/golden.h"

namespace clusterd {
namespace {

const absl::Time kNow = absl::FromUnixMillis(1735689600000);

TEST(HostsTableTest, PrintsAsInTheFile) {
  const auto hosts = GoldenMessage<ListHostsResponse>("hosts/list");
  std::ostringstream out;
  PrintHostsTable(hosts, Utf8(), kNow, out);
  ExpectGolden("hosts/list.table", out.str());
  ExpectGolden("hosts/list.short", absl::StrCat(HostsShort(hosts), "\n"));
}

TEST(HostsTableTest, FoldsAClusterWhereAllIsWell) {
  ListHostsResponse hosts;
  hosts.set_cluster("big");
  for (int i = 0; i < 1152; ++i) {
    HostEntry& host = *hosts.add_hosts();
    host.set_host(absl::StrCat("node", i));
    host.set_attached(true);
    host.set_in_spec(true);
    host.set_attached_since_ms(absl::ToUnixMillis(kNow - absl::Minutes(5)));
    host.set_clusterd_version("0.1.0");
  }
  std::ostringstream out;
  PrintHostsTable(hosts, Utf8(), kNow, out);
  EXPECT_EQ(out.str(),
            "STATE     HOSTS         SINCE  VERSION\n"
            "attached  node[0-1151]  5 min  0.1.0\n"
            "\n"
            "big: 1152 attached\n");
  EXPECT_EQ(HostsShort(hosts),
            absl::StrCat("big: ", Say("hosts-short-attached", 1152,
                                      Count(1152, "host"))));
  hosts.mutable_hosts(7)->set_maintenance(true);
  std::ostringstream marked;
  PrintHostsTable(hosts, Utf8(), kNow, marked);
  EXPECT_NE(marked.str().find("node7  "), std::string::npos) << marked.str();
  EXPECT_THAT(marked.str(), ::testing::HasSubstr("0.1.0    in maintenance\n"));
}

TEST(HostsTableTest, SpeaksChinese) {
  const InLanguage chinese(Language::kChinese);
  ListHostsResponse hosts;
  hosts.set_cluster("demo");
  for (const char* name : {"node07", "node08"}) {
    HostEntry& host = *hosts.add_hosts();
    host.set_host(name);
    host.set_in_spec(true);
    host.set_attached(hosts.hosts_size() == 1);
    host.set_attached_since_ms(absl::ToUnixMillis(kNow - absl::Minutes(5)));
  }
  hosts.mutable_hosts(0)->set_maintenance(true);
  hosts.mutable_hosts(0)->set_simulation("in memory");
  std::ostringstream out;
  PrintHostsTable(hosts, Utf8(), kNow, out);
  EXPECT_EQ(out.str(),
            "状态    主机    时长   版本\n"
            "已连接  node07  5 min        维护中；内存中\n"
            "未连接  node08  从未\n"
            "\n"
            "demo：1 台已连接，1 台未连接\n");
  EXPECT_EQ(HostsShort(hosts), "demo：2 台主机中 1 台已连接；未连接：node08");
}

TEST(HostsTableTest, StaysReadableWhenEveryHostDiffers) {
  ListHostsResponse hosts;
  for (int i = 0; i < 1152; ++i) {
    HostEntry& host = *hosts.add_hosts();
    host.set_host(absl::StrCat("node", i));
    host.set_in_spec(true);
    host.set_detached_reason(absl::StrCat("reason ", i));
  }
  std::ostringstream out;
  PrintHostsTable(hosts, Utf8(), kNow, out);
  const std::vector<std::string> lines = absl::StrSplit(out.str(), '\n');
  EXPECT_LT(lines.size(), 60u);
  EXPECT_THAT(out.str(), ::testing::HasSubstr(Say("list-more-groups-json",
                                                  Count(1112, "more group"))));
}

TEST(HostsTableTest, SaysThatThereIsNobody) {
  std::ostringstream out;
  PrintHostsTable(ListHostsResponse(), Utf8(), kNow, out);
  EXPECT_EQ(out.str(), "STATE  HOSTS  SINCE  VERSION\n\nno hosts\n");
  EXPECT_EQ(HostsShort(ListHostsResponse()), "0 of 0 hosts attached");
}

}  // namespace
}  // namespace clusterd
