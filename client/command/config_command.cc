// clusterctl config: looks at a cluster.yaml, here, without any machine.
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/command/command.h"
#include "client/files/user_files.h"
#include "config/report/message_json.h"
#include "config/spec/product_profile.h"
#include "config/spec/spec_loader.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMaxSpecBytes = 64 << 20;

absl::StatusOr<ClusterSpec> ReadSpec(const std::string& file) {
  ASSIGN_OR_RETURN(const std::string text, ReadTextFile(file, kMaxSpecBytes));
  return LoadSpec(file, text);
}

std::string SpecSummary(const ClusterSpec& spec) {
  size_t devices = 0;
  for (const ServerSpec& server : spec.servers())
    devices += server.devices_size();
  const auto profile = FindProductProfile(spec.product(), spec.mode());
  return absl::StrCat("cluster ", spec.name(), ", ",
                      Count(spec.servers_size(), "server"), ", ",
                      Count(devices, "device"), ", ",
                      profile.ok() ? (*profile)->title : spec.product());
}

class ConfigCommand : public Command {
 public:
  using Command::Command;

 protected:
  // A message may hold several lines, each one a mistake in the file, which it
  // names; so the command does not.
  int PrintMistakes(const absl::Status& status) {
    for (const absl::string_view line :
         absl::StrSplit(status.message(), '\n', absl::SkipEmpty())) {
      session().err << SafeText(line, ErrStyle().utf8) << "\n";
    }
    return kExitUsage;
  }

  std::string file_;
};

class ConfigValidateCommand final : public ConfigCommand {
 public:
  ConfigValidateCommand() : ConfigCommand("config validate") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "FILE", "", file_, "The cluster.yaml")->required();
  }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    const absl::StatusOr<ClusterSpec> spec = ReadSpec(file_);
    if (!spec.ok()) return PrintMistakes(spec.status());
    session().out << SafeText(absl::StrCat(file_, ": OK: ", SpecSummary(*spec)),
                              OutStyle(ColorMode::kNever).utf8)
                  << "\n";
    return kExitPass;
  }
};

class ConfigShowCommand final : public ConfigCommand {
 public:
  ConfigShowCommand() : ConfigCommand("config show") {}

  void AddOptions(CLI::App& app) override {
    AddOption(app, "FILE", "", file_, "The cluster.yaml");
    AddOption(app, "-o,--output", "FORMAT", output_, "yaml (default), json");
  }

 private:
  int Work() override {
    const bool json = ReadChoice("--output", output_, {"yaml", "json"}) == 1;
    std::unique_ptr<ControllerClient> client;
    if (file_.empty()) client = Connect();
    absl::StatusOr<ClusterSpec> spec =
        absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n"));
    if (mistakes_.empty()) {
      spec = client == nullptr ? ReadSpec(file_) : AskForSpec(*client);
    }
    if (!spec.ok()) {
      const int status = Reject(spec.status(), client != nullptr);
      if (json) {
        PrintErrorJson(name(), spec.status().message(), status, session().out);
      }
      return status;
    }
    spec->set_schema_version(kReportSchemaVersion);
    session().out << (json ? MessageJson(*spec) : SpecToYaml(*spec));
    return kExitPass;
  }

  int Reject(const absl::Status& why, bool asked_controller) {
    if (!mistakes_.empty()) return RejectUsage();
    return asked_controller ? ReportFailure(why) : PrintMistakes(why);
  }

  // What the controller has loaded. Says on stderr where it comes from.
  absl::StatusOr<ClusterSpec> AskForSpec(ControllerClient& client) {
    ASSIGN_OR_RETURN(GetSpecResponse answer,
                     client.Ask(&Controller::Stub::GetSpec, {}, kShortTimeout));
    Tell("from the controller's ", answer.path());
    for (const absl::string_view line :
         absl::StrSplit(answer.refused(), '\n', absl::SkipEmpty())) {
      Tell("the controller refused a newer cluster.yaml: ", line);
    }
    return std::move(*answer.mutable_spec());
  }

  std::string output_ = "yaml";
};

}  // namespace

void AddConfigCommands(CommandList& commands) {
  commands.push_back(std::make_unique<ConfigValidateCommand>());
  commands.push_back(std::make_unique<ConfigShowCommand>());
}

}  // namespace clusterd
