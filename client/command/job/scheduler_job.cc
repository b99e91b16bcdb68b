#include "client/command/job/scheduler_job.h"

#include <set>
#include <vector>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/files/user_files.h"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/status_macros.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

// Far more than the largest job; what is longer is no list of ours.
constexpr size_t kMaxServers = 16384;
constexpr size_t kMaxListBytes = 4 << 20;
constexpr size_t kMaxIdBytes = 128;
constexpr uint32_t kMaxDeviceId = 1023;

// The first of the variables that is set, and its value.
struct Named {
  std::string name;
  std::string value;
};
Named FirstSet(const Environment& environment,
               const std::vector<const char*>& names) {
  for (const char* const name : names) {
    const std::string value = ValueOf(environment, name);
    if (!value.empty()) return {name, value};
  }
  return {};
}

// An id goes into lines of logs and into a digest's neighbourhood: nothing but
// what schedulers put there, "1234", "1234[7].head", "1234_7".
absl::Status CheckId(const Named& id) {
  const bool fits =
      id.value.size() <= kMaxIdBytes && absl::c_all_of(id.value, [](char c) {
        return absl::ascii_isalnum(c) ||
               absl::string_view("._-[]").find(c) != absl::string_view::npos;
      });
  if (fits) return absl::OkStatus();
  return absl::InvalidArgumentError(absl::StrCat(
      id.name, ": ", QuotedText(id.value), " is no job's id, expected digits"));
}

absl::Status SetServers(const Named& from, std::vector<std::string> hosts,
                        JobSpec* job) {
  std::set<std::string> seen;
  for (std::string& host : hosts) {
    if (!IsHostName(host)) {
      return absl::InvalidArgumentError(absl::StrCat(
          from.name, ": ", QuotedText(host), ", expected names of hosts"));
    }
    if (!seen.insert(host).second) continue;
    if (seen.size() > kMaxServers) {
      return absl::InvalidArgumentError(
          absl::StrCat(from.name, ": names more than ", kMaxServers, " hosts"));
    }
    job->add_servers()->set_host(std::move(host));
  }
  if (job->servers_size() > 0) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(from.name.empty() ? "job" : from.name, ": names no host"));
}

// The number behind an id that tells a requeued job from what it was before.
// A prolog has SLURM_JOB_RESTART_COUNT, the job itself SLURM_RESTART_COUNT, and
// neither has one that was never restarted (Slurm 22.05).
uint32_t Restarts(const Environment& environment) {
  const Named text =
      FirstSet(environment, {"SLURM_JOB_RESTART_COUNT", "SLURM_RESTART_COUNT"});
  uint32_t count = 0;
  return ParseDigits(text.value, &count) ? count : 0;
}

}  // namespace

absl::StatusOr<JobSpec> SlurmJob(const Environment& environment) {
  const Named id = FirstSet(environment, {"SLURM_JOB_ID", "SLURM_JOBID"});
  if (id.value.empty()) {
    return absl::NotFoundError("SLURM_JOB_ID: is not set");
  }
  RETURN_IF_ERROR(CheckId(id));
  // A prolog of Slurm 22.05 has SLURM_NODELIST alone, PrologSlurmctld and the
  // job itself SLURM_JOB_NODELIST.
  const Named list =
      FirstSet(environment, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (list.value.empty()) {
    return absl::InvalidArgumentError(
        "SLURM_JOB_NODELIST, SLURM_NODELIST: neither is set, expected the "
        "hosts of the job");
  }
  auto hosts = ExpandHostlist(list.value, kMaxServers);
  if (!hosts.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(list.name, ": ", PrintableText(hosts.status().message())));
  }
  JobSpec job;
  job.set_id(absl::StrCat("slurm:", id.value, ".", Restarts(environment)));
  RETURN_IF_ERROR(SetServers(list, *std::move(hosts), &job));
  const std::string devices = ValueOf(environment, "SLURM_JOB_GPUS");
  if (job.servers_size() == 1 && !devices.empty()) {
    const auto ids = ParseIdList(devices, kMaxDeviceId);
    if (!ids.ok()) {
      return absl::InvalidArgumentError(absl::StrCat(
          "SLURM_JOB_GPUS: ", PrintableText(ids.status().message())));
    }
    job.mutable_servers(0)->mutable_devices()->Assign(ids->begin(), ids->end());
  }
  return job;
}

absl::StatusOr<JobSpec> PbsJob(const Environment& environment) {
  const Named id = {"PBS_JOBID", ValueOf(environment, "PBS_JOBID")};
  if (id.value.empty()) return absl::NotFoundError("PBS_JOBID: is not set");
  RETURN_IF_ERROR(CheckId(id));
  const Named file = {"PBS_NODEFILE", ValueOf(environment, "PBS_NODEFILE")};
  if (file.value.empty()) {
    return absl::InvalidArgumentError(
        "PBS_NODEFILE: is not set, expected a file with the hosts of the job");
  }
  const auto text = ReadTextFile(file.value, kMaxListBytes);
  if (!text.ok()) {
    return absl::InvalidArgumentError(
        absl::StrCat(file.name, ": ", PrintableText(text.status().message())));
  }
  JobSpec job;
  job.set_id(absl::StrCat("pbs:", id.value));
  // A host stands there once for each of its slots.
  RETURN_IF_ERROR(SetServers(
      file,
      absl::StrSplit(*text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty()),
      &job));
  return job;
}

absl::StatusOr<JobSpec> LsfJob(const Environment& environment) {
  const Named id = {"LSB_JOBID", ValueOf(environment, "LSB_JOBID")};
  if (id.value.empty()) return absl::NotFoundError("LSB_JOBID: is not set");
  RETURN_IF_ERROR(CheckId(id));
  const Named list = FirstSet(environment, {"LSB_MCPU_HOSTS", "LSB_HOSTS"});
  if (list.value.size() > kMaxListBytes) {
    return absl::InvalidArgumentError(
        absl::StrCat(list.name, ": is longer than a list of hosts"));
  }
  const std::vector<std::string> words =
      absl::StrSplit(list.value, ' ', absl::SkipEmpty());
  // "node01 64 node02 64", where LSB_HOSTS repeats the names.
  const size_t step = list.name == "LSB_MCPU_HOSTS" ? 2 : 1;
  std::vector<std::string> hosts;
  for (size_t i = 0; i < words.size(); i += step) hosts.push_back(words[i]);
  JobSpec job;
  // An element of a job array has the array's id and its own index; 0: none.
  const std::string index = ValueOf(environment, "LSB_JOBINDEX");
  uint32_t number = 0;
  const bool is_element = ParseDigits(index, &number) && number > 0;
  job.set_id(absl::StrCat("lsf:", id.value,
                          is_element ? absl::StrCat("[", number, "]") : ""));
  RETURN_IF_ERROR(SetServers(list, std::move(hosts), &job));
  return job;
}

std::string OptOut(const Environment& environment) {
  if (ValueOf(environment, "CLUSTERD_CHECK") == "off") {
    return "CLUSTERD_CHECK=off";
  }
  for (const char* const name : {"SLURM_JOB_COMMENT", "SLURM_JOB_EXTRA"}) {
    const std::string text = ValueOf(environment, name);
    const std::vector<absl::string_view> words =
        absl::StrSplit(text, absl::ByAnyChar(" \t\n,;"), absl::SkipEmpty());
    if (absl::c_linear_search(words, "clusterd=off")) {
      return absl::StrCat("clusterd=off in ", name);
    }
  }
  return "";
}

}  // namespace clusterd
