#include "daemon/controller/history/sqlite_history_store.h"

#include <fcntl.h>
#include <openssl/sha.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_schema.h"
#include "daemon/controller/history/retention.h"

namespace clusterd {
namespace {

// Candidates that an ambiguous id is answered with.
constexpr int kNamedCandidates = 8;
// 4 KiB pages that nothing uses before the file is made shorter, and how many
// one call gives back, so that none takes long.
constexpr int64_t kSparePages = 1024;
constexpr char kGiveBack[] = "PRAGMA incremental_vacuum(8192)";

bool IsIdText(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return absl::ascii_isdigit(c) || absl::ascii_islower(c) || c == '-';
  });
}

absl::Status CheckId(absl::string_view id) {
  if (id.size() >= kMinHistoryIdBytes && id.size() <= kMaxHistoryIdBytes &&
      IsIdText(id)) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "history: \"", absl::CHexEscape(id.substr(0, kMaxHistoryIdBytes)),
      "\" is no id, expected ", kMinHistoryIdBytes, " to ", kMaxHistoryIdBytes,
      " of 0-9, a-z and -, as `clusterctl history` prints them"));
}

absl::Status CheckEntry(const HistoryEntry& entry) {
  if (!HistoryKind_IsValid(entry.kind()) ||
      entry.kind() == HISTORY_KIND_UNSPECIFIED) {
    return absl::InvalidArgumentError(absl::StrCat(
        "history: ", entry.kind(), " is no kind, expected one of HistoryKind"));
  }
  return CheckId(entry.id());
}

absl::Status CheckList(const ListHistoryRequest& request) {
  if (request.limit() > kMaxListedEntries) {
    return absl::InvalidArgumentError(
        absl::StrCat("limit: ", request.limit(), " is too many, expected 1 to ",
                     kMaxListedEntries, ", or 0 for ", kDefaultListedEntries));
  }
  for (const int kind : request.kinds()) {
    if (!HistoryKind_IsValid(kind) || kind == HISTORY_KIND_UNSPECIFIED) {
      return absl::InvalidArgumentError(absl::StrCat(
          "kinds: ", kind, " is no kind, expected one of HistoryKind"));
    }
  }
  return absl::OkStatus();
}

std::string Sha256(absl::string_view bytes) {
  unsigned char digest[SHA256_DIGEST_LENGTH];
  SHA256(reinterpret_cast<const unsigned char*>(bytes.data()), bytes.size(),
         digest);
  return std::string(reinterpret_cast<const char*>(digest), sizeof(digest));
}

absl::Status FileStatus(const std::string& path, int error) {
  const std::string message = absl::StrCat(path, ": ", std::strerror(error));
  if (error == ENOSPC || error == EDQUOT) {
    return absl::ResourceExhaustedError(message);
  }
  return absl::PermissionDeniedError(message);
}

// Made under another name and then renamed: a file under the right name was
// whole once, so one without tables is damaged and not new.
absl::Status MakeFile(const std::string& path, FolderLock* folder) {
  const std::string beside = absl::StrCat(path, ".new");
  std::remove(beside.c_str());
  std::remove(absl::StrCat(beside, "-journal").c_str());
  const int fd =
      open(beside.c_str(), O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0600);
  if (fd < 0) return FileStatus(beside, errno);
  close(fd);
  {
    const auto database = SqliteDatabase::Open(beside);
    if (!database.ok()) return database.status();
    const absl::Status made = CreateHistoryTables(**database);
    if (!made.ok()) return made;
  }
  if (std::rename(beside.c_str(), path.c_str()) != 0) {
    return FileStatus(path, errno);
  }
  return folder->Sync();
}

// No descriptor of the file is opened here: closing one would give up SQLite's
// own locks on it in this process.
absl::Status PrepareFile(const std::string& path, FolderLock* folder) {
  struct stat found;
  if (lstat(path.c_str(), &found) != 0) {
    return errno == ENOENT ? MakeFile(path, folder) : FileStatus(path, errno);
  }
  if (!S_ISREG(found.st_mode)) {
    return absl::FailedPreconditionError(
        absl::StrCat(path, ": not a regular file, expected the history"));
  }
  if ((found.st_mode & 0077) != 0 && chmod(path.c_str(), 0600) != 0) {
    return FileStatus(path, errno);
  }
  return absl::OkStatus();
}

