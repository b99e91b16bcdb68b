// The common flow of commands that call the controller:
//
//   read the options  ->  connect  ->  prepare  ->  ask  ->  print  ->  status
//
// A command fills in the steps. One run names every mistake of the command
// line, and then asks nothing.
#ifndef CLIENT_COMMAND_REQUEST_H_
#define CLIENT_COMMAND_REQUEST_H_

#include "absl/types/span.h"
#include "client/command/command.h"
#include "client/command/host_selection.h"
#include "config/values/status_macros.h"
#include "config/values/version.h"
#include "config/words/quoted_text.h"
#include "google/protobuf/message.h"
#include "proto/facts.pb.h"
#include "proto/finding.pb.h"

namespace clusterd {

// Formats from kJsonl on exist only for a check's report.
enum class OutputFormat {
  kTable,
  kShort,
  kJson,
  kYaml,
  kJsonl,
  kJunit,
  kMarkdown,
  kHtml
};

class Request : public CliCommand {
 public:
  using CliCommand::CliCommand;

  // Adds the options of a call that the controller answers at once.
  void AddOptions(CLI::App& app) override {
    AddOutput(app);
    AddTimeout(app, kShortTimeout);
  }

 protected:
  // -o/--output and --color. `why_no_short` is for a command without that
  // format: a row, e.g. "ctl-not-of-one-host".
  void AddOutput(CLI::App& app, const std::string& why_no_short = "",
                 bool with_yaml = false);
  // As AddOutput, with the formats of a CheckedReport.
  void AddReportOutput(CLI::App& app);
  // --timeout, with this default.
  void AddTimeout(CLI::App& app, absl::Duration absent);
  void AddNamespace(CLI::App& app);  // --netns
  void AddReport(CLI::App& app);     // --report

  // The steps, in this order. Reads the command's own options; adds mistakes.
  virtual void ReadOptions() {}
  // False if the command needs no answer from the controller.
  virtual bool AsksController() const { return true; }
  // Resolves options by asking the controller; adds further mistakes.
  virtual absl::Status Prepare(ControllerClient& /*client*/) {
    return absl::OkStatus();
  }
  // `client` is nullptr unless AsksController.
  virtual absl::Status Ask(ControllerClient* client) = 0;
  // Called after a successful Ask.
  virtual int Finish() { return Deliver(kExitPass); }
  // Makes a partial answer after mistakes or an error. False if there is none.
  virtual bool AnswerWithout(const absl::Status& /*error*/) { return false; }
  // Decides the status of a request that failed.
  virtual int StatusOfFailure(int status) const { return status; }

  // The next step after an answer of a repeated request.
  enum class Next {
    kShow,   // Show it.
    kAgain,  // Hide it, and repeat the request.
    kEnd,    // Hide it, and end.
  };
  // May change the exit status.
  virtual Next AfterAnswer(int& /*status*/) { return Next::kShow; }
  // True if the request is repeated after an answer that was shown.
  virtual bool Repeats() { return false; }

  // The answer in each format. The default table is the short line.
  virtual const google::protobuf::Message& Answer() const = 0;
  virtual void PrintTable(const Style& style, std::ostream& out) {
    out << SafeShort(style) << "\n";
  }
  virtual std::string Short() const { return ""; }
  // Short, made safe for a terminal.
  std::string SafeShort(const Style& style) const {
    return SafeText(Short(), style.utf8);
  }
  // The answer, if it is the report of a check. nullptr refuses the formats of
  // a report (jsonl, junit, markdown, html).
  virtual const Report* CheckedReport() const { return nullptr; }
  // True if JSON has one line for each of many answers.
  virtual bool PrintsJsonLines() const { return false; }
  // True if another output uses stdout.
  virtual bool PrintsToErr() const { return false; }

  // Adds a mistake if the file of --report cannot be made.
  void CheckReport();
  // Prints the answer and writes the file of --report, unless AfterAnswer
  // forbids it; the exit status.
  int Deliver(int status);

  // The user's timeout, or `absent` if there is none.
  absl::Duration TimeoutOr(absl::Duration absent) const {
    return timeout_ > absl::ZeroDuration() ? timeout_ : absent;
  }
  uint64_t ElapsedMs(absl::Time since) const;

  OutputFormat format_ = OutputFormat::kTable;
  bool verbose_ = false;  // Value of --verbose, if a command has it.
  absl::Duration timeout_;
  std::string namespace_text_;          // Value of --netns.
  NetworkNamespace network_namespace_;  // No target if none was given.
  absl::Time started_;

