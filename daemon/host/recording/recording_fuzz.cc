#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "daemon/host/recording/address_map.h"
#include "daemon/host/recording/address_text.h"
#include "daemon/host/recording/name_map.h"
#include "daemon/host/recording/recording.h"
#include "daemon/host/recording/tool_text.h"
#include "daemon/host/recording/valid_utf8.h"

// Records never crash. Whatever surrounds them, a known address and a known
// name never come through.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string input(reinterpret_cast<const char*>(data), size);
  const auto records = clusterd::ParseRecords(input);
  if (records.ok() && !clusterd::FormatRecords(*records).ok()) std::abort();

  const clusterd::AddressMap addresses("fuzz");
  clusterd::NameMap names;
  names.Add("host", "secret-host");
  const std::string text =
      input + "\nipaddr:29.211.97.205\nsecret-host\n" + input;
  clusterd::CollectSwitchNames(text, &names);
  const std::string hidden = clusterd::ValidUtf8(clusterd::ReplaceAddresses(
      names.Replace(clusterd::HideToolText(text, &names)), addresses));
  const bool written_by_the_input = absl::StrContains(input, "29.211.97.205") ||
                                    absl::StrContains(input, "secret-host");
  if (written_by_the_input) return 0;
  if (absl::StrContains(hidden, "29.211.97.205")) std::abort();
  if (absl::StrContains(hidden, "secret-host")) std::abort();
  if (clusterd::ValidUtf8(hidden) != hidden) std::abort();
  return 0;
}
