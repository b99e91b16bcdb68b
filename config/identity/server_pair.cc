#include "config/identity/server_pair.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/values/status_macros.h"

namespace clusterd {
namespace {

absl::Status MemoryTrouble(int error) {
  return absl::UnavailableError(
      absl::StrCat("certificates: kept in memory: ", std::strerror(error)));
}

bool IsSame(const TlsPem& a, const TlsPem& b) {
  return a.ca == b.ca && a.certificate == b.certificate && a.key == b.key;
}

}  // namespace

absl::Status MemoryFile::Replace(const std::string& text) {
  OwnedFd fd(memfd_create("clusterd-certificates", MFD_CLOEXEC));
  // Who opens the path gets the old text or the new one, never a half.
  const bool is_done =
      fd.get() >= 0 && WriteAll(fd.get(), text) &&
      (fd_.get() < 0 || dup3(fd.get(), fd_.get(), O_CLOEXEC) >= 0);
  if (!is_done) return MemoryTrouble(errno);
  if (fd_.get() < 0) fd_ = std::move(fd);
  return absl::OkStatus();
}

std::string MemoryFile::path() const {
  return absl::StrCat("/proc/self/fd/", fd_.get());
}

absl::Status ServerPair::Shown::Replace(const TlsPem& pem) {
  RETURN_IF_ERROR(roots.Replace(pem.ca));
  return pair.Replace(absl::StrCat(pem.key, "\n", pem.certificate));
}

ServerPair::ServerPair(TlsFiles files, SpiffeId self, TlsPem first,
                       std::shared_ptr<Shown> shown, absl::Duration interval,
                       CertificatesRefused refused)
    : files_(std::move(files)),
      self_(std::move(self)),
      shown_(std::move(shown)),
      interval_(interval),
      refused_(std::move(refused)),
      last_(std::move(first)),
      thread_([this] { Run(); }) {}

ServerPair::~ServerPair() {
  {
    absl::MutexLock lock(&mutex_);
    stop_ = true;
  }
  thread_.join();
}

bool ServerPair::Verify(
    ::grpc::experimental::TlsCustomVerificationCheckRequest*,
    std::function<void(::grpc::Status)>, ::grpc::Status* sync_status) {
  *sync_status = ::grpc::Status::OK;
  return true;
}

void ServerPair::Run() {
  absl::MutexLock lock(&mutex_);
  while (!mutex_.AwaitWithTimeout(absl::Condition(&stop_), interval_)) Look();
}

void ServerPair::Look() {
  absl::StatusOr<TlsPem> read = ReadPairOf(self_, files_);
  absl::Status status = read.status();
  if (status.ok() && !IsSame(*read, last_)) status = shown_->Replace(*read);
  if (status.ok()) last_ = *std::move(read);
  std::string trouble(status.message());
  if (!trouble.empty() && trouble != told_ && refused_) refused_(trouble);
  told_ = std::move(trouble);
}

}  // namespace clusterd
