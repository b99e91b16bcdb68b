// clusterctl generate: a job's rank table, and each server's variables and
// command line, from the facts of a check that the job has just passed.
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "client/command/job/job_options.h"
#include "client/command/request.h"
#include "client/files/user_files.h"
#include "client/print/progress_line.h"
#include "config/hccl/job_variables.h"
#include "config/launch/launch.h"
#include "config/launch/launch_methods.h"
#include "config/launch/launch_text.h"
#include "config/launch/rank_table.h"
#include "config/launch/rank_table_writer.h"
#include "config/report/message_json.h"
#include "config/report/report_table.h"
#include "config/rules/finding_words.h"
#include "config/rules/judge.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Twice the default limit of a check, and some more.
constexpr absl::Duration kLaunchTimeout = absl::Seconds(140);
constexpr mode_t kProgram = 0777;  // Limited by umask.
constexpr mode_t kData = 0666;
constexpr int kGroups = 4, kHostsColumns = 100;  // Hosts in a note.
constexpr char kHostInPath[] = "%h";
constexpr char kAllNodes[] = "all";

// A rule about only the job, and its options and keys of the job file.
struct JobRule {
  absl::string_view name;
  absl::string_view options;
  absl::string_view launch_options;  // After the others.
  absl::string_view keys;
};
constexpr char kServers[] = "--nodes, --devices";
constexpr char kServerKeys[] = "nodes, devices, servers";
constexpr JobRule kJobRules[] = {
    {"job-device-count", kServers, "", kServerKeys},
    {"job-device-group", kServers, "", kServerKeys},
    {"job-uniform", kServers, "", kServerKeys},
    {"job-size", kServers, "", kServerKeys},
    {"job-super-pod", kServers, "", "nodes, devices, servers, logic_super_pod"},
    {"job-dtype", "--dtype", "", "dtypes"},
    {"rendezvous", "", "--master-port",
     "master_addr, master_port, environment"},
    {"ranks", "", "", "world_size, node_rank, environment"},
    {"rank-table", "", "--rank-table", "rank_table"},
    {"device-process-limit", "", "", "processes_per_device"},
    {"ssh-ready", "--method, --ssh-user, --ssh-port", "", "method, ssh, user"},
    {"job-python", "", "--python, --requirements",
     "python, requirements, user"},
    {"job-script", "", "--script", "script"},
};

class GenerateCommand : public CliCommand {
 public:
  using CliCommand::CliCommand;

 protected:
  void AddJobOptions(CLI::App& app) {
    named_.AddTo(app);
    AddListOption(app, "--skip", "RULE,..", skip_);
    app.add_flag("--verbose", verbose_);
    AddOption(app, "--timeout", "DURATION", timeout_text_);
  }

  void AddOutput(CLI::App& app) {
    AddOption(app, "-o,--out", "FILE", out_);
    app.add_flag("--overwrite", overwrite_);
  }

  // Sets the job; adds mistakes.
  void ReadJob() {
    const bool is_named = !named_.given().empty();
    if (!is_named && ValueOf(session().environment, "SLURM_JOB_ID").empty()) {
      AddMistake("msg-job-none-to-generate");
    } else {
      named_.Read(session().environment, mistakes_);
      job_ = named_.job();
      if (!is_named) Tell("job-say-own-job", job_.id());
    }
    selection_.mutable_skip()->Assign(skip_.begin(), skip_.end());
    AddMistakes("", ValidateSelection(selection_), mistakes_);
    timeout_ = ReadDuration("--timeout", timeout_text_, absl::Milliseconds(1),
                            kLaunchTimeout);
  }

