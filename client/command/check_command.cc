// clusterctl check: judges whether the cluster is ready.
#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/synchronization/mutex.h"
#include "client/command/job/job_options.h"
#include "client/command/request.h"
#include "client/print/progress_line.h"
#include "config/report/report_table.h"
#include "config/rules/finding_words.h"
#include "config/rules/judge.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"
#include "config/words/subject_text.h"
#include "config/words/words.h"

namespace clusterd {
namespace {

// The socket of clusterd without --socket.
constexpr char kDefaultSocket[] = "/run/clusterd/agent.sock";
constexpr absl::Duration kMargin = absl::Seconds(10);
// Time limit of a check by the local daemon.
constexpr absl::Duration kLocalTimeout = absl::Seconds(70);
// Pause between checks of --wait: a tenth of its time, and at most this.
constexpr absl::Duration kLongestPause = absl::Seconds(5);
constexpr int kAwaitedColumns = 400;
constexpr int kOwnJobColumns = 100;

// The findings at Ctrl-C. May outlive the command.
struct SoFar {
  // Keeps the program running until that call ends, which has a deadline.
  std::optional<Report> Wait() ABSL_LOCKS_EXCLUDED(mutex) {
    const auto is_answered = [this]() ABSL_SHARED_LOCKS_REQUIRED(mutex) {
      return !asking;
    };
    absl::MutexLock lock(&mutex);
    mutex.Await(absl::Condition(&is_answered));
    return std::move(report);
  }

  absl::Mutex mutex;
  std::string run_id ABSL_GUARDED_BY(mutex);
  bool asking ABSL_GUARDED_BY(mutex) = false;
  std::optional<Report> report ABSL_GUARDED_BY(mutex);
};

class CheckCommand final : public ClusterRequest {
 public:
  CheckCommand() : ClusterRequest("check", kMargin) {}

  void AddOptions(CLI::App& app) override {
    AddHosts(app, "ctl-all-checks");
    AddListOption(app, "--only", "RULE,..", only_);
    AddListOption(app, "--skip", "RULE,..", skip_);
    AddListOption(app, "--downgrade", "RULE,..", downgrade_);
    AddOption(app, "--fail-on", "STATE", fail_on_text_);
    job_options_.AddTo(app);
    job_options_.AddRankTable(app);
    AddOption(app, "--max-age", "DURATION", max_age_text_)->group("Job");
    AddNamespace(app);
    app.add_flag("--verbose", verbose_);
    AddReportOutput(app);
    AddReport(app);
    AddTimeout(app, absl::ZeroDuration());
    AddOption(app, "--wait", "DURATION", wait_text_);
    AddOption(app, "--watch", "DURATION", watch_text_);
    app.add_flag("--local", local_);
    AddOption(app, "--socket", "PATH", socket_);
  }

 private:
  bool AsksController() const override { return !local_; }

  void ReadOptions() override {
    fail_on_ = static_cast<FailOn>(
        ReadChoice("--fail-on", fail_on_text_, {"warn", "unknown", "fail"}));
    wait_ = ReadDuration("--wait", wait_text_, absl::Milliseconds(1),
                         absl::ZeroDuration());
    watch_ = ReadDuration("--watch", watch_text_, absl::Seconds(1),
                          absl::ZeroDuration());
    if (!wait_text_.empty() && !watch_text_.empty()) {
      AddMistake("msg-options-conflict", "--wait", "--watch");
    }
    if (!watch_text_.empty() &&
        (format_ == OutputFormat::kJunit || format_ == OutputFormat::kHtml)) {
      AddMistake("msg-watch-prints-reports",
                 format_ == OutputFormat::kHtml ? "html" : "junit");
    }
    wait_until_ = session().now() + wait_;
    selection_.mutable_only()->Assign(only_.begin(), only_.end());
    selection_.mutable_skip()->Assign(skip_.begin(), skip_.end());
    selection_.mutable_downgrade()->Assign(downgrade_.begin(),
                                           downgrade_.end());
    AddMistakes("", ValidateSelection(selection_), mistakes_);
    max_age_ = ReadDuration("--max-age", max_age_text_, absl::Milliseconds(1),
                            absl::ZeroDuration());
    if (local_) {
      CheckLocalOptions();
    } else if (IsAboutJob()) {
      CheckJobOptions();
      job_options_.Read(session().environment, mistakes_);
      judges_job_ = true;
    } else {
      ClusterRequest::ReadOptions();
    }
    if (!max_age_text_.empty() && !judges_job_) {
      AddMistake("msg-max-age-without-job");
    }
  }

