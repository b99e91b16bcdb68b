// A question to the queue of fact runs, and the facts that answer it.
//
// A host's run asks only hosts that have asked the same themselves, at the
// earliest `counts_for` before it and at the latest `hold_for` after its begin.
// Facts of the others are missing, with that reason. A user's run asks all
// hosts.
#ifndef DAEMON_CONTROLLER_QUEUE_FACT_QUESTION_H_
#define DAEMON_CONTROLLER_QUEUE_FACT_QUESTION_H_

#include <cstddef>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/time/time.h"
#include "daemon/controller/calls/call_limits.h"
#include "daemon/controller/hosts/fact_run.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Hosts that have asked themselves, and when.
using AskedAt = absl::flat_hash_map<std::string, absl::Time>;

// The facts of a run, for its owner.
struct Gathered {
  const FactOrder& order;
  const std::vector<HostFacts>& facts;  // As order.hosts.
  const AskedAt& asked;
  bool of_all;  // A user has asked, too.
};

struct FactQuestion {
  CallClass of = CallClass::kCheck;
  std::string key;   // Equal keys share a run.
  std::string who;   // The user or host whose share it takes.
  std::string host;  // The asking host; empty: a user asks about all.
  bool joins_begun = false;
  // The asker's runs at once, if not as in the table; kNoLimit: not counted.
  size_t at_once = 0;
  size_t bytes = 0;  // Memory that its run keeps for it.
  // The caller waits until then for the run to begin.
  absl::Time give_up = absl::InfiniteFuture();
  absl::Duration hold_for = absl::ZeroDuration();
  // For a new run: hosts that have asked, besides those of runs under way.
  AskedAt asked = {};
  absl::Duration counts_for = absl::InfiniteDuration();  // Each of `asked`.
};

}  // namespace clusterd

#endif  // DAEMON_CONTROLLER_QUEUE_FACT_QUESTION_H_
