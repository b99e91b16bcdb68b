#include "config/report/metrics_text.h"

#include <limits>
#include <string>
#include <utility>

#include "gtest/gtest.h"

namespace clusterd {
namespace {

TEST(MetricsTextTest, WritesHelpTypeAndSamples) {
  MetricsText text;
  text.Begin("clusterd_hosts", "gauge", "Hosts by state.");
  text.Add(1152, {{"state", "attached"}});
  text.AddGauge("clusterd_up", "One.", 0.5);
  EXPECT_EQ(std::move(text).Take(),
            "# HELP clusterd_hosts Hosts by state.\n"
            "# TYPE clusterd_hosts gauge\n"
            "clusterd_hosts{state=\"attached\"} 1152\n"
            "# HELP clusterd_up One.\n"
            "# TYPE clusterd_up gauge\n"
            "clusterd_up 0.5\n");
}

TEST(MetricsTextTest, HostileTextStaysInItsLabel) {
  MetricsText text;
  text.Begin("m", "gauge", "a\\b\nm 7");
  text.Add(1, {{"host", "a\"} 9\nm 7 # \\"}, {"rule", "\xff\n"}});
  EXPECT_EQ(std::move(text).Take(),
            "# HELP m a\\\\b\\nm 7\n"
            "# TYPE m gauge\n"
            "m{host=\"a\\\"} 9\\nm 7 # \\\\\",rule=\"\xef\xbf\xbd\\n\"} 1\n");
}

TEST(MetricsTextTest, NumbersKeepEverySecondAndSayWhatIsNone) {
  MetricsText text;
  text.Begin("m", "gauge", "h");
  text.Add(1764243842);
  text.Add(std::numeric_limits<double>::infinity());
  text.Add(std::numeric_limits<double>::quiet_NaN());
  EXPECT_EQ(std::move(text).Take(),
            "# HELP m h\n# TYPE m gauge\nm 1764243842\nm +Inf\nm NaN\n");
}

TEST(MetricsTextTest, BucketsOfAHistogramAddUp) {
  Histogram histogram({0.125, 1});
  for (const double value : {0.0625, 0.125, 0.5, 32.0}) {
    histogram.Observe(value);
  }
  MetricsText text;
  text.Begin("w_seconds", "histogram", "h");
  text.AddHistogram(histogram);
  EXPECT_EQ(std::move(text).Take(),
            "# HELP w_seconds h\n# TYPE w_seconds histogram\n"
            "w_seconds_bucket{le=\"0.125\"} 2\n"
            "w_seconds_bucket{le=\"1\"} 3\n"
            "w_seconds_bucket{le=\"+Inf\"} 4\n"
            "w_seconds_sum 32.6875\n"
            "w_seconds_count 4\n");
}

}  // namespace
}  // namespace clusterd