  static FindingValue HostOptions() {
    return Worded("ctl-or", "HOSTS, --exclude, --hostfile", "--all");
  }
  bool NamesHosts() const {
    return !hosts_.hosts.empty() || !hosts_.exclude.empty() ||
           !hosts_.hostfile.empty() || hosts_.all;
  }

  // True inside a Slurm job, without options for hosts: that job is checked.
  bool IsAboutJob() const {
    if (!job_options_.given().empty()) return true;
    return !NamesHosts() && namespace_text_.empty() &&
           !ValueOf(session().environment, "SLURM_JOB_ID").empty() &&
           !ValueOf(session().environment, "SLURM_JOB_NODELIST").empty();
  }

  void CheckJobOptions() {
    if (NamesHosts()) {
      AddMistake("msg-options-conflict", job_options_.given(), HostOptions());
    }
    if (!namespace_text_.empty()) {
      AddMistake("msg-options-conflict", job_options_.given(), "--netns");
    }
  }

  void CheckLocalOptions() {
    const std::tuple<bool, const char*, FindingValue> refused[] = {
        {NamesHosts(), "ctl-local-one-host", HostOptions()},
        {!namespace_text_.empty(), "ctl-local-own-namespace",
         ToFindingValue("--netns")},
        {selection_.ByteSizeLong() > 0, "ctl-local-all-rules",
         Worded("ctl-or", "--only, --skip", "--downgrade")},
        {!job_options_.given().empty(), "ctl-local-no-job",
         ToFindingValue(job_options_.given())}};
    for (const auto& [is_given, why, options] : refused) {
      if (is_given) AddMistake("msg-local-refuses", Worded(why), options);
    }
  }

  absl::Status Prepare(ControllerClient& client) override {
    RETURN_IF_ERROR(ClusterRequest::Prepare(client));
    if (!judges_job_) return absl::OkStatus();
    const bool first = job_hosts_.empty();
    job_hosts_ = job_options_.Resolve(spec_.spec(), mistakes_);
    if (first && mistakes_.empty() && job_options_.is_own_job()) {
      Tell("ctl-own-job", job_options_.job().id(),
           HostsValue(job_hosts_, kOwnJobColumns));
    }
    return absl::OkStatus();
  }

  absl::Status Ask(ControllerClient* client) override {
    if (client == nullptr) return AskLocalDaemon();
    CheckRequest request;
    *request.mutable_selection() = selection_;
    if (judges_job_) {
      *request.mutable_job() = job_options_.job();
      request.set_max_age_ms(ToMs(max_age_));
    }
    const auto so_far = so_far_ = std::make_shared<SoFar>();
    absl::StatusOr<Report> report =
        Follow(*client, &Controller::Stub::Check, request, "check",
               [client, so_far](std::function<void()> leave) {
                 AskSoFar(*client, so_far, std::move(leave));
               });
    std::optional<Report> partial = so_far->Wait();
    if (absl::IsCancelled(report.status()) && partial.has_value()) {
      report = *std::move(partial);
    }
    ASSIGN_OR_RETURN(report_, std::move(report));
    CheckAnswer();
    return absl::OkStatus();
  }

  void OnProgress() override {
    absl::MutexLock lock(&so_far_->mutex);
    so_far_->run_id = progress_.run_id();
  }

