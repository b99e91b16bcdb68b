// Contents of users' logs, and the removal of secrets from them.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "client/ticket/bundle.h"
#include "daemon/host/logs/read_logs.h"
#include "tests/fuzz/require.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  bool left_out = false;
  const auto hits = clusterd::ScanLog(text, 1, &left_out);
  clusterd::Require(hits.size() <= clusterd::kMaxCodesPerFile);
  uint64_t line = 1;
  for (const clusterd::LogHit& hit : hits) {
    clusterd::Require(hit.code().size() == 6);
    clusterd::Require(hit.line() >= line);
    line = hit.line();
    clusterd::Require(hit.count() >= 1);
    clusterd::Require(hit.text().size() <= clusterd::kMaxHitTextBytes);
    // A message whose texts are not valid UTF-8 is not sent.
    clusterd::Require(clusterd::BoundedUtf8(hit.text(), 400) == hit.text());
  }
  // A word that stands alone in the text is not a secret.
  if (absl::StrContains(text, "hunter2hunter2")) return 0;
  clusterd::RemovedSecrets removed;
  const std::string kept = clusterd::WithoutSecrets(
      absl::StrCat(text, "\n HF_TOKEN=hunter2hunter2 \n"), &removed);
  clusterd::Require(!absl::StrContains(kept, "hunter2hunter2"));
  return 0;
}
