#include "client/command/check_run.h"

#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/command/exit_status.h"
#include "client/files/text_file.h"
#include "client/print/message_json.h"
#include "client/print/progress_line.h"
#include "client/print/report_short.h"
#include "client/print/report_table.h"
#include "client/print/subject_text.h"
#include "client/print/terminal_text.h"
#include "client/print/verdict.h"
#include "config/rules/judge.h"
#include "config/spec/nearest_word.h"
#include "config/spec/network_namespace.h"
#include "config/version/version.h"

namespace clusterd {
namespace {

constexpr char kCommand[] = "check";
constexpr absl::Duration kSpecTimeout = absl::Seconds(10);
// A spec without deadlines, and a daemon that is asked for itself.
constexpr absl::Duration kDefaultRun = absl::Seconds(60);

// What a check came to. Without error the report is complete.
struct CheckOutcome {
  Report report;
  absl::Status error;
};

// One run of the command: holds what its steps share.
class CheckRun {
 public:
  CheckRun(const CheckOptions& options, Session& session)
      : options_(options),
        session_(session),
        started_(session.now()),
        err_style_(StyleOfErr(session.terminal, session.environment,
                              ColorMode::kAuto)) {}

  int Run();

 private:
  void ReadOptions();
  void CheckLocalOptions();
  // The user's, else `absent`.
  absl::Duration TimeoutOr(absl::Duration absent) const {
    return timeout_ > absl::ZeroDuration() ? timeout_ : absent;
  }
  CheckOutcome AskController();
  CheckOutcome AskLocalDaemon();
  void CheckAnswer(const std::vector<std::string>& asked, Report& report) const;
  void CheckNamespace(Report& report) const;
  CheckOutcome NoVerdict(const absl::Status& error);
  CheckOutcome Mistaken();
  int Finish(CheckOutcome outcome);
  void Print(const Report& report);

  const CheckOptions& options_;
  Session& session_;
  const absl::Time started_;
  const Style err_style_;

