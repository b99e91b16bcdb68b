// The history returns accepted records unchanged, but for texts of a report,
// which it renders again; it refuses others with a reason, and changes nothing.
#include <stdlib.h>

#include <string>

#include "config/rules/finding_words.h"
#include "daemon/controller/history/history_entry.h"
#include "daemon/controller/history/history_store.h"
#include "tests/fuzz/messages/inputs.pb.h"
#include "tests/fuzz/messages/message_input.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

constexpr int kMaxRecords = 8;

// Small, so that the oldest go all the time.
HistoryStore& Store() {
  static HistoryStore* const store = [] {
    const char* const given = getenv("TEST_TMPDIR");
    std::string folder = given == nullptr ? "/tmp" : given;
    folder += "/clusterd_fuzz_XXXXXX";
    Require(mkdtemp(folder.data()) != nullptr);
    auto opened = HistoryStore::Open(folder, {50, 1 << 20});
    Require(opened.ok());
    return opened->release();  // As long as the process.
  }();
  return *store;
}

void KeepAndRead(HistoryRecord record) {
  const absl::Status added = Store().Add(record);
  if (!added.ok()) Require(!added.message().empty());
  if (absl::IsAlreadyExists(added)) {
    if (!Store().Update(record).ok()) return;
  } else if (!added.ok()) {
    return;
  }
  const auto kept = Store().Get(record.entry().id());
  if (record.has_report()) {
    DropTexts(record.mutable_report());
    RenderReport(record.mutable_report());
  }
  Require(kept.ok() && kept->SerializeAsString() == record.SerializeAsString());
  ListHistoryRequest all;
  all.set_limit(kMaxListedEntries);
  const auto listed = Store().List(all);
  Require(listed.ok() && !listed->entries().empty());
}

FUZZ_MESSAGE(history_records, 1, HistoryInput,
             "tests/testdata/messages/history-*.txtpb") {
  for (int i = 0; i < input.records_size() && i < kMaxRecords; ++i) {
    const HistoryRecord& record = input.records(i);
    KeepAndRead(record);
    KeepAndRead(RecordOfCheck(record.report(), record.entry().actor()));
    KeepAndRead(RecordOfPlan(record.plan(), record.entry().elapsed_ms()));
    KeepAndRead(RecordOfApply(record.apply()));
  }
}

}  // namespace
}  // namespace clusterd