  // Returns kExitPass and sets `facts_` if no rule blocks the job. Otherwise
  // the exit status, with all messages printed.
  int Prepare() {
    const auto client = Connect();
    if (!mistakes_.empty()) return Refuse(RejectUsage(), "wrong usage");
    LaunchRequest request;
    *request.mutable_job() = job_;
    *request.mutable_selection() = selection_;
    absl::StatusOr<LaunchFacts> facts = client->Follow(
        &Controller::Stub::PrepareLaunch, request, timeout_, "launch",
        [this](const LaunchEvent& event) {
          ShowProgress(ProgressText(event.progress(), ErrStyle().utf8));
        });
    ClearProgress();
    if (!facts.ok()) {
      return Refuse(ReportFailure(facts.status()), facts.status().message());
    }
    facts_ = *std::move(facts);
    Report& report = *facts_.mutable_report();
    NoteForeignSchema(kReportSchemaVersion, report);
    report.set_verdict(SupportedVerdict(report));
    const int status = ExitStatusOf(report.verdict(), FailOn::kFail);
    if (status == kExitPass) return TellWaived(report);
    PrintReportTable(Rendered(report), ErrStyle(), verbose_, session().err);
    const FindingValue why = NotPassed(report);
    ReportFailure(WithWords(absl::FailedPreconditionError(""), why));
    return Refuse(status, EnglishText(why));
  }

  // A line for each rule that the command line or the job file can change.
  FindingValue NotPassed(const Report& report) const {
    std::vector<FindingValue> lines;
    std::vector<absl::string_view> rules;
    for (const RuleResult& rule : report.rules()) {
      if (rule.state() != FAIL && rule.state() != UNKNOWN) continue;
      rules.push_back(rule.rule());
      const JobRule* const row =
          FirstWith(kJobRules, &JobRule::name, rule.rule());
      if (row == nullptr) continue;
      const std::string options =
          absl::StrCat(row->options, launches() ? row->launch_options : "");
      const FindingValue keys = Worded("job-say-keys", row->keys);
      lines.push_back(Worded(
          "job-say-change-here", rule.rule(),
          options.empty() ? keys
                          : Worded("job-say-options-or-keys", options, keys)));
    }
    lines.push_back(Worded("msg-job-check-not-passed",
                           rules.empty() ? "RULE" : absl::StrJoin(rules, ",")));
    return Lines(lines);
  }

  // A waived problem affects the job until it is repaired.
  int TellWaived(const Report& report) {
    const Report rendered = Rendered(report);
    for (const RuleResult& rule : rendered.rules()) {
      for (const Finding& finding : rule.findings()) {
        if (finding.waiver().waived_from() <= WARN) continue;
        Tell("note",
             Worded("job-say-waived", finding.rule(),
                    SubjectsText(finding.subjects(), kGroups, kHostsColumns),
                    finding.observed()));
      }
    }
    return kExitPass;
  }

  // If stdout is to have a document, an error needs one too.
  virtual int Refuse(int status, absl::string_view /*why*/) { return status; }
  // True if the command has the options of a launch.
  virtual bool launches() const { return false; }

  std::vector<const HostFacts*> Facts() const {
    return {facts_.facts().pointer_begin(), facts_.facts().pointer_end()};
  }

  // Writes a file, or stdout if the path is empty; returns the exit status.
  // Keeps an equal file, and a different one unless --overwrite was given.
  int Write(const std::string& path, const std::string& text, mode_t mode) {
    if (path.empty()) {
      session().out << text;
      return kExitPass;
    }
    std::error_code unknown;
    if (std::filesystem::is_regular_file(path, unknown)) {
      const auto there = ReadTextFile(path, kMaxRankTableBytes);
      if (there.ok() && *there == text) {
        Tell("job-say-same-content", path);
        return kExitPass;
      }
      if (!overwrite_) {
        Tell("msg-job-other-content", path);
        return kExitUsage;
      }
    }
    const absl::Status written = WriteTextFile(path, text, mode);
    if (!written.ok()) {
      ReportFailure(written);
      return kExitNoVerdict;
    }
    Tell("job-say-wrote", path);
    return kExitPass;
  }

  JobOptions named_;
  JobSpec job_;
  LaunchFacts facts_;
  std::string out_;

 private:
  std::vector<std::string> skip_;
  bool verbose_ = false;
  bool overwrite_ = false;
  std::string timeout_text_;
  absl::Duration timeout_;
  RuleSelection selection_;
};

class GenerateRankTableCommand final : public GenerateCommand {
 public:
  GenerateRankTableCommand() : GenerateCommand("generate ranktable") {}

  void AddOptions(CLI::App& app) override {
    AddJobOptions(app);
    AddOption(app, "--version", "VERSION", version_);
    AddOutput(app);
  }