// SQLite takes a last page that is cut off for whole.
absl::Status CheckLength(const SqliteDatabase& database) {
  const absl::StatusOr<int64_t> pages =
      database.ReadNumber("PRAGMA page_count");
  if (!pages.ok()) return pages.status();
  const absl::StatusOr<int64_t> page_bytes =
      database.ReadNumber("PRAGMA page_size");
  if (!page_bytes.ok()) return page_bytes.status();
  struct stat found;
  if (stat(database.path().c_str(), &found) != 0) {
    return FileStatus(database.path(), errno);
  }
  const int64_t expected = *pages * *page_bytes;
  if (found.st_size >= expected) return absl::OkStatus();
  return SqliteStatus(
      SQLITE_CORRUPT, 0, database.path(),
      absl::StrCat("has ", found.st_size, " bytes, expected ", expected));
}

absl::Status SeveralMatch(absl::string_view id,
                          const std::vector<std::string>& candidates) {
  const bool more = candidates.size() > kNamedCandidates;
  return absl::InvalidArgumentError(absl::StrCat(
      "history: \"", id, "\" begins several ids, expected one of ",
      absl::StrJoin(candidates.begin(),
                    candidates.begin() +
                        std::min<size_t>(candidates.size(), kNamedCandidates),
                    ", "),
      more ? ", …" : ""));
}

absl::Status NoSuchEntry(absl::string_view id, HistoryKind kind) {
  return absl::NotFoundError(absl::StrCat(
      "history: no ", kind == HISTORY_APPLY ? "apply" : "entry", " \"", id,
      "\", expected one that `clusterctl history` "
      "prints; the oldest are dropped with time"));
}

int64_t KindBits(const ListHistoryRequest& request) {
  int64_t bits = 0;
  for (const int kind : request.kinds()) bits |= int64_t{1} << kind;
  return bits;
}

}  // namespace

SqliteHistoryStore::SqliteHistoryStore(std::unique_ptr<FolderLock> lock,
                                       std::unique_ptr<SqliteDatabase> database,
                                       HistoryLimits limits)
    : lock_(std::move(lock)), limits_(limits), database_(std::move(database)) {}

absl::StatusOr<std::unique_ptr<SqliteHistoryStore>> SqliteHistoryStore::Open(
    const std::string& folder, HistoryLimits limits) {
  absl::StatusOr<std::unique_ptr<FolderLock>> lock = FolderLock::Take(folder);
  if (!lock.ok()) return lock.status();
  const std::string path = absl::StrCat(folder, "/", kHistoryFile);
  absl::Status status = PrepareFile(path, lock->get());
  if (!status.ok()) return status;
  absl::StatusOr<std::unique_ptr<SqliteDatabase>> database =
      SqliteDatabase::Open(path);
  if (!database.ok()) return database.status();
  status = SetHistoryPragmas(**database);
  if (status.ok()) status = CheckHistoryTables(**database);
  if (status.ok()) status = CheckLength(**database);
  if (!status.ok()) return status;
  return std::unique_ptr<SqliteHistoryStore>(
      new SqliteHistoryStore(*std::move(lock), *std::move(database), limits));
}

absl::StatusOr<std::unique_ptr<SqliteHistoryStore>>
SqliteHistoryStore::InMemory(HistoryLimits limits) {
  absl::StatusOr<std::unique_ptr<SqliteDatabase>> database =
      SqliteDatabase::Open(":memory:");
  if (!database.ok()) return database.status();
  absl::Status status = CreateHistoryTables(**database);
  if (status.ok()) status = SetHistoryPragmas(**database);
  if (!status.ok()) return status;
  return std::unique_ptr<SqliteHistoryStore>(
      new SqliteHistoryStore(nullptr, *std::move(database), limits));
}

absl::Status SqliteHistoryStore::Add(const HistoryRecord& record) {
  const absl::Status valid = CheckEntry(record.entry());
  if (!valid.ok()) return valid;
  absl::MutexLock lock(&mutex_);
  const auto place = PlaceOfLocked(record.entry().id());
  if (!place.ok()) return place.status();
  if (*place) {
    return absl::AlreadyExistsError(
        absl::StrCat("history: there is an entry \"", record.entry().id(),
                     "\", expected an id of its own"));
  }
  return WriteLocked(record, std::nullopt);
}

absl::Status SqliteHistoryStore::Update(const HistoryRecord& record) {
  const absl::Status valid = CheckEntry(record.entry());
  if (!valid.ok()) return valid;
  absl::MutexLock lock(&mutex_);
  const auto place = PlaceOfLocked(record.entry().id());
  if (!place.ok()) return place.status();
  if (!*place) {
    return NoSuchEntry(record.entry().id(), HISTORY_KIND_UNSPECIFIED);
  }
  return WriteLocked(record, **place);
}

