// Whatever loads is a job of named servers that can be narrowed to, or not, and
// everything else is a message that names the file.
#include <cstdint>
#include <string>

#include "absl/strings/match.h"
#include "config/launch/job_spec.h"
#include "tests/fuzz/require.h"
#include "tests/sim/facts/healthy_facts.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const auto* const spec =
      new clusterd::ClusterSpec(clusterd::MakeSpec("atlas-a2", "", 4));
  const std::string text(reinterpret_cast<const char*>(data), size);
  clusterd::JobSpec typed;
  // What --devices takes.
  typed.add_servers()->set_host("server0");
  (void)clusterd::SetJobDevices(text, &typed);
  std::string path;
  const absl::StatusOr<clusterd::JobSpec> job =
      clusterd::LoadJobSpec("job.yaml", text, &path);
  if (!job.ok()) {
    clusterd::Require(absl::StartsWith(job.status().message(), "job.yaml:"));
    return 0;
  }
  clusterd::Require(!job->servers().empty());
  clusterd::Require(clusterd::JobDigest(*job).size() == 64);
  const absl::StatusOr<clusterd::ClusterSpec> narrowed =
      clusterd::NarrowToJob(*spec, *job);
  if (!narrowed.ok()) return 0;
  clusterd::Require(narrowed->servers_size() == job->servers_size());
  for (const clusterd::ServerSpec& server : narrowed->servers()) {
    clusterd::Require(!server.devices().empty());
  }
  return 0;
}
