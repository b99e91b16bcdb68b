#include "daemon/controller/history/history_store.h"

#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <limits>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_join.h"
#include "config/change/change_record.h"
#include "config/rules/finding_words.h"
#include "config/values/sha256.h"
#include "config/values/status_macros.h"
#include "config/words/message.h"
#include "config/words/subject_text.h"
#include "daemon/controller/history/history_entry.h"

namespace clusterd {
namespace {

constexpr SqliteFormat kFormat = {
    "history",
    0x636c6869,  // "clhi"
    kHistoryFormat,
    "PRAGMA auto_vacuum = INCREMENTAL;",
    "CREATE TABLE entry ("
    "  position INTEGER PRIMARY KEY AUTOINCREMENT,"
    "  id TEXT NOT NULL UNIQUE,"
    "  kind INTEGER NOT NULL,"
    "  running INTEGER NOT NULL,"
    "  open INTEGER NOT NULL,"
    "  bytes INTEGER NOT NULL,"
    "  sha256 BLOB NOT NULL,"
    "  entry BLOB NOT NULL"
    ") STRICT;"
    "CREATE TABLE detail ("
    "  position INTEGER PRIMARY KEY"
    "    REFERENCES entry (position) ON DELETE CASCADE,"
    "  record BLOB NOT NULL"
    ") STRICT;",
    "('entry')"};

// Some files lack it: an older controller ignores it.
constexpr char kWaiverTable[] =
    "CREATE TABLE IF NOT EXISTS waiver ("
    "id TEXT PRIMARY KEY, record BLOB NOT NULL) STRICT;";

// The most candidates that are named for an ambiguous id.
constexpr size_t kNamedCandidates = 8;
// The number of unused 4 KiB pages from which the file is shortened, and how
// many one call frees, so that no call takes long.
constexpr int64_t kSparePages = 1024;
constexpr char kGiveBack[] = "PRAGMA incremental_vacuum(8192)";

absl::Status CheckId(absl::string_view id) {
  if (id.size() >= kMinHistoryIdBytes && id.size() <= kMaxHistoryIdBytes &&
      IsHistoryIdText(id)) {
    return absl::OkStatus();
  }
  return InvalidWords("msg-hub-history-id",
                      absl::CHexEscape(id.substr(0, kMaxHistoryIdBytes)),
                      kMinHistoryIdBytes, kMaxHistoryIdBytes);
}

// `where`: "history" or the request's field.
absl::Status CheckKind(absl::string_view where, int kind) {
  if (HistoryKind_IsValid(kind) && kind != HISTORY_KIND_UNSPECIFIED) {
    return absl::OkStatus();
  }
  return InvalidWords("msg-hub-history-kind", where, kind);
}

absl::Status CheckList(const ListHistoryRequest& request) {
  if (request.limit() > kMaxListedEntries) {
    return InvalidWords("msg-hub-history-limit", request.limit(),
                        kMaxListedEntries, kDefaultListedEntries);
  }
  for (const int kind : request.kinds()) {
    RETURN_IF_ERROR(CheckKind("kinds", kind));
  }
  return absl::OkStatus();
}

absl::Status NoSuchEntry(absl::string_view id, HistoryKind kind) {
  return NotFoundWords(
      kind == HISTORY_APPLY ? "msg-hub-no-such-apply" : "msg-hub-no-such-entry",
      id);
}

// Makes it, mode 0700, if it does not exist; never changes an existing one.
absl::Status MakeStateFolder(const std::string& path) {
  if (mkdir(path.c_str(), 0700) == 0) return absl::OkStatus();
  const int error = errno;
  if (error == EEXIST) {
    struct stat info = {};
    if (stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode)) {
      return absl::OkStatus();
    }
    return PreconditionWords("msg-hub-not-a-folder", path);
  }
  return WithWords(
      error == ENOENT ? absl::NotFoundError("")
                      : absl::PermissionDeniedError(""),
      Worded("msg-hub-folder-not-made", path, std::strerror(error)));
}

// True if a hook on a host requested the check.
bool IsHost(absl::string_view actor) {
  return absl::StrContains(actor, "/host/");
}

// The order in which entries may be dropped: scheduled and hosts' checks,
// users' checks, plans, changes of hosts.
enum Worth { kByItself, kCheck, kPlan, kChange };

Worth WorthOf(const KeptEntry& entry) {
  if (!entry.schedule.empty() || IsHost(entry.actor)) return kByItself;
  if (entry.kind == HISTORY_CHECK) return kCheck;
  return entry.kind == HISTORY_PLAN ? kPlan : kChange;
}

// The entries of `kept` that HistoryLimits drops before all others.
absl::flat_hash_set<int64_t> FindThinned(const std::vector<KeptEntry>& kept,
                                         const KeptEntry& coming) {
  struct Seen {
    int unchanged = 0;
    bool later_changed = false;  // The next newer entry.
  };
  absl::flat_hash_map<std::string, Seen> seen;
  absl::flat_hash_set<int64_t> thinned;
  const auto see = [&](const KeptEntry& entry) {
    if (entry.schedule.empty()) return;
    Seen& of = seen[entry.schedule];
    const bool compared = std::exchange(of.later_changed, entry.changed);
    if (entry.changed || compared) return;
    if (++of.unchanged > kKeptUnchanged) thinned.insert(entry.position);
  };
  see(coming);
  for (auto entry = kept.rbegin(); entry != kept.rend(); ++entry) see(*entry);
  return thinned;
}

// The total size of a set of entries.
struct Usage {
  int64_t entries = 0;
  int64_t bytes = 0;

