// The output of `clusterctl check` for clusters of any size on a terminal of 80
// columns and 24 lines, from facts in memory.
#include <functional>
#include <sstream>
#include <tuple>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "config/report/finding_overview.h"
#include "config/report/report_table.h"
#include "config/rules/finding_words.h"
#include "config/words/terminal.h"
#include "config/words/words.h"
#include "gmock/gmock.h"
#include "tests/support/client/golden.h"
#include "tests/support/config/judge_testing.h"

namespace clusterd {
namespace {

using ::testing::HasSubstr;

constexpr int kColumns = 80;
constexpr size_t kLines = 24;

// Makes the fault of that number. In a cluster of more than two hosts every
// tenth fault makes a host new, or silent.
void Break(TestCluster& cluster, int number) {
  const int servers = static_cast<int>(cluster.facts.size());
  const int round = number / 10;
  const int host = (29 * number + round) % servers;
  if (number % 10 == 9 && servers > 2) {
    return round < 3 ? cluster.MakeNew(host) : cluster.Silence(host);
  }
  const int index = (number % 10 + 3 * round) % 8;
  HostFacts& facts = cluster.facts[host];
  if (facts.has_missing()) return;
  DeviceFacts& device = cluster.device(host, index);
  KernelFacts& kernel = *facts.mutable_kernel();
  const std::function<void()> kFaults[] = {
      [&] {
        device.mutable_link()->set_value(LinkFact::DOWN);
        device.mutable_net_health()->set_value(NET_HEALTH_UNREACHABLE);
      },
      [&] {
        cluster.SetAddress(host, index, absl::StrCat("10.9.9.", 1 + number),
                           "255.255.255.0");
      },
      [&] {
        device.mutable_detect_address()->set_value("0.0.0.0");
        device.mutable_net_health()->set_value(NET_HEALTH_INIT);
      },
      [&] { kernel.mutable_somaxconn()->set_value(4096); },
      [&] { device.mutable_mtu()->set_value(9000); },
      [&] { kernel.mutable_reserved_ports()->set_value(""); },
      [&] { facts.mutable_ufw()->mutable_active()->set_value(true); },
      [&] {
        OpticalAlarm* const alarm =
            device.mutable_optical()->mutable_value()->add_alarms();
        alarm->set_name("Rx power");
        alarm->set_value("0.01 mW");
        alarm->set_limits("0.1 ~ 3.5 mW");
      },
      [&] { facts.mutable_versions()->mutable_driver()->set_value("23.0.0"); },
      [&] {
        device.mutable_health()->mutable_value()->add_error_codes("80E18402");
      }};
  kFaults[number % 10]();
}

Report BrokenCluster(int servers, int faults) {
  TestCluster cluster("atlas-a2", "", servers);
  cluster.spec.set_one_job(false);
  for (int number = 0; number < faults; ++number) Break(cluster, number);
  Report report = cluster.MakeReport();
  report.set_run_id("3fa2c4d5e6f70812");
  report.set_elapsed_ms(1300);
  return report;
}

std::vector<std::string> LinesOf(const Report& report) {
  Style style;
  style.utf8 = true;
  style.width = kColumns;
  std::ostringstream out;
  PrintReportTable(report, style, /*verbose=*/false, out);
  return absl::StrSplit(out.str(), '\n');
}

// The lines above the prompt, which is the last line.
std::string LastScreen(std::vector<std::string> lines) {
  if (lines.size() > kLines) {
    lines.erase(lines.begin(), lines.end() - static_cast<int>(kLines));
  }
  return absl::StrJoin(lines, "\n");
}

class LastScreenTest
    : public testing::TestWithParam<std::tuple<int, int, Language>> {};

TEST_P(LastScreenTest, HasTheVerdictAndItsCausesIn24LinesOf80Columns) {
  const auto& [servers, faults, language] = GetParam();
  const Report english = BrokenCluster(servers, faults);
  const InLanguage spoken(language);
  const Report report = Rendered(english);
  const std::vector<std::string> lines = LinesOf(report);
  for (const std::string& line : lines) {
    EXPECT_LE(TextColumns(line), kColumns) << line;
  }
  const std::string screen = LastScreen(lines);
  EXPECT_THAT(screen, HasSubstr("\n" + VerdictWord(report)));
  EXPECT_EQ(report.verdict() == FAIL, faults > 0);
  if (faults > 0) {
    EXPECT_THAT(screen, HasSubstr(Say("report-repairs") + "\n"));
  }
  ExpectGolden(
      absl::StrCat("reports/screen-", servers, "-", faults,
                   language == Language::kChinese ? "-zh" : "", ".table"),
      absl::StrJoin(lines, "\n"));
}

INSTANTIATE_TEST_SUITE_P(
    Sizes, LastScreenTest,
    testing::Combine(testing::Values(2, 64, 1152), testing::Values(0, 1, 40),
                     testing::Values(Language::kEnglish, Language::kChinese)),
    [](const auto& info) {
      return absl::StrCat(
          std::get<0>(info.param), "Hosts", std::get<1>(info.param), "Faults",
          std::get<2>(info.param) == Language::kChinese ? "Zh" : "");
    });

TEST(LastScreenOfNewHostsTest, HasOneSentenceForAllOfThem) {
  TestCluster cluster("atlas-a2", "", 64);
  for (int host = 0; host < 64; ++host) cluster.MakeNew(host);
  const auto screen = [&cluster] {
    return absl::StrReplaceAll(LastScreen(LinesOf(cluster.MakeReport())),
                               {{"\n    ", " "}});
  };
  const auto sentence = [](int devices, const char* cabling) {
    return ": " + Say("repair-never-configured", Counted(devices, "device"),
                      Say(cabling), 3 * devices);
  };
  EXPECT_THAT(screen(), HasSubstr("  × fail     server[0-63]" +
                                  sentence(512, "cabling-fine") +
                                  " (device-ip-set, net-health)\n"));
  SetMissing(Missing::NOT_QUERIED, "not asked",
             cluster.device(7, 3).mutable_link());
  EXPECT_THAT(screen(), HasSubstr("server7" + sentence(8, "cabling-unknown")));
}

}  // namespace
}  // namespace clusterd
