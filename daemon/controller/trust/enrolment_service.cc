#include "daemon/controller/trust/enrolment_service.h"

#include <iterator>
#include <optional>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "config/spec/host_names.h"
#include "config/values/hostlist.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/audit/audit_log.h"
#include "daemon/controller/gate/identity_gate.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/trust/enrolment_words.h"

namespace clusterd {
namespace {

// After this many writes it lets the pool do other work.
constexpr int kKeptAtOnce = 50;

bool Names(const HostRecord::Leaf& leaf, const CertificateInfo& certificate) {
  return !leaf.serial().empty() && leaf.serial() == certificate.serial &&
         leaf.spki_sha256() == certificate.spki_sha256;
}

// The certificate for one of the record's keys; null: it has none.
const HostRecord::Leaf* LeafCertificate(const HostRecord& record,
                                        const std::string& spki_sha256) {
  for (const HostRecord::Leaf* leaf : {&record.next(), &record.held()}) {
    if (leaf->spki_sha256() == spki_sha256) return leaf;
  }
  return nullptr;
}

}  // namespace

const std::string& EnrolmentService::cluster() const {
  return parts_.spec->cluster();
}

absl::StatusOr<TokenRecord> EnrolmentService::LivingToken(
    const JoinRequest& request) const {
  ASSIGN_OR_RETURN(const JoinToken shown, ParseJoinToken(request.token()));
  std::optional<TokenRecord> token = store_->Token(shown.id);
  // Do not reveal whether the id or the secret is wrong.
  if (!token.has_value() ||
      !SameDigest(token->secret_sha256(), shown.SecretDigest())) {
    return UnauthenticatedWords("msg-trust-token-refused");
  }
  const absl::Time now = parts_.scheduler->Now();
  if (now < absl::FromUnixMillis(token->entry().expires_ms())) {
    return *std::move(token);
  }
  return PreconditionWords("msg-trust-token-expired", shown.id,
                           UtcText(token->entry().expires_ms()), UtcText(now),
                           UtcText(request.host_time_ms()));
}

SpiffeId EnrolmentService::IdOf(const std::string& name) const {
  return {cluster(), IdentityKind::kHost, name, Role::kViewer};
}

absl::Status EnrolmentService::CheckNamed(const std::string& name) const {
  const auto spec = parts_.spec->spec();
  if (parts_.spec->learns() || NamesHost(*spec, name)) return absl::OkStatus();
  return DeniedWords("msg-trust-join-not-in-spec", NotInSpec(*spec, name));
}

absl::StatusOr<std::string> EnrolmentService::NameFor(
    const TokenRecord& token, const std::string& name) const {
  if (!IsHostName(name)) {
    return InvalidWords("msg-trust-name-not-valid", QuotedText(name));
  }
  std::string known = HostNamed(*parts_.spec->spec(), name);
  RETURN_IF_ERROR(CheckNamed(known));
  const std::string& hosts = token.entry().hosts();
  if (hosts.empty()) return known;
  ASSIGN_OR_RETURN(const std::vector<std::string> listed,
                   ExpandHostlist(hosts));
  if (absl::c_linear_search(listed, known)) return known;
  return DeniedWords("msg-trust-token-of-others", QuotedText(known),
                     token.entry().id(), PrintableText(hosts, 200), known);
}

absl::StatusOr<HostRecord::Leaf> EnrolmentService::Issue(
    const std::string& name, const RequestedKey& key) const {
  ASSIGN_OR_RETURN(const std::string pem,
                   authority_->Issue(IdOf(name), key.public_key_der,
                                     parts_.scheduler->Now(), leaf_life_));
  ASSIGN_OR_RETURN(const CertificateInfo info, ParseCertificate(pem));
  HostRecord::Leaf leaf;
  leaf.set_serial(info.serial);
  leaf.set_spki_sha256(info.spki_sha256);
  leaf.set_certificate_pem(pem);
  leaf.set_ends_ms(absl::ToUnixMillis(info.not_after));
  return leaf;
}

Enrolled EnrolmentService::AnswerOf(const HostRecord& record,
                                    const HostRecord::Leaf& leaf) const {
  Enrolled answer;
  answer.set_cluster(cluster());
  answer.set_name(record.name());
  answer.set_certificate_pem(
      absl::StrCat(leaf.certificate_pem(), authority_->intermediate_pem()));
  answer.set_roots_pem(authority_->roots_pem());
  answer.set_root_bundles(authority_->root_bundles());
  answer.set_ends_ms(leaf.ends_ms());
  return answer;
}

absl::Status EnrolmentService::CheckUnspent(const TokenRecord& token,
                                            const HostRecord& record) const {
  const TokenEntry& entry = token.entry();
  if (entry.used() < entry.uses() &&
      !absl::c_linear_search(record.spent_token_ids(), entry.id())) {
    return absl::OkStatus();
  }
  return DeniedWords("msg-trust-token-spent", entry.id(), entry.used(),
                     entry.uses(), record.name());
}

// A machine's id and address prove nothing: any of its users can present both.
bool EnrolmentService::IsFree(const HostRecord& record) const {
  if (record.has_held() || record.needs_approval()) return false;
  const HostEntry entry =
      parts_.hosts->Entry(*parts_.spec->spec(), record.name());
  // A stream from before a reset is about to end, so it does not count.
  if (entry.attached() && entry.attached_since_ms() > record.reset_ms()) {
    return false;
  }
  absl::MutexLock lock(&unkept_mutex_);
  const auto unkept = unkept_.find(record.name());
  return unkept == unkept_.end() || !unkept->second.by_hand;
}

absl::Status EnrolmentService::CheckFree(const JoinRequest& request,
                                         const RequestedKey& key,
                                         const std::string& peer,
                                         const TokenRecord& token,
                                         HostRecord* record) {
  const HostRecord::Waiting& waits = record->waiting();
  const std::string& name = record->name();
  const bool is_waiting = StillWaits(*record, parts_.scheduler->Now());
  const bool is_its_own = waits.spki_sha256() == key.spki_sha256;
  const bool is_approved = is_waiting && is_its_own && waits.approved();
  const std::optional<Hello> attached = parts_.hosts->HelloOf(name);
  const bool is_same =
      !attached.has_value() || (!request.machine_id().empty() &&
                                attached->machine_id() == request.machine_id());
  if (record->has_held() && is_same && !is_approved) {
    return ExistsWords("msg-trust-enrolled", name,
                       UtcText(record->enrolled_ms()));
  }
  RETURN_IF_ERROR(CheckUnspent(token, *record));
  if (absl::c_linear_search(record->reset_keys(), key.spki_sha256)) {
    return DeniedWords("msg-trust-key-was-reset", name);
  }
  if (is_approved || IsFree(*record)) return absl::OkStatus();
  if (is_waiting && !is_its_own) {
    return DeniedWords("msg-trust-another-waits", name,
                       PrintableText(waits.machine_id(), kMaxMachineId),
                       WaitingKey(waits));
  }
  return WaitForApproval(request, key, peer, record);
}

absl::Status EnrolmentService::WaitForApproval(const JoinRequest& request,
                                               const RequestedKey& key,
                                               const std::string& peer,
                                               HostRecord* record) {
  const absl::Time now = parts_.scheduler->Now();
  // Asking again does not extend the wait.
  if (!StillWaits(*record, now)) {
    HostRecord::Waiting* const noted = record->mutable_waiting();
    noted->Clear();
    noted->set_spki_sha256(key.spki_sha256);
    noted->set_machine_id(KeptMachineId(request.machine_id()));
    noted->set_peer(peer);
    noted->set_asked_ms(absl::ToUnixMillis(now));
    RETURN_IF_ERROR(store_->Put(*record));
  }
  return DeniedWords("msg-trust-waits-for-approval", record->name(),
                     absl::FormatDuration(kWaitsAlone),
                     WaitingKey(record->waiting()));
}

absl::StatusOr<Enrolled> EnrolmentService::TryJoin(const JoinRequest& request,
                                                   const AuditEntry& asked) {
  ASSIGN_OR_RETURN(const TokenRecord shown, LivingToken(request));
  ASSIGN_OR_RETURN(const RequestedKey key,
                   ReadSigningRequest(request.signing_request()));
  ASSIGN_OR_RETURN(const std::string name, NameFor(shown, request.name()));
  RETURN_IF_ERROR(parts_.gate->CheckNotLocked(IdOf(name)));
  absl::MutexLock lock(&change_mutex_);
  // Check again: another host may have used the token, or an admin revoked it.
  ASSIGN_OR_RETURN(TokenRecord token, LivingToken(request));
  HostRecord record = store_->Host(name).value_or(HostRecord());
  record.set_name(name);
  const absl::Time now = parts_.scheduler->Now();
  const HostRecord::Leaf* const known =
      LeafCertificate(record, key.spki_sha256);
  if (known == nullptr) {
    RETURN_IF_ERROR(CheckFree(request, key, asked.peer(), token, &record));
  } else {
    RETURN_IF_ERROR(
        parts_.gate->CheckNotRevoked(IdOf(name), known->certificate_pem()));
    // A certificate of an earlier intermediate may chain to a removed root.
    if (now < absl::FromUnixMillis(known->ends_ms()) &&
        authority_->HasIssued(known->certificate_pem())) {
      return AnswerOf(record, *known);
    }
    RETURN_IF_ERROR(CheckUnspent(token, record));
  }
  const bool waited = record.waiting().spki_sha256() == key.spki_sha256;
  const bool replaces = waited && record.waiting().approved();
  RETURN_IF_ERROR(parts_.audit->Begin(asked));
  ASSIGN_OR_RETURN(*record.mutable_held(), Issue(name, key));
  record.clear_next();
  if (waited) record.clear_waiting();
  record.set_machine_id(KeptMachineId(request.machine_id()));
  record.set_enrolled_ms(absl::ToUnixMillis(now));
  record.set_token_id(token.entry().id());
  record.clear_needs_approval();
  token.mutable_entry()->set_used(token.entry().used() + 1);
  record.add_spent_token_ids(token.entry().id());
  RETURN_IF_ERROR(store_->Put(record, &token));
  if (replaces) {
    parts_.hosts->CloseHost(name, DeniedWords("msg-trust-name-assigned"));
  }
  return AnswerOf(record, record.held());
}

absl::StatusOr<Enrolled> EnrolmentService::Join(const JoinRequest& request,
                                                const std::string& peer) {
  std::string subject = PrintableText(
      HostNamed(*parts_.spec->spec(), request.name()), kMaxMachineId);
  const auto token = ParseJoinToken(request.token());
  if (token.ok()) absl::StrAppend(&subject, " by token ", token->id);
  const AuditEntry asked = MakeAuditEntry("Join", subject, "", peer);
  absl::StatusOr<Enrolled> answer = TryJoin(request, asked);
  if (answer.ok()) {
    parts_.audit->End(asked, "joined");
    parts_.log->Notice("host ", answer->name(), ": joined from ", peer,
                       ", certificate until ", UtcText(answer->ends_ms()));
  } else {
    parts_.audit->Refuse(asked, answer.status());
    parts_.log->Warning("host ", QuotedText(request.name()),
                        ": did not join from ", peer, ": ",
                        answer.status().message());
  }
  return answer;
}

absl::StatusOr<Enrolled> EnrolmentService::TryRenewLate(
    const std::string& name, const std::string& certificate_pem,
    const RenewLateRequest& request, const AuditEntry& asked) {
  ASSIGN_OR_RETURN(const RequestedKey key,
                   ReadSigningRequest(request.signing_request()));
  ASSIGN_OR_RETURN(const CertificateInfo shown,
                   ParseCertificate(certificate_pem));
  RETURN_IF_ERROR(CheckNamed(name));
  RETURN_IF_ERROR(parts_.gate->CheckNotLocked(IdOf(name)));
  absl::MutexLock lock(&change_mutex_);
  std::optional<HostRecord> record = store_->Host(name);
  const absl::Time now = parts_.scheduler->Now();
  const HostRecord::Leaf* const known =
      record.has_value() ? LeafCertificate(*record, shown.spki_sha256)
                         : nullptr;
  if (known == nullptr || key.spki_sha256 != shown.spki_sha256) {
    return DeniedWords("msg-trust-own-key-not-on-record", QuotedText(name));
  }
  RETURN_IF_ERROR(
      parts_.gate->CheckNotRevoked(IdOf(name), known->certificate_pem()));
  const absl::Time end = absl::FromUnixMillis(known->ends_ms());
  if (now < end && authority_->HasIssued(known->certificate_pem())) {
    return AnswerOf(*record, *known);
  }
  if (now - end > kLateRenewal) {
    return DeniedWords("msg-trust-ended-long-ago", name,
                       UtcText(known->ends_ms()),
                       absl::ToInt64Hours(kLateRenewal) / 24);
  }
  RETURN_IF_ERROR(parts_.audit->Begin(asked));
  ASSIGN_OR_RETURN(*record->mutable_held(), Issue(name, key));
  record->clear_next();
  record->set_late_renewals(record->late_renewals() + 1);
  RETURN_IF_ERROR(store_->Put(*record));
  parts_.audit->End(asked, "renewed");
  parts_.log->Notice("host ", name, ": renewed late from ", asked.peer(),
                     ", for the ", record->late_renewals(),
                     ". time, certificate until ",
                     UtcText(record->held().ends_ms()));
  return AnswerOf(*record, record->held());
}

absl::StatusOr<Enrolled> EnrolmentService::RenewLate(
    const std::string& host, const std::string& certificate_pem,
    const RenewLateRequest& request, const std::string& peer) {
  AuditEntry asked =
      MakeAuditEntry("RenewLate", host, IdOf(host).ToString(), peer);
  asked.set_certificate(CertificateSerial(certificate_pem));
  absl::StatusOr<Enrolled> answer =
      TryRenewLate(host, certificate_pem, request, asked);
  if (!answer.ok()) {
    parts_.audit->Refuse(asked, answer.status());
    parts_.log->Warning("host ", QuotedText(host), ": no late renewal from ",
                        peer, ": ", answer.status().message());
  }
  return answer;
}

bool EnrolmentService::IsKeyOnRecord(const std::string& certificate_pem) const {
  const auto shown = ParseCertificate(certificate_pem);
  if (!shown.ok() || shown->spki_sha256.empty() ||
      !(shown->id == IdOf(shown->id.name))) {
    return false;
  }
  const std::optional<HostRecord> record = store_->Host(shown->id.name);
  return record.has_value() &&
         LeafCertificate(*record, shown->spki_sha256) != nullptr;
}

absl::StatusOr<Enrolled> EnrolmentService::TryRenew(
    const std::string& host, const std::string& certificate_pem,
    const std::string& signing_request, const AuditEntry& asked) {
  ASSIGN_OR_RETURN(const RequestedKey key, ReadSigningRequest(signing_request));
  ASSIGN_OR_RETURN(const CertificateInfo shown,
                   ParseCertificate(certificate_pem));
  RETURN_IF_ERROR(CheckNamed(host));
  absl::MutexLock lock(&change_mutex_);
  std::optional<HostRecord> record = store_->Host(host);
  if (!record.has_value() || !record->has_held()) {
    return PreconditionWords("msg-trust-not-issued-by-us");
  }
  if (Names(record->next(), shown)) {
    record->mutable_held()->Swap(record->mutable_next());
    record->clear_next();
  } else if (!Names(record->held(), shown)) {
    return DeniedWords("msg-trust-not-the-one-on-record");
  }
  RETURN_IF_ERROR(parts_.gate->CheckNotRevoked(
      IdOf(host), record->held().certificate_pem()));
  if (record->held().spki_sha256() == key.spki_sha256) {
    return InvalidWords("msg-trust-same-key");
  }
  if (record->next().spki_sha256() == key.spki_sha256 &&
      authority_->HasIssued(record->next().certificate_pem())) {
    return AnswerOf(*record, record->next());
  }
  RETURN_IF_ERROR(
      renewals_.Take(absl::StrCat(host, ":"), parts_.scheduler->Now()));
  RETURN_IF_ERROR(parts_.audit->Begin(asked));
  ASSIGN_OR_RETURN(*record->mutable_next(), Issue(host, key));
  RETURN_IF_ERROR(store_->Put(*record));
  parts_.audit->End(asked, "renewed");
  parts_.log->Info("host ", host, ": renewed, certificate until ",
                   UtcText(record->next().ends_ms()));
  return AnswerOf(*record, record->next());
}

absl::StatusOr<Enrolled> EnrolmentService::Renew(
    const std::string& host, const std::string& certificate_pem,
    const std::string& signing_request) {
  AuditEntry asked = MakeAuditEntry("Renew", host, IdOf(host).ToString());
  asked.set_certificate(CertificateSerial(certificate_pem));
  absl::StatusOr<Enrolled> answer =
      TryRenew(host, certificate_pem, signing_request, asked);
  if (!answer.ok()) parts_.audit->Refuse(asked, answer.status());
  return answer;
}

absl::Status EnrolmentService::IsCurrent(
    const std::string& host, const std::string& certificate_pem) const {
  const std::optional<HostRecord> record = store_->Host(host);
  ASSIGN_OR_RETURN(const CertificateInfo shown,
                   ParseCertificate(certificate_pem));
  if (!record.has_value() || !record->has_held()) {
    // The CA alone does not decide, since it may have been replaced.
    const bool is_from_before =
        record.has_value() && record->reset_ms() > 0 &&
        absl::ToUnixMillis(shown.not_before) < record->reset_ms();
    const bool is_ours = authority_->HasIssued(certificate_pem);
    if (!is_from_before && !is_ours) return absl::OkStatus();
    return DeniedWords(
        is_ours ? "msg-trust-was-reset" : "msg-trust-was-reset-or-by-hand",
        host);
  }
  if (Names(record->held(), shown) || Names(record->next(), shown)) {
    return absl::OkStatus();
  }
  return DeniedWords("msg-trust-serial-does-not-count", host,
                     UtcText(record->enrolled_ms()), shown.serial);
}

absl::StatusOr<bool> EnrolmentService::Admit(
    const std::string& host, const std::string& certificate_pem) {
  RETURN_IF_ERROR(IsCurrent(host, certificate_pem));
  const std::optional<HostRecord> record = store_->Host(host);
  if (!record.has_value() || !record->has_held()) {
    if (!record.has_value() || !record->needs_approval()) {
      NoteUnkept(host, {/*by_hand=*/true});
    }
    return false;
  }
  ASSIGN_OR_RETURN(const CertificateInfo shown,
                   ParseCertificate(certificate_pem));
  if (Names(record->next(), shown)) {
    // If the pool is full, the host's next attach does this.
    parts_.pool->TryRun(
        [this, host, serial = shown.serial] { Promote(host, serial); });
  }
  return true;
}

std::string EnrolmentService::NoteUnkept(const std::string& host,
                                         const Unkept& note) {
  absl::MutexLock lock(&unkept_mutex_);
  Unkept& noted = unkept_[host];
  noted.by_hand |= note.by_hand;
  if (noted.machine_id.empty()) noted.machine_id = note.machine_id;
  // One task serves all hosts. If the pool is full, the next attach retries.
  keeps_unkept_ =
      keeps_unkept_ || parts_.pool->TryRun([this] { KeepUnkept(); });
  return noted.machine_id;
}

absl::Status EnrolmentService::Keep(const std::string& host,
                                    const Unkept& note) {
  HostRecord record = store_->Host(host).value_or(HostRecord());
  const bool needs_approval =
      note.by_hand ? !record.has_held() : record.needs_approval();
  const bool binds = record.machine_id().empty() && !note.machine_id.empty();
  if (!binds && needs_approval == record.needs_approval()) {
    return absl::OkStatus();
  }
  record.set_name(host);
  record.set_needs_approval(needs_approval);
  if (binds) record.set_machine_id(note.machine_id);
  return store_->Put(record);
}

void EnrolmentService::KeepUnkept() {
  std::string host;
  absl::Status kept;
  for (int i = 0; i < kKeptAtOnce && kept.ok(); ++i) {
    // A reset must not happen between this and the write.
    absl::MutexLock change(&change_mutex_);
    Unkept note;
    {
      absl::MutexLock lock(&unkept_mutex_);
      if (unkept_.empty()) break;
      host = unkept_.begin()->first;
      note = unkept_.begin()->second;
    }
    kept = Keep(host, note);
    absl::MutexLock lock(&unkept_mutex_);
    // If they differ, a newer note is still to be kept.
    if (kept.ok() && unkept_[host] == note) unkept_.erase(host);
  }
  {
    absl::MutexLock lock(&unkept_mutex_);
    keeps_unkept_ = kept.ok() && !unkept_.empty() &&
                    parts_.pool->TryRun([this] { KeepUnkept(); });
  }
  if (kept.ok()) return;
  parts_.log->Error(
      "host ", host, ": that its certificate is made by hand is known until a ",
      "restart alone, and which machine its name is bound to is set by the ",
      "next that attaches: ", kept.message());
  absl::MutexLock lock(&unkept_mutex_);
  for (auto each = unkept_.begin(); each != unkept_.end();) {
    each->second.machine_id.clear();
    each = each->second.by_hand ? std::next(each) : unkept_.erase(each);
  }
}

std::string EnrolmentService::BoundTo(const std::string& host,
                                      const std::string& machine_id) {
  const auto record = store_->Host(host);
  std::string bound = record.has_value() ? record->machine_id() : "";
  const std::string machine = KeptMachineId(machine_id);
  if (bound.empty()) bound = NoteUnkept(host, {/*by_hand=*/false, machine});
  return bound == machine ? "" : bound;
}

void EnrolmentService::Promote(const std::string& host,
                               const std::string& serial) {
  absl::MutexLock lock(&change_mutex_);
  std::optional<HostRecord> record = store_->Host(host);
  if (!record.has_value() || record->next().serial() != serial) return;
  record->mutable_held()->Swap(record->mutable_next());
  record->clear_next();
  const absl::Status kept = store_->Put(*record);
  if (kept.ok()) {
    parts_.log->Info("host ", host, ": has taken up its renewed certificate");
  } else {
    parts_.log->Error("host ", host,
                      ": both of its certificates stay good: ", kept.message());
  }
}

}  // namespace clusterd