 private:
  int Work() override {
    named_.LeaveRankTable();
    ReadJob();
    if (!version_.empty()) ReadChoice("--version", version_, {"1.0", "1.2"});
    if (!out_.empty() && !IsRankTableName(out_) &&
        !absl::StartsWith(out_, "/dev/")) {
      AddMistake("msg-job-table-name", "--out", out_);
    }
    if (const int status = Prepare(); status != kExitPass) return status;
    const absl::StatusOr<std::string> table = Make();
    if (!table.ok()) {
      ReportFailure(table.status());
      return kExitFail;
    }
    return Write(out_, *table, kData);
  }

  absl::StatusOr<std::string> Make() const {
    std::string version = version_;
    if (version.empty()) {
      ASSIGN_OR_RETURN(version, RankTableVersionOf(facts_.spec()));
    }
    return WriteRankTable(facts_.spec(), Facts(), version);
  }

  std::string version_;
};

class GenerateLaunchCommand final : public GenerateCommand {
 public:
  GenerateLaunchCommand() : GenerateCommand("generate launch") {}

  void AddOptions(CLI::App& app) override {
    AddJobOptions(app);
    AddOption(app, "--form", "FORM", form_text_);
    AddOption(app, "--node", "HOST", node_);
    AddOutput(app);
    AddOption(app, "--rank-table", "FILE", options_.rank_table);
    AddOption(app, "--master-port", "PORT", master_port_);
    AddOption(app, "--nnodes", "N|MIN:MAX", options_.nnodes);
    named_.AddProgram(app);
    AddOption(app, "ARGUMENTS", "", options_.arguments);
    AddOption(app, "--source", "FILE", sources_)->allow_extra_args(false);
    AddOption(app, "--tiered", "WHEN", tiered_);
    AddOption(app, "--rdzv-endpoint", "HOST:PORT", options_.rdzv_endpoint);
    AddOption(app, "--rdzv-id", "ID", options_.rdzv_id);
    app.add_flag("--standalone", options_.standalone);
    app.add_flag("--local-addr", options_.local_addr);
    AddOption(app, "--asd", "LEVEL", asd_);
    AddOption(app, "--mpi-args", "TEXT", options_.mpi_args);
  }

 private:
  int Work() override {
    ReadOptions();
    if (const int status = Prepare(); status != kExitPass) return status;
    options_.job_id = facts_.report().job_id();
    const absl::StatusOr<Launch> launch =
        MakeLaunch(facts_.spec(), Facts(), options_);
    if (!launch.ok()) {
      AddMistakes("", launch.status(), mistakes_);
      return Refuse(RejectUsage(), launch.status().message());
    }
    for (const FindingValue& note : launch->notes) Tell("note", note);
    return Deliver(*launch);
  }

  void ReadOptions() {
    form_ = static_cast<LaunchForm>(
        ReadChoice("--form", form_text_, LaunchForms()));
    ReadJob();
    if (!job_.method().empty()) options_.method = job_.method();
    const size_t colon = options_.rdzv_endpoint.rfind(':');
    if (master_port_.empty() && colon != std::string::npos) {
      options_.port_option = "--rdzv-endpoint";
      master_port_ = options_.rdzv_endpoint.substr(colon + 1);
    }
    ReadNumber(options_.port_option, master_port_, 1, 65535,
               options_.master_port);
    if (master_port_.empty() && !options_.standalone &&
        !job_.servers().empty()) {
      JobServer first = job_.servers(0);
      FillFromVariables(HostFacts::default_instance(), job_, &first);
      options_.port_option = "--job: master_port";
      options_.master_port = first.master_port();
    }
    ReadNumber("--asd", asd_, 0, 3, options_.asd);
    const size_t tiered =
        ReadChoice("--tiered", tiered_, {"auto", "on", "off"});
    if (tiered != 0) options_.tiered = tiered == 1;
    if (!sources_.empty()) options_.sources = sources_;
    for (const EnvironmentVariable& each : job_.environment()) {
      options_.environment.emplace_back(each.name(), each.value());
    }
    ReadRankTable();
    ReadProgram();
    const bool one = node_ != kAllNodes ||
                     absl::StrContains(out_, kHostInPath) ||
                     job_.servers_size() == 1;
    if (!one && form_ != LaunchForm::kJson &&
        (form_ != LaunchForm::kShell || !out_.empty())) {
      AddMistake("msg-job-node-missing", kHostInPath);
    }
    for (const LaunchMethod& method : AllLaunchMethods()) {
      if (method.name != options_.method) continue;
      if (method.from_master) options_.ssh_port = named_.ssh_port();
      for (FindingValue& mistake : FindOptionMistakes(method, options_)) {
        mistakes_.push_back(std::move(mistake));
      }
    }
    job_.set_method(options_.method);
    for (JobServer& server : *job_.mutable_servers()) {
      server.set_master_port(options_.master_port);
      options_.super_pods.push_back(server.logic_super_pod());
    }
    // The launch sets them, so that values in login files do not count.
    for (const std::string name :
         {"MASTER_ADDR", "MASTER_PORT", "NODE_RANK", "NNODES", "WORLD_SIZE"}) {
      if (!FirstWith(job_.environment(), &EnvironmentVariable::name, name)) {
        job_.add_environment()->set_name(name);
      }
    }
  }

