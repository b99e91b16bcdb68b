// Results are bounded, printable, and can be sent.
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/host/hccn_conf.h"

namespace {

void CheckPrintable(const std::string& text) {
  for (const unsigned char c : text) {
    if (c < 0x20 || c > 0x7e) std::abort();
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  const absl::StatusOr<clusterd::HccnConf> conf = clusterd::ParseHccnConf(text);
  if (!conf.ok()) return 0;
  if (conf->problems_size() > 100) std::abort();
  for (const clusterd::HccnConf::Entry& entry : conf->entries()) {
    CheckPrintable(entry.key());
    CheckPrintable(entry.value());
    if (entry.line() == 0 || entry.key().empty()) std::abort();
    if (entry.has_device() && entry.device() > 99) std::abort();
  }
  for (const clusterd::HccnConf::Problem& problem : conf->problems()) {
    CheckPrintable(problem.text());
  }
  return 0;
}
