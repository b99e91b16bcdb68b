// clusterctl check: whether the cluster is ready, and what is not.
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "client/command/request.h"
#include "client/print/progress_line.h"
#include "config/report/report_short.h"
#include "config/report/report_table.h"
#include "config/rules/judge.h"
#include "config/values/network_namespace.h"
#include "config/values/version.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Where clusterd answers unless it is told otherwise.
constexpr char kDefaultSocket[] = "/run/clusterd/agent.sock";
constexpr absl::Duration kMargin = absl::Seconds(10);
// How long a daemon that is asked for itself may take.
constexpr absl::Duration kLocalTimeout = absl::Seconds(70);

constexpr char kFooter[] =
    R"(HOSTS is Slurm and ClusterShell syntax: node[01-12,15]  rack[1-2]n[01-18]
Without HOSTS every host of the spec is checked; inside a Slurm job, the job's
nodes.

Exit status:
  0  pass, or warnings only
  1  at least one failure
  2  no complete verdict: something could not be told, a host or the controller
     did not answer in time, --report could not be written
  3  wrong usage or configuration; nothing was checked
--fail-on moves the line: the lowest state that exits with 1, in the order warn,
unknown, fail.

Examples:
  clusterctl check
  clusterctl check node[001-512] -x node[017,080]
  clusterctl check --only link,net-health -o short
  clusterctl check --fail-on warn --report /var/log/preflight.json
  clusterctl check --netns container:train-1
  clusterctl check --local          # ask only this host's own clusterd)";

// Lists come as "a,b", repeated, or both.
struct RuleLists {
  std::vector<std::string> only;
  std::vector<std::string> skip;
  std::vector<std::string> downgrade;
};

class CheckCommand final : public ClusterRequest {
 public:
  CheckCommand()
      : ClusterRequest(
            {"check", "Say whether the cluster is ready, and what is not",
             kFooter},
            kMargin) {}

  void AddOptions(CLI::App& app) override;

 private:
  void ReadOptions() override;
  void CheckLocalOptions();
  bool AsksController() const override { return !local_; }
  absl::Status Ask(ControllerClient* client) override;
  absl::Status AskLocalDaemon();
  std::string SocketPath() const;
  void CheckAnswer();
  // The report does not say what was asked for.
  void Doubt(const std::string& why);
  int Finish() override;
  bool AnswerWithout(const absl::Status& error) override;

  const google::protobuf::Message& Answer() const override { return report_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    // An error alone is talk, and was told on stderr.
    if (report_.error().empty() || !report_.notes().empty()) {
      PrintReportTable(report_, style, out);
    }
  }
  std::string Short(bool utf8) const override {
    return ReportShort(report_, utf8);
  }

  RuleLists rules_;
  std::string fail_on_text_ = "fail";
  bool local_ = false;
  std::string socket_;

  RuleSelection selection_;
  FailOn fail_on_ = FailOn::kFail;
  CheckProgress progress_;
  Report report_;
};

void AddRuleOption(CLI::App& app, const char* option, const char* what,
                   std::vector<std::string>& rules) {
  app.add_option(option, rules, what)
      ->type_name("RULE,..")
      ->delimiter(',')
      ->allow_extra_args(false);
}

void CheckCommand::AddOptions(CLI::App& app) {
  AddHosts(app, "check", "--all checks every host");
  AddRuleOption(app, "--only", "Run these rules and no other", rules_.only);
  AddRuleOption(app, "--skip", "Do not run these rules", rules_.skip);
  AddRuleOption(app, "--downgrade", "Count failures of these rules as warnings",
                rules_.downgrade);
  app.add_option(
         "--fail-on", fail_on_text_,
         "Lowest state that exits with 1: warn, unknown, fail (default)")
      ->type_name("STATE");
  AddNamespace(app,
               "Judge only the kernel parameters and ports of this network "
               "namespace of the hosts");
  AddOutput(app);
  AddReport(app);
  AddTimeout(app, absl::ZeroDuration(), "the run deadline of the spec and 10s");
  app.add_flag("--local", local_,
               "Ask this host's own clusterd about this host, without the "
               "controller");
  app.add_option("--socket", socket_,
                 absl::StrCat("Its unix socket [CLUSTERD_SOCKET]; default ",
                              kDefaultSocket))
      ->type_name("PATH");
}

void CheckCommand::ReadOptions() {
  fail_on_ = static_cast<FailOn>(ReadChoice(
      "--fail-on", fail_on_text_, {"warn", "unknown", "fail"}, mistakes_));
  for (const std::string& name : rules_.only) selection_.add_only(name);
  for (const std::string& name : rules_.skip) selection_.add_skip(name);
  for (const std::string& name : rules_.downgrade) {
    selection_.add_downgrade(name);
  }
  const absl::Status selection = ValidateSelection(selection_);
  for (const absl::string_view line :
       absl::StrSplit(selection.message(), '\n', absl::SkipEmpty())) {
    mistakes_.emplace_back(line);
  }
  if (local_) {
    CheckLocalOptions();
  } else {
    ClusterRequest::ReadOptions();
  }
}

