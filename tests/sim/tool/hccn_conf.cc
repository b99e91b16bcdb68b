#include "tests/sim/tool/hccn_conf.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace sim {
namespace {

// A line shorter than this is never looked at.
constexpr size_t kMinLineBytes = 3;

std::string ReadFrom(int fd) {
  std::string text;
  char buffer[16384];
  ssize_t got;
  while ((got = read(fd, buffer, sizeof(buffer))) > 0 ||
         (got < 0 && errno == EINTR)) {
    if (got > 0) text.append(buffer, got);
  }
  return text;
}

// False if not all of it could be written.
bool WriteOver(int fd, const std::string& text) {
  size_t done = 0;
  while (done < text.size()) {
    const ssize_t wrote = pwrite(fd, text.data() + done, text.size() - done,
                                 static_cast<off_t>(done));
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) return false;
    done += wrote;
  }
  return ftruncate(fd, static_cast<off_t>(text.size())) == 0;
}

// Pieces of at most kMaxLineBytes, each with its newline if it has one.
template <typename Visit>
void ForEachPiece(const std::string& text, Visit visit) {
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find('\n', at);
    size_t end = newline == std::string::npos ? text.size() : newline + 1;
    end = std::min(end, at + HccnConf::kMaxLineBytes);
    visit(text.substr(at, end - at));
    at = end;
  }
}

std::string WithoutNewline(std::string piece) {
  if (!piece.empty() && piece.back() == '\n') piece.pop_back();
  return piece;
}

}  // namespace

void ForEachConfLine(const std::string& text,
                     const std::function<void(const std::string&)>& visit) {
  ForEachPiece(text, [&visit](const std::string& piece) {
    visit(WithoutNewline(piece));
  });
}

Outcome HccnConf::RequireFile() const {
  if (access(path_.c_str(), F_OK) != 0) return failures::ConfMissing();
  return std::nullopt;
}

Outcome HccnConf::Read(const std::string& key,
                       std::optional<std::string>* value) const {
  value->reset();
  if (Outcome failure = RequireFile()) return failure;
  const int fd = open(path_.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return failures::ConfUnreadable();
  flock(fd, LOCK_EX);
  const std::string text = ReadFrom(fd);
  close(fd);
  const std::string start = key + "=";
  ForEachConfLine(text, [&](const std::string& line) {
    if (value->has_value() || line.size() < kMinLineBytes) return;
    if (absl::StartsWith(line, start)) *value = line.substr(start.size());
  });
  return std::nullopt;
}

Outcome HccnConf::Edit(const Change& change) const {
  if (Outcome failure = RequireFile()) return failure;
  const int fd = open(path_.c_str(), O_RDWR | O_CLOEXEC);
  if (fd < 0) return failures::ConfUnwritable();
  Outcome failure;
  if (flock(fd, LOCK_EX) != 0) {
    failure = failures::LockTimeout();
  } else {
    const std::string before = ReadFrom(fd);
    std::string after = before;
    change(&after);
    if (after.size() > kMaxFileBytes && after.size() > before.size()) {
      failure = failures::ConfFull();
    } else if (after != before && !WriteOver(fd, after)) {
      // Put back what was there; it fitted before.
      WriteOver(fd, before);
      failure = failures::ConfFull();
    }
  }
  close(fd);
  return failure;
}

Outcome HccnConf::Write(const std::string& key,
                        const std::string& value) const {
  const std::string start = key + "=";
  return Edit([&](std::string* text) {
    std::string kept;
    ForEachPiece(*text, [&](const std::string& piece) {
      if (!absl::StartsWith(piece, start)) kept += piece;
    });
    absl::StrAppend(&kept, start, value, "\n");
    *text = kept;
  });
}

Outcome HccnConf::Remove(
    const std::function<bool(const std::string&)>& drop) const {
  return Edit([&](std::string* text) {
    std::string kept;
    ForEachPiece(*text, [&](const std::string& piece) {
      if (!drop(WithoutNewline(piece))) kept += piece;
    });
    *text = kept;
  });
}

Outcome HccnConf::RemoveContaining(const std::string& text) const {
  return Remove([&text](const std::string& line) {
    return absl::StrContains(line, text);
  });
}

}  // namespace sim
}  // namespace clusterd
