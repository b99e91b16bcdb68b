#include "tests/sim/fleet/fleet.h"

#include <sys/resource.h>

#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "tests/sim/facts/healthy_ssh.h"

namespace clusterd {
namespace {

constexpr int kWorkers = 2;
// With one loop a bench would measure the loop.
constexpr size_t kLoops = 4;
constexpr char kSimulation[] = "in memory";

}  // namespace

void RaiseDescriptorLimit() {
  rlimit limit = {};
  getrlimit(RLIMIT_NOFILE, &limit);
  limit.rlim_cur = limit.rlim_max;
  setrlimit(RLIMIT_NOFILE, &limit);
}

FleetObserver::FleetObserver(const std::vector<HostFacts>& facts,
                             absl::string_view ca_pem) {
  for (const HostFacts& host : facts) {
    HostFacts& kept = facts_[host.host()];
    kept = host;
    FillRoots(ca_pem, &kept);
    kept.set_simulation(kSimulation);
  }
}

HostFacts FleetObserver::ObserveFor(const std::string& host,
                                    const ObserveRequest& request,
                                    const Asker&) {
  {
    absl::MutexLock lock(&mutex_);
    if (asked_++ == 0) first_asked_ = absl::Now();
  }
  const auto found = facts_.find(host);
  HostFacts facts;
  if (found != facts_.end()) {
    facts = found->second;
    if (request.has_ssh() && !facts.has_ssh()) {
      *facts.mutable_ssh() = MakeHealthySsh(host, request.ssh());
    }
    return facts;
  }
  facts.set_host(host);
  facts.mutable_missing()->set_reason(Missing::ABSENT);
  facts.mutable_missing()->set_detail("the fleet has no such host");
  return facts;
}

void FleetObserver::Forget() {
  absl::MutexLock lock(&mutex_);
  asked_ = 0;
  first_asked_ = absl::InfiniteFuture();
}

int FleetObserver::asked() {
  absl::MutexLock lock(&mutex_);
  return asked_;
}

absl::Time FleetObserver::first_asked() {
  absl::MutexLock lock(&mutex_);
  return first_asked_;
}

Fleet::Fleet(const std::string& controller, const std::string& cluster,
             const std::vector<HostFacts>& facts,
             const TestAuthority& authority, Log* log,
             const Credentials& credentials)
    : observer_(facts, authority.certificate_pem()),
      loops_(kLoops),
      pool_(kWorkers, facts.size() * 4) {
  std::vector<Member> members;
  members.reserve(facts.size());
  for (const HostFacts& host : facts) {
    members.push_back({host.host(), &observer_, nullptr});
  }
  Begin(controller, cluster, members, authority, log, credentials);
}

Fleet::Fleet(const std::string& controller, const std::string& cluster,
             const ChangingHosts& hosts, const TestAuthority& authority,
             Log* log)
    : observer_({}, ""), loops_(kLoops), pool_(kWorkers, hosts.size() * 4) {
  std::vector<Member> members;
  members.reserve(hosts.size());
  for (const auto& host : hosts) {
    host->SetRoots(authority.certificate_pem());
    members.push_back({host->name(), host->observer(), host->applies()});
    applies_.push_back(host->applies());
  }
  Begin(controller, cluster, members, authority, log,
        MakeChannelCredentialsFromPem);
}

void Fleet::Begin(const std::string& controller, const std::string& cluster,
                  const std::vector<Member>& members,
                  const TestAuthority& authority, Log* log,
                  const Credentials& credentials) {
  for (const Member& member : members) {
    Loop* const loop = &loops_[streams_.size() % kLoops];
    const AgentStreamParts parts{
        member.observer,
        &loop->loop,
        &scheduler_,
        &pool_,
        log,
        [loop] { return std::uniform_real_distribution<>()(loop->random); },
        member.applies};
    AgentStreamOptions options;
    options.dial.controller = controller;
    options.cluster = cluster;
    options.host = member.name;
    options.hello.set_simulation(kSimulation);
    options.hello.set_machine_id(absl::StrCat("fleet-", member.name));
    options.hello.set_boot_id("fleet");
    options.on_change = [this, first = true](bool attached) mutable {
      {
        absl::MutexLock lock(&mutex_);
        attached_ += attached ? 1 : -1;
        if (!attached) ++lost_;
      }
      if (std::exchange(first, false)) StartNext();
    };
    const TlsPem pem = authority.Issue(
        {absl::StrCat("spiffe://", cluster, "/host/", member.name)});
    options.credentials = [own = credentials(pem, cluster)] { return own; };
    streams_.push_back(
        std::make_shared<AgentStream>(std::move(options), parts));
  }
  for (size_t i = 0; i < kMaxDials; ++i) StartNext();
}

void Fleet::StartNext() {
  size_t next;
  {
    absl::MutexLock lock(&mutex_);
    if (started_ == streams_.size()) return;
    next = started_++;
  }
  streams_[next]->Start();
}

Fleet::~Fleet() {
  {
    absl::MutexLock lock(&mutex_);
    started_ = streams_.size();  // No more.
  }
  for (const auto& stream : streams_) stream->BeginStop();
  for (const auto& stream : streams_) stream->Stop();
  for (ApplyTasks* const applies : applies_) applies->Stop();
}

int Fleet::attached() {
  absl::MutexLock lock(&mutex_);
  return attached_;
}

int Fleet::lost() {
  absl::MutexLock lock(&mutex_);
  return lost_;
}

bool Fleet::WaitLost(int lost, absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  const auto reached = [this, lost]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return lost_ >= lost;
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&reached), limit);
}

bool Fleet::WaitAllAttached(absl::Duration limit) {
  absl::MutexLock lock(&mutex_);
  const auto all = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex_) {
    return attached_ == size();
  };
  return mutex_.AwaitWithTimeout(absl::Condition(&all), limit);
}

}  // namespace clusterd
