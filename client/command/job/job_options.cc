#include "client/command/job/job_options.h"

#include <pwd.h>
#include <unistd.h>

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/command/request.h"
#include "client/files/user_files.h"
#include "config/hccl/job_variables.h"
#include "config/launch/job_spec.h"
#include "config/launch/launch_methods.h"
#include "config/launch/rank_table.h"
#include "config/spec/host_names.h"
#include "config/values/hostlist.h"
#include "config/values/number_list.h"
#include "config/values/text_form.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Much more than the largest job. A longer list is not plausible.
constexpr size_t kMaxServers = 16384;
constexpr size_t kMaxListBytes = 4 << 20;
constexpr size_t kMaxIdBytes = 128;
constexpr uint32_t kMaxDeviceId = 1023;

// The first variable that is set, and its value.
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

// An id appears in lines of logs and in a job's digest. Only forms of
// schedulers are valid: "1234", "1234[7].head", "1234_7".
absl::Status CheckId(const Named& id) {
  const bool fits =
      id.value.size() <= kMaxIdBytes && absl::c_all_of(id.value, [](char c) {
        return absl::ascii_isalnum(c) ||
               absl::string_view("._-[]").find(c) != absl::string_view::npos;
      });
  if (fits) return absl::OkStatus();
  return InvalidWords("msg-job-id", id.name, QuotedText(id.value));
}

template <absl::Status (*Make)(absl::string_view) = absl::InvalidArgumentError>
absl::Status NotSet(absl::string_view names,
                    absl::string_view expected = "job-say-job-id") {
  return WithWords(Make(""),
                   Worded("msg-job-variable-not-set", names, Worded(expected)));
}

// Puts the variable in front of its value's mistake.
absl::Status MistakeOf(absl::string_view name, const absl::Status& mistake) {
  return InvalidWords("headed", absl::StrCat(name, ": "),
                      MessageWords(mistake));
}

absl::Status SetServers(const Named& from, std::vector<std::string> hosts,
                        JobSpec* job) {
  std::set<std::string> seen;
  for (std::string& host : hosts) {
    if (!IsHostName(host)) {
      return InvalidWords("msg-job-host-name", from.name, QuotedText(host));
    }
    if (!seen.insert(host).second) continue;
    if (seen.size() > kMaxServers) {
      return InvalidWords("msg-job-too-many-hosts", from.name, kMaxServers);
    }
    job->add_servers()->set_host(std::move(host));
  }
  if (job->servers_size() > 0) return absl::OkStatus();
  return InvalidWords("msg-job-no-host", from.name.empty() ? "job" : from.name);
}

// The number of restarts, which makes a requeued job's id unique. A prolog has
// SLURM_JOB_RESTART_COUNT, the job itself SLURM_RESTART_COUNT. Both are unset
// before the first restart (Slurm 22.05).
uint32_t Restarts(const Environment& environment) {
  const Named text =
      FirstSet(environment, {"SLURM_JOB_RESTART_COUNT", "SLURM_RESTART_COUNT"});
  uint32_t count = 0;
  return ParseDigits(text.value, &count) ? count : 0;
}

constexpr size_t kMaxJobFileBytes = 4 << 20;
constexpr size_t kMaxJobTextBytes = 256 << 10;
constexpr uint32_t kMaxPort = 65535;
constexpr uint32_t kSshPort = 22;

// Resolves a path relative to the file that names it, like client.yaml.
std::string PathBeside(const std::string& file, const std::string& path) {
  const size_t slash = file.rfind('/');
  if (absl::StartsWith(path, "/") || slash == std::string::npos) return path;
  return absl::StrCat(file.substr(0, slash + 1), path);
}

uint32_t LowestRank(const RankTableServer& server) {
  uint32_t lowest = UINT32_MAX;
  for (const RankTableDevice& device : server.devices) {
    lowest = std::min(lowest, device.rank_id);
  }
  return lowest;
}

