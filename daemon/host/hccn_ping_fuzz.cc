// No input crashes the reader of pings, alone or within an answer, and what it
// accepts stands in the text and adds up.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "daemon/host/hccn_ping.h"

namespace {

constexpr absl::string_view kAnswer =
    "device 1 PING 192.0.2.199\nrecv time out seq=0\n"
    "3 packets transmitted, 2 received, 33.33% packets loss\n";

void Read(const std::string& text) {
  const absl::StatusOr<clusterd::HccnPing> ping = clusterd::ParseHccnPing(text);
  if (!ping.ok()) return;
  if (ping->transmitted == 0 || ping->received > ping->transmitted) {
    std::abort();
  }
  const std::string counts =
      absl::StrCat(ping->transmitted, " packets transmitted, ", ping->received,
                   " received, ");
  if (!absl::StrContains(text, counts)) std::abort();
  const char* const loss = ping->hccs ? "% packets loss" : "% packet loss";
  if (!absl::StrContains(text, loss)) std::abort();
  for (const std::string& marker : ping->markers) {
    if (!absl::StrContains(text, marker)) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  Read(text);
  if (size == 0) return 0;
  // The first byte says where the others go.
  std::string answer(kAnswer);
  answer.insert(data[0] % (answer.size() + 1), text.substr(1));
  Read(answer);
  return 0;
}
