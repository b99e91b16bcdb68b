// The distribution of durations, for metrics.
#ifndef CONFIG_VALUES_HISTOGRAM_H_
#define CONFIG_VALUES_HISTOGRAM_H_

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace clusterd {

class Histogram {
 public:
  // `bounds` ascend; each is the largest value of its bucket.
  explicit Histogram(std::vector<double> bounds)
      : bounds_(std::move(bounds)), counts_(bounds_.size() + 1) {}

  void Observe(double value) {
    const auto bucket = std::lower_bound(bounds_.begin(), bounds_.end(), value);
    ++counts_[static_cast<size_t>(bucket - bounds_.begin())];
    sum_ += value;
  }

  const std::vector<double>& bounds() const { return bounds_; }
  // The count of each bucket; the last is for values beyond all bounds.
  const std::vector<uint64_t>& counts() const { return counts_; }
  double sum() const { return sum_; }

 private:
  std::vector<double> bounds_;
  std::vector<uint64_t> counts_;
  double sum_ = 0;
};

}  // namespace clusterd

#endif  // CONFIG_VALUES_HISTOGRAM_H_