JobServer ServerOfTable(const RankTableServer& server, std::string host) {
  JobServer result;
  result.set_host(std::move(host));
  auto ids = Each<uint32_t>(server.devices, &RankTableDevice::device_id);
  absl::c_sort(ids);
  result.mutable_devices()->Assign(ids.begin(), ids.end());
  return result;
}

}  // namespace

absl::StatusOr<JobSpec> SlurmJob(const Environment& environment) {
  const Named id = FirstSet(environment, {"SLURM_JOB_ID", "SLURM_JOBID"});
  if (id.value.empty()) return NotSet<absl::NotFoundError>("SLURM_JOB_ID");
  RETURN_IF_ERROR(CheckId(id));
  // A prolog of Slurm 22.05 has only SLURM_NODELIST. PrologSlurmctld and the
  // job itself have SLURM_JOB_NODELIST.
  const Named list =
      FirstSet(environment, {"SLURM_JOB_NODELIST", "SLURM_NODELIST"});
  if (list.value.empty()) {
    return NotSet("SLURM_JOB_NODELIST, SLURM_NODELIST", "job-say-hosts-of-job");
  }
  auto hosts = ExpandHostlist(list.value, kMaxServers);
  if (!hosts.ok()) return MistakeOf(list.name, hosts.status());
  JobSpec job;
  job.set_id(absl::StrCat("slurm:", id.value, ".", Restarts(environment)));
  RETURN_IF_ERROR(SetServers(list, *std::move(hosts), &job));
  const std::string devices = ValueOf(environment, "SLURM_JOB_GPUS");
  if (job.servers_size() == 1 && !devices.empty()) {
    const auto ids = ParseIdList(devices, kMaxDeviceId);
    if (!ids.ok()) return MistakeOf("SLURM_JOB_GPUS", ids.status());
    job.mutable_servers(0)->mutable_devices()->Assign(ids->begin(), ids->end());
  }
  return job;
}

absl::StatusOr<JobSpec> PbsJob(const Environment& environment) {
  const Named id = {"PBS_JOBID", ValueOf(environment, "PBS_JOBID")};
  if (id.value.empty()) return NotSet<absl::NotFoundError>("PBS_JOBID");
  RETURN_IF_ERROR(CheckId(id));
  const Named file = {"PBS_NODEFILE", ValueOf(environment, "PBS_NODEFILE")};
  if (file.value.empty()) {
    return NotSet("PBS_NODEFILE", "job-say-file-of-hosts");
  }
  const auto text = ReadTextFile(file.value, kMaxListBytes);
  if (!text.ok()) return MistakeOf(file.name, text.status());
  JobSpec job;
  job.set_id(absl::StrCat("pbs:", id.value));
  // The file lists a host once for each of its slots.
  RETURN_IF_ERROR(SetServers(
      file,
      absl::StrSplit(*text, absl::ByAnyChar(" \t\r\n"), absl::SkipEmpty()),
      &job));
  return job;
}