  // `sign`: 1 adds the entry, -1 removes it.
  void Count(const KeptEntry& entry, int sign) {
    entries += sign;
    bytes += sign * entry.bytes;
  }
  // True if the set exceeds 1/`share` of the limits.
  bool Exceeds(const HistoryLimits& limits, int64_t share) const {
    return entries > limits.max_entries / share ||
           bytes > limits.max_bytes / share;
  }
};

void NoteAsker(const HistoryEntry& entry, KeptEntry* kept) {
  kept->schedule = entry.schedule();
  if (kept->kind == HISTORY_CHECK && kept->schedule.empty()) {
    kept->actor = entry.actor();
  }
  kept->changed = entry.has_changes_words();
}

// True if it passes the filters of ListHistoryRequest.
bool IsWanted(const ListHistoryRequest& request, const HistoryEntry& entry) {
  const std::string& who = request.who();
  const std::string name = ActorName(entry.actor());
  const bool is_quiet =
      entry.kind() == HISTORY_CHECK && !entry.has_changes_words();
  return !(request.changes_only() && is_quiet) &&
         entry.started_at_ms() >= request.since_ms() &&
         (who.empty() || who == name || who == entry.actor() ||
          name == absl::StrCat("host ", who));
}

}  // namespace

absl::StatusOr<HistoryFile> OpenHistoryFile(const std::string& folder) {
  HistoryFile file;
  ASSIGN_OR_RETURN(file.lock, LockFolder(folder));
  ASSIGN_OR_RETURN(
      file.database,
      OpenSqliteFile(absl::StrCat(folder, "/", kHistoryFile), kFormat));
  // A read-only file has no such table.
  file.database->Execute(kWaiverTable).IgnoreError();
  return file;
}

bool IsHistoryIdText(absl::string_view text) {
  return absl::c_all_of(text, [](unsigned char c) {
    return absl::ascii_isdigit(c) || absl::ascii_islower(c) || c == '-';
  });
}