void CheckCommand::CheckLocalOptions() {
  const HostArguments& hosts = host_arguments();
  if (!hosts.hosts.empty() || !hosts.exclude.empty() ||
      !hosts.hostfile.empty() || hosts.all) {
    mistakes_.push_back(
        "--local: checks this host only, expected no HOSTS, "
        "--exclude, --hostfile or --all");
  }
  if (has_namespace()) {
    mistakes_.push_back(
        "--local: checks this host's own namespace, expected no --netns");
  }
  if (!rules_.only.empty() || !rules_.skip.empty() ||
      !rules_.downgrade.empty()) {
    mistakes_.push_back(
        "--local: the host's daemon runs all its rules, expected "
        "no --only, --skip or --downgrade");
  }
}

absl::Status CheckCommand::Ask(ControllerClient* client) {
  if (client == nullptr) return AskLocalDaemon();
  CheckRequest request;
  *request.mutable_selection() = selection_;
  if (has_namespace()) {
    *request.mutable_network_namespace() = network_namespace();
  }
  for (const std::string& host : named_hosts()) request.add_hosts(host);
  const absl::Status asked = Take(
      client->Follow(&Controller::Stub::Check, request, RunTimeout(), "check",
                     [&](const CheckEvent& event) {
                       if (!event.has_progress()) return;
                       progress_ = event.progress();
                       ShowProgress(ProgressText(progress_, ErrStyle().utf8));
                     }),
      report_);
  if (asked.ok()) CheckAnswer();
  return asked;
}

std::string CheckCommand::SocketPath() const {
  if (!socket_.empty()) return socket_;
  const auto found = session().environment.find("CLUSTERD_SOCKET");
  return found == session().environment.end() || found->second.empty()
             ? kDefaultSocket
             : found->second;
}

absl::Status CheckCommand::AskLocalDaemon() {
  const std::string socket = SocketPath();
  const auto channel = session().connector.ToLocalDaemon(socket);
  if (!channel.ok()) {
    mistakes_.emplace_back(channel.status().message());
    return channel.status();
  }
  LocalClient client(*channel, absl::StrCat("clusterd of this host, ", socket),
                     session().interrupt);
  absl::StatusOr<CheckSelfResponse> response =
      client.Ask(&LocalAgent::Stub::CheckSelf, {}, TimeoutOr(kLocalTimeout));
  if (response.ok()) report_ = std::move(*response->mutable_report());
  return response.status();
}

void CheckCommand::Doubt(const std::string& why) {
  report_.set_verdict(report_.verdict() == FAIL ? FAIL : UNKNOWN);
  report_.add_notes(why);
}

void CheckCommand::CheckAnswer() {
  // A controller that leaves out a host it was asked about has not checked it.
  const std::vector<std::string> left = LeftOut(named_hosts(), report_.hosts());
  if (!left.empty()) {
    Doubt(absl::StrCat("the report leaves out ", left.size(),
                       " of the hosts asked for: ", HostsText(left, 200)));
  }
  // A controller that knows no namespaces judges the hosts' own.
  const std::string asked = NetworkNamespaceText(network_namespace());
  const std::string& judged = report_.network_namespace();
  if (judged != asked) {
    Doubt(absl::StrCat("the report is about ",
                       judged.empty()
                           ? "the hosts' own network namespace"
                           : absl::StrCat("network namespace ", judged),
                       ", expected ", asked.empty() ? "the hosts' own" : asked,
                       "; use the controller's version"));
  }
  if (!spec().refused().empty()) {
    report_.add_notes(
        "the controller refused a newer cluster.yaml and judges by the one "
        "before; clusterctl config show says why");
  }
}

int CheckCommand::Finish() {
  if (report_.schema_version() != kReportSchemaVersion) {
    report_.add_notes(absl::StrCat("report schema ", report_.schema_version(),
                                   " is not the one that this "
                                   "clusterctl reads (",
                                   kReportSchemaVersion,
                                   "); use the controller's version"));
  }
  report_.set_verdict(SupportedVerdict(report_));
  return Deliver(
      report_.error().empty()
          ? static_cast<int>(ExitStatusOf(report_.verdict(), fail_on_))
          : ReportFailure(absl::UnknownError(report_.error())));
}

bool CheckCommand::AnswerWithout(const absl::Status& error) {
  report_.Clear();
  report_.set_schema_version(kReportSchemaVersion);
  report_.set_started_at_ms(absl::ToUnixMillis(started()));
  report_.set_elapsed_ms(ElapsedMs(started()));
  report_.set_cluster(spec().spec().name());
  report_.set_product(spec().spec().product());
  report_.set_error(SafeText(error.message(), /*utf8=*/true));
  report_.set_verdict(UNKNOWN);
  if (progress_.answered() + progress_.failed() + progress_.pending() > 0) {
    report_.add_notes(absl::StrCat("when the run ended: ",
                                   ProgressText(progress_, /*utf8=*/true)));
  }
  return true;
}

}  // namespace

std::unique_ptr<Command> MakeCheckCommand() {
  return std::make_unique<CheckCommand>();
}

}  // namespace clusterd