absl::StatusOr<JobSpec> LsfJob(const Environment& environment) {
  const Named id = {"LSB_JOBID", ValueOf(environment, "LSB_JOBID")};
  if (id.value.empty()) return NotSet<absl::NotFoundError>("LSB_JOBID");
  RETURN_IF_ERROR(CheckId(id));
  const Named list = FirstSet(environment, {"LSB_MCPU_HOSTS", "LSB_HOSTS"});
  if (list.value.size() > kMaxListBytes) {
    return InvalidWords("msg-job-too-many-bytes", list.name, list.value.size(),
                        kMaxListBytes);
  }
  const std::vector<std::string> words =
      absl::StrSplit(list.value, ' ', absl::SkipEmpty());
  // "node01 64 node02 64"; LSB_HOSTS repeats the names instead.
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

void JobOptions::AddTo(CLI::App& app) {
  const auto add = [this, &app](const char* name, const char* placeholder,
                                std::string& value) {
    options_.push_back(AddOption(app, name, placeholder, value)->group("Job"));
  };
  add("--job", "FILE", file_);
  add("--nodes", "HOSTS", nodes_);
  add("--devices", "N|LIST", devices_);
  add("--product", "NAME", product_);
  options_.push_back(
      AddListOption(app, "--dtype", "TYPE,..", dtypes_)->group("Job"));
  add("--method", "METHOD", method_);
  add("--framework", "NAME", framework_);
  add("--ssh-user", "USER", ssh_user_);
  add("--ssh-port", "PORT", ssh_port_text_);
  add("--job-id", "JOB", id_);
}

void JobOptions::AddRankTable(CLI::App& app) {
  options_.push_back(
      AddOption(app, "--rank-table", "FILE", table_file_)->group("Job"));
}

void JobOptions::AddProgram(CLI::App& app) {
  AddOption(app, "--script", "FILE", script_);
  AddOption(app, "--python", "FILE", python_);
  AddOption(app, "--requirements", "FILE", requirements_);
}

std::string JobOptions::given() const {
  for (const CLI::Option* option : options_) {
    if (option->count() > 0) return option->get_name();
  }
  return "";
}

void JobOptions::CheckConflicts(MistakeList& mistakes) const {
  if (!file_.empty() && !nodes_.empty()) {
    mistakes.push_back(Worded("msg-job-two-sources"));
  }
  if (!file_.empty() && !devices_.empty()) {
    mistakes.push_back(Worded("msg-job-devices-with-file"));
  }
  const bool from_table =
      !table_file_.empty() && file_.empty() && nodes_.empty();
  if (from_table && !devices_.empty()) {
    mistakes.push_back(Worded("msg-job-devices-with-table"));
  }
}

void JobOptions::ReadFile(MistakeList& mistakes) {
  const auto text = ReadTextFile(file_, kMaxJobFileBytes);
  if (!text.ok()) return AddMistakes("--job ", text.status(), mistakes);
  std::string table;
  auto job = LoadJobSpec(file_, *text, &table);
  if (!job.ok()) return AddMistakes("", job.status(), mistakes);
  job_ = *std::move(job);
  servers_known_ = true;
  if (table_file_.empty() && !table.empty()) {
    table_file_ = PathBeside(file_, table);
  }
  for (std::string* path :
       {job_.mutable_requirements_file(), job_.mutable_script_file()}) {
    if (!path->empty()) *path = PathBeside(file_, *path);
  }
}

void JobOptions::ReadProgram(const Environment& environment,
                             MistakeList& mistakes) {
  if (!python_.empty()) job_.set_python(python_);
  if (!script_.empty()) job_.set_script_file(script_);
  if (!requirements_.empty()) job_.set_requirements_file(requirements_);
  for (const auto& [key, file, text] :
       {std::tuple("requirements: ", &job_.requirements_file(),
                   job_.mutable_requirements()),
        std::tuple("script: ", &job_.script_file(), job_.mutable_script())}) {
    if (file->empty()) continue;
    auto found = ReadTextFile(*file, kMaxJobTextBytes);
    if (found.ok()) {
      // pip reads UTF-16, which PowerShell writes, and Python does not. In
      // requirements only comments are not ASCII.
      const std::string mark = found->substr(0, 2);
      if (text != job_.mutable_script() &&
          (mark == "\xFF\xFE" || mark == "\xFE\xFF")) {
        RE2::GlobalReplace(
            &*found, RE2(R"((?s)\x00(.)|(.)\x00|..?)", RE2::Latin1), R"(\1\2)");
      }
      RE2::GlobalReplace(&*found, "\r\n?", "\n");
      // An empty text would mean a job without that file. Comments may be in
      // any encoding, but the job's texts are UTF-8.
      *text = found->empty() ? "\n" : ValidUtf8(*found);
    } else if (*file != script_) {  // It may exist on hosts.
      AddMistakes(key, found.status(), mistakes);
    }
  }
  if (absl::StartsWith(job_.python(), "/") && job_.user().empty()) {
    job_.set_user(ValueOf(environment, "USER"));
    const passwd* const own =
        job_.user().empty() ? getpwuid(getuid()) : nullptr;
    if (own != nullptr) job_.set_user(own->pw_name);
  }
}

void JobOptions::ReadNodes(const Environment& environment,
                           MistakeList& mistakes) {
  if (!nodes_.empty()) {
    const auto hosts = ExpandHostlist(nodes_);
    if (!hosts.ok()) return AddMistakes("--nodes: ", hosts.status(), mistakes);
    for (const std::string& host : *hosts) job_.add_servers()->set_host(host);
    servers_known_ = true;
    return;
  }
  auto job = SlurmJob(environment);
  if (absl::IsNotFound(job.status())) {
    return mistakes.push_back(Worded("msg-job-not-named", given()));
  }
  if (!job.ok()) return AddMistakes("", job.status(), mistakes);
  job_ = *std::move(job);
  is_own_job_ = servers_known_ = true;
}

void JobOptions::ReadDevices(MistakeList& mistakes) {
  if (devices_.empty() || !file_.empty()) return;
  for (JobServer& server : *job_.mutable_servers()) server.clear_devices();
  // Without servers, the text is read only for its mistakes.
  JobSpec probe;
  probe.add_servers();
  JobSpec* const job = servers_known_ ? &job_ : &probe;
  const absl::Status read = SetJobDevices(devices_, job);
  if (!read.ok()) AddMistakes("--devices: ", read, mistakes);
}

void JobOptions::ReadTable(MistakeList& mistakes) {
  if (table_file_.empty() || leaves_table_) return;
  auto text = ReadTextFile(table_file_, kMaxRankTableBytes);
  absl::Status read = text.status();
  if (read.ok()) read = CheckUtf8(table_file_, *text);
  if (!read.ok()) return AddMistakes("--rank-table ", read, mistakes);
  // An empty text would mean a job without a table.
  job_.set_rank_table(text->empty() ? "\n" : *std::move(text));
  // A path that a shell passes in place of a file is not a name.
  if (!absl::StartsWith(table_file_, "/dev/")) {
    job_.set_rank_table_file(table_file_);
  }
}

void JobOptions::ReadLogins(const Environment& environment,
                            MistakeList& mistakes) {
  const bool has_port = ParseDigits(ssh_port_text_, &ssh_port_) &&
                        ssh_port_ > 0 && ssh_port_ <= kMaxPort;
  if (!ssh_port_text_.empty() && !has_port) {
    mistakes.push_back(Worded("msg-job-out-of-range", "--ssh-port",
                              QuotedText(ssh_port_text_), 1, kMaxPort));
  }
  if (!has_port) ssh_port_ = 0;
  const bool logs_in =
      absl::c_any_of(AllLaunchMethods(), [this](const LaunchMethod& method) {
        return method.from_master && method.name == job_.method();
      });
  if (!logs_in && !job_.has_ssh()) {
    for (const auto& [name, text] :
         {std::pair("--ssh-user", &ssh_user_),
          std::pair("--ssh-port", &ssh_port_text_)}) {
      if (text->empty()) continue;
      mistakes.push_back(Worded("msg-job-login-option", name));
    }
    return;
  }
  JobSsh& ssh = *job_.mutable_ssh();
  if (!ssh_user_.empty()) ssh.set_user(ssh_user_);
  if (ssh.user().empty()) ssh.set_user(job_.user());
  if (ssh.user().empty()) ssh.set_user(ValueOf(environment, "USER"));
  if (ssh.user().empty()) {
    mistakes.push_back(Worded("msg-job-login-user"));
  }
  if (ssh_port_ == 0) ssh_port_ = ssh.container_port();
  const uint32_t host_port = ssh.port() == 0 ? kSshPort : ssh.port();
  ssh.set_container_port(ssh_port_ == host_port ? 0 : ssh_port_);
}

void JobOptions::Read(const Environment& environment, MistakeList& mistakes) {
  job_.Clear();
  is_own_job_ = servers_known_ = false;
  CheckConflicts(mistakes);
  const bool from_table =
      !table_file_.empty() && file_.empty() && nodes_.empty();
  if (!file_.empty()) {
    ReadFile(mistakes);
  } else if (!from_table) {
    ReadNodes(environment, mistakes);
  }
  ReadTable(mistakes);
  ReadProgram(environment, mistakes);
  if (!from_table) ReadDevices(mistakes);
  if (!product_.empty()) job_.set_product(product_);
  const auto read_word = [&mistakes](absl::string_view option,
                                     const std::string& word,
                                     absl::Span<const absl::string_view> words,
                                     std::string& of_job) {
    if (word.empty()) return;
    of_job = word;
    if (absl::c_linear_search(words, word)) return;
    mistakes.push_back(Worded("msg-job-word", option, QuotedText(word),
                              absl::StrJoin(words, ", "),
                              DidYouMeanWords(word, words)));
  };
  read_word("--method", method_, kLaunchMethods, *job_.mutable_method());
  read_word("--framework", framework_, kFrameworks, *job_.mutable_framework());
  ReadLogins(environment, mistakes);
  if (id_.size() > kMaxIdBytes) {
    mistakes.push_back(
        Worded("msg-job-too-many-bytes", "--job-id", id_.size(), kMaxIdBytes));
  } else if (!id_.empty()) {
    job_.set_id(id_);
  }
  if (!dtypes_.empty()) job_.clear_dtypes();
  for (const std::string& type : dtypes_) {
    const absl::string_view name = HcclDataType(type);
    if (name.empty()) {
      mistakes.push_back(Worded("msg-job-word", "--dtype", QuotedText(type),
                                absl::StrJoin(HcclDataTypes(), ", "),
                                DidYouMeanWords(type, HcclDataTypes())));
    }
    job_.add_dtypes(std::string(name));
  }
}

void JobOptions::TakeServersOfTable(const ClusterSpec& spec,
                                    MistakeList& mistakes) {
  auto table = ParseRankTable(job_.rank_table());
  if (!table.ok()) {
    return AddMistakes(absl::StrCat(table_file_, ": "), table.status(),
                       mistakes);
  }
  absl::c_stable_sort(table->servers, [](const auto& a, const auto& b) {
    return LowestRank(a) < LowestRank(b);
  });
  const std::map<std::string, std::string> by_name = HostsByAnyName(spec);
  const auto known = Each<absl::string_view>(spec.servers(), &ServerSpec::host);
  job_.clear_servers();
  absl::flat_hash_set<std::string> seen;
  for (const RankTableServer& server : table->servers) {
    auto host = by_name.find(server.server_id);
    if (host == by_name.end()) host = by_name.find(server.host_ip);
    const std::string name =
        absl::StrCat("server_id ", QuotedText(server.server_id));
    if (host == by_name.end()) {
      mistakes.push_back(Worded(
          "msg-job-table-server", table_file_,
          server.host_ip.empty()
              ? name
              : absl::StrCat(name, ", host_ip ", QuotedText(server.host_ip)),
          DidYouMeanWords(server.server_id, known)));
    } else if (!seen.insert(host->second).second) {
      mistakes.push_back(Worded("msg-job-table-server-again", table_file_, name,
                                host->second));
    } else {
      *job_.add_servers() = ServerOfTable(server, host->second);
    }
  }
}

std::vector<std::string> JobOptions::Resolve(const ClusterSpec& spec,
                                             MistakeList& mistakes) {
  const size_t before = mistakes.size();
  if (!servers_known_ && !job_.rank_table().empty() && file_.empty() &&
      nodes_.empty()) {
    TakeServersOfTable(spec, mistakes);
  }
  if (mistakes.size() > before || job_.servers().empty()) return {};
  HostSelection selection;
  selection.hosts = Each<std::string>(job_.servers(), &JobServer::host);
  return ResolveHosts(std::move(selection), spec, mistakes);
}

}  // namespace clusterd
