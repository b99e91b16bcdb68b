// How an apply or rollback goes over its hosts: so many at once, in the order
// of its plan, and before that, where a canary was asked for, that many alone.
//   5 hosts, canary 1, size 2:  host 0 | hosts 1, 2 | hosts 3, 4
#ifndef CONFIG_PLAN_WAVES_H_
#define CONFIG_PLAN_WAVES_H_

#include <algorithm>
#include <cstddef>

namespace clusterd {

class Waves {
 public:
  // `canary` 0: the first wave is like the others. A `size` of 0 is 1.
  Waves(size_t hosts, size_t canary, size_t size)
      : hosts_(hosts),
        canary_(std::min(canary, hosts)),
        size_(std::max<size_t>(1, size)) {}

  size_t count() const {
    return (canary_ > 0 ? 1 : 0) + (hosts_ - canary_ + size_ - 1) / size_;
  }
  // The first host of that wave, both from 0; of the one behind the last: how
  // many hosts there are.
  size_t begin(size_t wave) const {
    if (canary_ > 0 && wave > 0) {
      return std::min(hosts_, canary_ + (wave - 1) * size_);
    }
    return std::min(hosts_, wave * size_);
  }

 private:
  const size_t hosts_;
  const size_t canary_;
  const size_t size_;
};

}  // namespace clusterd

#endif  // CONFIG_PLAN_WAVES_H_
