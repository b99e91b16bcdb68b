// Contents of users' logs, and the removal of secrets from them.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ticket/bundle.h"
#include "daemon/host/logs/read_logs.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"

namespace clusterd {
namespace {

FUZZ_TEXT(log_scan, 1, "tests/testdata/logs/*.log") {
  bool left_out = false;
  const auto hits = ScanLog(text, 1, &left_out);
  Require(hits.size() <= kMaxCodesPerFile);
  uint64_t line = 1;
  for (const LogHit& hit : hits) {
    Require(hit.code().size() == 6);
    Require(hit.line() >= line);
    line = hit.line();
    Require(hit.count() >= 1);
    Require(hit.text().size() <= kMaxHitTextBytes);
    // A message whose texts are not valid UTF-8 is not sent.
    Require(BoundedUtf8(hit.text(), 400) == hit.text());
  }
  // A word that stands alone in the text is not a secret.
  if (absl::StrContains(text, "hunter2hunter2")) return;
  RemovedSecrets removed;
  const std::string kept = WithoutSecrets(
      absl::StrCat(text, "\n HF_TOKEN=hunter2hunter2 \n"), &removed);
  Require(!absl::StrContains(kept, "hunter2hunter2"));
}

}  // namespace
}  // namespace clusterd
