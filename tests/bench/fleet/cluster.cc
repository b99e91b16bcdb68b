#include "tests/bench/fleet/cluster.h"

#include <signal.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "config/spec/spec_loader.h"
#include "grpcpp/create_channel.h"
#include "re2/re2.h"
#include "tests/support/wait/patience.h"

namespace clusterd {
namespace {

// Ten thousand hosts take more than a minute.
constexpr absl::Duration kLongest = absl::Minutes(5);

}  // namespace

Folder::Folder() {
  if (mkdtemp(name_.data()) == nullptr) std::abort();
}

Folder::~Folder() {
  std::error_code ignored;
  std::filesystem::remove_all(name_, ignored);
}

std::string Folder::Write(const std::string& file,
                          const std::string& text) const {
  const std::string path = absl::StrCat(name_, "/", file);
  std::ofstream(path) << text;
  std::filesystem::permissions(path, std::filesystem::perms::owner_read |
                                         std::filesystem::perms::owner_write);
  return path;
}

std::string ReadFile(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  std::getline(file, text, '\0');
  return text;
}

BenchCluster::BenchCluster(ClusterPrograms programs, ClusterSpec spec)
    : programs_(std::move(programs)), spec_(std::move(spec)) {}

absl::Status BenchCluster::Start() {
  const TlsFiles own = Files("own", "spiffe://test/controller");
  const std::string port_file = folder_.path() + "/port";
  // Its log goes to a file: a pipe would have no reader while the hosts attach.
  command_ = {"/bin/bash",
              "-c",
              "exec \"$@\" 2>>\"$0\"",
              log(),
              programs_.controller,
              "--cluster",
              "test",
              "--spec",
              folder_.Write("cluster.yaml", SpecToYaml(spec_)),
              "--port-file",
              port_file,
              "--state",
              state(),
              "--status-listen",
              "off",
              "--ca",
              own.ca,
              "--cert",
              own.certificate,
              "--key",
              own.key,
              "--listen",
              "127.0.0.1:0"};
  controller_ = std::make_unique<Process>(command_);
  if (!WaitUntil([&] { return !ReadFile(port_file).empty(); })) {
    return absl::UnavailableError(ReadFile(log()));
  }
  address_ = absl::StrCat("127.0.0.1:",
                          absl::StripAsciiWhitespace(ReadFile(port_file)));
  command_.back() = address_;
  return absl::OkStatus();
}

void BenchCluster::KillAndStart() {
  controller_->Signal(SIGKILL);
  controller_->Wait();
  controller_ = std::make_unique<Process>(command_);
}

TlsFiles BenchCluster::Files(const std::string& label,
                             const std::string& uri_name) const {
  const TlsPem pem = authority_->Issue({uri_name});
  return {folder_.Write("ca.crt", authority_->certificate_pem()),
          folder_.Write(label + ".crt", pem.certificate),
          folder_.Write(label + ".key", pem.key)};
}

std::unique_ptr<Controller::Stub> BenchCluster::Client(
    const std::string& uri_name) const {
  grpc::ChannelArguments arguments;
  arguments.SetMaxReceiveMessageSize(-1);
  arguments.SetInt(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1);
  return Controller::NewStub(grpc::CreateCustomChannel(
      address_,
      MakeChannelCredentialsFromPem(authority_->Issue({uri_name}), "test"),
      arguments));
}

std::vector<std::string> BenchCluster::FleetArguments() const {
  return {
      "--controller", address_,
      "--cluster",    "test",
      "--ca",         folder_.Write("ca.crt", authority_->certificate_pem()),
      "--ca-key",     folder_.Write("ca.key", authority_->KeyPem()),
      "--wait",       absl::StrCat(absl::ToInt64Seconds(kLongest))};
}

Fleets::Fleets(const BenchCluster& cluster, int servers, int processes,
               const std::vector<std::string>& arguments) {
  for (int fleet = 0; fleet < processes; ++fleet) {
    ClusterSpec own = cluster.spec();
    own.clear_servers();
    for (int i = fleet; i < servers; i += processes) {
      *own.add_servers() = cluster.spec().servers(i);
    }
    sizes_.push_back(own.servers_size());
    std::vector<std::string> command = {
        cluster.programs().fleet, "--spec",
        cluster.folder().Write(absl::StrCat("fleet", fleet, ".yaml"),
                               SpecToYaml(own))};
    for (const auto& words : {cluster.FleetArguments(), arguments}) {
      command.insert(command.end(), words.begin(), words.end());
    }
    fleets_.push_back(std::make_unique<Process>(command));
  }
}

absl::StatusOr<absl::Duration> Fleets::WaitAttached() {
  int longest_ms = 0;
  for (size_t i = 0; i < fleets_.size(); ++i) {
    std::string text;
    const absl::Status status = fleets_[i]->WaitForErrorLine(
        absl::StrCat("attached ", sizes_[i], " hosts"), &text, kLongest);
    if (!status.ok()) return status;
    int attach_ms = 0;
    if (!RE2::PartialMatch(text, "attach (\\d+) ms", &attach_ms)) {
      return absl::InternalError(text);
    }
    longest_ms = std::max(longest_ms, attach_ms);
  }
  return absl::Milliseconds(longest_ms);
}

absl::Status Fleets::WaitAttachedAgain() {
  for (const auto& fleet : fleets_) {
    const absl::Status status = fleet->WaitForError("attached again", kLongest);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

std::string Fleets::EndLostOnce() {
  std::string other;
  for (const auto& fleet : fleets_) fleet->Signal(SIGTERM);
  for (size_t i = 0; i < fleets_.size(); ++i) {
    const std::string text = fleets_[i]->Wait().standard_error;
    if (!absl::StrContains(text, absl::StrCat("lost ", sizes_[i], " in all"))) {
      other += text;
    }
  }
  return other;
}

double Median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

bool Print(const char* what, double value, const char* unit, double budget) {
  std::printf("%-42s %10.1f %-3s", what, value, unit);
  if (budget > 0) {
    std::printf("  %.2f of the budget, %.0f %s", value / budget, budget, unit);
  }
  std::printf("\n");
  return budget == 0 || value <= budget;
}

bool PrintRatio(const char* what, double ratio, double limit) {
  std::printf("%-42s %10.2f      limit %.2f\n", what, ratio, limit);
  return ratio <= limit;
}

}  // namespace clusterd