  // Leaves the check once the controller has sent its findings so far, or
  // cannot. If no host is awaited, the check continues: its report is due.
  static void AskSoFar(ControllerClient& client,
                       const std::shared_ptr<SoFar>& so_far,
                       std::function<void()> leave) {
    CheckSoFarRequest request;
    {
      absl::MutexLock lock(&so_far->mutex);
      request.set_run_id(so_far->run_id);
      so_far->asking = !so_far->run_id.empty();
    }
    if (request.run_id().empty()) return leave();
    client.AskBeside(
        &Controller::StubInterface::async_interface::CheckSoFar, request,
        kShortTimeout,
        [so_far, leave = std::move(leave)](const grpc::Status& end,
                                           Report report) {
          {
            absl::MutexLock lock(&so_far->mutex);
            so_far->asking = false;
            if (end.ok()) so_far->report = std::move(report);
          }
          if (end.error_code() != grpc::StatusCode::FAILED_PRECONDITION) {
            leave();
          }
        });
  }

  std::string SocketPath() const {
    if (!socket_.empty()) return socket_;
    const std::string named = ValueOf(session().environment, "CLUSTERD_SOCKET");
    return named.empty() ? kDefaultSocket : named;
  }

  absl::Status AskLocalDaemon() {
    const std::string socket = SocketPath();
    const auto channel = session().connector.ToLocalDaemon(socket);
    if (!channel.ok()) {
      AddMistakes("", channel.status(), mistakes_);
      return channel.status();
    }
    LocalClient client(*channel, Worded("daemon-here", socket),
                       session().interrupt);
    ASSIGN_OR_RETURN(
        CheckSelfResponse response,
        client.Ask(&LocalAgent::Stub::CheckSelf, {}, TimeoutOr(kLocalTimeout)));
    report_ = std::move(*response.mutable_report());
    return absl::OkStatus();
  }

  // Marks the report as not about the requested subject.
  void Doubt(const FindingValue& why) {
    report_.set_verdict(report_.verdict() == FAIL ? FAIL : UNKNOWN);
    AddNote(why, report_);
  }

  void CheckAnswer() {
    if (report_.partial()) {
      const auto& awaited = report_.awaited();
      AddNote(
          Worded("msg-check-partial", Counted(awaited.size(), "host"),
                 report_.hosts_size(),
                 HostsValue({awaited.begin(), awaited.end()}, kAwaitedColumns)),
          report_);
    }
    // If the controller leaves out a requested host, it was not checked.
    const std::vector<std::string> left =
        LeftOut(judges_job_ ? job_hosts_ : named_, report_.hosts());
    if (!left.empty()) {
      Doubt(
          Worded("ctl-report-leaves-out", left.size(), HostsValue(left, 200)));
    }
    // An older controller without jobs judges whole hosts.
    if (judges_job_ && report_.job_servers() == 0) {
      Doubt(Worded("msg-report-not-about-job"));
    }
    // An older controller without namespaces judges the hosts' own.
    const std::string asked = NetworkNamespaceText(network_namespace_);
    const std::string& judged = report_.network_namespace();
    if (judged != asked) {
      Doubt(Worded("msg-report-of-other-namespace",
                   judged.empty() ? Worded("ctl-own-network-namespace")
                                  : Worded("ctl-network-namespace", judged),
                   asked.empty() ? Worded("ctl-own") : ToFindingValue(asked)));
    }
    if (spec_.refused().empty()) return;
    const FindingValue older = OlderSpecWords(spec_.refused(), "ctl-judges");
    AddNote(older, report_);
    // The short line has no notes.
    if (format_ == OutputFormat::kShort) Tell("headed", "", older);
  }

  int Finish() override {
    NoteForeignSchema(kReportSchemaVersion, report_);
    report_.set_verdict(SupportedVerdict(report_));
    if (report_.partial()) return Deliver(kExitNoVerdict);
    return Deliver(
        report_.error().empty()
            ? static_cast<int>(ExitStatusOf(report_.verdict(), fail_on_))
            : ReportFailure(absl::UnknownError(report_.error())));
  }

