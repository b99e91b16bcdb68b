// Every import makes a file that loads, or is refused with its reason; only
// host names and addresses of a file get into it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "config/learn/import.h"
#include "config/learn/spec_writer.h"
#include "config/spec/spec_loader.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const std::string text(reinterpret_cast<const char*>(data), size);
  clusterd::ImportOptions options;
  options.cluster = "demo";
  options.product = "atlas-a2";
  options.netmask = "255.255.255.0";
  const auto seen = clusterd::ImportCluster({{"file", text}}, options);
  clusterd::ParseHostsFile({"file", text}).status().IgnoreError();
  if (!seen.ok() || seen->hosts.size() > 200) return 0;
  const auto written = clusterd::WriteSpec(*seen);
  if (!written.ok() || written->pattern.empty()) return 0;
  if (!clusterd::LoadSpec("file", written->yaml).ok()) std::abort();
  return 0;
}