std::vector<int64_t> ChooseForRemoval(const std::vector<KeptEntry>& kept,
                                      const KeptEntry& coming,
                                      const HistoryLimits& limits) {
  Usage all;
  Usage of[kChange + 1];
  absl::flat_hash_map<std::string, Usage> of_actor;
  const auto count = [&](const KeptEntry& entry, int sign) {
    all.Count(entry, sign);
    of[WorthOf(entry)].Count(entry, sign);
    of_actor[entry.actor].Count(entry, sign);
  };
  const auto is_too_much = [&](const KeptEntry& entry) {
    return !entry.actor.empty() &&
           of_actor[entry.actor].Exceeds(
               limits, IsHost(entry.actor) ? kShareOfHost : kShareOfPerson);
  };
  count(coming, 1);
  const absl::flat_hash_set<int64_t> thinned = FindThinned(kept, coming);
  std::vector<int64_t> removed;
  std::vector<KeptEntry> left;
  for (const KeptEntry& entry : kept) {
    if (thinned.contains(entry.position)) {
      removed.push_back(entry.position);
      continue;
    }
    count(entry, 1);
    if (!entry.running) left.push_back(entry);
  }
  while (all.Exceeds(limits, 1) && !left.empty()) {
    // Drops the oldest entry worth at most `most`; if there is none, raises it.
    int most = of[kChange].Exceeds(limits, 2)  ? kChange
               : of[kPlan].Exceeds(limits, 4)  ? kPlan
               : of[kCheck].Exceeds(limits, 8) ? kCheck
                                               : kByItself;
    auto next = absl::c_find_if(left, is_too_much);
    for (; next == left.end(); ++most) {
      next = absl::c_find_if(left, [most](const KeptEntry& entry) {
        return WorthOf(entry) <= most;
      });
    }
    count(*next, -1);
    removed.push_back(next->position);
    left.erase(next);
  }
  return removed;
}

absl::StatusOr<std::unique_ptr<HistoryStore>> HistoryStore::Open(
    const std::string& folder, HistoryLimits limits) {
  ASSIGN_OR_RETURN(HistoryFile file, OpenHistoryFile(folder));
  return std::unique_ptr<HistoryStore>(
      new HistoryStore(std::move(file), limits, absl::OkStatus()));
}

std::unique_ptr<HistoryStore> HistoryStore::Closed(const absl::Status& why) {
  return std::unique_ptr<HistoryStore>(new HistoryStore(
      HistoryFile(), {},
      PreconditionWords("msg-hub-no-history", MessageWords(why))));
}

absl::StatusOr<std::unique_ptr<HistoryStore>> OpenHistory(
    const std::string& state_folder, Log* log) {
  RETURN_IF_ERROR(MakeStateFolder(state_folder));
  absl::StatusOr<std::unique_ptr<HistoryStore>> store =
      HistoryStore::Open(state_folder);
  // Two controllers on one history would each apply changes at once.
  if (store.ok() || absl::IsUnavailable(store.status()) ||
      absl::IsNotFound(store.status())) {
    return store;
  }
  log->Error(
      store.status().message(),
      "; until then checks and plans are not kept, and no apply or rollback "
      "is taken");
  return HistoryStore::Closed(store.status());
}

absl::Status HistoryStore::AddOrLog(const HistoryRecord& record, Log* log) {
  const absl::Status kept = Add(record);
  if (!kept.ok()) {
    log->Warning("history: ", ValueText(HistoryKindName(record.entry().kind())),
                 " ", record.entry().id(), " is not kept: ", kept.message());
  }
  return kept;
}

absl::Status HistoryStore::Write(const HistoryRecord& record, bool is_new) {
  if (!closed_.ok()) return closed_;
  const std::string& id = record.entry().id();
  RETURN_IF_ERROR(CheckKind("history", record.entry().kind()));
  RETURN_IF_ERROR(CheckId(id));
  absl::MutexLock lock(&mutex_);
  ASSIGN_OR_RETURN(const auto known, KindOfLocked(id));
  if (is_new && known.has_value()) {
    return ExistsWords("msg-hub-entry-exists", id);
  }
  if (is_new || known.has_value()) return WriteLocked(record);
  return NoSuchEntry(id, HISTORY_KIND_UNSPECIFIED);
}

