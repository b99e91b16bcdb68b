// clusterctl config learn and config import: write a cluster.yaml from what is
// there, live or in another tool's files.
#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/strip.h"
#include "client/command/request.h"
#include "client/files/user_files.h"
#include "client/print/progress_line.h"
#include "config/learn/import.h"
#include "config/learn/spec_writer.h"
#include "config/values/status_macros.h"
#include "config/words/number_text.h"

namespace clusterd {
namespace {

// Twice what the controller waits for hosts where no spec says how long, and a
// little.
constexpr absl::Duration kLearnTimeout = absl::Seconds(140);
constexpr size_t kToldExceptions = 20;

// "ipv4:10.0.0.1:5000" and "10.0.0.1:5000" as 10.0.0.1.
std::optional<Ipv4Address> AddressOfPeer(absl::string_view peer) {
  absl::ConsumePrefix(&peer, "ipv4:");
  const auto address = Ipv4Address::Parse(peer.substr(0, peer.rfind(':')));
  return address.ok() ? std::make_optional(*address) : std::nullopt;
}

class SpecWritingCommand : public Command {
 public:
  using Command::Command;

 protected:
  void AddOutput(CLI::App& app) {
    AddOption(app, "--product", "PRODUCT", product_,
              "The product, e.g. atlas-a2, or with its mode "
              "\"atlas-training amp\"");
    AddOption(app, "-o,--out", "FILE", out_,
              "Write to this new file, which must not be there; else to "
              "stdout");
  }

  void CheckOut() {
    std::error_code unknown;
    if (out_.empty() || !std::filesystem::exists(out_, unknown)) return;
    AddMistake("--out: ", out_,
               " is there already, expected a new file; nothing was "
               "overwritten");
  }

  // Writes the file and tells what is in it; the exit status.
  int Deliver(const absl::StatusOr<WrittenSpec>& written) {
    ClearProgress();
    if (!written.ok()) {
      ReportFailure(written.status());
      return kExitUsage;
    }
    if (out_.empty()) {
      session().out << written->yaml;
    } else if (const absl::Status saved = WriteNewFile(out_, written->yaml);
               !saved.ok()) {
      ReportFailure(saved);
      return kExitNoVerdict;
    }
    Tell(Count(written->servers, "server"), "; ",
         written->pattern.empty() ? "no device addresses" : written->pattern,
         "; ", Count(written->exceptions.size(), "exception"));
    for (const std::string& note : written->notes) Tell("note: ", note);
    const size_t told = std::min(kToldExceptions, written->exceptions.size());
    for (size_t i = 0; i < told; ++i) {
      Tell("exception: ", ExceptionText(written->exceptions[i]));
    }
    if (told < written->exceptions.size()) {
      Tell("and ", written->exceptions.size() - told,
           " more exceptions, in the file's comments");
    }
    const std::string file = out_.empty() ? "FILE" : out_;
    Tell("read it, then: clusterctl config validate ", file);
    return kExitPass;
  }

  absl::StatusOr<ImportedFile> ReadFile(const std::string& file) const {
    ASSIGN_OR_RETURN(std::string text, ReadTextFile(file));
    return ImportedFile{file, std::move(text)};
  }

  std::string product_;
  std::string out_;
};

class ConfigLearnCommand final : public SpecWritingCommand {
 public:
  ConfigLearnCommand() : SpecWritingCommand("config learn") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "HOSTS", "", hosts_.hosts,
              "Hosts to learn from, e.g. node[01-12,15]; none: all that are "
              "attached");
    AddOption(app, "--hosts-file", "FILE", hosts_file_,
              "Addresses of hosts as in /etc/hosts, where they are not those "
              "that the hosts dial the controller from");
    AddOutput(app);
  }

