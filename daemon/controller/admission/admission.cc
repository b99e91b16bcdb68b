#include "daemon/controller/admission/admission.h"

#include <algorithm>

namespace clusterd {

std::optional<Admission::Id> Admission::Arrive(Id id,
                                               const std::string& address) {
  known_[id].address = address;
  addresses_[address].waiting.push_back(id);
  ++waiting_count_;
  if (waiting_count_ <= limits_.waiting) return std::nullopt;
  const auto most = std::max_element(addresses_.begin(), addresses_.end(),
                                     [](const auto& one, const auto& other) {
                                       return one.second.waiting.size() <
                                              other.second.waiting.size();
                                     });
  const Id gone = most->second.waiting.back();
  Leave(gone);
  return gone;
}

std::optional<std::string> Admission::NextAddress() const {
  auto next = addresses_.upper_bound(last_served_);
  for (size_t i = 0; i < addresses_.size(); ++i, ++next) {
    if (next == addresses_.end()) next = addresses_.begin();
    if (MayBegin(next->second)) return next->first;
  }
  return std::nullopt;
}

void Admission::MakeRoom(std::vector<Id>* gone) {
  if (!idle_.empty()) {
    gone->push_back(idle_.begin()->second);
    return Leave(gone->back());
  }
  // Handshakes end soon, one way or another; calls may last forever.
  if (!handshakes_.empty()) return;
  for (auto& [name, address] : addresses_) {
    gone->insert(gone->end(), address.waiting.begin(), address.waiting.end());
  }
  waiting_count_ = 0;
  addresses_.clear();  // No handshake is under way, so none is lost.
  for (const Id id : *gone) known_.erase(id);
}

void Admission::Admit(Address* address, absl::Time now) {
  const Id id = address->waiting.front();
  address->waiting.pop_front();
  --waiting_count_;
  ++address->handshakes;
  known_[id].began = now;
  handshakes_.emplace(now, id);
  begins_.Use();
}

Admission::Decision Admission::Decide(absl::Time now) {
  Decision decision;
  if (waiting_count_ == 0) return decision;
  while (!handshakes_.empty() &&
         handshakes_.begin()->first + limits_.longest <= now) {
    decision.gone.push_back(handshakes_.begin()->second);
    Leave(decision.gone.back());
  }
  // A tenth of a second's handshakes may begin at once.
  begins_.Refill({std::max(1.0, rate_ * 0.1), rate_}, now);
  while (waiting_count_ > 0 && begins_.left() >= 1 &&
         handshakes_.size() < limits_.handshakes) {
    if (IsFull()) MakeRoom(&decision.gone);
    if (IsFull()) break;
    const std::optional<std::string> name = NextAddress();
    if (!name.has_value()) break;
    Address& address = addresses_[*name];
    decision.admitted.push_back(address.waiting.front());
    Admit(&address, now);
    last_served_ = *name;
  }
  return decision;
}

absl::Time Admission::Next() const {
  if (waiting_count_ == 0) return absl::InfiniteFuture();
  absl::Time next = absl::InfiniteFuture();
  if (!handshakes_.empty()) next = handshakes_.begin()->first + limits_.longest;
  if (handshakes_.size() < limits_.handshakes && !(IsFull() && idle_.empty()) &&
      NextAddress().has_value()) {
    const double lacks = std::max(0.0, 1 - begins_.left());
    next = std::min(next, begins_.refilled() + absl::Seconds(lacks / rate_));
  }
  return next;
}

void Admission::EndHandshake(Id id, Known* known) {
  handshakes_.erase({*known->began, id});
  known->began.reset();
  const auto address = addresses_.find(known->address);
  if (--address->second.handshakes == 0 && address->second.waiting.empty()) {
    addresses_.erase(address);
  }
}

bool Admission::Begin(Id id, absl::Time now) {
  const auto found = known_.find(id);
  if (found == known_.end()) return false;
  Known& known = found->second;
  if (known.idle.has_value()) idle_.erase({*known.idle, id});
  known.idle.reset();
  if (!known.began.has_value()) return false;
  const absl::Duration took = now - *known.began;
  EndHandshake(id, &known);
  known.open = true;
  ++open_count_;
  if (took <= limits_.wanted) {
    rate_ = std::min(limits_.most_rate, rate_ + 1);
  } else if (now - slowed_ > limits_.wanted) {
    // Slow down only once for all handshakes that began before this.
    slowed_ = now;
    rate_ = std::max(limits_.least_rate, rate_ * 0.7);
  }
  return true;
}

void Admission::Idle(Id id, absl::Time now) {
  const auto found = known_.find(id);
  if (found == known_.end() || !found->second.open) return;
  found->second.idle = now;
  idle_.emplace(now, id);
}

void Admission::Leave(Id id) {
  const auto found = known_.find(id);
  if (found == known_.end()) return;
  Known known = std::move(found->second);
  known_.erase(found);
  if (known.open) {
    --open_count_;
    if (known.idle.has_value()) idle_.erase({*known.idle, id});
  } else if (known.began.has_value()) {
    EndHandshake(id, &known);
  } else {
    const auto address = addresses_.find(known.address);
    std::deque<Id>& waiting = address->second.waiting;
    waiting.erase(std::find(waiting.begin(), waiting.end(), id));
    --waiting_count_;
    if (waiting.empty() && address->second.handshakes == 0) {
      addresses_.erase(address);
    }
  }
}

}  // namespace clusterd
