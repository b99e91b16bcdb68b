// Decides which connections may shake hands next: bounds on handshakes under
// way, in total and per address, and a rate that follows the controller's
// speed. Otherwise ten thousand hosts that connect at once share the CPU,
// almost none finishes in time, and the work is lost.
//   waiting -> handshake -> open
// At the bound of connections, those without a call are closed first.
// Pure: ids and times in, ids out.
#ifndef DAEMON_CONTROLLER_ADMISSION_ADMISSION_H_
#define DAEMON_CONTROLLER_ADMISSION_ADMISSION_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/time/time.h"
#include "daemon/process/allowance.h"

namespace clusterd {

struct AdmissionLimits {
  // Handshakes under way: connections admitted, but without a call so far.
  size_t handshakes = 256;
  size_t handshakes_of_address = 64;
  // Handshakes and open connections.
  size_t connections = 16384;
  // A waiting connection costs a descriptor, but not TLS.
  size_t waiting = 16384;
  // Handshakes begun per second: the initial rate and its bounds.
  double rate = 250;
  double least_rate = 50;
  double most_rate = 5000;
  // A handshake that takes longer shows that too many are under way.
  absl::Duration wanted = absl::Seconds(1);
  // A handshake that takes longer is closed while others wait.
  absl::Duration longest = absl::Seconds(10);
};

// Not safe for concurrent use.
class Admission {
 public:
  using Id = uint64_t;

  explicit Admission(const AdmissionLimits& limits)
      : limits_(limits), rate_(limits.rate) {}

  // A new connection of `address` waits. Returns the connection to close if too
  // many wait: the newest of the address with the most, maybe itself.
  std::optional<Id> Arrive(Id id, const std::string& address);

  struct Decision {
    // May shake hands now. Addresses alternate, each with its oldest first.
    std::vector<Id> admitted;
    // Must be closed, and are forgotten: handshakes longer than `longest`. At
    // the bound of connections also the longest idle one, or all waiting ones.
    std::vector<Id> gone;
  };
  // Closes no connection while none waits.
  Decision Decide(absl::Time now);
  // When to call Decide again if nothing happens; InfiniteFuture: never.
  absl::Time Next() const;

  // The connection's first open call has begun. True: its handshake ended.
  bool Begin(Id id, absl::Time now);
  // The connection's last call has ended.
  void Idle(Id id, absl::Time now);
  // The connection has ended, in any state. Unknown ids are ignored.
  void Leave(Id id);

  size_t waiting() const { return waiting_count_; }
  size_t handshakes() const { return handshakes_.size(); }
  // The most handshakes that may begin per second.
  double rate() const { return rate_; }

 private:
  struct Address {
    std::deque<Id> waiting;
    size_t handshakes = 0;
  };
  struct Known {
    std::string address;
    std::optional<absl::Time> began;  // The handshake.
    std::optional<absl::Time> idle;
    bool open = false;
  };

  bool IsFull() const {
    return handshakes_.size() + open_count_ >= limits_.connections;
  }
  void MakeRoom(std::vector<Id>* gone);
  void Admit(Address* address, absl::Time now);
  bool MayBegin(const Address& address) const {
    return !address.waiting.empty() &&
           address.handshakes < limits_.handshakes_of_address;
  }
  // The address that may begin next; empty: none.
  std::optional<std::string> NextAddress() const;
  void EndHandshake(Id id, Known* known);

  const AdmissionLimits limits_;
  std::map<Id, Known> known_;
  // Only addresses with connections waiting or under way.
  std::map<std::string, Address> addresses_;
  std::set<std::pair<absl::Time, Id>> handshakes_;  // Sorted by their begin.
  std::set<std::pair<absl::Time, Id>> idle_;  // Sorted by their last call.
  size_t waiting_count_ = 0;
  size_t open_count_ = 0;
  std::string last_served_;
  double rate_;
  Allowance begins_;  // Handshakes.
  absl::Time slowed_ = absl::InfinitePast();
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_ADMISSION_H_
