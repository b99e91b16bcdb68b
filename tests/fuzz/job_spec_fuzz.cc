// Every text either loads as a job of named servers, which can be narrowed to
// or not, or yields a message that names the file.

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/hccl/python_packages.h"
#include "config/launch/job_spec.h"
#include "config/rules/judge.h"
#include "tests/fuzz/fuzz_target.h"
#include "tests/fuzz/require.h"
#include "tests/sim/facts/healthy_facts.h"

namespace clusterd {
namespace {

// The texts that a job names: a requirements.txt and a training script.
void ReadProgram(const ClusterSpec& spec, const std::string& text) {
  for (const Requirement& each : ParseRequirements(text).packages) {
    Require(!each.name.empty() && each.line > 0);
    (void)MeetsMarker(each.marker, "3.10", "aarch64");
    (void)MeetsSpecifiers(each.specifiers, each.specifiers);
  }
  (void)MeetsSpecifiers(text, absl::StrCat("<=", text));
  JobSpec job;
  job.add_servers()->set_host("server0");
  job.set_script(text);
  JudgeOptions options;
  options.job = &job;
  options.selection.add_only("job-script");
  const Report report = BuildReport(spec, {}, options);
  for (const RuleResult& result : report.rules()) {
    for (const Finding& finding : result.findings()) {
      Require(finding.state() != FAIL);
    }
  }
}

FUZZ_TEXT(job_spec, 1, "tests/testdata/launch/job.json",
          "tests/testdata/launch/job.yaml") {
  static const auto* const spec = new ClusterSpec(MakeSpec("atlas-a2", "", 4));
  ReadProgram(*spec, text);
  JobSpec typed;
  // The values of --devices.
  typed.add_servers()->set_host("server0");
  (void)SetJobDevices(text, &typed);
  std::string path;
  const absl::StatusOr<JobSpec> job = LoadJobSpec("job.yaml", text, &path);
  if (!job.ok()) {
    Require(absl::StartsWith(job.status().message(), "job.yaml:"));
    return;
  }
  Require(!job->servers().empty());
  Require(JobDigest(*job).size() == 64);
  const absl::StatusOr<ClusterSpec> narrowed = NarrowToJob(*spec, *job);
  if (!narrowed.ok()) return;
  Require(narrowed->servers_size() == job->servers_size());
  for (const ServerSpec& server : narrowed->servers()) {
    Require(!server.devices().empty());
  }
}

}  // namespace
}  // namespace clusterd
