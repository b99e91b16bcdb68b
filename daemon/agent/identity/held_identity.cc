#include "daemon/agent/identity/held_identity.h"

#include "absl/strings/str_cat.h"

namespace clusterd {

void HeldIdentity::Look() {
  absl::StatusOr<TlsPem> read = ReadPairOf(self_, files_);
  std::string trouble(read.status().message());
  bool is_news = false;
  {
    absl::MutexLock lock(&mutex_);
    if (read.ok()) pair_ = *std::move(read);
    is_news = !trouble.empty() && trouble != told_;
    told_ = trouble;
  }
  if (is_news) {
    log_->Error(absl::StrCat(
        "certificate files refused, the last good pair stays in use: ",
        trouble));
  }
}

std::shared_ptr<grpc::ChannelCredentials> HeldIdentity::ForDial() {
  Look();
  absl::MutexLock lock(&mutex_);
  dialled_ = pair_.certificate;
  return MakeChannelCredentialsFromPem(pair_, self_.cluster);
}

TlsPem HeldIdentity::pair() const {
  absl::MutexLock lock(&mutex_);
  return pair_;
}

bool HeldIdentity::IsNewerThanDialled() const {
  absl::MutexLock lock(&mutex_);
  return pair_.certificate != dialled_;
}

}  // namespace clusterd