 private:
  int Work() override {
    // What a Slurm job has is not what the cluster is.
    hosts_.all = hosts_.hosts.empty();
    ExpandHosts(session().environment, hosts_, mistakes_);
    CheckOut();
    const auto client = Connect();
    if (!mistakes_.empty()) return RejectUsage();
    LearnRequest request;
    for (const std::string& host : hosts_.hosts) request.add_hosts(host);
    const absl::StatusOr<LearnedHosts> learned = client->Follow(
        &Controller::Stub::Learn, request, kLearnTimeout, "learning",
        [this](const LearnEvent& event) {
          ShowProgress(ProgressText(event.progress(), ErrStyle().utf8));
        });
    ClearProgress();
    if (!learned.ok()) return ReportFailure(learned.status());
    return Deliver(Write(*learned));
  }

  absl::StatusOr<WrittenSpec> Write(const LearnedHosts& learned) {
    std::map<std::string, Ipv4Address> addresses;
    std::vector<HostFacts> facts;
    for (const LearnedHosts::Host& host : learned.hosts()) {
      facts.push_back(host.facts());
      const auto address = AddressOfPeer(host.peer());
      if (address) addresses[host.facts().host()] = *address;
    }
    if (!hosts_file_.empty()) {
      ASSIGN_OR_RETURN(const ImportedFile file, ReadFile(hosts_file_));
      ASSIGN_OR_RETURN(const auto own, ParseHostsFile(file));
      for (const auto& [name, address] : own) addresses[name] = address;
    }
    ASSIGN_OR_RETURN(
        const SeenCluster seen,
        LearnCluster(learned.cluster(), product_, facts, addresses));
    ASSIGN_OR_RETURN(WrittenSpec written, WriteSpec(seen));
    if (!written.pattern.empty()) return written;
    for (const std::string& note : seen.notes) Tell("note: ", note);
    return absl::FailedPreconditionError(
        "no host tells the IPv4 address of a device; clusterctl describe HOST "
        "says what each one told");
  }

  HostSelection hosts_;
  std::string hosts_file_;
};

class ConfigImportCommand final : public SpecWritingCommand {
 public:
  ConfigImportCommand() : SpecWritingCommand("config import") {}

  bool TakesConnection() const override { return false; }
  void AddOptions(CLI::App& app) override {
    AddOption(app, "FILE", "", files_,
              "inventory_file of the Ascend Deployer, HCCL rank table, "
              "slurm.conf, list of Slurm nodes, hosts file; - is stdin")
        ->required();
    AddOption(app, "--cluster", "NAME", options_.cluster,
              "The cluster's name [CLUSTERD_CLUSTER]");
    AddOption(app, "--netmask", "MASK", options_.netmask,
              "Netmask of the devices, where no file has it");
    AddOutput(app);
  }

 private:
  int Work() override {
    std::string& cluster = options_.cluster;
    if (cluster.empty()) cluster = ValueOf(connection(), "cluster");
    if (cluster.empty()) {
      cluster = ValueOf(session().environment, "CLUSTERD_CLUSTER");
    }
    if (cluster.empty()) {
      AddMistake("--cluster: is missing, expected the cluster's name");
    }
    std::vector<ImportedFile> files;
    for (const std::string& name : files_) {
      absl::StatusOr<ImportedFile> file =
          ReadFile(name == "-" ? "/dev/stdin" : name);
      if (file.ok()) {
        files.push_back(*std::move(file));
      } else {
        AddMistake(file.status().message());
      }
    }
    CheckOut();
    if (!mistakes_.empty()) return RejectUsage();
    return Deliver(Write(files));
  }

  absl::StatusOr<WrittenSpec> Write(const std::vector<ImportedFile>& files) {
    options_.product = product_;
    options_.read_file = [](const std::string& path) {
      return ReadTextFile(path);
    };
    ASSIGN_OR_RETURN(const SeenCluster seen, ImportCluster(files, options_));
    return WriteSpec(seen);
  }

  std::vector<std::string> files_;
  ImportOptions options_;
};

}  // namespace

void AddLearnCommands(CommandList& commands) {
  commands.push_back(std::make_unique<ConfigLearnCommand>());
  commands.push_back(std::make_unique<ConfigImportCommand>());
}

}  // namespace clusterd
