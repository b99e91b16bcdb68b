// Who of those that have connected may shake hands next: a bound on handshakes
// under way, a bound for one address, and a rate that follows what the
// controller can serve. Without them ten thousand hosts that come at once all
// get a share of the CPU, almost none finishes in time, and the work is lost.
//   waiting -> handshake -> open
// Where there is no room for a connection, those that have no call go first.
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

namespace clusterd {

struct AdmissionLimits {
  // Handshakes under way: admitted, and no call has come yet.
  size_t handshakes = 256;
  size_t handshakes_of_address = 64;
  // Handshakes and open connections.
  size_t connections = 16384;
  // Who waits costs a descriptor and no TLS.
  size_t waiting = 16384;
  // Handshakes begun a second: where it starts, and how far it follows.
  double rate = 250;
  double least_rate = 50;
  double most_rate = 5000;
  // A handshake that takes longer says that there are too many at once.
  absl::Duration wanted = absl::Seconds(1);
  // One that takes longer makes room while others wait.
  absl::Duration longest = absl::Seconds(10);
};

// Not safe for concurrent use.
class Admission {
 public:
  using Id = uint64_t;

  explicit Admission(const AdmissionLimits& limits)
      : limits_(limits), rate_(limits.rate) {}

  // A new connection of `address` waits. Which one has to go for it, where too
  // many wait: the newest of the address that has the most, maybe itself.
  std::optional<Id> Arrive(Id id, const std::string& address);

  struct Decision {
    // Who may shake hands now. Addresses take turns, each serves its oldest.
    std::vector<Id> admitted;
    // Who has to go: handshakes that take longer than `longest`; and where
    // there are as many connections as may be, those longest without a call, or
    // else who waits. They are not known any more.
    std::vector<Id> gone;
  };
  // Nobody goes while nobody waits.
  Decision Decide(absl::Time now);
  // When Decide would have more to say if nothing else happens; InfiniteFuture:
  // never.
  absl::Time Next() const;

  // A first call has come, or one after none ran. True: it was the handshake's
  // end.
  bool Begin(Id id, absl::Time now);
  // No call is left.
  void Idle(Id id, absl::Time now);
  // The connection has ended, in whatever state. Ids that are not known are
  // ignored.
  void Leave(Id id);

  size_t waiting() const { return waiting_count_; }
  size_t handshakes() const { return handshakes_.size(); }
  // Begun a second, at most.
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
  // The next in turn who may begin; none: empty.
  std::optional<std::string> NextAddress() const;
  void Refill(absl::Time now);
  void EndHandshake(Id id, Known* known);

  const AdmissionLimits limits_;
  std::map<Id, Known> known_;
  // Only those with something waiting or under way.
  std::map<std::string, Address> addresses_;
  std::set<std::pair<absl::Time, Id>> handshakes_;  // By when they began.
  std::set<std::pair<absl::Time, Id>> idle_;        // By since when.
  size_t waiting_count_ = 0;
  size_t open_count_ = 0;
  std::string last_served_;
  double rate_;
  double tokens_ = 1;
  absl::Time refilled_ = absl::InfinitePast();
  absl::Time slowed_ = absl::InfinitePast();
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_ADMISSION_ADMISSION_H_
