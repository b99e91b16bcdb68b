#include "daemon/controller/trust/trust_store.h"

#include "config/values/status_macros.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr SqliteFormat kFormat = {
    "record of hosts and tokens",
    0x636c7472,  // "cltr"
    1,
    "",
    "CREATE TABLE token (id TEXT PRIMARY KEY, record BLOB NOT NULL) STRICT;"
    "CREATE TABLE host (name TEXT PRIMARY KEY, record BLOB NOT NULL) STRICT;",
    ""};

constexpr char kPutToken[] =
    "INSERT OR REPLACE INTO token (id, record) VALUES (?1, ?2)";

template <typename Record>
absl::Status LoadTable(
    const SqliteDatabase& database, absl::string_view sql,
    std::map<std::string, std::shared_ptr<const Record>>* into) {
  std::string unreadable;
  RETURN_IF_ERROR(database.Run(sql, {}, [&](const SqliteRow& row) {
    auto record = std::make_shared<Record>();
    if (!record->ParseFromString(row.Text(1))) unreadable = row.Text(0);
    (*into)[row.Text(0)] = std::move(record);
  }));
  if (unreadable.empty()) return absl::OkStatus();
  return SqliteStatus(SQLITE_CORRUPT, 0, database.path(),
                      absl::StrCat("the record of ", unreadable));
}

template <typename Record>
std::optional<Record> Find(
    const std::map<std::string, std::shared_ptr<const Record>>& records,
    const std::string& key) {
  const auto found = records.find(key);
  if (found == records.end()) return std::nullopt;
  return *found->second;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TrustStore>> TrustStore::Open(
    const std::string& folder) {
  ASSIGN_OR_RETURN(
      auto database,
      OpenSqliteFile(absl::StrCat(folder, "/", kTrustFile), kFormat));
  std::unique_ptr<TrustStore> store(new TrustStore(std::move(database)));
  RETURN_IF_ERROR(store->Load());
  return store;
}

absl::Status TrustStore::Load() {
  absl::MutexLock disk(&disk_mutex_);
  absl::MutexLock lock(&mutex_);
  RETURN_IF_ERROR(
      LoadTable(*database_, "SELECT id, record FROM token", &tokens_));
  return LoadTable(*database_, "SELECT name, record FROM host", &hosts_);
}

std::optional<TokenRecord> TrustStore::Token(const std::string& id) const {
  absl::MutexLock lock(&mutex_);
  return Find(tokens_, id);
}

std::optional<HostRecord> TrustStore::Host(const std::string& name) const {
  absl::MutexLock lock(&mutex_);
  return Find(hosts_, name);
}

std::vector<TokenRecord> TrustStore::Tokens() const {
  absl::MutexLock lock(&mutex_);
  return Each<TokenRecord>(tokens_,
                           [](const auto& each) { return *each.second; });
}

std::vector<std::shared_ptr<const HostRecord>> TrustStore::Hosts() const {
  absl::MutexLock lock(&mutex_);
  return Each<std::shared_ptr<const HostRecord>>(
      hosts_, [](const auto& each) { return each.second; });
}

absl::Status TrustStore::Put(const TokenRecord& token) {
  absl::MutexLock disk(&disk_mutex_);
  RETURN_IF_ERROR(database_->Run(
      kPutToken, {token.entry().id(), SqliteBlob{token.SerializeAsString()}}));
  absl::MutexLock lock(&mutex_);
  tokens_[token.entry().id()] = std::make_shared<const TokenRecord>(token);
  return absl::OkStatus();
}

absl::Status TrustStore::Put(const HostRecord& host, const TokenRecord* token) {
  absl::MutexLock disk(&disk_mutex_);
  const SqliteDatabase& database = *database_;
  RETURN_IF_ERROR(database.Transact([&]() -> absl::Status {
    if (token != nullptr) {
      RETURN_IF_ERROR(database.Run(
          kPutToken,
          {token->entry().id(), SqliteBlob{token->SerializeAsString()}}));
    }
    return database.Run(
        "INSERT OR REPLACE INTO host (name, record) VALUES (?1, ?2)",
        {host.name(), SqliteBlob{host.SerializeAsString()}});
  }));
  absl::MutexLock lock(&mutex_);
  hosts_[host.name()] = std::make_shared<const HostRecord>(host);
  if (token != nullptr) {
    tokens_[token->entry().id()] = std::make_shared<const TokenRecord>(*token);
  }
  return absl::OkStatus();
}

absl::Status TrustStore::DropToken(const std::string& id) {
  absl::MutexLock disk(&disk_mutex_);
  RETURN_IF_ERROR(database_->Run("DELETE FROM token WHERE id = ?1", {id}));
  absl::MutexLock lock(&mutex_);
  tokens_.erase(id);
  return absl::OkStatus();
}

}  // namespace clusterd
