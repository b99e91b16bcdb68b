#include "daemon/agent/apply/journal.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/match.h"
#include "absl/strings/strip.h"
#include "config/change/host_state.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/words/message.h"
#include "config/words/quoted_text.h"
#include "daemon/agent/apply/journal_contents.h"

namespace clusterd {
namespace {

constexpr char kSuffix[] = ".journal";
constexpr char kMagic[] = "clusterd journal 3\n";
constexpr char kAnyMagic[] = "clusterd journal ";
constexpr size_t kMagicBytes = sizeof(kMagic) - 1;
constexpr size_t kLengthBytes = 4;
constexpr size_t kHeadCheckBytes = 8;
constexpr size_t kHeadBytes = kLengthBytes + kHeadCheckBytes + 32;

std::string LittleEndian(uint64_t value, size_t bytes) {
  std::string text;
  for (size_t i = 0; i < bytes; ++i) {
    text.push_back(static_cast<char>(value >> (8 * i) & 0xff));
  }
  return text;
}

uint64_t FromLittleEndian(absl::string_view text) {
  uint64_t value = 0;
  for (size_t i = text.size(); i-- > 0;) {
    value = value << 8 | static_cast<unsigned char>(text[i]);
  }
  return value;
}

std::string HeadCheck(absl::string_view length, uint64_t offset) {
  return Sha256(absl::StrCat(length, LittleEndian(offset, 8)))
      .substr(0, kHeadCheckBytes);
}

bool IsZero(absl::string_view bytes) {
  return absl::c_all_of(bytes, [](char c) { return c == '\0'; });
}

absl::Status Damaged(uint64_t offset) {
  return DataLossWords("msg-step-journal-damaged", offset);
}

void Clean(FindingValue* words) {
  words->set_text(OutcomeText(words->text()));
  for (FindingValue& value : *words->mutable_values()) Clean(&value);
}

void CleanAll(google::protobuf::RepeatedPtrField<std::string>* texts) {
  for (std::string& text : *texts) text = OutcomeText(text);
}

}  // namespace

absl::StatusOr<JournalText> ParseJournal(absl::string_view bytes) {
  JournalText text;
  if (!absl::StartsWith(bytes, kMagic)) {
    // A crash interrupted the creation of the file.
    if (absl::StartsWith(kMagic, bytes) || IsZero(bytes)) return text;
    if (absl::StartsWith(bytes, kAnyMagic)) {
      return DataLossWords("msg-step-journal-version");
    }
    return Damaged(0);
  }
  text.good_bytes = kMagicBytes;
  while (true) {
    const uint64_t offset = text.good_bytes;
    const absl::string_view rest = bytes.substr(offset);
    // Some file systems leave zeros where the last write was lost.
    if (rest.size() < kHeadBytes || IsZero(rest)) return text;
    const absl::string_view length = rest.substr(0, kLengthBytes);
    if (rest.substr(kLengthBytes, kHeadCheckBytes) !=
        HeadCheck(length, offset)) {
      return Damaged(offset);
    }
    const uint64_t size = FromLittleEndian(length);
    if (rest.size() - kHeadBytes < size) return text;
    const absl::string_view payload = rest.substr(kHeadBytes, size);
    JournalEntry entry;
    const bool good =
        rest.substr(kLengthBytes + kHeadCheckBytes, 32) == Sha256(payload) &&
        entry.ParseFromArray(payload.data(), static_cast<int>(size));
    const bool is_last = rest.size() == kHeadBytes + size;
    if (!good && is_last) return text;
    if (!good) return Damaged(offset);
    RETURN_IF_ERROR(InFront(absl::StrCat("journal: record at byte ", offset),
                            CheckJournalEntry(entry)));
    text.entries.push_back(std::move(entry));
    text.good_bytes = offset + kHeadBytes + size;
  }
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Create(
    FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, files->Open(path, OpenMode::kCreate));
  RETURN_IF_ERROR(WriteFully(file.get(), 0, kMagic));
  RETURN_IF_ERROR(file->Sync());
  RETURN_IF_ERROR(files->SyncDirectory(FolderOf(path)));
  return std::unique_ptr<Journal>(
      new Journal(std::move(file), {{}, kMagicBytes}));
}

absl::StatusOr<std::unique_ptr<Journal>> Journal::Open(
    FileSystem* files, const std::string& path) {
  ASSIGN_OR_RETURN(auto file, files->Open(path, OpenMode::kReadWrite));
  ASSIGN_OR_RETURN(const std::string bytes, file->ReadAll(kMaxJournalBytes));
  absl::StatusOr<JournalText> text = ParseJournal(bytes);
  RETURN_IF_ERROR(InFront(path, text.status()));
  if (text->good_bytes < bytes.size()) {
    RETURN_IF_ERROR(file->Truncate(text->good_bytes));
    RETURN_IF_ERROR(file->Sync());
  }
  return std::unique_ptr<Journal>(
      new Journal(std::move(file), *std::move(text)));
}

absl::Status Journal::Append(const JournalEntry& entry) {
  if (!broken_.ok()) return broken_;
  if (end_ < kMagicBytes) {
    return PreconditionWords("msg-step-journal-heading");
  }
  JournalEntry read;
  if (!read.ParseFromString(entry.SerializeAsString())) {
    return InternalWords("msg-step-journal-utf8");
  }
  const std::string payload = entry.SerializeAsString();
  const std::string length = LittleEndian(payload.size(), kLengthBytes);
  const std::string record =
      absl::StrCat(length, HeadCheck(length, end_), Sha256(payload), payload);
  absl::Status status = WriteFully(file_.get(), end_, record);
  if (status.ok()) status = file_->Sync();
  if (!status.ok()) {
    broken_ = status;
    // The record may be complete in the file although this call fails, and the
    // next start must not trust it. If this fails too, nothing else helps.
    (void)file_->Truncate(end_);
    return status;
  }
  end_ += record.size();
  entries_.push_back(entry);
  return absl::OkStatus();
}

bool JournalState::not_confirmed() const {
  return undo.reason_words().words() == kNotConfirmed;
}

bool JournalState::in_effect() const {
  return applied() || (phase == HOST_REVERTED && MayHold(end.outcome()));
}

JournalState SummariseJournal(const std::vector<JournalEntry>& entries) {
  JournalState state;
  for (const JournalEntry& entry : entries) {
    switch (entry.kind_case()) {
      case JournalEntry::kBegin:
        state.begin = entry.begin();
        state.phase = HOST_RUNNING;
        break;
      case JournalEntry::kIntent:
        state.saved.insert(state.saved.end(), entry.intent().saved().begin(),
                           entry.intent().saved().end());
        break;
      case JournalEntry::kDone:
        state.steps.push_back(entry.done());
        break;
      case JournalEntry::kUndo:
        state.phase = HOST_REVERTING;
        state.undo = entry.undo();
        break;
      case JournalEntry::kDeadline:
        state.deadline = entry.deadline();
        break;
      case JournalEntry::kConfirm:
        state.phase = HOST_CONFIRMED;
        break;
      case JournalEntry::kEnd:
        state.end = entry.end();
        state.phase = entry.end().outcome() != ApplyResult::APPLIED
                          ? HOST_REVERTED
                      : state.deadline.has_value() ? HOST_CONFIRM_PENDING
                                                   : HOST_APPLIED;
        break;
      case JournalEntry::KIND_NOT_SET:
        break;
    }
  }
  return state;
}

absl::Status CheckApplyId(absl::string_view id) {
  static const LazyRE2 kId = {R"([\w-][\w.-]{0,63})"};
  if (HasForm(id, *kId)) return absl::OkStatus();
  return InvalidWords("msg-step-apply-id", id.substr(0, 64));
}

std::string JournalFolder::PathOf(absl::string_view apply_id) const {
  return absl::StrCat(path_, "/", apply_id, kSuffix);
}

absl::Status JournalFolder::CheckOwner() {
  for (const std::string& folder : {FolderOf(path_), path_}) {
    ASSIGN_OR_RETURN(const FileAttributes attributes, files_->Stat(folder));
    RETURN_IF_ERROR(CheckOnlyOurs(folder, FileType::kDirectory, attributes));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<OpenFile>> JournalFolder::TakeLock() {
  absl::Status made = files_->MakeDirectory(path_, 0700);
  if (made.ok()) made = files_->SyncDirectory(FolderOf(path_));
  if (!made.ok() && !absl::IsAlreadyExists(made)) return made;
  RETURN_IF_ERROR(CheckOwner());
  const std::string path = absl::StrCat(path_, "/lock");
  auto file = files_->Open(path, OpenMode::kReadWrite);
  if (absl::IsNotFound(file.status())) {
    file = files_->Open(path, OpenMode::kCreate);
    // Another process has just made it.
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
  RETURN_IF_ERROR(CheckOwner());
  std::vector<Found> found;
  for (absl::string_view name : names) {
    if (!absl::ConsumeSuffix(&name, kSuffix)) continue;
    const std::string path = PathOf(name);
    // Stat does not follow links: a link is not a journal.
    const auto attributes = files_->Stat(path);
    // Another call dropped it, or a person moved it.
    if (absl::IsNotFound(attributes.status())) continue;
    RETURN_IF_ERROR(attributes.status());
    found.push_back({std::string(name), JournalState()});
    const absl::Status ours =
        CheckOnlyOurs(path, FileType::kRegular, *attributes);
    if (!ours.ok()) {
      found.back().state = ours;
      continue;
    }
    const auto bytes = ReadWholeFile(files_, path, kMaxJournalBytes);
    RETURN_IF_ERROR(bytes.status());
    const auto text = ParseJournal(*bytes);
    if (text.ok()) {
      found.back().state = SummariseJournal(text->entries);
    } else {
      found.back().state = InFront(path, text.status());
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
  absl::c_stable_sort(states, [](const JournalState& a, const JournalState& b) {
    return IsLater(b.begin, a.begin);
  });
  return states;
}

void JournalFolder::DropOld(const KeptJournals& kept) {
  const auto states = List();
  if (!states.ok()) return;
  for (const std::string& id : JournalsToDrop(*states, kept)) {
    // One journal too many is harmless; the next apply tries again.
    (void)files_->Remove(PathOf(id));
  }
}

absl::Status JournalFolder::MakeRoom(uint64_t plan_bytes,
                                     const KeptJournals& kept) {
  ASSIGN_OR_RETURN(const auto states, List());
  uint64_t used = plan_bytes + kMaxSavedBytes;
  std::vector<std::pair<std::string, uint64_t>> spare;
  for (const JournalState& state : states) {
    const std::string path = PathOf(state.begin.apply_id());
    const auto attributes = files_->Stat(path);
    if (!attributes.ok()) continue;
    used += attributes->size;
    if (state.unfinished() || state.waits() || state.in_effect()) continue;
    spare.emplace_back(path, attributes->size);
  }
  for (const auto& [path, size] : spare) {
    if (used <= kept.bytes) break;
    RETURN_IF_ERROR(files_->Remove(path));
    used -= size;
  }
  if (used <= kept.bytes) return absl::OkStatus();
  return InFront(path_, ExhaustedWords("msg-step-journals-full", used >> 20,
                                       kept.bytes >> 20));
}

std::vector<std::string> JournalsToDrop(const std::vector<JournalState>& states,
                                        const KeptJournals& kept) {
  size_t in_effect = 0;
  size_t taken_back = 0;
  std::vector<std::string> dropped;
  for (auto state = states.rbegin(); state != states.rend(); ++state) {
    if (state->unfinished() || state->waits()) continue;
    const bool goes = state->in_effect() ? ++in_effect > kept.in_effect
                                         : ++taken_back > kept.taken_back;
    if (goes) dropped.push_back(state->begin.apply_id());
  }
  std::reverse(dropped.begin(), dropped.end());
  return dropped;
}

std::string OutcomeText(absl::string_view text) {
  return PrintableText(text, kMaxOutcomeTextBytes);
}

void CleanTexts(StepOutcome* outcome) {
  const InLanguage english(Language::kEnglish);
  if (outcome->has_detail_words()) Clean(outcome->mutable_detail_words());
  RenderWords(outcome);
  outcome->set_detail(OutcomeText(outcome->detail()));
}

void CleanTexts(JournalUndo* undo) {
  const InLanguage english(Language::kEnglish);
  if (undo->has_reason_words()) Clean(undo->mutable_reason_words());
  if (undo->has_forced_words()) Clean(undo->mutable_forced_words());
  RenderWords(undo);
  undo->set_reason(OutcomeText(undo->reason()));
  CleanAll(undo->mutable_forced());
}

void CleanTexts(ApplyResult* result) {
  const InLanguage english(Language::kEnglish);
  if (result->has_error_words()) Clean(result->mutable_error_words());
  if (result->has_residues_words()) Clean(result->mutable_residues_words());
  if (result->has_forced_words()) Clean(result->mutable_forced_words());
  RenderWords(result);
  result->set_error(OutcomeText(result->error()));
  CleanAll(result->mutable_residues());
  CleanAll(result->mutable_forced());
  for (StepOutcome& step : *result->mutable_steps()) CleanTexts(&step);
}

}  // namespace clusterd
