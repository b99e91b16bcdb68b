// The requests of admins to EnrolmentService: tokens, the list, approvals.
#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "config/spec/host_names.h"
#include "config/values/hostlist.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/controller/hosts/attached_hosts.h"
#include "daemon/controller/hosts/spec_holder.h"
#include "daemon/controller/trust/enrolment_service.h"
#include "daemon/controller/trust/enrolment_words.h"
#include "daemon/controller/trust/join_token.h"

namespace clusterd {

absl::StatusOr<CreateTokenResponse> EnrolmentService::CreateToken(
    const CreateTokenRequest& request, const SpiffeId& creator) {
  const absl::Duration life = absl::Milliseconds(
      std::min<uint64_t>(request.ttl_ms(), uint64_t{1} << 62));
  if (life < kLeastTokenLife || life > kMostTokenLife) {
    return InvalidWords("msg-trust-ttl", absl::FormatDuration(life),
                        absl::FormatDuration(kLeastTokenLife),
                        absl::FormatDuration(kMostTokenLife));
  }
  const auto spec = parts_.spec->spec();
  std::string hosts;
  uint32_t uses = 1;
  if (!request.hosts().empty()) {
    ASSIGN_OR_RETURN(std::vector<std::string> names,
                     ExpandHostlist(request.hosts()));
    std::vector<FindingValue> unknown;
    for (std::string& name : names) {
      name = HostNamed(*spec, name);
      if (parts_.spec->learns() || NamesHost(*spec, name)) continue;
      // A message quotes at most this many names of a list.
      constexpr size_t kNamedUnknown = 5;
      if (unknown.size() < kNamedUnknown) {
        unknown.push_back(NotInSpec(*spec, name));
      }
    }
    if (!unknown.empty()) {
      return WithWords(absl::InvalidArgumentError(""), Lines(unknown));
    }
    hosts = FoldHostlist(names);
    uses = static_cast<uint32_t>(
        std::set<std::string>(names.begin(), names.end()).size());
  } else if (parts_.spec->learns()) {
    return InvalidWords("msg-trust-hosts-missing");
  }
  ASSIGN_OR_RETURN(const JoinToken token, NewJoinToken());
  const absl::Time now = parts_.scheduler->Now();
  TokenRecord record;
  TokenEntry* const entry = record.mutable_entry();
  entry->set_id(token.id);
  entry->set_hosts(hosts);
  entry->set_uses(request.uses() > 0 ? request.uses() : uses);
  entry->set_created_ms(absl::ToUnixMillis(now));
  entry->set_expires_ms(absl::ToUnixMillis(now + life));
  entry->set_creator(creator.ToString());
  record.set_secret_sha256(token.SecretDigest());
  {
    absl::MutexLock lock(&change_mutex_);
    for (const TokenRecord& old : store_->Tokens()) {
      const absl::Time end = absl::FromUnixMillis(old.entry().expires_ms());
      if (now - end < kMostTokenLife) continue;
      RETURN_IF_ERROR(store_->DropToken(old.entry().id()));
    }
    if (store_->Tokens().size() >= kMaxTokens) {
      return ExhaustedWords("msg-trust-too-many-tokens", kMaxTokens);
    }
    RETURN_IF_ERROR(store_->Put(record));
  }
  parts_.log->Notice("token ", token.id, " for ", entry->uses(), " of ",
                     hosts.empty() ? "all hosts" : hosts, " made by ",
                     creator.ToString(), ", good until ",
                     UtcText(entry->expires_ms()));
  CreateTokenResponse response;
  *response.mutable_entry() = *entry;
  response.set_token(token.ToString());
  response.set_ca_hash(authority_->ca_hash());
  return response;
}

ListTokensResponse EnrolmentService::ListTokens() const {
  ListTokensResponse response;
  for (const TokenRecord& token : store_->Tokens()) {
    *response.add_tokens() = token.entry();
  }
  absl::c_sort(*response.mutable_tokens(), [](const auto& a, const auto& b) {
    return a.created_ms() < b.created_ms();
  });
  return response;
}

bool EnrolmentService::ShouldListen() const {
  const absl::Time now = parts_.scheduler->Now();
  return absl::c_any_of(store_->Tokens(), [now](const TokenRecord& token) {
    return now < absl::FromUnixMillis(token.entry().expires_ms());
  });
}

absl::StatusOr<RevokeTokenResponse> EnrolmentService::RevokeToken(
    const std::string& id) {
  absl::MutexLock lock(&change_mutex_);
  const std::optional<TokenRecord> token = store_->Token(id);
  if (!token.has_value()) {
    return NotFoundWords("msg-trust-no-such-token", QuotedText(id));
  }
  RETURN_IF_ERROR(store_->DropToken(id));
  parts_.log->Notice("token ", id, " revoked");
  RevokeTokenResponse response;
  *response.mutable_entry() = token->entry();
  return response;
}

CertificateEntry EnrolmentService::EntryOf(const HostRecord& record,
                                           int64_t attached_ends_ms,
                                           absl::Time now) const {
  CertificateEntry entry;
  entry.set_host(record.name());
  entry.set_enrolled_ms(record.enrolled_ms());
  entry.set_token_id(record.token_id());
  entry.set_late_renewals(record.late_renewals());
  if (record.has_held()) {
    // The host may use the certificate that ends later.
    const int64_t end_ms =
        std::max(record.held().ends_ms(), record.next().ends_ms());
    const bool ended = absl::FromUnixMillis(end_ms) <= now;
    entry.set_state(ended ? CertificateEntry::ENDED
                          : CertificateEntry::ENROLLED);
    entry.set_serial(record.held().serial());
    entry.set_key(KeyText(record.held().spki_sha256()));
    entry.set_ends_ms(record.held().ends_ms());
    entry.set_next_serial(record.next().serial());
    entry.set_next_ends_ms(record.next().ends_ms());
  } else {
    entry.set_state(attached_ends_ms > 0 ? CertificateEntry::BY_HAND
                                         : CertificateEntry::NONE);
    entry.set_ends_ms(attached_ends_ms);
  }
  if (StillWaits(record, now)) {
    entry.set_state(CertificateEntry::WAITS_FOR_APPROVAL);
    entry.set_waiting_machine_id(record.waiting().machine_id());
    entry.set_waiting_peer(record.waiting().peer());
    entry.set_approved(record.waiting().approved());
    entry.set_waiting_key(WaitingKey(record.waiting()));
  }
  return entry;
}

ListCertificatesResponse EnrolmentService::ListCertificates() const {
  const absl::Time now = parts_.scheduler->Now();
  ListCertificatesResponse response;
  response.set_cluster(cluster());
  response.set_issues(true);
  std::map<std::string, std::shared_ptr<const HostRecord>> records;
  for (auto& record : store_->Hosts()) {
    const std::string& name = record->name();
    records.emplace(name, std::move(record));
  }
  for (const HostEntry& host : parts_.hosts->Entries(*parts_.spec->spec())) {
    HostRecord none;
    none.set_name(host.host());
    const auto found = records.find(host.host());
    *response.add_certificates() =
        EntryOf(found == records.end() ? none : *found->second,
                host.certificate_ends_ms(), now);
    if (found != records.end()) records.erase(found);
  }
  // Hosts that were removed from cluster.yaml.
  for (const auto& [name, record] : records) {
    if (!record->has_held() && !StillWaits(*record, now)) continue;
    *response.add_certificates() = EntryOf(*record, 0, now);
  }
  return response;
}

bool EnrolmentService::StillWaits(const HostRecord& record, absl::Time now) {
  return record.has_waiting() &&
         now - absl::FromUnixMillis(record.waiting().asked_ms()) < kWaitsAlone;
}

absl::StatusOr<ApproveHostResponse> EnrolmentService::Decide(
    const std::string& name, const std::string& key, bool approves) {
  const std::string host = HostNamed(*parts_.spec->spec(), name);
  const absl::Time now = parts_.scheduler->Now();
  absl::MutexLock lock(&change_mutex_);
  std::optional<HostRecord> record = store_->Host(host);
  if (!record.has_value() || !StillWaits(*record, now)) {
    return NotFoundWords("msg-trust-no-machine-waits", QuotedText(host));
  }
  HostRecord::Waiting* const waits = record->mutable_waiting();
  if (key != WaitingKey(*waits)) {
    return AbortedWords("msg-trust-another-key-waits", host, QuotedText(key),
                        WaitingKey(*waits), waits->machine_id(), waits->peer());
  }
  waits->set_approved(approves);
  waits->set_asked_ms(absl::ToUnixMillis(now));
  ApproveHostResponse response;
  *response.mutable_entry() = EntryOf(*record, 0, now);
  const std::string text = absl::StrCat(
      "host ", host, ": the machine with id ", waits->machine_id(), " from ",
      waits->peer(), approves ? " may have" : " does not get", " the name");
  if (!approves) record->clear_waiting();
  RETURN_IF_ERROR(store_->Put(*record));
  parts_.log->Notice(text);
  return response;
}

absl::StatusOr<ResetHostResponse> EnrolmentService::Reset(
    const std::string& name, const std::string& key) {
  const std::string host = HostNamed(*parts_.spec->spec(), name);
  const absl::Time now = parts_.scheduler->Now();
  ResetHostResponse response;
  response.set_host(host);
  absl::MutexLock lock(&change_mutex_);
  const HostRecord record = store_->Host(host).value_or(HostRecord());
  const bool waits = StillWaits(record, now);
  if (!record.has_held() && !record.needs_approval() &&
      record.machine_id().empty() && !waits) {
    return NotFoundWords("msg-trust-not-on-record", QuotedText(host));
  }
  if (!key.empty() && KeyText(key) != KeyText(record.held().spki_sha256()) &&
      KeyText(key) != KeyText(record.next().spki_sha256())) {
    return AbortedWords(
        "msg-trust-key-not-on-record", host, QuotedText(key),
        record.has_held() ? ToFindingValue(KeyText(record.held().spki_sha256()))
                          : Worded("request-none"));
  }
  if (waits) response.set_refused_machine_id(record.waiting().machine_id());
  HostRecord forgotten;
  forgotten.set_name(host);
  forgotten.set_reset_ms(absl::ToUnixMillis(now));
  for (const TokenRecord& token : store_->Tokens()) {
    forgotten.add_spent_token_ids(token.entry().id());
  }
  auto* const keys = forgotten.mutable_reset_keys();
  *keys = record.reset_keys();
  *keys->Add() = record.held().spki_sha256();
  *keys->Add() = record.next().spki_sha256();
  keys->DeleteSubrange(0, std::max(0, keys->size() - int{kMaxTokens}));
  RETURN_IF_ERROR(store_->Put(forgotten));
  {
    absl::MutexLock unkept_lock(&unkept_mutex_);
    const auto unkept = unkept_.find(host);
    if (unkept != unkept_.end()) unkept->second.machine_id.clear();
  }
  parts_.hosts->CloseHost(host, DeniedWords("msg-trust-reset"));
  parts_.log->Notice("host ", host, ": its key is forgotten",
                     waits ? ", and the machine that waited is refused" : "");
  return response;
}

}  // namespace clusterd