  std::vector<std::string> mistakes_;
  OutputFormat format_ = OutputFormat::kTable;
  ColorMode color_ = ColorMode::kAuto;
  FailOn fail_on_ = FailOn::kFail;
  absl::Duration timeout_;  // Zero: none was given.
  NetworkNamespace network_namespace_;
  HostRequest hosts_;
  bool hosts_expanded_ = false;  // Without a mistake.
  // What is known when a run ends without a report.
  std::string cluster_;
  std::string product_;
  CheckProgress progress_;
};

FailOn ReadFailOn(const std::string& text, std::vector<std::string>& mistakes) {
  if (text == "warn") return FailOn::kWarn;
  if (text == "unknown") return FailOn::kUnknown;
  if (text != "fail") {
    mistakes.push_back(absl::StrCat(
        "--fail-on: \"", text, "\" is not known, expected warn, unknown, fail",
        DidYouMean(text, {"warn", "unknown", "fail"})));
  }
  return FailOn::kFail;
}

void CheckRun::ReadOptions() {
  format_ = ReadFormat(options_.output, mistakes_);
  color_ = ReadColor(options_.output, mistakes_);
  fail_on_ = ReadFailOn(options_.fail_on, mistakes_);
  timeout_ = ReadTimeout(options_.timeout, absl::ZeroDuration(), mistakes_);
  network_namespace_ = ReadNamespace(options_.network_namespace, mistakes_);
  const absl::Status selection = ValidateSelection(options_.selection);
  if (!selection.ok()) {
    for (const absl::string_view line :
         absl::StrSplit(selection.message(), '\n', absl::SkipEmpty())) {
      mistakes_.emplace_back(line);
    }
  }
  if (options_.local) {
    CheckLocalOptions();
  } else {
    const size_t before = mistakes_.size();
    hosts_ =
        ExpandHostArguments(options_.hosts, session_.environment, mistakes_);
    hosts_expanded_ = mistakes_.size() == before;
  }
}

void CheckRun::CheckLocalOptions() {
  const HostArguments& hosts = options_.hosts;
  if (!hosts.hosts.empty() || !hosts.exclude.empty() ||
      !hosts.hostfile.empty() || hosts.all) {
    mistakes_.push_back(
        "--local: checks this host only, expected no HOSTS, "
        "--exclude, --hostfile or --all");
  }
  if (!options_.network_namespace.empty()) {
    mistakes_.push_back(
        "--local: checks this host's own namespace, expected no --netns");
  }
  const RuleSelection& rules = options_.selection;
  if (!rules.only().empty() || !rules.skip().empty() ||
      !rules.downgrade().empty()) {
    mistakes_.push_back(
        "--local: the host's daemon runs all its rules, expected "
        "no --only, --skip or --downgrade");
  }
}

CheckOutcome CheckRun::NoVerdict(const absl::Status& error) {
  Report report;
  report.set_cluster(cluster_);
  report.set_product(product_);
  report.set_error(SafeText(error.message(), /*utf8=*/true));
  const uint32_t hosts =
      progress_.answered() + progress_.failed() + progress_.pending();
  if (hosts > 0) {
    report.add_notes(absl::StrCat("when the run ended: ",
                                  ProgressText(progress_, /*utf8=*/true)));
  }
  return {std::move(report), error};
}

CheckOutcome CheckRun::Mistaken() {
  return NoVerdict(absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n")));
}

// A controller that leaves out a host it was asked about has not checked it.
void CheckRun::CheckAnswer(const std::vector<std::string>& asked,
                           Report& report) const {
  if (asked.empty()) return;
  std::set<std::string> answered;
  for (const HostStatus& host : report.hosts()) answered.insert(host.host());
  std::vector<std::string> missing;
  for (const std::string& host : asked) {
    if (answered.count(host) == 0) missing.push_back(host);
  }
  if (missing.empty()) return;
  report.set_verdict(report.verdict() == FAIL ? FAIL : UNKNOWN);
  report.add_notes(
      absl::StrCat("the report leaves out ", missing.size(),
                   " of the hosts asked for: ", HostsText(missing, 200)));
}

// A controller that knows no namespaces judges the hosts' own.
void CheckRun::CheckNamespace(Report& report) const {
  const std::string asked = NetworkNamespaceText(network_namespace_);
  if (report.network_namespace() == asked) return;
  report.set_verdict(report.verdict() == FAIL ? FAIL : UNKNOWN);
  report.add_notes(absl::StrCat(
      "the report is about ",
      report.network_namespace().empty()
          ? "the hosts' own network namespace"
          : absl::StrCat("network namespace ", report.network_namespace()),
      ", expected ", asked.empty() ? "the hosts' own" : asked,
      "; use the controller's version"));
}

CheckOutcome CheckRun::AskController() {
  const std::unique_ptr<ControllerClient> client =
      ConnectToController(options_.connection, session_, mistakes_);
  if (client == nullptr) return Mistaken();
  const absl::StatusOr<GetSpecResponse> spec =
      client->GetSpec(TimeoutOr(kSpecTimeout));
  if (!spec.ok())
    return mistakes_.empty() ? NoVerdict(spec.status()) : Mistaken();
  cluster_ = spec->spec().name();
  product_ = spec->spec().product();

  CheckRequest request;
  *request.mutable_selection() = options_.selection;
  if (!options_.network_namespace.empty()) {
    *request.mutable_network_namespace() = network_namespace_;
  }
  std::vector<std::string> asked;
  if (hosts_expanded_) {
    std::vector<std::string> known;
    for (const ServerSpec& server : spec->spec().servers()) {
      known.push_back(server.host());
    }
    asked = ResolveHosts(hosts_, known, mistakes_);
  }
  if (!mistakes_.empty()) return Mistaken();
  if (hosts_.all && hosts_.exclude.empty()) asked.clear();  // All, by contract.
  for (const std::string& host : asked) request.add_hosts(host);
  if (!hosts_.slurm_job.empty()) {
    session_.err << "clusterctl check: the hosts of Slurm job "
                 << SafeText(hosts_.slurm_job, err_style_.utf8) << ", "
                 << HostsText(asked, 100) << " (--all checks every host)\n";
  }

  const uint32_t run_ms = spec->spec().deadlines().run_ms();
  const absl::Duration run =
      run_ms > 0 ? absl::Milliseconds(run_ms) : kDefaultRun;
  ProgressLine line(err_style_, session_.err);
  absl::StatusOr<Report> report = client->Check(
      request, TimeoutOr(run + kRunMargin), [&](const CheckProgress& progress) {
        progress_ = progress;
        line.Show(ProgressText(progress, err_style_.utf8));
      });
  if (!report.ok()) return NoVerdict(report.status());
  CheckAnswer(asked, *report);
  CheckNamespace(*report);
  if (!spec->refused().empty()) {
    report->add_notes(
        "the controller refused a newer cluster.yaml and judges by the one "
        "before; clusterctl config show says why");
  }
  return {*std::move(report), absl::OkStatus()};
}

CheckOutcome CheckRun::AskLocalDaemon() {
  if (!mistakes_.empty()) return Mistaken();
  const auto channel = session_.connector.ToLocalDaemon(options_.socket);
  if (!channel.ok()) {
    mistakes_.emplace_back(channel.status().message());
    return Mistaken();
  }
  absl::StatusOr<CheckSelfResponse> response =
      CheckSelf(*channel, options_.socket, TimeoutOr(kDefaultRun + kRunMargin),
                session_.interrupt);
  if (!response.ok()) return NoVerdict(response.status());
  return {std::move(*response->mutable_report()), absl::OkStatus()};
}

void CheckRun::Print(const Report& report) {
  const Style style =
      StyleOfOut(session_.terminal, session_.environment, color_);
  switch (format_) {
    case OutputFormat::kTable:
      // An error alone is talk, and was told on stderr.
      if (report.error().empty() || !report.notes().empty()) {
        PrintReportTable(report, style, session_.out);
      }
      break;
    case OutputFormat::kShort:
      session_.out << ReportShort(report, style.utf8) << "\n";
      break;
    case OutputFormat::kJson:
      session_.out << MessageJson(report);
      break;
  }
}

int CheckRun::Finish(CheckOutcome outcome) {
  Report& report = outcome.report;
  if (!outcome.error.ok()) {
    report.set_schema_version(kReportSchemaVersion);
    report.set_started_at_ms(absl::ToUnixMillis(started_));
    report.set_elapsed_ms(absl::ToInt64Milliseconds(session_.now() - started_));
  } else if (report.schema_version() != kReportSchemaVersion) {
    report.add_notes(absl::StrCat("report schema ", report.schema_version(),
                                  " is not the one that this "
                                  "clusterctl reads (",
                                  kReportSchemaVersion,
                                  "); use the controller's version"));
  }
  report.set_verdict(SupportedVerdict(report));
  int status = ExitStatusOf(report.verdict(), fail_on_);
  if (!mistakes_.empty()) {
    status = RejectUsage(kCommand, mistakes_, session_);
  } else if (!outcome.error.ok()) {
    status = ReportFailure(kCommand, outcome.error, session_);
  } else if (!report.error().empty()) {
    status =
        ReportFailure(kCommand, absl::UnknownError(report.error()), session_);
  }
  Print(report);
  if (options_.report_file.empty()) return status;
  const absl::Status written =
      WriteTextFile(options_.report_file, MessageJson(report));
  if (written.ok()) return status;
  ReportFailure(
      kCommand,
      absl::InvalidArgumentError(absl::StrCat("--report ", written.message())),
      session_);
  return status == kExitPass ? kExitNoVerdict : status;
}

int CheckRun::Run() {
  ReadOptions();
  return Finish(options_.local ? AskLocalDaemon() : AskController());
}

}  // namespace

int RunCheck(const CheckOptions& options, Session& session) {
  return CheckRun(options, session).Run();
}

void WriteUsageReport(const std::string& report_file, const std::string& error,
                      Session& session) {
  Report report;
  report.set_schema_version(kReportSchemaVersion);
  report.set_started_at_ms(absl::ToUnixMillis(session.now()));
  report.set_verdict(UNKNOWN);
  report.set_error(SafeText(error, /*utf8=*/true));
  const absl::Status written = WriteTextFile(report_file, MessageJson(report));
  if (written.ok()) return;
  ReportFailure(
      kCommand,
      absl::InvalidArgumentError(absl::StrCat("--report ", written.message())),
      session);
}

}  // namespace clusterd
