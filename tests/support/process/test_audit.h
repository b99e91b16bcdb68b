// An audit file and its entries, in a folder that is removed with the object;
// or one that cannot be written.
#ifndef TESTS_SUPPORT_PROCESS_TEST_AUDIT_H_
#define TESTS_SUPPORT_PROCESS_TEST_AUDIT_H_

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "config/audit/audit_chain.h"
#include "daemon/audit/audit_log.h"
#include "gtest/gtest.h"
#include "tests/support/process/captured_log.h"
#include "tests/support/process/manual_scheduler.h"

namespace clusterd {

inline constexpr char kUnwritableAudit[] = "/dev/null/audit.jsonl";

class TestAudit {
 public:
  explicit TestAudit(bool writable = true)
      : path_(writable ? NewFolder() + "/audit.jsonl" : kUnwritableAudit),
        audit_(path_, {1 << 20}, "self", &scheduler_, &log_) {}
  ~TestAudit() {
    if (path_ == kUnwritableAudit) return;
    std::filesystem::remove_all(std::filesystem::path(path_).parent_path());
  }

  AuditLog* log() { return &audit_; }

  // Later equal refusals get lines of their own.
  void PassRefusalWindow() {
    audit_.Settle();
    scheduler_.Advance(kAuditRefusalWindow);
    audit_.Settle();
  }

  // Includes the latest refusals.
  std::vector<AuditEntry> entries() const {
    audit_.Settle();
    std::vector<AuditEntry> entries;
    std::ifstream file(path_);
    for (std::string line; std::getline(file, line);) {
      if (file.eof()) break;  // A write is under way.
      entries.push_back(ReadAuditLine(line).value_or(AuditEntry()));
    }
    return entries;
  }
  // "WHO WHAT SUBJECT: RESULT" of each line.
  std::vector<std::string> Lines() const {
    std::vector<std::string> lines;
    for (const AuditEntry& entry : entries()) {
      lines.push_back(absl::StrCat(entry.who(), " ", entry.what(), " ",
                                   entry.subject(), ": ", entry.result()));
    }
    return lines;
  }

 private:
  static std::string NewFolder() {
    std::string folder = testing::TempDir() + "/audit.XXXXXX";
    EXPECT_NE(mkdtemp(folder.data()), nullptr);
    return folder;
  }

  const std::string path_;
  ManualScheduler scheduler_;
  CapturedLog log_;
  mutable AuditLog audit_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_PROCESS_TEST_AUDIT_H_
