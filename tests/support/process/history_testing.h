// Records and folders for tests of the history.
#ifndef TESTS_SUPPORT_PROCESS_HISTORY_TESTING_H_
#define TESTS_SUPPORT_PROCESS_HISTORY_TESTING_H_

#include <memory>
#include <string>

#include "daemon/controller/history/history_store.h"
#include "proto/controller.pb.h"

namespace clusterd {

// A new folder that only this test uses.
std::string NewStateFolder();

// A folder in memory, where a sync costs nothing, for thousands of entries.
// Removed with this object.
class MemoryFolder {
 public:
  MemoryFolder();
  ~MemoryFolder();
  MemoryFolder(const MemoryFolder&) = delete;
  MemoryFolder& operator=(const MemoryFolder&) = delete;

  const std::string& path() const { return path_; }

 private:
  std::string path_ = "/dev/shm/history.XXXXXX";
};

// 16 hex digits.
std::string TestId(uint64_t number);

// A check whose detail has about `bytes` bytes without repetition.
HistoryRecord TestCheck(const std::string& id, size_t bytes = 100);

// An apply that began and has not ended.
HistoryRecord TestApply(const std::string& id);

// Opens a history; expects success.
std::unique_ptr<HistoryStore> OpenStore(const std::string& folder,
                                        HistoryLimits limits = {});

}  // namespace clusterd

#endif  // TESTS_SUPPORT_PROCESS_HISTORY_TESTING_H_