  Next AfterAnswer(int& status) override {
    const bool stopped = session().interrupt.fired();
    if (wait_ > absl::ZeroDuration()) {
      if (status == kExitPass || status == kExitUsage || stopped) {
        return Next::kShow;
      }
      const absl::Duration left = wait_until_ - session().now();
      if (left <= absl::ZeroDuration()) return Next::kShow;
      const absl::Duration pause = std::min(kLongestPause, wait_ / 10);
      if (!session().interrupt.Await(std::min(left, pause))) {
        ShowProgress(Say("ctl-checks-again"));
        return Next::kAgain;
      }
      Tell("msg-wait-interrupted");
      status = kExitNoVerdict;
    } else if (watch_ > absl::ZeroDuration()) {
      // If Ctrl-C interrupts a check, the status of the previous check counts.
      if (stopped && status == kExitNoVerdict && last_status_.has_value()) {
        status = *last_status_;
        return Next::kEnd;
      }
      last_status_ = status;
    }
    return Next::kShow;
  }

  bool Repeats() override {
    session().out.flush();
    return watch_ > absl::ZeroDuration() && !session().interrupt.Await(watch_);
  }

  bool AnswerWithout(const absl::Status& error) override {
    report_.Clear();
    report_.set_partial(session().interrupt.fired());
    report_.set_schema_version(kReportSchemaVersion);
    report_.set_started_at_ms(absl::ToUnixMillis(started_));
    report_.set_elapsed_ms(ElapsedMs(started_));
    report_.set_cluster(cluster_);
    report_.set_product(spec_.spec().product());
    if (judges_job_) {
      report_.set_job_id(SafeText(job_options_.job().id(), /*utf8=*/true));
      report_.set_job_servers(job_options_.job().servers_size());
    }
    report_.set_error(SafeText(error.message(), /*utf8=*/true));
    report_.set_verdict(UNKNOWN);
    if (local_ && !session().host_name.empty()) {
      HostStatus& self = *report_.add_hosts();
      self.set_host(session().host_name);
      self.set_state(UNKNOWN);
      self.set_no_facts_reason(report_.error());
    }
    if (progress_.answered() + progress_.failed() + progress_.pending() > 0) {
      AddNote(Worded("ctl-when-ended", ProgressWords(progress_)), report_);
    }
    return true;
  }

  const google::protobuf::Message& Answer() const override { return report_; }
  bool PrintsJsonLines() const override {
    return watch_ > absl::ZeroDuration();
  }
  void PrintTable(const Style& style, std::ostream& out) override {
    if (watch_ > absl::ZeroDuration()) {
      // The window shows a single report, from its top.
      out << (style.rewrites ? "\x1b[H\x1b[J" : "")
          << Painted(style, Paint::kBold,
                     absl::FormatTime("%Y-%m-%d %H:%M:%S %Ez", started_,
                                      session().zone))
          << Say("check-again", absl::FormatDuration(watch_)) << "\n\n";
    }
    // A report with only an error was printed on stderr.
    if (report_.error().empty() || !report_.notes().empty()) {
      PrintReportTable(Rendered(report_), style, verbose_, out);
    }
  }
  std::string Short() const override {
    return ReportShort(Rendered(report_), /*utf8=*/true);
  }
  const Report* CheckedReport() const override { return &report_; }

  // Lists have the form "a,b", are repeated, or both.
  std::vector<std::string> only_;
  std::vector<std::string> skip_;
  std::vector<std::string> downgrade_;
  std::string fail_on_text_ = "fail";
  bool local_ = false;
  std::string socket_;

  std::string wait_text_;
  std::string watch_text_;
  absl::Duration wait_;   // Zero: checks once.
  absl::Duration watch_;  // The same.
  absl::Time wait_until_;
  std::optional<int> last_status_;  // Status of the previous check of --watch.
  std::shared_ptr<SoFar> so_far_;   // For the running check.

  JobOptions job_options_;
  std::string max_age_text_;
  absl::Duration max_age_;  // Zero: checks now.
  bool judges_job_ = false;
  std::vector<std::string> job_hosts_;  // By their names, in the spec's order.

  RuleSelection selection_;
  FailOn fail_on_ = FailOn::kFail;
  Report report_;
};

}  // namespace

void AddCheckCommand(CommandList& commands) {
  AddCommands<CheckCommand>(commands);
}

}  // namespace clusterd
