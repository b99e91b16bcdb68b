// clusterctl config: checks a cluster.yaml locally, or writes one from live
// hosts or other tools' files. Only live hosts and the loaded spec need the
// controller.
#include <algorithm>
#include <map>
#include <optional>

#include "absl/algorithm/container.h"
#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "client/command/request.h"
#include "client/files/user_files.h"
#include "config/learn/import.h"
#include "config/learn/spec_writer.h"
#include "config/report/message_json.h"
#include "config/rules/catalogue.h"
#include "config/rules/judge.h"
#include "config/spec/mistakes.h"
#include "config/spec/product_profile.h"
#include "config/spec/spec_loader.h"
#include "config/values/address_pattern.h"
#include "config/values/version.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/waiver_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxSpecBytes = 64 << 20;
constexpr int kHostsColumns = 60;
constexpr int kGroups = 2;  // Hosts that a line names.

constexpr char kController[] = "controller";  // For --against.

absl::StatusOr<ClusterSpec> ReadSpec(const std::string& file,
                                     SpecPlaces* places = nullptr) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, kMaxSpecBytes));
  return LoadSpec(file, text, places, RuleNames());
}

// Collects remarks on the addresses of a spec without mistakes, each at its
// place in the file. Its arguments must outlive it.
class AddressReview {
 public:
  AddressReview(const std::string& file, const ClusterSpec& spec,
                const SpecPlaces& places)
      : mistakes_(file), warnings_(file), spec_(spec), places_(places) {
    for (int s = 0; s < spec.servers_size(); ++s) {
      index_.emplace(spec.servers(s).host(), s);
    }
  }
  const Mistakes& mistakes() const { return mistakes_; }
  const Mistakes& warnings() const { return warnings_; }

  // Applies the product's rules, as a check does to live addresses.
  void Judge() {
    for (const Finding& finding : JudgePlannedAddresses(spec_)) {
      const FindingValue words =
          Worded("msg-planned-address-wrong",
                 SubjectsText(finding.subjects(), kGroups, kHostsColumns),
                 finding.observed(),
                 SayPart("ctl-expected", finding.expected()), finding.rule());
      if (finding.state() == FAIL) {
        mistakes_.AddOnce(PlaceOf(finding), finding.rule(), "headed", "",
                          words);
      } else {
        Warn(PlaceOf(finding), finding.rule(), words);
      }
    }
  }

  // Finds devices that `old` also has, but with other addresses.
  void CompareWith(const ClusterSpec& old, const std::string& old_name) {
    absl::flat_hash_map<std::string, const DeviceSpec*> before;
    for (const ServerSpec& server : old.servers()) {
      for (const DeviceSpec& device : server.devices()) {
        before[NameOf(server, device)] = &device;
      }
    }
    const auto compare = [&before](const std::string& name,
                                   const DeviceSpec& now, bool) {
      const DeviceSpec& was = *before.try_emplace(name, &now).first->second;
      const bool moved = was.address() != now.address();
      if (!moved && was.netmask() == now.netmask()) return FindingValue();
      return Worded("ctl-moved-device", name,
                    moved ? was.address() : was.netmask(),
                    moved ? now.address() : now.netmask());
    };
    for (const auto& [place, some] : Gather(compare)) {
      Warn(place, "moved",
           Worded("msg-addresses-moved", old_name,
                  Counted(some.devices, "device"),
                  HostsValue(some.hosts, kHostsColumns), some.example,
                  some.by_index ? Worded("ctl-pin") : FindingValue()));
    }
  }

  // Finds formulas that count servers whose names have gaps: a server may have
  // been removed there.
  void FindGaps() {
    const auto by_index = [](const std::string& name, const DeviceSpec&,
                             bool by_index) {
      return ToFindingValue(by_index ? name : "");
    };
    for (const auto& [place, some] : Gather(by_index)) {
      if (!HaveGap(some.hosts)) continue;
      Warn(place, "gap",
           Worded("msg-index-has-gap", HostsValue(some.hosts, kHostsColumns),
                  Worded("ctl-pin")));
    }
  }

