// Making the HTML of a broken cluster of 1,152 hosts with some 2,000 findings,
// and the JSON of the same report. Counters:
//   budget_share  bytes over 5 MB
//   mb            what it is in MB
//   findings      of the report
#include <string>

#include "benchmark/benchmark.h"
#include "config/html/report_html.h"
#include "config/report/message_json.h"
#include "tests/support/report/sample_reports.h"

namespace clusterd {
namespace {

constexpr double kBudgetBytes = 5e6;

void BM_Html(benchmark::State& state) {
  const Report report = LargeBrokenReport();
  std::string html;
  for (auto _ : state) {
    html = ReportHtml(report, nullptr).value_or("");
    benchmark::DoNotOptimize(html);
  }
  double findings = 0;
  for (const RuleResult& rule : report.rules()) {
    findings += rule.findings_size();
  }
  state.counters["findings"] = findings;
  state.counters["mb"] = static_cast<double>(html.size()) / 1e6;
  state.counters["budget_share"] =
      static_cast<double>(html.size()) / kBudgetBytes;
}
BENCHMARK(BM_Html)->Unit(benchmark::kMillisecond);

// `groups`: with the observations by value and switch, or without.
void BM_Json(benchmark::State& state, bool groups) {
  Report report = LargeBrokenReport();
  if (!groups) {
    report.clear_value_groups();
    report.clear_switches();
  }
  std::string json;
  for (auto _ : state) {
    json = MessageJson(report);
    benchmark::DoNotOptimize(json);
  }
  state.counters["mb"] = static_cast<double>(json.size()) / 1e6;
}
BENCHMARK_CAPTURE(BM_Json, with_groups, true)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(BM_Json, without, false)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace clusterd

BENCHMARK_MAIN();
