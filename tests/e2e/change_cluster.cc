#include "tests/e2e/change_cluster.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_split.h"
#include "daemon/agent/apply/journal.h"
#include "gtest/gtest.h"
#include "tests/support/wait/test_file.h"

namespace clusterd {
namespace {

constexpr char kAllKinds[] =
    "observe, sysctl, device-address, firewall, tls, hccn-conf";
constexpr char kDevices[] = "/var/lib/hccn_sim/state";
// The journals, and files that the tool keeps for itself.
constexpr const char* kNotTheServer[] = {"/var/lib/clusterd",
                                         "/var/lib/hccn_sim", "/var/log/"};
// Notes of the fake device about queries, and its injected faults.
constexpr const char* kNotAValue[] = {"detect_pending.", "hang.", "lies.",
                                      "delay.", "busy."};

void AddDeviceValues(const std::string& root, ServerState* state) {
  for (absl::string_view line :
       absl::StrSplit(TextOfFile(root + kDevices), '\n', absl::SkipEmpty())) {
    bool skip = false;
    for (const char* prefix : kNotAValue) {
      skip = skip || absl::StartsWith(line, prefix);
    }
    const std::pair<std::string, std::string> value =
        absl::StrSplit(line, absl::MaxSplits('=', 1));
    // The device's answer for a detect address that was never set.
    skip = skip ||
           (absl::StartsWith(line, "netdetect.") && value.second == "0.0.0.0");
    if (skip) continue;
    (*state)["device value " + value.first] = value.second;
  }
}

}  // namespace

ServerState ReadServer(const std::string& root) {
  ServerState state;
  AddDeviceValues(root, &state);
  for (auto entry = std::filesystem::recursive_directory_iterator(root);
       entry != std::filesystem::recursive_directory_iterator(); ++entry) {
    const std::string path = entry->path().string().substr(root.size());
    bool skip = !entry->is_regular_file();
    for (const char* folder : kNotTheServer) {
      skip = skip || absl::StartsWith(path, folder);
    }
    if (skip) continue;
    const auto mode = static_cast<unsigned>(entry->status().permissions());
    state[path] = absl::StrCat("mode ", absl::StrFormat("%o", mode), "\n",
                               TextOfFile(entry->path().string()));
  }
  return state;
}

std::vector<std::string> DifferencesFrom(const ServerState& before,
                                         const ServerState& after) {
  std::vector<std::string> differences;
  for (const auto& [name, text] : before) {
    const auto found = after.find(name);
    if (found == after.end()) {
      differences.push_back(name + " is gone");
    } else if (found->second != text) {
      differences.push_back(
          absl::StrCat(name, " was:\n", text, "\nis:\n", found->second));
    }
  }
  for (const auto& [name, text] : after) {
    if (before.count(name) == 0) {
      differences.push_back(absl::StrCat(name, " is new:\n", text));
    }
  }
  return differences;
}

// The tool changes its state under an exclusive lock and reads it under a
// shared one.
DeviceGate::DeviceGate(const std::string& root)
    : fd_(open((root + kDevices).c_str(), O_RDONLY | O_CLOEXEC)) {
  EXPECT_EQ(flock(fd_, LOCK_SH), 0);
}

DeviceGate::~DeviceGate() { Open(); }

void DeviceGate::Open() {
  if (fd_ >= 0) close(fd_);
  fd_ = -1;
}

ApplyResult ChangeOutcome::Host(const std::string& host) const {
  for (const ApplyResult& result : report.hosts()) {
    if (result.host() == host) return result;
  }
  return ApplyResult();
}

std::string ChangeSpec(int servers, const std::string& command) {
  return DemoSpec(servers, command);
}

namespace {

std::vector<std::string> ServerNames(int servers) {
  std::vector<std::string> names;
  for (int i = 0; i < servers; ++i) names.push_back(absl::StrCat("server", i));
  return names;
}

std::vector<std::string> Joined(std::vector<std::string> words,
                                const std::vector<std::string>& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

}  // namespace

ChangeCluster::ChangeCluster(int servers, const std::string& spec)
    : DemoCluster(spec.empty() ? ChangeSpec(servers) : spec,
                  ServerNames(servers)) {
  for (const std::string& host : ServerNames(servers)) Allow(host, kAllKinds);
}

void ChangeCluster::Break(const std::string& host,
                          const std::vector<std::string>& faults) {
  for (const std::string& fault : faults) SetFault(host, fault);
}

std::vector<JournalEntry> ChangeCluster::Journal(
    const std::string& host, const std::string& apply_id) const {
  const absl::StatusOr<JournalText> text = ParseJournal(TextOfFile(absl::StrCat(
      Root(host), "/var/lib/clusterd/apply/", apply_id, ".journal")));
  return text.ok() ? text->entries : std::vector<JournalEntry>();
}

bool ChangeCluster::WaitForJournal(const std::string& host,
                                   const std::string& apply_id,
                                   size_t entries) const {
  return WaitUntil([&] { return Journal(host, apply_id).size() >= entries; });
}

ClusterPlan ChangeCluster::Plan(
    const std::vector<std::string>& arguments) const {
  const ProcessResult result = RunClusterctl(
      Joined({"plan", "--out", PlanPath(), "-o", "json"}, arguments));
  EXPECT_EQ(result.exit_status, 0)
      << result.standard_error << result.standard_output;
  return FromJson<ClusterPlan>(result);
}

std::unique_ptr<Process> ChangeCluster::StartApply(
    const std::vector<std::string>& arguments, const std::string& user) const {
  return std::make_unique<Process>(Clusterctl(
      Joined({"apply", PlanPath(), "--yes", "--confirm", "demo", "-o", "json"},
             arguments),
      user));
}

ChangeOutcome ChangeCluster::Apply(const std::vector<std::string>& arguments,
                                   const std::string& user) const {
  return FinishChange(StartApply(arguments, user).get());
}

ChangeOutcome ChangeCluster::RollBack(
    const std::string& apply_id,
    const std::vector<std::string>& arguments) const {
  Process process(Clusterctl(
      Joined({"rollback", apply_id, "--yes", "-o", "json"}, arguments)));
  return FinishChange(&process);
}

std::vector<HistoryEntry> ChangeCluster::History() const {
  const ListHistoryResponse history =
      FromJson<ListHistoryResponse>(RunClusterctl({"history", "-o", "json"}));
  return {history.entries().begin(), history.entries().end()};
}

ApplyReport ChangeCluster::Show(const std::string& id) const {
  return FromJson<ApplyReport>(RunClusterctl({"show", id, "-o", "json"}));
}

std::string ChangeCluster::ShowText(const std::string& id) const {
  const ProcessResult result = RunClusterctl({"show", id});
  EXPECT_EQ(result.exit_status, 0) << result.standard_error;
  return result.standard_output;
}

HostEntry ChangeCluster::Entry(const std::string& host) const {
  const ListHostsResponse hosts =
      FromJson<ListHostsResponse>(RunClusterctl({"hosts", "-o", "json"}));
  for (const HostEntry& entry : hosts.hosts()) {
    if (entry.host() == host) return entry;
  }
  return HostEntry();
}

ChangeOutcome FinishChange(Process* clusterctl) {
  ChangeOutcome outcome;
  outcome.process = clusterctl->Wait();
  outcome.report = FromJson<ApplyReport>(outcome.process);
  return outcome;
}

std::string WaitForRunId(Process* clusterctl) {
  std::string line;
  const absl::Status notified =
      clusterctl->WaitForErrorLine("clusterctl apply: run ", &line);
  EXPECT_TRUE(notified.ok()) << notified;
  return line;
}

}  // namespace clusterd
