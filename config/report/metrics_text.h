// Metrics as Prometheus reads them, text format 0.0.4:
//   # HELP clusterd_hosts Hosts by state.
//   # TYPE clusterd_hosts gauge
//   clusterd_hosts{state="attached"} 1152
// https://prometheus.io/docs/instrumenting/exposition_formats
#ifndef CONFIG_REPORT_METRICS_TEXT_H_
#define CONFIG_REPORT_METRICS_TEXT_H_

#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "config/values/histogram.h"
#include "proto/finding.pb.h"

namespace clusterd {

inline constexpr char kMetricsType[] = "text/plain; version=0.0.4";

// Names and values. Values may be untrusted: they are escaped, and bytes that
// are not UTF-8 are replaced. Names are ours.
using MetricLabels = std::vector<std::pair<absl::string_view, std::string>>;

class MetricsText {
 public:
  // Begins a metric; its samples follow. `type`: gauge, counter or histogram.
  void Begin(absl::string_view name, absl::string_view type,
             absl::string_view help);
  // A sample of the last metric.
  void Add(double value, const MetricLabels& labels = {}) {
    Sample("", value, labels);
  }
  void AddHistogram(const Histogram& histogram);
  void AddGauge(absl::string_view name, absl::string_view help, double value);

  std::string Take() && { return std::move(text_); }

 private:
  void Sample(absl::string_view suffix, double value,
              const MetricLabels& labels);

  std::string name_;
  std::string text_;
};

// The states by which metrics count, with their labels, in this order.
inline constexpr std::pair<State, const char*> kMetricStates[] = {
    {PASS, "pass"},
    {SKIPPED, "skipped"},
    {WARN, "warn"},
    {UNKNOWN, "unknown"},
    {FAIL, "fail"}};

}  // namespace clusterd

#endif  // CONFIG_REPORT_METRICS_TEXT_H_
