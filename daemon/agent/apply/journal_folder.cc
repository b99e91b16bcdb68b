#include "daemon/agent/apply/journal_folder.h"

#include <algorithm>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "config/values/status_macros.h"
#include "daemon/agent/apply/outcome_text.h"

namespace clusterd {
namespace {

constexpr char kSuffix[] = ".journal";
constexpr size_t kMaxIdBytes = 64;

bool IsApplyId(absl::string_view id) {
  return !id.empty() && id.size() <= kMaxIdBytes && id[0] != '.' &&
         std::all_of(id.begin(), id.end(), [](unsigned char c) {
           return absl::ascii_isalnum(c) || c == '.' || c == '_' || c == '-';
         });
}

}  // namespace

absl::Status CheckApplyId(absl::string_view id) {
  if (IsApplyId(id)) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat("apply id \"", id.substr(0, kMaxIdBytes),
                   "\" is not one, expected 1 to 64 of A-Z a-z 0-9 . _ -"));
}

std::string JournalFolder::PathOf(absl::string_view apply_id) const {
  return absl::StrCat(path_, "/", apply_id, kSuffix);
}

absl::StatusOr<std::unique_ptr<OpenFile>> JournalFolder::TakeLock() {
  absl::Status made = files_->MakeDirectory(path_, 0700);
  if (made.ok()) made = files_->SyncDirectory(FolderOf(path_));
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  const std::string path = absl::StrCat(path_, "/lock");
  auto file = files_->Open(path, OpenMode::kReadWrite);
  if (absl::IsNotFound(file.status())) {
    file = files_->Open(path, OpenMode::kCreate);
    // Another process made it in between.
    if (absl::IsAlreadyExists(file.status())) {
      file = files_->Open(path, OpenMode::kReadWrite);
    }
  }
  if (!file.ok()) return file.status();
  ASSIGN_OR_RETURN(const bool locked, (*file)->TryLock());
  if (!locked) file->reset();
  return file;
}

absl::StatusOr<std::vector<JournalFolder::Found>> JournalFolder::Read() {
  ASSIGN_OR_RETURN(const auto names, files_->List(path_));
  std::vector<Found> found;
  for (absl::string_view name : names) {
    if (!absl::ConsumeSuffix(&name, kSuffix)) continue;
    const std::string path = PathOf(name);
    const auto bytes = ReadWholeFile(files_, path, kMaxJournalBytes);
    // Gone since it was listed: dropped by another call, or moved away.
    if (absl::IsNotFound(bytes.status())) continue;
    if (!bytes.ok()) return bytes.status();
    const auto text = ParseJournal(*bytes);
    if (text.ok()) {
      found.push_back(
          {std::string(name), path, SummariseJournal(text->entries)});
    } else {
      found.push_back({std::string(name), path, InFront(path, text.status())});
    }
  }
  return found;
}

absl::StatusOr<std::vector<JournalState>> JournalFolder::List() {
  std::vector<JournalState> states;
  auto all = Read();
  if (absl::IsNotFound(all.status())) return states;
  if (!all.ok()) return all.status();
  for (Found& each : *all) {
    if (!each.state.ok()) continue;
    each.state->begin.set_apply_id(each.apply_id);
    states.push_back(*std::move(each.state));
  }
  std::stable_sort(states.begin(), states.end(),
                   [](const JournalState& a, const JournalState& b) {
                     return a.begin.started_at_ms() < b.begin.started_at_ms();
                   });
  return states;
}

void JournalFolder::DropOld(const KeptJournals& kept) {
  const auto states = List();
  if (!states.ok()) return;
  for (const std::string& id : JournalsToDrop(*states, kept)) {
    // A journal too many does no harm; the next apply tries again.
    (void)files_->Remove(PathOf(id));
  }
}

std::vector<std::string> JournalsToDrop(const std::vector<JournalState>& states,
                                        const KeptJournals& kept) {
  size_t in_effect = 0;
  size_t taken_back = 0;
  std::vector<std::string> dropped;
  for (auto state = states.rbegin(); state != states.rend(); ++state) {
    if (state->unfinished()) continue;
    const bool goes = state->in_effect() ? ++in_effect > kept.in_effect
                                         : ++taken_back > kept.taken_back;
    if (goes) dropped.push_back(state->begin.apply_id());
  }
  std::reverse(dropped.begin(), dropped.end());
  return dropped;
}

}  // namespace clusterd