  void ReadNumber(absl::string_view option, const std::string& text,
                  uint32_t least, uint32_t most, uint32_t& number) {
    if (text.empty()) return;
    uint32_t read = 0;
    if (absl::SimpleAtoi(text, &read) && read >= least && read <= most) {
      number = read;
      return;
    }
    AddMistake("msg-job-out-of-range", option, QuotedText(text), least, most);
  }

  // The hosts read the file. The check judges it if it can be read locally.
  void ReadRankTable() {
    if (options_.rank_table.empty()) {
      if (job_.rank_table().empty()) return;
      return AddMistake("msg-job-table-of-hosts");
    }
    std::error_code unknown;
    const auto path = std::filesystem::absolute(options_.rank_table, unknown);
    if (!unknown) options_.rank_table = path.string();
    const auto text = ReadTextFile(options_.rank_table, kMaxRankTableBytes);
    if (text.ok()) {
      AddMistakes("--rank-table ", CheckUtf8(options_.rank_table, *text),
                  mistakes_);
      job_.set_rank_table(text->empty() ? "\n" : *text);
      job_.set_rank_table_file(options_.rank_table);
    } else {
      Tell("note",
           Worded("job-say-table-not-judged", MessageWords(text.status())));
    }
  }

  // The check judges the program that the launch starts, if possible.
  void ReadProgram() {
    if (!job_.python().empty()) options_.python = job_.python();
    if (!absl::StartsWith(job_.python(), "/")) job_.clear_python();
    if (job_.script_file().empty()) return;
    options_.script = job_.script_file();
    if (!job_.script().empty() || !mistakes_.empty()) return;
    Tell("note", Worded("job-say-script-not-judged", job_.script_file()));
  }

  int Deliver(const Launch& launch) {
    if (form_ == LaunchForm::kJson) {
      return Write(out_, MessageJson(LaunchDocument(launch)), kData);
    }
    std::vector<absl::string_view> hosts;
    int status = kExitPass;
    bool found = false;
    for (const NodeLaunch& node : launch.nodes) {
      hosts.push_back(node.host);
      if (node_ != kAllNodes && node_ != node.host) continue;
      if (found && out_.empty()) session().out << "\n";
      found = true;
      const int written =
          Write(absl::StrReplaceAll(out_, {{kHostInPath, node.host}}),
                NodeText(launch, node, form_),
                form_ == LaunchForm::kShell ? kProgram : kData);
      status = std::max(status, written);
    }
    if (found) return status;
    AddMistake("msg-job-node-not-known", node_, DidYouMeanWords(node_, hosts));
    return RejectUsage();
  }

  bool launches() const override { return true; }
  int Refuse(int status, absl::string_view why) override {
    if (form_ == LaunchForm::kJson) {
      PrintErrorJson(
          name(),
          mistakes_.empty() ? std::string(why) : EnglishText(Lines(mistakes_)),
          status, session().out);
    }
    return status;
  }

  LaunchOptions options_;
  std::string form_text_ = "shell";
  LaunchForm form_ = LaunchForm::kShell;
  std::string node_ = kAllNodes;
  std::string master_port_;
  std::string asd_;
  std::string tiered_ = "auto";
  std::vector<std::string> sources_;
};

}  // namespace

void AddGenerateCommands(CommandList& commands) {
  AddCommands<GenerateRankTableCommand, GenerateLaunchCommand>(commands);
}

}  // namespace clusterd