// The entry has the detail's digest, so that a read detects damage on disk.
absl::Status HistoryStore::WriteLocked(const HistoryRecord& record) {
  HistoryRecord rest = record;
  rest.clear_entry();
  if (rest.has_report()) DropTexts(rest.mutable_report());
  const std::string detail = rest.SerializeAsString();
  const std::string entry = record.entry().SerializeAsString();
  const std::string sha256 = Sha256(detail);
  const auto bytes = static_cast<int64_t>(detail.size());
  if (bytes > limits_.max_bytes) {
    return ExhaustedWords("msg-hub-entry-too-large", record.entry().id(), bytes,
                          limits_.max_bytes);
  }
  return database_->Transact([&]() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_) {
    RETURN_IF_ERROR(MakeRoomLocked(record.entry(), bytes));
    const std::string& id = record.entry().id();
    RETURN_IF_ERROR(database_->Run(
        "INSERT INTO entry (id, kind, running, open, bytes, sha256, entry) "
        "VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7) ON CONFLICT (id) DO UPDATE SET "
        "kind = ?2, running = ?3, open = ?4, bytes = ?5, sha256 = ?6, "
        "entry = ?7",
        {id, record.entry().kind(), record.entry().outcome() == kRunningOutcome,
         IsOpen(record.apply()), bytes, SqliteBlob{sha256},
         SqliteBlob{entry}}));
    RETURN_IF_ERROR(database_->Run(
        "INSERT OR REPLACE INTO detail (position, record) SELECT "
        "position, ?2 FROM entry WHERE id = ?1",
        {id, SqliteBlob{detail}}));
    // Rarely, and in small pieces, since it moves pages.
    ASSIGN_OR_RETURN(const int64_t spare,
                     database_->ReadNumber("PRAGMA freelist_count"));
    return spare <= kSparePages ? absl::OkStatus()
                                : database_->Execute(kGiveBack);
  });
}

