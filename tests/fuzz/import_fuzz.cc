// Every import makes a file that loads, or is refused with its reason; only
// host names and addresses of a file get into it.
#include "config/learn/import.h"
#include "config/learn/spec_writer.h"
#include "config/spec/spec_loader.h"
#include "tests/fuzz/require.h"
#include "tests/fuzz/text_input.h"

void clusterd::FuzzText(const std::string& text) {
  ImportOptions options;
  options.cluster = "demo";
  options.product = "atlas-a2";
  options.netmask = "255.255.255.0";
  const auto seen = ImportCluster({{"file", text}}, options);
  ParseHostsFile({"file", text}).status().IgnoreError();
  if (!seen.ok() || seen->hosts.size() > 200) return;
  const auto written = WriteSpec(*seen);
  if (!written.ok() || written->pattern.empty()) return;
  Require(LoadSpec("file", written->yaml).ok());
}
