#include "absl/strings/str_format.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/hooks/hook_service.h"

namespace clusterd {
namespace {

// A rename moves the file to its place; there is one writer at a time.
constexpr char kNewFile[] = "verdict.new";

struct FileName {
  int64_t judged_at_ms = 0;
  std::string digest;
};

// False for a name that this class did not make.
bool ParseName(absl::string_view name, FileName* parsed) {
  static const LazyRE2 kName = {R"((\d{16})-([0-9a-f]{64})\.verdict)"};
  return HasForm(name, *kName, &parsed->judged_at_ms, &parsed->digest);
}

absl::Status CheckAge(const JobVerdict& verdict, absl::Time now,
                      absl::Duration max_age) {
  const absl::Duration age = now - absl::FromUnixMillis(verdict.judged_at_ms());
  const bool is_old = age > max_age;
  if (!is_old && age >= -kMaxClockLead) return absl::OkStatus();
  return PreconditionWords(
      is_old ? "msg-hook-verdict-old" : "msg-hook-verdict-ahead",
      Lasting(is_old ? age : -age), Lasting(is_old ? max_age : kMaxClockLead));
}

}  // namespace

absl::StatusOr<JobVerdict> VerdictStore::Prove(const SignedVerdict& verdict,
                                               absl::Duration max_age) const {
  if (verdict.verdict().size() > kMaxVerdictBytes) {
    return DeniedWords("msg-hook-verdict-too-large", verdict.verdict().size(),
                       kMaxVerdictBytes);
  }
  ASSIGN_OR_RETURN(const std::string ca, options_.read_ca());
  const absl::Time now = clock_->Now();
  RETURN_IF_ERROR(verifier_.Verify(verdict.verdict(), verdict.signature(),
                                   verdict.certificate(), ca, options_.cluster,
                                   now));
  JobVerdict proved;
  if (!proved.ParseFromString(verdict.verdict())) {
    return DeniedWords("msg-hook-verdict-not-readable");
  }
  if (proved.cluster() != options_.cluster) {
    return DeniedWords("msg-hook-verdict-other-cluster",
                       QuotedText(proved.cluster()), options_.cluster);
  }
  RETURN_IF_ERROR(CheckAge(proved, now, max_age));
  return proved;
}

absl::Status VerdictStore::Keep(const SignedVerdict& verdict,
                                const JobVerdict& proved) {
  const std::string name = absl::StrFormat(
      "%016d-%s.verdict", proved.judged_at_ms(), proved.job_digest());
  FileName parsed;
  if (!ParseName(name, &parsed)) {
    return InvalidArgument("verdict: digest ", QuotedText(proved.job_digest()),
                           " is not a SHA-256 in hex");
  }
  absl::MutexLock lock(&mutex_);
  const absl::Status made = files_->MakeDirectory(options_.folder, 0700);
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  RETURN_IF_ERROR(WriteByDraft(files_, PathOf(kNewFile), PathOf(name),
                               verdict.SerializeAsString()));
  DropOld(name);
  return absl::OkStatus();
}

void VerdictStore::DropOld(const std::string& kept) {
  const auto names = files_->List(options_.folder);
  if (!names.ok()) return;
  FileName own;
  ParseName(kept, &own);
  const int64_t oldest = absl::ToUnixMillis(clock_->Now() - kMaxKeptAge);
  size_t left = names->size();
  for (const std::string& name : *names) {  // The oldest first.
    FileName parsed;
    if (name == kept || !ParseName(name, &parsed)) continue;
    if (left <= kMaxKeptVerdicts && parsed.judged_at_ms >= oldest &&
        parsed.digest != own.digest) {
      continue;
    }
    // A file that cannot be removed is dropped next time.
    if (files_->Remove(PathOf(name)).ok()) --left;
  }
}

absl::StatusOr<JobVerdict> VerdictStore::Find(absl::string_view digest,
                                              absl::Duration max_age) const {
  std::string bytes;
  {
    absl::MutexLock lock(&mutex_);
    const auto names = files_->List(options_.folder);
    if (!names.ok() && !absl::IsNotFound(names.status())) return names.status();
    std::string newest;
    FileName parsed;
    if (names.ok()) {
      for (const std::string& name : *names) {
        if (ParseName(name, &parsed) && parsed.digest == digest) newest = name;
      }
    }
    if (newest.empty()) {
      return NotFoundWords("msg-hook-no-kept-verdict");
    }
    // The certificate and the signature are stored beside the verdict.
    ASSIGN_OR_RETURN(bytes, ReadWholeFile(files_, PathOf(newest),
                                          kMaxVerdictBytes + (64 << 10)));
  }
  SignedVerdict kept;
  if (!kept.ParseFromString(bytes)) {
    return DeniedWords("msg-hook-kept-damaged");
  }
  ASSIGN_OR_RETURN(JobVerdict proved, Prove(kept, max_age));
  if (proved.job_digest() == digest) return proved;
  return DeniedWords("msg-hook-kept-other-job");
}

}  // namespace clusterd