 private:
  int Work() final;
  void WriteUsageReport(const std::string& report_file) final;
  void ReadShared();
  void ReadFormat();
  // Adds the mistake, with the formats that remain; selects the table.
  void RefuseFormat(absl::string_view row, const FindingValue& value,
                    absl::Span<const OutputFormat> left);
  absl::StatusOr<std::string> Text(const Style& style) const;  // Not a table.
  void Print();
  bool WriteReport();  // False: it could not be written.
  // Runs once from Prepare to the end.
  int RunOnce(ControllerClient* client);
  int FinishWithout(absl::Status error);
  int Show(int status);

  std::string format_text_ = "table";
  std::vector<OutputFormat> formats_ = {OutputFormat::kTable};  // It prints.
  std::string why_no_short_;
  std::string timeout_text_;
  std::string report_file_;

  Next next_ = Next::kShow;
};

// A request of a single call: options set the question. This program sets the
// answer's schema version.
template <typename Asked, typename Answered, typename Service = Controller>
class OneCall : public Request {
 public:
  using Call = grpc::Status (Service::Stub::*)(grpc::ClientContext*,
                                               const Asked&, Answered*);
  OneCall(const char* name, Call call) : Request(name), call_(call) {}

 protected:
  absl::Status Ask(ControllerClient* /*client*/) override {
    RpcClient<Service> client = ClientOf<Service>();
    ASSIGN_OR_RETURN(answer_, client.Ask(call_, asked_, timeout_));
    answer_.set_schema_version(kReportSchemaVersion);
    return absl::OkStatus();
  }
  const google::protobuf::Message& Answer() const override { return answer_; }

  Asked asked_;
  Answered answer_;

 private:
  const Call call_;
};

// A request about hosts of the spec: check and plan.
class ClusterRequest : public Request {
 public:
  // `margin`: how long a run may exceed the spec's deadline before it is hung.
  ClusterRequest(const char* name, absl::Duration margin)
      : Request(name), margin_(margin) {}

 protected:
  // Adds HOSTS, --exclude, --hostfile and --all. The row `slurm_hint` says what
  // --all does inside a Slurm job.
  void AddHosts(CLI::App& app, const char* slurm_hint);

  void ReadOptions() override;
  // Asks for the spec and finds the hosts in it.
  absl::Status Prepare(ControllerClient& client) override;

  // Makes the call about the hosts and the namespace of the command line, and
  // shows its progress. Otherwise as RpcClient::Follow.
  template <typename CallRequest, typename Event>
  auto Follow(ControllerClient& client,
              std::unique_ptr<grpc::ClientReader<Event>> (
                  Controller::Stub::*call)(grpc::ClientContext*,
                                           const CallRequest&),
              CallRequest request, const char* what,
              const OnInterrupt& on_interrupt = nullptr) {
    if (!namespace_text_.empty()) {
      *request.mutable_network_namespace() = network_namespace_;
    }
    for (const std::string& host : named_) request.add_hosts(host);
    return client.Follow(
        call, request, RunTimeout(), what,
        [this](const Event& event) {
          if (!event.has_progress()) return;
          progress_ = event.progress();
          OnProgress();
          ShowProgress(ProgressText(progress_, ErrStyle().utf8));
        },
        on_interrupt);
  }
  virtual void OnProgress() {}  // There is another progress_.

  HostSelection hosts_;
  GetSpecResponse spec_;
  std::vector<std::string> named_;  // The request names these; empty: all.
  std::vector<std::string> asked_;  // The same, but all named.
  CheckProgress progress_;          // At the run's last event.

 private:
  absl::Duration RunTimeout() const;

  const absl::Duration margin_;
  const char* slurm_hint_ = "";
  bool hosts_expanded_ = false;  // Without a mistake.
};

// Adds a note that is shown in the reader's language.
void AddNote(const FindingValue& words, Report& report);

// Adds a note to a report of another version's schema.
inline void NoteForeignSchema(uint32_t known, Report& report) {
  if (report.schema_version() == known) return;
  AddNote(Worded("msg-report-schema-differs", report.schema_version(), known),
          report);
}

// Words about a controller that "ctl-judges" or "ctl-plans" by an older spec,
// with the newer one's first mistake. `refused` has one mistake per line.
FindingValue OlderSpecWords(absl::string_view refused, absl::string_view does);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_REQUEST_H_
