#include "daemon/controller/trust/join_limits.h"

#include <algorithm>

#include "absl/strings/str_cat.h"

namespace clusterd {

void JoinLimits::Refill(Allowance* allowance, double per_second, double most,
                        absl::Time now) {
  const double seconds =
      allowance->at == absl::InfinitePast()
          ? most / per_second
          : std::max(0.0, absl::ToDoubleSeconds(now - allowance->at));
  allowance->left = std::min(most, allowance->left + seconds * per_second);
  allowance->at = now;
}

void JoinLimits::ForgetQuietLocked(absl::Time now) {
  if (now - forgot_at_ < absl::Seconds(1) && now >= forgot_at_) return;
  forgot_at_ = now;
  for (auto it = addresses_.begin(); it != addresses_.end();) {
    Refill(&it->second, kPerSecond, kBurst, now);
    it = it->second.left >= kBurst ? addresses_.erase(it) : std::next(it);
  }
}

absl::Status JoinLimits::Take(const std::string& peer, absl::Time now) {
  const std::string address = peer.substr(0, peer.rfind(':'));
  absl::MutexLock lock(&mutex_);
  Refill(&all_, kAllPerSecond, kAllPerSecond, now);
  if (addresses_.size() >= kMaxAddresses) ForgetQuietLocked(now);
  Allowance* own = nullptr;
  if (addresses_.size() < kMaxAddresses || addresses_.count(address) > 0) {
    own =
        &addresses_.try_emplace(address, Allowance{kBurst, now}).first->second;
    Refill(own, kPerSecond, kBurst, now);
  }
  if (all_.left < 1 || (own != nullptr && own->left < 1)) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "too many requests ", all_.left < 1 ? "of hosts" : "from this address",
        ", try again in a second"));
  }
  all_.left -= 1;
  if (own != nullptr) own->left -= 1;
  return absl::OkStatus();
}

}  // namespace clusterd
