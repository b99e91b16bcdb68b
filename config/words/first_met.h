// A map that keeps its keys in the order in which they were first met, for
// what is folded over hosts that agree.
#ifndef CONFIG_WORDS_FIRST_MET_H_
#define CONFIG_WORDS_FIRST_MET_H_

#include <cstddef>
#include <map>
#include <utility>
#include <vector>

namespace clusterd {

template <typename Key, typename Value>
class FirstMet {
 public:
  // Makes an empty value for a new key.
  Value& operator[](const Key& key) {
    const auto [found, is_new] = index_.emplace(key, items_.size());
    if (is_new) items_.push_back({key, {}});
    return items_[found->second].second;
  }
  std::vector<std::pair<Key, Value>>& items() { return items_; }
  auto begin() const { return items_.begin(); }
  auto end() const { return items_.end(); }
  bool empty() const { return items_.empty(); }
  size_t size() const { return items_.size(); }

 private:
  std::map<Key, size_t> index_;
  std::vector<std::pair<Key, Value>> items_;
};

}  // namespace clusterd

#endif  // CONFIG_WORDS_FIRST_MET_H_