absl::Status SqliteHistoryStore::WriteLocked(const HistoryRecord& record,
                                             std::optional<int64_t> place) {
  HistoryRecord rest = record;
  rest.clear_entry();
  const std::string detail = rest.SerializeAsString();
  const std::string entry = record.entry().SerializeAsString();
  const std::string sha256 = Sha256(detail);
  const auto bytes = static_cast<int64_t>(detail.size());
  if (bytes > limits_.max_bytes) {
    return absl::ResourceExhaustedError(absl::StrCat(
        "history: \"", record.entry().id(), "\" has ", bytes,
        " bytes, expected at most ", limits_.max_bytes, ", all that is kept"));
  }
  SqliteTransaction transaction(database_.get());
  absl::Status status = transaction.Begin();
  if (status.ok()) status = MakeRoomLocked(record, bytes, place);
  if (!status.ok()) return status;
  status =
      database_
          ->Prepare(
              "INSERT INTO entry (id, kind, running, bytes, sha256, entry) "
              "VALUES (?1, ?2, ?3, ?4, ?5, ?6) ON CONFLICT (id) DO UPDATE "
              "SET kind = ?2, running = ?3, bytes = ?4, sha256 = ?5, "
              "entry = ?6")
          .BindText(record.entry().id())
          .Bind(record.entry().kind())
          .Bind(record.entry().outcome() == kRunningOutcome)
          .Bind(bytes)
          .BindBlob(sha256)
          .BindBlob(entry)
          .Run();
  if (!status.ok()) return status;
  status = database_
               ->Prepare(
                   "INSERT OR REPLACE INTO detail (place, record) SELECT "
                   "place, ?2 FROM entry WHERE id = ?1")
               .BindText(record.entry().id())
               .BindBlob(detail)
               .Run();
  if (status.ok()) status = ShrinkLocked();
  return status.ok() ? transaction.Commit() : status;
}

absl::Status SqliteHistoryStore::MakeRoomLocked(const HistoryRecord& record,
                                                int64_t bytes,
                                                std::optional<int64_t> place) {
  std::vector<KeptEntry> kept;
  SqliteStatement all = database_->Prepare(
      "SELECT place, kind, running, bytes FROM entry WHERE place IS NOT ?1 "
      "ORDER BY place");
  all.Bind(place.value_or(0));
  absl::StatusOr<bool> row = all.Step();
  for (; row.ok() && *row; row = all.Step()) {
    KeptEntry entry;
    entry.place = all.Int(0);
    entry.kind = static_cast<HistoryKind>(all.Int(1));
    entry.running = all.Int(2) != 0;
    entry.bytes = all.Int(3);
    kept.push_back(entry);
  }
  if (!row.ok()) return row.status();
  KeptEntry coming;
  coming.kind = record.entry().kind();
  coming.bytes = bytes;
  for (const int64_t drop : ChooseForRemoval(kept, coming, limits_)) {
    const absl::Status dropped =
        database_->Prepare("DELETE FROM entry WHERE place = ?1")
            .Bind(drop)
            .Run();
    if (!dropped.ok()) return dropped;
  }
  return absl::OkStatus();
}

absl::Status SqliteHistoryStore::ShrinkLocked() {
  const absl::StatusOr<int64_t> spare =
      database_->ReadNumber("PRAGMA freelist_count");
  if (!spare.ok()) return spare.status();
  if (*spare <= kSparePages) return absl::OkStatus();
  return database_->Execute(kGiveBack);
}

absl::StatusOr<std::optional<int64_t>> SqliteHistoryStore::PlaceOfLocked(
    const std::string& id) const {
  SqliteStatement find =
      database_->Prepare("SELECT place FROM entry WHERE id = ?1");
  find.BindText(id);
  const absl::StatusOr<bool> row = find.Step();
  if (!row.ok()) return row.status();
  if (!*row) return std::nullopt;
  return find.Int(0);
}

absl::StatusOr<int64_t> SqliteHistoryStore::ResolveLocked(
    absl::string_view id, HistoryKind kind) const {
  const absl::Status valid = CheckId(id);
  if (!valid.ok()) return valid;
  // '~' sorts after all that an id is made of.
  SqliteStatement find = database_->Prepare(
      "SELECT place, id FROM entry WHERE id BETWEEN ?1 AND ?1 || '~' "
      "AND (?2 = 0 OR kind = ?2) ORDER BY id LIMIT ?3");
  find.BindText(id).Bind(kind).Bind(kNamedCandidates + 1);
  std::vector<std::string> candidates;
  int64_t first = 0;
  absl::StatusOr<bool> row = find.Step();
  for (; row.ok() && *row; row = find.Step()) {
    if (candidates.empty()) first = find.Int(0);
    candidates.push_back(find.Text(1));
  }
  if (!row.ok()) return row.status();
  if (candidates.empty()) return NoSuchEntry(id, kind);
  // The whole id sorts before all that it begins.
  if (candidates.size() > 1 && candidates[0] != id) {
    return SeveralMatch(id, candidates);
  }
  return first;
}

