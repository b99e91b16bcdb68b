#include "daemon/controller/spec_holder.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"
#include "config/spec/spec_loader.h"

namespace clusterd {
namespace {

// 100,000 hosts with every address written out stay under this.
constexpr size_t kMaxSpecBytes = 128 << 20;

absl::Status SystemError(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOENT || error == ENOTDIR) return absl::NotFoundError(message);
  return absl::PermissionDeniedError(message);
}

absl::StatusOr<std::string> ReadAll(int fd, const std::string& path) {
  struct stat info = {};
  if (fstat(fd, &info) != 0) return SystemError(path, errno);
  if (!S_ISREG(info.st_mode)) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": not a regular file"));
  }
  std::string text;
  char buffer[65536];
  for (;;) {
    const ssize_t count = read(fd, buffer, sizeof(buffer));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return SystemError(path, errno);
    if (count == 0) return text;
    text.append(buffer, static_cast<size_t>(count));
    if (text.size() > kMaxSpecBytes) {
      return absl::InvalidArgumentError(
          absl::StrCat(path, ": over ", kMaxSpecBytes, " bytes"));
    }
  }
}

absl::StatusOr<std::shared_ptr<const ClusterSpec>> Load(
    const std::string& path, const std::string& cluster) {
  // O_NONBLOCK: a FIFO in the file's place must not hang the controller.
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return SystemError(path, errno);
  const absl::StatusOr<std::string> text = ReadAll(fd, path);
  close(fd);
  if (!text.ok()) return text.status();
  absl::StatusOr<ClusterSpec> spec = LoadSpec(path, *text);
  if (!spec.ok()) return spec.status();
  if (spec->name() != cluster) {
    return absl::InvalidArgumentError(
        absl::StrCat(path, ": name \"", spec->name(),
                     "\" is not this controller's cluster, expected \"",
                     cluster, "\" (--cluster)"));
  }
  return std::make_shared<const ClusterSpec>(*std::move(spec));
}

}  // namespace

absl::StatusOr<std::unique_ptr<SpecHolder>> SpecHolder::Open(
    const std::string& path, const std::string& cluster, Scheduler* scheduler) {
  absl::StatusOr<std::shared_ptr<const ClusterSpec>> spec = Load(path, cluster);
  if (!spec.ok()) return spec.status();
  return std::unique_ptr<SpecHolder>(
      new SpecHolder(path, cluster, scheduler, *std::move(spec)));
}

SpecHolder::SpecHolder(std::string path, std::string cluster,
                       Scheduler* scheduler,
                       std::shared_ptr<const ClusterSpec> spec)
    : path_(std::move(path)),
      cluster_(std::move(cluster)),
      scheduler_(scheduler),
      spec_(std::move(spec)),
      loaded_at_(scheduler->Now()) {}

absl::Status SpecHolder::Reload() {
  absl::StatusOr<std::shared_ptr<const ClusterSpec>> spec =
      Load(path_, cluster_);
  absl::MutexLock lock(&mutex_);
  if (!spec.ok()) {
    refused_ = std::string(spec.status().message());
    return spec.status();
  }
  spec_ = *std::move(spec);
  loaded_at_ = scheduler_->Now();
  refused_.clear();
  return absl::OkStatus();
}

std::shared_ptr<const ClusterSpec> SpecHolder::spec() const {
  absl::MutexLock lock(&mutex_);
  return spec_;
}

GetSpecResponse SpecHolder::Describe() const {
  GetSpecResponse response;
  response.set_path(path_);
  std::shared_ptr<const ClusterSpec> spec;
  {
    absl::MutexLock lock(&mutex_);
    spec = spec_;
    response.set_loaded_at_ms(absl::ToUnixMillis(loaded_at_));
    response.set_refused(refused_);
  }
  *response.mutable_spec() = *spec;
  return response;
}

}  // namespace clusterd