  // Finds devices whose gateways differ although they share one.
  void FindGateways() {
    const auto profile = FindProductProfile(spec_.product(), spec_.mode());
    if (!profile.ok() || !(*profile)->one_gateway_per_four) return;
    for (int s = 0; s < spec_.servers_size(); ++s) {
      const auto& devices = spec_.servers(s).devices();
      for (int k = 0; k < devices.size(); ++k) {
        const auto first =
            absl::c_find_if(devices, [&](const DeviceSpec& each) {
              return !each.gateway().empty() &&
                     ShareGateway(**profile, each.id(), devices[k].id());
            });
        if (first == devices.end() || devices[k].gateway().empty() ||
            first->gateway() == devices[k].gateway()) {
          continue;
        }
        Warn(places_[s][k].position, "gateways",
             Worded("msg-gateway-not-shared",
                    NameOf(spec_.servers(s), devices[k]), devices[k].gateway(),
                    first->id()));
      }
    }
  }

 private:
  // Devices whose addresses have one place in the file.
  struct Devices {
    size_t devices = 0;
    std::vector<std::string> hosts;
    FindingValue example;
    bool by_index = false;
  };

  static std::string NameOf(const ServerSpec& server,
                            const DeviceSpec& device) {
    return absl::StrCat(server.host(), " device ", device.id());
  }

  // Devices for which describe(name, device, by_index) has a remark.
  template <typename Describe>
  std::map<TextPosition, Devices> Gather(Describe describe) const {
    std::map<TextPosition, Devices> gathered;
    for (int s = 0; s < spec_.servers_size(); ++s) {
      const ServerSpec& server = spec_.servers(s);
      for (int k = 0; k < server.devices_size(); ++k) {
        const AddressPlace& place = places_[s][k];
        const FindingValue text = describe(NameOf(server, server.devices(k)),
                                           server.devices(k), place.by_index);
        if (text.ByteSizeLong() == 0) continue;
        Devices& some = gathered[place.position];
        if (some.devices++ == 0) some.example = text;
        if (some.hosts.empty() || some.hosts.back() != server.host()) {
          some.hosts.push_back(server.host());
        }
        some.by_index |= place.by_index;
      }
    }
    return gathered;
  }

  // True if a number is missing between two hosts of one kind.
  static bool HaveGap(const std::vector<std::string>& hosts) {
    const auto kind = [](const std::string& host) {
      return host.substr(0, host.find_first_of("0123456789"));
    };
    for (size_t i = 1; i < hosts.size(); ++i) {
      const int64_t before = NumberInName(hosts[i - 1]);
      if (before != FormulaInputs::kNoNumber &&
          NumberInName(hosts[i]) > before + 1 &&
          kind(hosts[i - 1]) == kind(hosts[i])) {
        return true;
      }
    }
    return false;
  }

  // The place of the first device that the finding names, or of the first one.
  TextPosition PlaceOf(const Finding& finding) const {
    int server = 0;
    uint32_t id = spec_.servers(0).devices(0).id();
    if (!finding.subjects().empty() && !finding.subjects(0).devices().empty()) {
      server = index_.at(finding.subjects(0).host());
      id = finding.subjects(0).devices(0);
    }
    const auto& devices = spec_.servers(server).devices();
    for (int k = 0; k < devices.size(); ++k) {
      if (devices[k].id() == id) return places_[server][k].position;
    }
    return {};
  }

  void Warn(TextPosition place, const std::string& kind,
            const FindingValue& words) {
    warnings_.AddOnce(place, kind, "warning", words);
  }

  Mistakes mistakes_;
  Mistakes warnings_;
  const ClusterSpec& spec_;
  const SpecPlaces& places_;
  absl::flat_hash_map<std::string, int> index_;
};

std::string SpecSummary(const std::string& file, const ClusterSpec& spec) {
  size_t devices = 0;
  for (const ServerSpec& server : spec.servers())
    devices += server.devices_size();
  const auto profile = FindProductProfile(spec.product(), spec.mode());
  return Say("ctl-spec-summary", file, spec.name(),
             Counted(spec.servers_size(), "server"), Counted(devices, "device"),
             profile.ok() ? (*profile)->title : spec.product());
}

