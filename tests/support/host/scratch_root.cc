#include "tests/support/host/scratch_root.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <filesystem>

#include "absl/strings/str_cat.h"

namespace clusterd {
namespace {

void Require(bool done, const std::string& what) {
  if (done) return;
  std::perror(what.c_str());
  std::abort();
}

}  // namespace

ScratchRoot::ScratchRoot(const char* base) {
  if (base == nullptr) base = getenv("TEST_TMPDIR");
  path_ = absl::StrCat(base == nullptr ? "/tmp" : base, "/root-XXXXXX");
  Require(mkdtemp(path_.data()) != nullptr, path_);
}

ScratchRoot::~ScratchRoot() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::string ScratchRoot::Full(absl::string_view path) const {
  return absl::StrCat(path_, path);
}

void ScratchRoot::Write(absl::string_view path, absl::string_view text,
                        int mode) {
  const std::string full = Full(path);
  MakeFolder(path.substr(0, path.rfind('/')));
  const int fd =
      open(full.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, mode);
  Require(fd >= 0, full);
  Require(
      write(fd, text.data(), text.size()) == static_cast<ssize_t>(text.size()),
      full);
  Require(fchmod(fd, mode) == 0 && close(fd) == 0, full);
}

void ScratchRoot::MakeFolder(absl::string_view path, int mode) {
  for (size_t end = 0; end != absl::string_view::npos;) {
    end = path.find('/', end + 1);
    const std::string full = Full(path.substr(0, end));
    Require(mkdir(full.c_str(), 0755) == 0 || errno == EEXIST, full);
  }
  if (mode != 0755) SetMode(path, mode);
}

void ScratchRoot::Link(absl::string_view path, const std::string& target) {
  MakeFolder(path.substr(0, path.rfind('/')));
  Require(symlink(target.c_str(), Full(path).c_str()) == 0, Full(path));
}

void ScratchRoot::SetMode(absl::string_view path, int mode) {
  Require(chmod(Full(path).c_str(), mode) == 0, Full(path));
}

void ScratchRoot::Remove(absl::string_view path) {
  std::error_code error;
  std::filesystem::remove_all(Full(path), error);
  Require(!error, Full(path));
}

}  // namespace clusterd