// An entry with the same id will be replaced, so it does not count.
absl::Status HistoryStore::MakeRoomLocked(const HistoryEntry& entry,
                                          int64_t bytes) {
  std::vector<KeptEntry> kept;
  RETURN_IF_ERROR(database_->Run(
      "SELECT position, kind, running, bytes, entry FROM entry WHERE id <> ?1 "
      "ORDER BY position",
      {entry.id()}, [&](const SqliteRow& row) {
        kept.push_back({row.Int(0), static_cast<HistoryKind>(row.Int(1)),
                        row.Int(2) != 0, row.Int(3)});
        HistoryEntry old;
        // A damaged entry counts by its kind.
        if (kept.back().kind == HISTORY_CHECK &&
            old.ParseFromString(row.Text(4))) {
          NoteAsker(old, &kept.back());
        }
      }));
  KeptEntry coming;
  coming.kind = entry.kind();
  coming.bytes = bytes;
  NoteAsker(entry, &coming);
  for (const int64_t drop : ChooseForRemoval(kept, coming, limits_)) {
    RETURN_IF_ERROR(
        database_->Run("DELETE FROM entry WHERE position = ?1", {drop}));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::optional<HistoryKind>> HistoryStore::KindOfLocked(
    absl::string_view id) const {
  std::optional<HistoryKind> kind;
  RETURN_IF_ERROR(database_->Run("SELECT kind FROM entry WHERE id = ?1", {id},
                                 [&](const SqliteRow& row) {
                                   kind = static_cast<HistoryKind>(row.Int(0));
                                 }));
  return kind;
}

absl::StatusOr<int64_t> HistoryStore::ResolveLocked(absl::string_view id,
                                                    HistoryKind kind) const {
  RETURN_IF_ERROR(CheckId(id));
  // '~' sorts after every byte of an id.
  std::vector<std::string> candidates;
  int64_t first = 0;
  RETURN_IF_ERROR(database_->Run(
      "SELECT position, id FROM entry WHERE id BETWEEN ?1 AND ?1 || '~' "
      "AND (?2 = 0 OR kind = ?2) ORDER BY id LIMIT ?3",
      {id, kind, int64_t{kNamedCandidates + 1}}, [&](const SqliteRow& row) {
        if (candidates.empty()) first = row.Int(0);
        candidates.push_back(row.Text(1));
      }));
  if (candidates.empty()) return NoSuchEntry(id, kind);
  // An exact match sorts first among the ids that begin with it.
  if (candidates.size() <= 1 || candidates[0] == id) return first;
  if (candidates.size() > kNamedCandidates) candidates.back() = "…";
  return InvalidWords("msg-hub-id-ambiguous", id,
                      absl::StrJoin(candidates, ", "));
}

absl::StatusOr<HistoryRecord> HistoryStore::ReadLocked(int64_t position) const {
  HistoryRecord record;
  std::string id;
  bool whole = false;
  RETURN_IF_ERROR(database_->Run(
      "SELECT id, entry, sha256, record FROM entry LEFT JOIN detail USING "
      "(position) WHERE position = ?1",
      {position}, [&](const SqliteRow& row) {
        id = row.Text(0);
        const absl::string_view detail = row.Blob(3);
        whole = detail.size() <= std::numeric_limits<int>::max() &&
                Sha256(detail) == row.Blob(2) &&
                record.ParseFromArray(detail.data(),
                                      static_cast<int>(detail.size())) &&
                record.mutable_entry()->ParseFromString(row.Text(1));
      }));
  if (whole) return record;
  return DataLossWords("msg-hub-entry-damaged", database_->path(), id);
}

absl::StatusOr<ListHistoryResponse> HistoryStore::List(
    const ListHistoryRequest& request) const {
  if (!closed_.ok()) return closed_;
  RETURN_IF_ERROR(CheckList(request));
  absl::MutexLock lock(&mutex_);
  int64_t before = std::numeric_limits<int64_t>::max();
  if (!request.before_id().empty()) {
    ASSIGN_OR_RETURN(
        before, ResolveLocked(request.before_id(), HISTORY_KIND_UNSPECIFIED));
  }
  const int limit = static_cast<int>(
      request.limit() == 0 ? kDefaultListedEntries : request.limit());
  int64_t kinds = 0;  // One bit for each; 0: any.
  for (const int kind : request.kinds()) kinds |= int64_t{1} << kind;
  ListHistoryResponse response;
  std::string damaged;
  // One more than requested shows if there are more. If the filters have to
  // read the entries, -1: no limit.
  const bool is_filtered = request.changes_only() || request.since_ms() != 0 ||
                           !request.who().empty();
  RETURN_IF_ERROR(database_->Run(
      "SELECT entry, id FROM entry WHERE position < ?1 "
      "AND (?2 = 0 OR (1 << kind) & ?2) ORDER BY position DESC LIMIT ?3",
      {before, kinds, is_filtered ? -1 : limit + 1}, [&](const SqliteRow& row) {
        HistoryEntry entry;
        if (response.more()) return;
        if (!entry.ParseFromString(row.Text(0))) {
          damaged = row.Text(1);
        } else if (!IsWanted(request, entry)) {
          return;
        } else if (response.entries_size() == limit) {
          response.set_more(true);
        } else {
          *response.add_entries() = std::move(entry);
        }
      }));
  if (damaged.empty()) return response;
  return SqliteStatus(SQLITE_CORRUPT, 0, database_->path(),
                      absl::StrCat("entry \"", damaged, "\""));
}

absl::StatusOr<std::vector<HistoryEntry>> HistoryStore::NewestOfSchedule(
    absl::string_view schedule, size_t limit) const {
  if (!closed_.ok()) return closed_;
  absl::MutexLock lock(&mutex_);
  std::vector<HistoryEntry> newest;
  RETURN_IF_ERROR(database_->Run(
      "SELECT entry FROM entry WHERE kind = ?1 ORDER BY position DESC",
      {HISTORY_CHECK}, [&](const SqliteRow& row) {
        HistoryEntry entry;
        if (newest.size() < limit && entry.ParseFromString(row.Text(0)) &&
            entry.schedule() == schedule) {
          newest.push_back(std::move(entry));
        }
      }));
  return newest;
}

absl::StatusOr<HistoryRecord> HistoryStore::Get(absl::string_view id) const {
  if (!closed_.ok()) return closed_;
  HistoryRecord record;
  {
    absl::MutexLock lock(&mutex_);
    ASSIGN_OR_RETURN(const auto position,
                     ResolveLocked(id, HISTORY_KIND_UNSPECIFIED));
    ASSIGN_OR_RETURN(record, ReadLocked(position));
  }
  // Reports are kept as names and values.
  if (record.has_report()) RenderReport(record.mutable_report());
  return record;
}

absl::StatusOr<HistoryRecord> HistoryStore::FindApply(
    absl::string_view apply_id) const {
  if (!closed_.ok()) return closed_;
  absl::MutexLock lock(&mutex_);
  const auto position = ResolveLocked(apply_id, HISTORY_APPLY);
  if (position.ok()) return ReadLocked(*position);
  if (!absl::IsNotFound(position.status())) return position.status();
  ASSIGN_OR_RETURN(const auto other, KindOfLocked(apply_id));
  if (!other.has_value()) return position.status();
  return NotFoundWords("msg-hub-not-an-apply", apply_id,
                       HistoryKindName(*other));
}

absl::StatusOr<OpenRecords> HistoryStore::FindOpen() const {
  if (!closed_.ok()) return closed_;
  absl::MutexLock lock(&mutex_);
  std::vector<int64_t> positions;
  RETURN_IF_ERROR(database_->Run(
      "SELECT position FROM (SELECT position FROM entry WHERE running OR open "
      "ORDER BY position DESC LIMIT ?1) ORDER BY position",
      {int64_t{kMaxOpenRecords}},
      [&](const SqliteRow& row) { positions.push_back(row.Int(0)); }));
  OpenRecords open;
  for (const int64_t position : positions) {
    open.push_back(ReadLocked(position));
    const absl::Status& status = open.back().status();
    if (!status.ok() && !absl::IsDataLoss(status)) return status;
  }
  return open;
}

absl::Status HistoryStore::PutWaiver(const Waiver& waiver) {
  if (!closed_.ok()) return closed_;
  absl::MutexLock lock(&mutex_);
  return database_->Run(
      "INSERT OR REPLACE INTO waiver (id, record) VALUES (?1, ?2)",
      {waiver.id(), SqliteBlob{waiver.SerializeAsString()}});
}

absl::Status HistoryStore::DropWaiver(absl::string_view id) {
  if (!closed_.ok()) return closed_;
  absl::MutexLock lock(&mutex_);
  return database_->Run("DELETE FROM waiver WHERE id = ?1", {id});
}

absl::StatusOr<std::vector<Waiver>> HistoryStore::Waivers() const {
  if (!closed_.ok()) return closed_;
  absl::MutexLock lock(&mutex_);
  std::vector<Waiver> waivers;
  RETURN_IF_ERROR(database_->Run(
      "SELECT record FROM waiver ORDER BY id", {}, [&](const SqliteRow& row) {
        // A waiver that cannot be read does not waive anything.
        if (!waivers.emplace_back().ParseFromString(row.Text(0))) {
          waivers.pop_back();
        }
      }));
  return waivers;
}

}  // namespace clusterd