class ConfigCommand : public CliCommand {
 public:
  using CliCommand::CliCommand;

 protected:
  // A message may have several lines, each a mistake with the file's name, so
  // the command's name is not added.
  int PrintMistakes(const absl::Status& status) {
    if (status.ok()) return kExitUsage;
    for (const FindingValue& line : MessageLines(status)) {
      session().err << SafeText(ValueText(line), ErrStyle().utf8) << "\n";
    }
    return kExitUsage;
  }

  // The controller's loaded spec. Prints its source on stderr.
  absl::StatusOr<ClusterSpec> AskForSpec(ControllerClient& client) {
    ASSIGN_OR_RETURN(GetSpecResponse answer,
                     client.Ask(&Controller::Stub::GetSpec, {}, kShortTimeout));
    Tell("ctl-from-controller", answer.path());
    for (const absl::string_view line :
         absl::StrSplit(answer.refused(), '\n', absl::SkipEmpty())) {
      Tell("msg-newer-spec-refused", line);
    }
    return std::move(*answer.mutable_spec());
  }

  std::string file_;
};

class ConfigValidateCommand final : public ConfigCommand {
 public:
  ConfigValidateCommand() : ConfigCommand("config validate") {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "FILE", file_);
    AddOption(app, "--against", "OLD", against_);
  }

 private:
  int Work() override {
    SpecPlaces places;
    const absl::StatusOr<ClusterSpec> spec = ReadSpec(file_, &places);
    if (!spec.ok()) return PrintMistakes(spec.status());
    AddressReview review(file_, *spec, places);
    review.Judge();
    review.FindGaps();
    review.FindGateways();
    if (!against_.empty()) {
      const bool is_file = against_ != kController;
      const auto client = is_file ? nullptr : Connect();
      if (!mistakes_.empty()) return RejectUsage();
      const absl::StatusOr<ClusterSpec> old =
          is_file ? ReadSpec(against_) : AskForSpec(*client);
      if (!old.ok() && is_file) return PrintMistakes(old.status());
      if (!old.ok()) return ReportFailure(old.status());
      review.CompareWith(*old, against_);
    }
    PrintMistakes(review.warnings().ToStatus());
    for (const Waiver& waiver : spec->waivers()) {
      if (IsInForce(waiver, session().now())) continue;
      Tell("note", Worded("ctl-waiver-not-in-force", file_, WaivedWords(waiver),
                          WaiverWords(waiver)));
    }
    const absl::Status judged = review.mistakes().ToStatus();
    if (!judged.ok()) return PrintMistakes(judged);
    session().out << SafeText(SpecSummary(file_, *spec),
                              OutStyle(ColorMode::kNever).utf8)
                  << "\n";
    return kExitPass;
  }

  std::string against_;
};

class ConfigShowCommand final : public ConfigCommand {
 public:
  ConfigShowCommand() : ConfigCommand("config show") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "FILE", "", file_);
    AddOption(app, "-o,--output", "FORMAT", output_);
  }

 private:
  int Work() override {
    const bool json = ReadChoice("--output", output_, {"yaml", "json"}) == 1;
    std::unique_ptr<ControllerClient> client;
    if (file_.empty()) client = Connect();
    absl::StatusOr<ClusterSpec> spec =
        !mistakes_.empty()  ? MistakesError(mistakes_)
        : client == nullptr ? ReadSpec(file_)
                            : AskForSpec(*client);
    if (!spec.ok()) {
      const int status = !mistakes_.empty()  ? RejectUsage()
                         : client != nullptr ? ReportFailure(spec.status())
                                             : PrintMistakes(spec.status());
      if (json) {
        PrintErrorJson(name(), spec.status().message(), status, session().out);
      }
      return status;
    }
    spec->set_schema_version(kReportSchemaVersion);
    session().out << (json ? MessageJson(*spec) : SpecToYaml(*spec));
    return kExitPass;
  }

  std::string output_ = "yaml";
};

