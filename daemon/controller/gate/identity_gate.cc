#include "daemon/controller/gate/identity_gate.h"

#include <algorithm>

#include "config/identity/regular_file.h"
#include "config/identity/tls_credentials.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/subject_text.h"
#include "grpc/grpc_security_constants.h"

namespace clusterd {

std::string LockName(const SpiffeId& id) {
  return absl::StrCat(KindName(id.kind), "/", id.name);
}

std::string ShownCertificate(const grpc::AuthContext& context) {
  for (const grpc::string_ref& pem :
       context.FindPropertyValues(GRPC_X509_PEM_CERT_PROPERTY_NAME)) {
    return std::string(pem.data(), pem.size());
  }
  return "";
}

absl::StatusOr<std::unique_ptr<IdentityGate>> IdentityGate::Open(
    const IdentityGateOptions& options, Scheduler* scheduler, Log* log) {
  ASSIGN_OR_RETURN(auto store, LockStore::Open(options.state, options.is_new));
  ASSIGN_OR_RETURN(const std::vector<LockEntry> locks, store->All());
  ASSIGN_OR_RETURN(const ListAges ages, store->AllListAges());
  std::unique_ptr<IdentityGate> gate(
      new IdentityGate(options, std::move(store), log));
  {
    absl::MutexLock disk(&gate->store_mutex_);
    gate->kept_ages_ = ages;
    absl::MutexLock seen(&gate->ages_mutex_);
    gate->seen_ages_ = ages;
    absl::MutexLock lock(&gate->mutex_);
    for (const LockEntry& each : locks) gate->locks_[each.identity()] = each;
  }
  log->Notice("locked identities: ", locks.size());
  const absl::Status settled = gate->SaveLocks();
  if (!settled.ok()) log->Warning(settled.message());
  if (!options.crl.empty()) {
    gate->ReadLists();
    absl::MutexLock lock(&gate->mutex_);
    RETURN_IF_ERROR(gate->lists_status_);
  }
  RunEvery(scheduler, kSweepInterval,
           gate->callbacks_.Wrap([raw = gate.get()] { raw->Sweep(); }));
  return gate;
}

IdentityGate::~IdentityGate() {
  callbacks_.Close();
  Save();
}

absl::StatusOr<IdentityGate::Peer> IdentityGate::PeerOf(
    const grpc::AuthContext& context, IdentityKind kind) const {
  const std::string pem = ShownCertificate(context);
  if (context.IsPeerAuthenticated() && !pem.empty()) return PeerOf(pem, kind);
  return UnauthenticatedWords("msg-hub-no-certificate");
}

absl::StatusOr<IdentityGate::Peer> IdentityGate::PeerOf(
    absl::string_view pem, IdentityKind kind) const {
  ASSIGN_OR_RETURN(CertificateInfo info,
                   RequirePeer(pem, options_.cluster, kind));
  Peer peer = {std::move(info.id), info.not_before, info.not_after, {}};
  if (!options_.crl.empty()) {
    ASSIGN_OR_RETURN(peer.key, ReadCertificateKey(pem));
  }
  return peer;
}

absl::Status IdentityGate::WhyRevokedLocked(const Peer& peer,
                                            bool is_open) const {
  if (options_.crl.empty()) return absl::OkStatus();
  absl::Status status = lists_->Check(peer.key, options_.now());
  if (absl::IsPermissionDenied(status)) {
    return About(peer.id.ToString(), status);
  }
  if (is_open) return absl::OkStatus();
  if (!lists_status_.ok()) status = lists_status_;
  if (status.ok()) return status;
  return PreconditionWords("msg-hub-no-revocation-lists", MessageWords(status));
}

absl::Status IdentityGate::WhyLockedLocked(const SpiffeId& id) const {
  const auto lock = locks_.find(LockName(id));
  if (lock == locks_.end()) return absl::OkStatus();
  const LockEntry& entry = lock->second;
  return DeniedWords(
      entry.reason().empty() ? "msg-hub-locked" : "msg-hub-locked-because",
      id.ToString(), UtcText(entry.since_ms()), entry.by(), entry.reason());
}

absl::Status IdentityGate::CheckNotLocked(const SpiffeId& id) const {
  absl::MutexLock lock(&mutex_);
  return WhyLockedLocked(id);
}

absl::Status IdentityGate::CheckNotRevoked(const SpiffeId& id,
                                           absl::string_view pem) const {
  Peer peer;
  peer.id = id;
  if (!options_.crl.empty()) {
    ASSIGN_OR_RETURN(peer.key, ReadCertificateKey(pem));
  }
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(WhyLockedLocked(id));
  return WhyRevokedLocked(peer, /*is_open=*/false);
}

absl::Status IdentityGate::WhyRefusedLocked(const Peer& peer,
                                            bool is_open) const {
  const absl::Time now = options_.now();
  if (now > peer.not_after) {
    return UnauthenticatedWords("msg-hub-certificate-ended", peer.id.ToString(),
                                UtcText(peer.not_after));
  }
  if (now < peer.not_before) {
    return UnauthenticatedWords("msg-hub-certificate-not-yet",
                                peer.id.ToString(), UtcText(peer.not_before));
  }
  RETURN_IF_ERROR(WhyLockedLocked(peer.id));
  return WhyRevokedLocked(peer, is_open);
}

absl::StatusOr<SpiffeId> IdentityGate::Admit(absl::StatusOr<Peer> peer) const {
  RETURN_IF_ERROR(peer.status());
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(WhyRefusedLocked(*peer, /*is_open=*/false));
  return std::move(peer->id);
}

absl::StatusOr<SpiffeId> IdentityGate::AdmitEnded(
    const grpc::AuthContext& context, IdentityKind kind) const {
  absl::StatusOr<Peer> peer = PeerOf(context, kind);
  if (peer.ok()) peer->not_after = absl::InfiniteFuture();
  return Admit(std::move(peer));
}

void IdentityGate::ForgetEndedLocked() {
  DropIf(&watched_, [](const Watched& each) { return each.call.expired(); });
  // The bound grows with the open calls, so that each call stays cheap.
  count_at_ = std::max<size_t>(1024, 2 * watched_.size());
}

void IdentityGate::Watch(const grpc::AuthContext& context, IdentityKind kind,
                         std::weak_ptr<void> call,
                         std::function<void(const absl::Status& why)> end) {
  absl::StatusOr<Peer> peer = PeerOf(context, kind);
  absl::Status refused = peer.status();
  if (refused.ok()) {
    absl::MutexLock lock(&mutex_);
    // The identity may have been locked since its call was admitted.
    refused = WhyRefusedLocked(*peer, /*is_open=*/true);
    if (refused.ok()) {
      if (watched_.size() >= count_at_) ForgetEndedLocked();
      watched_.push_back({*std::move(peer), std::move(call), std::move(end)});
      return;
    }
  }
  end(refused);
}

size_t IdentityGate::Hold(const LockEntry& lock) {
  {
    absl::MutexLock memory(&mutex_);
    locks_[lock.identity()] = lock;
    unsaved_.insert(lock.identity());
  }
  return EndRefused();
}

absl::Status IdentityGate::SaveLocks() {
  absl::MutexLock disk(&store_mutex_);
  std::vector<LockEntry> unsaved;
  {
    absl::MutexLock memory(&mutex_);
    for (const std::string& identity : unsaved_) {
      unsaved.push_back(locks_[identity]);
    }
    unsaved_.clear();
  }
  absl::Status saved = store_->Settle();
  for (const LockEntry& lock : unsaved) {
    if (saved.ok()) saved = store_->Put(lock);
    if (saved.ok()) continue;
    absl::MutexLock memory(&mutex_);
    unsaved_.insert(lock.identity());
  }
  return saved;
}

absl::StatusOr<LockEntry> IdentityGate::Unlock(const std::string& identity) {
  absl::MutexLock disk(&store_mutex_);
  LockEntry entry;
  {
    absl::MutexLock memory(&mutex_);
    const auto found = locks_.find(identity);
    if (found == locks_.end()) {
      return NotFoundWords("msg-hub-not-locked", identity);
    }
    entry = found->second;
  }
  RETURN_IF_ERROR(store_->Remove(identity));
  absl::MutexLock memory(&mutex_);
  locks_.erase(identity);
  unsaved_.erase(identity);
  return entry;
}

std::vector<LockEntry> IdentityGate::Locks() const {
  absl::MutexLock lock(&mutex_);
  return Each<LockEntry>(locks_, [](const auto& each) { return each.second; });
}

size_t IdentityGate::EndRefused() {
  std::vector<std::pair<Watched, absl::Status>> refused;
  {
    absl::MutexLock lock(&mutex_);
    ForgetEndedLocked();
    for (Watched& each : std::exchange(watched_, {})) {
      absl::Status why = WhyRefusedLocked(each.peer, /*is_open=*/true);
      if (why.ok()) {
        watched_.push_back(std::move(each));
      } else {
        refused.emplace_back(std::move(each), std::move(why));
      }
    }
  }
  for (const auto& [watched, why] : refused) {
    log_->Warning("ended a stream: ", why.message());
    watched.end(why);
  }
  return refused.size();
}

void IdentityGate::Sweep() {
  // A full pool is already reading or writing.
  if (!options_.crl.empty()) {
    reader_.TryRun(callbacks_.Wrap([this] {
      ReadLists();
      EndRefused();
    }));
  }
  writer_.TryRun(callbacks_.Wrap([this] { Save(); }));
  EndRefused();
}

void IdentityGate::Save() {
  KeepListAges();
  {
    absl::MutexLock lock(&mutex_);
    if (unsaved_.empty()) return;
  }
  if (SaveLocks().ok()) {
    log_->Notice("locks that held in memory alone are on disk");
  }
}

absl::Status IdentityGate::CheckNotOlder(const RevocationLists& lists) {
  absl::MutexLock lock(&ages_mutex_);
  RETURN_IF_ERROR(lists.CheckNotOlder(seen_ages_));
  seen_ages_ = lists.Newest(std::move(seen_ages_));
  return absl::OkStatus();
}

void IdentityGate::KeepListAges() {
  ListAges seen;
  {
    absl::MutexLock lock(&ages_mutex_);
    seen = seen_ages_;
  }
  absl::MutexLock disk(&store_mutex_);
  for (const auto& [issuer, age] : seen) {
    const auto kept = kept_ages_.find(issuer);
    if (kept != kept_ages_.end() && !IsOlder(kept->second, age)) continue;
    const absl::Status status = store_->PutListAge(issuer, age);
    if (!status.ok()) {
      return log_->Error(
          "revocation lists: after a restart older ones would be taken, since "
          "the ages of these cannot be written: ",
          status.message());
    }
    kept_ages_[issuer] = age;
  }
}

void IdentityGate::ReadLists() {
  const auto texts = ReadRevocationTexts(options_.crl);
  const auto ca = ReadRegularFile(options_.ca);
  absl::Status status = texts.ok() ? ca.status() : texts.status();
  std::string digest(status.message());
  if (status.ok()) {
    digest = Sha256(*ca);
    for (const std::string& text : *texts) {
      digest = absl::StrCat(Sha256(text), digest);
    }
  }
  bool same;
  {
    absl::MutexLock lock(&mutex_);
    same = digest == lists_digest_;
    lists_digest_ = std::move(digest);
  }
  Lists lists;
  if (!same && status.ok()) {
    absl::StatusOr<RevocationLists> parsed =
        RevocationLists::Parse(*texts, *ca);
    status = parsed.ok() ? CheckNotOlder(*parsed) : parsed.status();
    if (status.ok()) {
      lists = std::make_shared<const RevocationLists>(*std::move(parsed));
    }
    status = About(options_.crl, status);
  }
  writer_.TryRun(callbacks_.Wrap([this] { Save(); }));
  std::string not_in_force;
  bool news = false;
  {
    absl::MutexLock lock(&mutex_);
    if (!same) {
      if (lists != nullptr) lists_ = lists;
      lists_status_ = status;
    }
    if (lists_ != nullptr) not_in_force = lists_->NotInForce(options_.now());
    news = not_in_force != not_in_force_;
    not_in_force_ = not_in_force;
  }
  if (!same && !status.ok()) {
    log_->Error("revocation lists: ", status.message(),
                "; new connections are refused until that is "
                "fixed, and open streams continue");
  } else if (!same) {
    log_->Info("revocation lists: ", lists->lists(), " read from ",
               options_.crl, ", with ", lists->revoked(), " certificates");
  }
  if (news && !not_in_force.empty()) {
    log_->Error("revocation lists: ", not_in_force,
                "; peers of that CA are refused");
  }
}

}  // namespace clusterd
