#include "tests/sim/tool/hccn_conf.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd {
namespace sim {
namespace {

// A line shorter than this is never looked at.
constexpr size_t kMinLineBytes = 3;

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
  if (!file_->Exists()) return failures::ConfMissing();
  return std::nullopt;
}

Outcome HccnConf::ReadAll(std::string* text) const {
  if (Outcome failure = RequireFile()) return failure;
  std::optional<std::string> read = file_->Read();
  if (!read) return failures::ConfUnreadable();
  *text = *std::move(read);
  return std::nullopt;
}

Outcome HccnConf::Read(const std::string& key,
                       std::optional<std::string>* value) const {
  value->reset();
  std::string text;
  if (Outcome failure = ReadAll(&text)) return failure;
  const std::string start = key + "=";
  ForEachConfLine(text, [&](const std::string& line) {
    if (value->has_value() || line.size() < kMinLineBytes) return;
    if (absl::StartsWith(line, start)) *value = line.substr(start.size());
  });
  return std::nullopt;
}

Outcome HccnConf::Edit(const Change& change) const {
  bool full = false;
  const LockedFile::Edited edited = file_->Edit([&](std::string* text) {
    std::string after = *text;
    change(&after);
    full = after.size() > kMaxFileBytes && after.size() > text->size();
    if (!full) *text = std::move(after);
  });
  switch (edited) {
    case LockedFile::Edited::kYes:
      return full ? Outcome(failures::ConfFull()) : std::nullopt;
    case LockedFile::Edited::kNoFile:
      return failures::ConfMissing();
    case LockedFile::Edited::kNotWritable:
      return failures::ConfUnwritable();
    case LockedFile::Edited::kNotLocked:
      return failures::LockTimeout();
    case LockedFile::Edited::kNoRoom:
      return failures::ConfFull();
  }
  return std::nullopt;
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
