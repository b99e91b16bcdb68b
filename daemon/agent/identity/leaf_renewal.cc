#include "daemon/agent/identity/leaf_renewal.h"

#include <algorithm>

#include "config/identity/regular_file.h"
#include "config/identity/signing_request.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/identity/enrolment_call.h"

namespace clusterd {
namespace {

// Bounds the wait, since the system clock may be set.
constexpr absl::Duration kMostWait = absl::Hours(1);
constexpr absl::Duration kAnswerWait = absl::Seconds(60);
// The wait after an error, and until the host is idle.
constexpr absl::Duration kRetry = absl::Minutes(5);
constexpr absl::Duration kReattachWait = absl::Minutes(1);
constexpr size_t kMaxRefusalBytes = 500;

// The host whose pair is renewed.
struct Renewing {
  SpiffeId self;
  IdentityFolder folder;
  absl::Time now;
  // Either may be null.
  AuditLog* audit;
  Log* log;
};

std::string FolderOf(const std::string& path) {
  return path.substr(0, path.rfind('/'));
}

// Installs the answer, with a line of the host's audit file before and after
// it. `before`: the host's pair, whose roots it trusts.
absl::Status TakeAnswer(const Enrolled& answer, const TlsPem& before,
                        const std::string& key, const Renewing& host) {
  const SpiffeId& self = host.self;
  if (answer.name() != self.name) {
    return DeniedWords("msg-trust-renewed-other-name",
                       QuotedText(answer.name()), self.name);
  }
  ASSIGN_OR_RETURN(std::string bundle, host.folder.ReadRootsBundle());
  const Roots roots =
      TakeRootBundles({before.ca, std::move(bundle)}, answer.root_bundles(),
                      answer.roots_pem(), self.cluster, host.now);
  ASSIGN_OR_RETURN(const TlsPem pair,
                   CheckedPair(answer, self.cluster, roots, key, host.now));
  const AuditEntry entry = MakeAuditEntry(
      "renew-certificate",
      JoinParts("; ", {self.name, roots.news.empty()
                                      ? ""
                                      : EnglishText(Listed(
                                            roots.news, roots.news.size()))}),
      self.ToString());
  if (host.audit != nullptr) RETURN_IF_ERROR(host.audit->Begin(entry));
  absl::Status done = host.folder.Install(pair);
  if (host.audit != nullptr) {
    host.audit->End(
        entry, done.ok() ? absl::StrCat("done, certificate ",
                                        CertificateSerial(pair.certificate))
                         : std::string(done.message()));
  }
  if (host.log == nullptr || !done.ok()) return done;
  for (const FindingValue& line : roots.news) {
    host.log->Warning(EnglishText(line));
  }
  return done;
}

// Renews with the host's current key.
absl::Status RenewLate(const TlsPem& pair, const std::string& controller,
                       const Renewing& host) {
  ASSIGN_OR_RETURN(const Enrolled answer,
                   AskToRenewLate(controller, host.self.cluster, pair));
  return TakeAnswer(answer, pair, pair.key, host);
}

}  // namespace

void HeldIdentity::Check() {
  absl::StatusOr<TlsPem> read = ReadPairOf(self_, files_);
  std::string trouble(read.status().message());
  bool is_news = false;
  {
    absl::MutexLock lock(&mutex_);
    if (read.ok()) pair_ = *std::move(read);
    is_news = !trouble.empty() && trouble != reported_;
    reported_ = trouble;
  }
  if (is_news) {
    log_->Error("certificate files refused, the last good pair stays in use: ",
                trouble);
  }
}

std::shared_ptr<grpc::ChannelCredentials> HeldIdentity::ForDial() {
  Check();
  absl::MutexLock lock(&mutex_);
  dialled_ = pair_.certificate;
  return MakeChannelCredentialsFromPem(pair_, self_.cluster);
}

absl::Time RenewalTime(const CertificateInfo& certificate, double draw) {
  const absl::Duration life = certificate.not_after - certificate.not_before;
  return certificate.not_before + life * (0.4 + 0.2 * draw);
}

bool HasEnded(const TlsFiles& files, absl::Time now) {
  if (!LeafRenewal::Renews(files)) return false;
  const auto info =
      ParseCertificate(ReadRegularFile(files.certificate).value_or(""));
  return info.ok() && now > info->not_after;
}

absl::Status RenewIfEnded(const TlsFiles& files, const std::string& controller,
                          absl::Time now, AuditLog* audit, Log* log) {
  if (!HasEnded(files, now)) return absl::OkStatus();
  TlsPem pair;
  ASSIGN_OR_RETURN(pair.ca, ReadRegularFile(files.ca));
  ASSIGN_OR_RETURN(pair.certificate, ReadRegularFile(files.certificate));
  ASSIGN_OR_RETURN(pair.key, ReadRegularFile(files.key));
  ASSIGN_OR_RETURN(const CertificateInfo info,
                   ParseCertificate(pair.certificate));
  return RenewLate(
      pair, controller,
      {info.id, IdentityFolder(FolderOf(files.certificate)), now, audit, log});
}

RootsFact ReadRoots(const TlsFiles& files) {
  RootsFact fact;
  const auto pem = ReadRegularFile(files.ca);
  const IdentityFolder folder(FolderOf(files.certificate));
  const auto all = ReadRootBundles(folder.ReadRootsBundle().value_or("unread"));
  if (!pem.ok() || !all.ok()) {
    fact.mutable_missing()->set_reason(Missing::UNREADABLE);
    SetDetail(Worded("fact-roots", files.ca), fact.mutable_missing());
    return fact;
  }
  for (const std::string& hash : RootHashes(*pem)) {
    fact.mutable_value()->add_hashes(hash);
  }
  fact.mutable_value()->set_bundle(all->empty() ? 0 : all->back().number);
  return fact;
}

bool LeafRenewal::Renews(const TlsFiles& files) {
  return IdentityFolder(FolderOf(files.certificate)).HasJoined();
}

LeafRenewal::LeafRenewal(Parts parts)
    : parts_(std::move(parts)),
      folder_(FolderOf(parts_.files.certificate)),
      draw_(parts_.random()) {}

bool LeafRenewal::WantsRoots(absl::Time now) {
  const uint64_t held = ReadRoots(parts_.files).value().bundle();
  absl::MutexLock lock(&mutex_);
  if (offered_bundle_ <= std::max(held, answered_bundle_) ||
      now < next_for_roots_) {
    return false;
  }
  next_for_roots_ = now + kRetry;
  return true;
}

void LeafRenewal::Check() {
  if (!folder_.HasJoined()) return CheckAgain(kMostWait);
  parts_.held->Check();
  const absl::StatusOr<CertificateInfo> info =
      ParseCertificate(parts_.held->pair().certificate);
  if (!info.ok()) return;  // Never: it was parsed before.
  if (parts_.held->IsNewerThanDialled()) {
    parts_.reattach();
    return CheckAgain(kReattachWait);
  }
  const absl::Time now = parts_.scheduler->Now();
  absl::Time due;
  uint64_t asked_bundle = 0;
  {
    absl::MutexLock lock(&mutex_);
    due = RenewalTime(*info, draw_);
    asked_bundle = offered_bundle_;
  }
  if (now < due && !WantsRoots(now)) {
    CheckAgain(std::min(due - now, kMostWait));
  } else if (now <= info->not_after) {
    AskOverStream();
  } else {
    const absl::Status late = RenewLate(
        parts_.held->pair(), parts_.controller,
        {parts_.held->self(), folder_, now, parts_.audit, parts_.log});
    Tell(late);
    if (late.ok()) {
      parts_.held->Check();
      absl::MutexLock lock(&mutex_);
      answered_bundle_ = std::max(answered_bundle_, asked_bundle);
    }
    CheckAgain(kRetry);
  }
}

absl::Status LeafRenewal::FillInLocked(CertificateRequest* request) {
  if (next_key_.empty()) {
    ASSIGN_OR_RETURN(next_key_, MakePrivateKey());
  }
  ASSIGN_OR_RETURN(*request->mutable_signing_request(),
                   MakeSigningRequest(next_key_));
  return absl::OkStatus();
}

void LeafRenewal::AskOverStream() {
  AgentMessage message;
  absl::Status made;
  {
    absl::MutexLock lock(&mutex_);
    if (asking_) return;
    made = FillInLocked(message.mutable_certificate_request());
    asking_ = made.ok();
    asked_bundle_ = offered_bundle_;
  }
  if (!made.ok()) {
    Tell(made);
    return CheckAgain(kRetry);
  }
  parts_.ask(std::move(message), kAnswerWait,
             gate_.Wrap([this](absl::StatusOr<HubMessage> answer) {
               gate_.RunSoon(
                   parts_.pool, parts_.scheduler,
                   [this, answer = std::move(answer)] { OnAnswer(answer); });
             }));
}

absl::Status LeafRenewal::TakeUp(const absl::StatusOr<HubMessage>& answer) {
  RETURN_IF_ERROR(answer.status());
  const CertificateAnswer& reply = answer->certificate_answer();
  if (!reply.has_enrolled()) {
    return PreconditionWords("msg-trust-not-renewed",
                             PrintableText(reply.refused(), kMaxRefusalBytes));
  }
  std::string key;
  {
    absl::MutexLock lock(&mutex_);
    key = next_key_;
  }
  return TakeAnswer(reply.enrolled(), parts_.held->pair(), key,
                    {parts_.held->self(), folder_, parts_.scheduler->Now(),
                     parts_.audit, parts_.log});
}

void LeafRenewal::OnAnswer(const absl::StatusOr<HubMessage>& answer) {
  const absl::Status taken = TakeUp(answer);
  {
    absl::MutexLock lock(&mutex_);
    asking_ = false;
    if (taken.ok()) {
      next_key_.clear();
      draw_ = parts_.random();
      answered_bundle_ = std::max(answered_bundle_, asked_bundle_);
    }
  }
  Tell(taken);
  if (!taken.ok()) return CheckAgain(kRetry);
  parts_.held->Check();
  CheckAgain(absl::ZeroDuration());
}

void LeafRenewal::Tell(const absl::Status& trouble) {
  if (trouble.ok()) {
    absl::MutexLock lock(&mutex_);
    reported_.clear();
    return parts_.log->Notice("this host's certificate is renewed");
  }
  const std::string text(trouble.message());
  absl::MutexLock lock(&mutex_);
  // Log an absence of the controller once, not a hundred times a night.
  if (text == reported_) return;
  reported_ = text;
  parts_.log->Warning("this host's certificate is not renewed yet: ", text);
}

}  // namespace clusterd
