#include "tests/sim/tool/hccn_conf.h"

#include <algorithm>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace clusterd::sim {
namespace {

// The tool ignores a line shorter than this.
constexpr size_t kMinLineBytes = 3;

std::string WithoutNewline(std::string piece) {
  if (!piece.empty() && piece.back() == '\n') piece.pop_back();
  return piece;
}

}  // namespace

void ForEachConfLine(const std::string& text,
                     const std::function<void(const std::string&)>& visit) {
  for (size_t at = 0; at < text.size();) {
    const size_t newline = text.find('\n', at);
    size_t end = newline == std::string::npos ? text.size() : newline + 1;
    end = std::min(end, at + HccnConf::kMaxLineBytes);
    const std::string line = text.substr(at, end - at);
    // The tool ignores the text after a zero byte, and a write loses it.
    visit(line.substr(0, line.find('\0')));
    at = end;
  }
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
    if (absl::StartsWith(line, start)) {
      *value = WithoutNewline(line.substr(start.size()));
    }
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
    case LockedFile::Edited::kDiskFull:
      return failures::ConfFull();
  }
  return std::nullopt;
}

Outcome HccnConf::Write(const std::string& key,
                        const std::string& value) const {
  const std::string start = key + "=";
  return Edit([&](std::string* text) {
    std::string kept;
    ForEachConfLine(*text, [&](const std::string& line) {
      if (!absl::StartsWith(line, start)) kept += line;
    });
    absl::StrAppend(&kept, start, value, "\n");
    *text = kept;
  });
}

Outcome HccnConf::Append(const std::string& added,
                         const std::vector<std::string>& replaced) const {
  return Edit([&](std::string* text) {
    std::string kept;
    bool found = replaced.empty();
    ForEachConfLine(*text, [&](const std::string& line) {
      const bool has_all =
          !found && std::all_of(replaced.begin(), replaced.end(),
                                [&line](const std::string& part) {
                                  return absl::StrContains(line, part);
                                });
      if (!has_all) kept += line;
      found = found || has_all;
    });
    *text = absl::StrCat(kept, added, "\n");
  });
}

Outcome HccnConf::RemoveContaining(const std::string& part) const {
  return Edit([&part](std::string* text) {
    std::string kept;
    ForEachConfLine(*text, [&](const std::string& line) {
      if (!absl::StrContains(line, part)) kept += line;
    });
    *text = kept;
  });
}

Outcome HccnConf::Remove(const std::string& key) const {
  return Edit([&key](std::string* text) {
    std::string kept;
    ForEachConfLine(*text, [&](const std::string& line) {
      if (!absl::StartsWith(line, key + "=")) kept += line;
    });
    *text = kept;
  });
}

Outcome HccnConf::ReadToChange(std::string* text) const {
  Outcome failure = Edit([text](std::string* found) { *text = *found; });
  const bool unwritable =
      failure && failure->status == failures::ConfUnwritable().status;
  // The tool reports a failed read, although it opens the file for writing.
  return unwritable ? Outcome(failures::ConfUnreadable()) : failure;
}

}  // namespace clusterd::sim