absl::StatusOr<HistoryRecord> SqliteHistoryStore::ReadLocked(
    int64_t place) const {
  SqliteStatement read = database_->Prepare(
      "SELECT id, entry, sha256, record FROM entry LEFT JOIN detail USING "
      "(place) WHERE place = ?1");
  read.Bind(place);
  const absl::StatusOr<bool> row = read.Step();
  if (!row.ok()) return row.status();
  HistoryRecord record;
  const absl::string_view detail = read.Blob(3);
  if (*row && detail.size() <= std::numeric_limits<int>::max() &&
      Sha256(detail) == read.Blob(2) &&
      record.ParseFromArray(detail.data(), static_cast<int>(detail.size())) &&
      record.mutable_entry()->ParseFromString(read.Text(1))) {
    return record;
  }
  return absl::DataLossError(
      absl::StrCat(database_->path(), ": what is kept of \"", read.Text(0),
                   "\" is damaged, the other entries can be read"));
}

absl::StatusOr<ListHistoryResponse> SqliteHistoryStore::List(
    const ListHistoryRequest& request) const {
  const absl::Status valid = CheckList(request);
  if (!valid.ok()) return valid;
  absl::MutexLock lock(&mutex_);
  int64_t before = std::numeric_limits<int64_t>::max();
  if (!request.before_id().empty()) {
    const auto place =
        ResolveLocked(request.before_id(), HISTORY_KIND_UNSPECIFIED);
    if (!place.ok()) return place.status();
    before = *place;
  }
  const int limit = static_cast<int>(
      request.limit() == 0 ? kDefaultListedEntries : request.limit());
  SqliteStatement list = database_->Prepare(
      "SELECT entry, id FROM entry WHERE place < ?1 "
      "AND (?2 = 0 OR (1 << kind) & ?2) ORDER BY place DESC LIMIT ?3");
  list.Bind(before).Bind(KindBits(request)).Bind(limit + 1);
  ListHistoryResponse response;
  absl::StatusOr<bool> row = list.Step();
  for (; row.ok() && *row; row = list.Step()) {
    if (response.entries_size() == limit) {
      response.set_more(true);
      return response;
    }
    if (!response.add_entries()->ParseFromString(list.Text(0))) {
      return SqliteStatus(SQLITE_CORRUPT, 0, database_->path(),
                          absl::StrCat("entry \"", list.Text(1), "\""));
    }
  }
  if (!row.ok()) return row.status();
  return response;
}

absl::StatusOr<HistoryRecord> SqliteHistoryStore::Get(
    absl::string_view id) const {
  absl::MutexLock lock(&mutex_);
  const auto place = ResolveLocked(id, HISTORY_KIND_UNSPECIFIED);
  if (!place.ok()) return place.status();
  return ReadLocked(*place);
}

absl::StatusOr<HistoryRecord> SqliteHistoryStore::FindApply(
    absl::string_view apply_id) const {
  absl::MutexLock lock(&mutex_);
  const auto place = ResolveLocked(apply_id, HISTORY_APPLY);
  if (place.ok()) return ReadLocked(*place);
  if (!absl::IsNotFound(place.status())) return place.status();
  SqliteStatement other =
      database_->Prepare("SELECT kind FROM entry WHERE id = ?1");
  other.BindText(apply_id);
  const absl::StatusOr<bool> row = other.Step();
  if (!row.ok()) return row.status();
  if (!*row) return place.status();
  return absl::NotFoundError(
      absl::StrCat("history: \"", apply_id, "\" is a ",
                   HistoryKindName(static_cast<HistoryKind>(other.Int(0))),
                   ", expected an apply"));
}

absl::StatusOr<RunningRecords> SqliteHistoryStore::FindRunning() const {
  absl::MutexLock lock(&mutex_);
  std::vector<int64_t> places;
  SqliteStatement find = database_->Prepare(
      "SELECT place FROM entry WHERE running = 1 ORDER BY place");
  absl::StatusOr<bool> row = find.Step();
  for (; row.ok() && *row; row = find.Step()) places.push_back(find.Int(0));
  if (!row.ok()) return row.status();
  RunningRecords running;
  for (const int64_t place : places) {
    absl::StatusOr<HistoryRecord> record = ReadLocked(place);
    if (record.ok()) {
      running.records.push_back(*std::move(record));
    } else if (absl::IsDataLoss(record.status())) {
      running.damaged.push_back(record.status());
    } else {
      return record.status();
    }
  }
  return running;
}

}  // namespace clusterd
