#include "tests/support/process/history_testing.h"

#include <cstdlib>
#include <filesystem>
#include <random>
#include <utility>

#include "absl/strings/str_cat.h"
#include "daemon/controller/history/history_entry.h"
#include "gtest/gtest.h"

namespace clusterd {

std::string NewStateFolder() {
  std::string path = testing::TempDir() + "/history.XXXXXX";
  EXPECT_NE(mkdtemp(path.data()), nullptr);
  return path;
}

MemoryFolder::MemoryFolder() { EXPECT_NE(mkdtemp(path_.data()), nullptr); }

MemoryFolder::~MemoryFolder() { std::filesystem::remove_all(path_); }

std::string TestId(uint64_t number) {
  return absl::StrCat(absl::Hex(number, absl::kZeroPad16));
}

HistoryRecord TestCheck(const std::string& id, size_t bytes) {
  Report report;
  report.set_run_id(id);
  report.set_verdict(PASS);
  std::mt19937 random(static_cast<unsigned>(std::hash<std::string>()(id)));
  std::string note;
  while (note.size() < bytes) note.push_back('a' + random() % 26);
  report.add_notes(note);
  return RecordOfCheck(std::move(report), "alice");
}

HistoryRecord TestApply(const std::string& id) {
  ApplyReport report;
  report.set_run_id(id);
  report.set_apply_id(id);
  report.set_actor("bob");
  report.set_outcome(ApplyReport::RUNNING);
  return RecordOfApply(std::move(report));
}

std::unique_ptr<HistoryStore> OpenStore(const std::string& folder,
                                        HistoryLimits limits) {
  auto store = HistoryStore::Open(folder, limits);
  EXPECT_TRUE(store.ok()) << store.status();
  return store.ok() ? *std::move(store) : nullptr;
}

}  // namespace clusterd