// Twice the controller's limit for hosts without a spec, and some more.
constexpr absl::Duration kLearnTimeout = absl::Seconds(140);
constexpr size_t kMaxExceptions = 20;

// "ipv4:10.0.0.1:5000" and "10.0.0.1:5000" as 10.0.0.1.
std::optional<Ipv4Address> AddressOfPeer(absl::string_view peer) {
  absl::ConsumePrefix(&peer, "ipv4:");
  const auto address = Ipv4Address::Parse(peer.substr(0, peer.rfind(':')));
  return address.ok() ? std::make_optional(*address) : std::nullopt;
}

class SpecWritingCommand : public CliCommand {
 public:
  using CliCommand::CliCommand;

 protected:
  void AddOutput(CLI::App& app) {
    AddOption(app, "--product", "PRODUCT", product_);
    AddOption(app, "-o,--out", "FILE", out_);
  }

  // Writes the file and prints its content's summary; the exit status.
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
    Tell("ctl-spec-written", Counted(written->servers, "server"),
         written->pattern.empty() ? Worded("ctl-no-device-addresses")
                                  : ToFindingValue(written->pattern),
         Worded("ctl-exceptions", written->exceptions.size()));
    for (const auto& note : written->notes) Tell("note", note);
    const size_t shown = std::min(kMaxExceptions, written->exceptions.size());
    for (size_t i = 0; i < shown; ++i) {
      Tell("ctl-exception", ExceptionText(written->exceptions[i]));
    }
    if (shown < written->exceptions.size()) {
      Tell("ctl-more-exceptions", written->exceptions.size() - shown);
    }
    Tell("ctl-read-then-validate", out_.empty() ? "FILE" : out_);
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
    AddOption(app, "HOSTS", "", hosts_.hosts);
    AddOption(app, "--hosts-file", "FILE", hosts_file_);
    AddOutput(app);
  }

 private:
  int Work() override {
    // The nodes of a Slurm job are not the cluster.
    hosts_.all = hosts_.hosts.empty();
    ExpandHosts(session().environment, hosts_, mistakes_);
    CheckNewFile("--out", out_);
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
    std::optional<InLanguage> of_file(std::in_place, Language::kEnglish);
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
    of_file.reset();
    for (const auto& note : seen.notes) Tell("note", note);
    return PreconditionWords("msg-no-device-address");
  }

  HostSelection hosts_;
  std::string hosts_file_;
};

class ConfigImportCommand final : public SpecWritingCommand {
 public:
  ConfigImportCommand() : SpecWritingCommand("config import") {}

  bool TakesConnection() const override { return false; }
  void AddOptions(CLI::App& app) override {
    AddArgument(app, "FILE", files_);
    AddOption(app, "--cluster", "NAME", options_.cluster);
    AddOption(app, "--netmask", "MASK", options_.netmask);
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
      AddMistake("msg-cluster-missing");
    }
    std::vector<ImportedFile> files;
    for (const std::string& name : files_) {
      absl::StatusOr<ImportedFile> file =
          ReadFile(name == "-" ? "/dev/stdin" : name);
      if (file.ok()) {
        files.push_back(*std::move(file));
      } else {
        AddMistakes("", file.status(), mistakes_);
      }
    }
    CheckNewFile("--out", out_);
    if (!mistakes_.empty()) return RejectUsage();
    return Deliver(Write(files));
  }

  absl::StatusOr<WrittenSpec> Write(const std::vector<ImportedFile>& files) {
    const InLanguage of_file(Language::kEnglish);
    options_.product = product_;
    ASSIGN_OR_RETURN(const SeenCluster seen, ImportCluster(files, options_));
    return WriteSpec(seen);
  }

  std::vector<std::string> files_;
  ImportOptions options_;
};

}  // namespace

void AddConfigCommands(CommandList& commands) {
  AddCommands<ConfigValidateCommand, ConfigShowCommand, ConfigLearnCommand,
              ConfigImportCommand>(commands);
}

}  // namespace clusterd
