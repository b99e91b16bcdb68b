#include "config/report/metrics_text.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_replace.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// Counts and times are whole numbers, and whole digits read best.
std::string NumberOf(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return absl::StrFormat("%.17g", value);
}

std::string LabelValue(absl::string_view value) {
  return absl::StrReplaceAll(ValidUtf8(value),
                             {{"\\", "\\\\"}, {"\"", "\\\""}, {"\n", "\\n"}});
}

}  // namespace

void MetricsText::Begin(absl::string_view name, absl::string_view type,
                        absl::string_view help) {
  name_ = std::string(name);
  absl::StrAppend(
      &text_, "# HELP ", name, " ",
      absl::StrReplaceAll(ValidUtf8(help), {{"\\", "\\\\"}, {"\n", "\\n"}}),
      "\n# TYPE ", name, " ", type, "\n");
}

void MetricsText::Sample(absl::string_view suffix, double value,
                         const MetricLabels& labels) {
  absl::StrAppend(&text_, name_, suffix);
  const char* before = "{";
  for (const auto& [name, text] : labels) {
    absl::StrAppend(&text_, before, name, "=\"", LabelValue(text), "\"");
    before = ",";
  }
  absl::StrAppend(&text_, labels.empty() ? "" : "}", " ", NumberOf(value),
                  "\n");
}

void MetricsText::AddHistogram(const Histogram& histogram) {
  uint64_t count = 0;
  for (size_t i = 0; i < histogram.counts().size(); ++i) {
    count += histogram.counts()[i];
    const bool is_last = i == histogram.bounds().size();
    Sample("_bucket", static_cast<double>(count),
           {{"le", is_last ? "+Inf" : absl::StrCat(histogram.bounds()[i])}});
  }
  Sample("_sum", histogram.sum(), {});
  Sample("_count", static_cast<double>(count), {});
}

void MetricsText::AddGauge(absl::string_view name, absl::string_view help,
                           double value) {
  Begin(name, "gauge", help);
  Add(value);
}

}  // namespace clusterd
