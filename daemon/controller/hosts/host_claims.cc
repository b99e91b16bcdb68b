// The part of AttachedHosts that decides which stream has a name. A hello
// identifies the machine and its start:
//   machine id   boot                           the second stream
//   the same     the same, or a later one       waits while the first is asked
//   the same     an earlier one, or one whose   refused at once: of two copies
//                time is implausible            the attached one stays
//   another      any                            refused at once
// A first stream that gives any answer within HostLimits.ask stays. The second
// one is refused, and the host has a conflict until that machine stops trying:
// copied ids and a copied certificate must not displace the real host. A first
// stream that does not answer, as after a power cut that TCP has not noticed,
// or has ended by then, loses the name. Hosts state their own boot times. A
// time over kMostAhead ahead of our clock, or kMostBehind behind it, is never a
// later start, and a holder with it keeps no start out. A host whose name is
// free is never refused: a check may have to find the wrong clock.
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

#include "absl/strings/strip.h"
#include "config/words/message.h"
#include "daemon/controller/hosts/attached_hosts.h"

namespace clusterd {
namespace {

constexpr absl::Duration kMostAhead = absl::Minutes(5);
constexpr absl::Duration kMostBehind = absl::Hours(10 * 365 * 24);

// The address in "ipv4:10.0.0.1:5000" without "ipv4:".
absl::string_view PeerAddress(absl::string_view peer) {
  if (!absl::ConsumePrefix(&peer, "ipv4:")) absl::ConsumePrefix(&peer, "ipv6:");
  return peer;
}

// Enough of an id to distinguish two machines on one line.
absl::string_view ShortId(const std::string& id) {
  return id.empty() ? "none" : absl::string_view(id).substr(0, 16);
}

// True if a stream that was asked has given any answer.
bool HasAnswered(const absl::Status& status) {
  return !absl::IsDeadlineExceeded(status) && !absl::IsUnavailable(status) &&
         !absl::IsFailedPrecondition(status);
}

bool TellsATime(int64_t booted_at_s, absl::Time now) {
  return booted_at_s <= absl::ToUnixSeconds(now + kMostAhead) &&
         booted_at_s >= absl::ToUnixSeconds(now - kMostBehind);
}

// True if both are the same start of the same machine.
bool SameMachine(const Hello& a, const Hello& b) {
  return a.machine_id() == b.machine_id() && a.boot_id() == b.boot_id();
}

// True if `b` claims to be a later start of the machine `a`.
bool IsLaterStart(const Hello& a, const Hello& b, absl::Time now) {
  return !a.machine_id().empty() && a.machine_id() == b.machine_id() &&
         a.boot_id() != b.boot_id() && a.booted_at_s() != 0 &&
         TellsATime(b.booted_at_s(), now) &&
         (!TellsATime(a.booted_at_s(), now) ||
          b.booted_at_s() > a.booted_at_s());
}

}  // namespace

absl::StatusOr<AttachedHosts::SessionId> AttachedHosts::Attach(
    Attachment attachment) {
  SessionId held = 0;
  uint64_t heard = 0;
  absl::StatusOr<SessionId> id = absl::InternalError("");
  {
    absl::MutexLock lock(&mutex_);
    id = AdmitLocked(attachment, &held);
    if (held != 0) heard = sessions_[held]->heard;
  }
  const std::string& host = attachment.host;
  if (!id.ok()) {
    log_->Warning("host ", host, ": refused from ", attachment.peer, ": ",
                  id.status().message());
    return id;
  }
  if (*id != 0) {
    log_->Info("host ", host, ": attached from ", attachment.peer);
    return id;
  }
  HostTask ask;
  ask.host = host;
  ask.task.mutable_ping();
  ask.deadline = limits_.ask;
  RunTask(std::move(ask), [this, claim = std::move(attachment), held,
                           heard](const absl::StatusOr<TaskResult>& answer) {
    OnAsked(claim, held, heard, HasAnswered(answer.status()));
  });
  return 0;
}

void AttachedHosts::OnAsked(const Attachment& claim, SessionId held,
                            uint64_t heard, bool answered) {
  std::unique_ptr<Session> dead;
  absl::StatusOr<SessionId> id = 0;
  {
    absl::MutexLock lock(&mutex_);
    Host& host = hosts_[claim.host];
    host.asked = false;
    // That stream may have ended; if another came, it is asked next.
    if (host.session != nullptr && host.session->id == held) {
      // Any other message since the question counts, too.
      if (answered || host.session->heard != heard) {
        id = RefuseLocked(claim, &host);
      } else {
        dead = RemoveLocked(
            held,
            Worded(SameMachine(host.session->attachment.hello, claim.hello)
                       ? "hub-same-machine"
                       : "hub-machine-restarted"));
      }
    }
  }
  if (dead != nullptr) {
    const std::shared_ptr<HostLink> old = dead->attachment.link;
    EndPending(std::move(dead), Worded("hub-attached-again"));
    old->Close(AbortedWords("msg-hub-same-machine-again"));
  }
  if (id.ok()) {
    id = Attach(claim);
    if (id.ok() && *id == 0) return;
  } else {
    log_->Warning("host ", claim.host, ": refused from ", claim.peer, ": ",
                  id.status().message());
  }
  if (claim.decided != nullptr) claim.decided(id);
}

absl::Status AttachedHosts::RefuseLocked(const Attachment& second, Host* host) {
  host->other_claimant =
      OtherClaimant{second.hello, second.peer, scheduler_->Now()};
  return PreconditionWords("msg-hub-two-machines", second.host,
                           ConflictLocked(*host).value_or(FindingValue()));
}

absl::StatusOr<AttachedHosts::SessionId> AttachedHosts::AdmitLocked(
    const Attachment& attachment, SessionId* held) {
  const absl::Time now = scheduler_->Now();
  const auto known = hosts_.find(attachment.host);
  Host* const holder = known != hosts_.end() && known->second.session != nullptr
                           ? &known->second
                           : nullptr;
  if (!attachment.bound_to.empty()) {
    if (holder != nullptr) RefuseLocked(attachment, holder).IgnoreError();
    return DeniedWords(
        "msg-hub-name-bound", attachment.host, attachment.bound_to,
        ShortId(attachment.hello.machine_id()),
        attachment.certificate_renews ? FindingValue()
                                      : Worded("hub-or-by-hand"));
  }
  if (holder != nullptr) {
    const Hello& first = holder->session->attachment.hello;
    if (!SameMachine(first, attachment.hello) &&
        !IsLaterStart(first, attachment.hello, now)) {
      return RefuseLocked(attachment, holder);
    }
    if (std::exchange(holder->asked, true)) {
      return UnavailableWords("msg-hub-name-awaited", attachment.host);
    }
    *held = holder->session->id;
    return 0;
  }
  if (sessions_.size() >= limits_.max_attached) {
    return ExhaustedWords("msg-hub-too-many-hosts", sessions_.size());
  }
  Host& host = hosts_[attachment.host];
  // The machine that was refused before may be this one.
  if (host.other_claimant &&
      SameMachine(host.other_claimant->hello, attachment.hello)) {
    host.other_claimant.reset();
  }
  host.entry.set_host(attachment.host);
  host.entry.set_attached(true);
  host.entry.set_attached_since_ms(absl::ToUnixMillis(now));
  host.entry.set_last_seen_ms(absl::ToUnixMillis(now));
  host.entry.set_clusterd_version(attachment.hello.clusterd_version());
  host.entry.set_peer(attachment.peer);
  host.entry.set_simulation(attachment.hello.simulation());
  host.entry.set_certificate_ends_ms(attachment.certificate_ends_ms);
  host.entry.set_certificate_renews(attachment.certificate_renews);
  host.entry.clear_detached_reason_words();
  host.session = std::make_unique<Session>();
  host.session->id = ++last_id_;
  host.session->attachment = attachment;
  sessions_[host.session->id] = host.session.get();
  return host.session->id;
}

std::optional<FindingValue> AttachedHosts::ConflictLocked(
    const Host& host) const {
  if (!host.session || !host.other_claimant ||
      scheduler_->Now() - host.other_claimant->last_try >
          limits_.conflict_memory) {
    return std::nullopt;
  }
  const Hello& first = host.session->attachment.hello;
  const Hello& second = host.other_claimant->hello;
  const bool other_machine = first.machine_id() != second.machine_id();
  const auto id_of = [other_machine](const Hello& hello) {
    return ShortId(other_machine ? hello.machine_id() : hello.boot_id());
  };
  return Worded(other_machine ? "hub-conflict-machine" : "hub-conflict-boot",
                PeerAddress(host.session->attachment.peer), id_of(first),
                PeerAddress(host.other_claimant->peer), id_of(second));
}

}  // namespace clusterd
