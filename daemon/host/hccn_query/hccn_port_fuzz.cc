// Whatever is read stands in the text as the tool writes it.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "daemon/host/hccn_query/hccn_port.h"

namespace {

void Expect(const std::string& text, absl::string_view words) {
  if (!absl::StrContains(text, words)) std::abort();
}

std::string Load(uint64_t hundredths) {
  return absl::StrFormat("%d.%02d MB/sec", hundredths / 100, hundredths % 100);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const auto speed = clusterd::ParseHccnSpeed(text);
  if (speed.ok()) {
    Expect(text, speed->has_value() ? absl::StrCat(**speed, " Mb/s")
                                    : std::string("Unknown!"));
  }
  const auto duplex = clusterd::ParseHccnDuplex(text);
  if (duplex.ok()) {
    Expect(text, *duplex == clusterd::HccnDuplex::kFull   ? "Full"
                 : *duplex == clusterd::HccnDuplex::kHalf ? "Half"
                                                          : "Unknown!");
  }
  const auto mac = clusterd::ParseHccnMac(text);
  if (mac.ok()) Expect(text, *mac);
  const auto fec = clusterd::ParseHccnFec(text);
  if (fec.ok()) Expect(text, " FEC mode");
  const auto load = clusterd::ParseHccnBandwidth(text);
  if (load.ok()) {
    Expect(text, Load(load->sent_mb_per_s_hundredths));
    Expect(text, Load(load->received_mb_per_s_hundredths));
  }
  const auto shaping = clusterd::ParseHccnShaping(text);
  if (shaping.ok()) {
    Expect(text, absl::StrCat("bw_limit[", shaping->limit_mbps,
                              " Mbps], bw_max[", shaping->max_mbps, " Mbps]"));
  }
  return 0;
}
