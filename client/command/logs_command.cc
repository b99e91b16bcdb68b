// clusterctl logs searches a job's logs on hosts for HCCL's error codes.
// clusterctl bundle collects a vendor ticket's data in one file. clusterctl
// anonymise removes a site's addresses and names from a recording. The daemon
// does not do that, because it is root.
#include <algorithm>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/algorithm/container.h"
#include "client/command/command.h"
#include "client/command/request.h"
#include "client/files/user_files.h"
#include "client/print/logs_table.h"
#include "client/recording/recording.h"
#include "client/ticket/bundle.h"
#include "config/values/status_macros.h"
#include "config/values/text_form.h"
#include "config/values/version.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr absl::Duration kMargin = absl::Seconds(20);
// The controller asks eight hosts at once, each twice for at most two minutes.
constexpr absl::Duration kRoundTimeout = absl::Minutes(4);
constexpr size_t kHostsInRound = 8;

// Parses "64M" as bytes; nullopt for any other form.
std::optional<uint64_t> ParseBytes(absl::string_view text) {
  static const LazyRE2 kForm = {R"((\d{1,12})([KMG]?)(?:i?B)?)"};
  uint64_t number = 0;
  std::string unit;
  if (!HasForm(text, *kForm, &number, &unit) || number == 0) {
    return std::nullopt;
  }
  return number << (unit == "K" ? 10 : unit == "M" ? 20 : unit == "G" ? 30 : 0);
}

// The common part of logs and bundle.
class LogsRequestCommand : public ClusterRequest {
 public:
  explicit LogsRequestCommand(const char* name)
      : ClusterRequest(name, kMargin) {}

 protected:
  void AddQuery(CLI::App& app) {
    AddOption(app, "--job", "ID", job_);
    AddOption(app, "--user", "USER", user_);
    AddOption(app, "--since", "T", since_text_);
    AddOption(app, "--bytes", "N", bytes_text_);
  }

  void ReadOptions() override {
    ClusterRequest::ReadOptions();
    query_.set_user(user_);
    query_.set_job_id(job_);
    if (!since_text_.empty()) {
      query_.set_since_ms(
          absl::ToUnixMillis(ReadSince("--since", since_text_)));
    }
    if (!bytes_text_.empty()) {
      bytes_ = ParseBytes(bytes_text_);
      if (!bytes_.has_value()) {
        AddMistake("msg-bytes-not-valid", bytes_text_);
      }
    }
  }

  absl::Status AskHosts(ControllerClient& client, LogsRequest request,
                        const std::function<void(LogsOfHost&)>& on_host) {
    *request.mutable_query() = query_;
    for (const std::string& host : named_) request.add_hosts(host);
    const absl::Duration rounds =
        kRoundTimeout * static_cast<int64_t>(1 + asked_.size() / kHostsInRound);
    RETURN_IF_ERROR(client.ReadAll(
        &Controller::Stub::ReadLogs, request,
        TimeoutOr(std::min(rounds, absl::Hours(12))), [&](LogsEvent& event) {
          if (event.has_progress()) {
            ShowProgress(ProgressText(event.progress(), ErrStyle().utf8));
          } else if (event.has_host()) {
            on_host(*event.mutable_host());
          }
        }));
    ClearProgress();
    return absl::OkStatus();
  }

  LogsQuery query_;
  std::optional<uint64_t> bytes_;

 private:
  std::string job_;
  std::string user_;
  std::string since_text_;
  std::string bytes_text_;
};

class LogsCommand final : public LogsRequestCommand {
 public:
  LogsCommand() : LogsRequestCommand("logs") {}

  void AddOptions(CLI::App& app) override {
    AddHosts(app, "ctl-all-reads-logs");
    AddQuery(app);
    AddOutput(app);
    AddTimeout(app, absl::ZeroDuration());
  }

 private:
  absl::Status Ask(ControllerClient* client) override {
    query_.set_max_read_bytes(bytes_.value_or(0));
    RETURN_IF_ERROR(AskHosts(*client, {}, [this](LogsOfHost& host) {
      *answer_.add_hosts() = std::move(host);
    }));
    answer_.set_schema_version(kReportSchemaVersion);
    // Hosts answer in any order, so sort them.
    absl::c_sort(*answer_.mutable_hosts(), [](const auto& a, const auto& b) {
      return a.host() < b.host();
    });
    const InLanguage of_json(Language::kEnglish);
    AddCodes(spec_.spec(), &answer_);
    return absl::OkStatus();
  }

  int Finish() override {
    const std::vector<std::string> left = LeftOut(asked_, answer_.hosts());
    const bool complete = CountUnread(answer_) == 0 && left.empty();
    const int status = Deliver(complete ? kExitPass : kExitNoVerdict);
    if (!left.empty()) {
      Tell("ctl-answer-leaves-out", left.size(), HostsValue(left, 200));
    }
    return status;
  }
  const google::protobuf::Message& Answer() const override { return answer_; }
  void PrintTable(const Style& style, std::ostream& out) override {
    AddCodes(spec_.spec(), &answer_);
    PrintLogsTable(answer_, query_, style, out);
  }
  std::string Short() const override { return LogsShort(answer_); }

  LogsAnswer answer_;
};

class BundleCommand final : public LogsRequestCommand {
 public:
  BundleCommand() : LogsRequestCommand("bundle") {}

  void AddOptions(CLI::App& app) override {
    AddHosts(app, "ctl-all-bundles");
    AddOption(app, "--out", "FILE.tar.gz", out_)->required();
    AddQuery(app);
    AddTimeout(app, absl::ZeroDuration());
  }

 private:
  void ReadOptions() override {
    LogsRequestCommand::ReadOptions();
    if (!CheckNewFile("--out", out_)) return;
    const absl::Status target = CheckFileTarget(out_);
    if (!target.ok()) AddMistakes("--out: ", target, mistakes_);
  }

  absl::Status Ask(ControllerClient* client) override {
    bundle_.emplace(cluster_, session().now());
    const absl::StatusOr<Report> report =
        Follow(*client, &Controller::Stub::Check, CheckRequest(), "check");
    ClearProgress();
    if (report.ok()) {
      const InLanguage of_file(Language::kEnglish);
      bundle_->AddReport(*report);
    } else if (absl::IsCancelled(report.status())) {
      return report.status();
    } else {
      AddGap(absl::StrCat("check: ", report.status().message()));
    }
    query_.set_max_sent_bytes(bytes_.value_or(kSentBytes));
    LogsRequest request;
    request.set_record(true);
    std::set<std::string> without_facts(asked_.begin(), asked_.end());
    RETURN_IF_ERROR(
        AskHosts(*client, std::move(request), [&](LogsOfHost& host) {
          complete_ &= host.error().empty() && !host.logs().has_missing() &&
                       host.recording().gaps().empty();
          if (host.has_recording()) without_facts.erase(host.host());
          bundle_->AddHost(host);
        }));
    for (const std::string& host : without_facts) AddFacts(*client, host);
    ASSIGN_OR_RETURN(const std::string archive, bundle_->Finish());
    return WriteTextFile(out_, archive, kOwnerOnly);
  }

  // Called if a host does not allow logs, or has an older clusterd.
  void AddFacts(ControllerClient& client, const std::string& host) {
    DescribeHostRequest request;
    request.set_host(host);
    const absl::StatusOr<DescribeHostResponse> described =
        client.Ask(&Controller::Stub::DescribeHost, request, absl::Seconds(75));
    if (described.ok()) return bundle_->AddFacts(described->facts());
    AddGap(absl::StrCat(host, ": facts: ", described.status().message()));
  }

  void AddGap(std::string text) {
    complete_ = false;
    bundle_->AddGap(std::move(text));
  }

  int Finish() override {
    size_t removed = 0;
    for (const auto& [kind, count] : bundle_->removed()) removed += count;
    session().out << Say("ctl-bundle-written", out_,
                         Counted(bundle_->files(), "file"),
                         Worded("ctl-secrets", removed))
                  << "\n";
    if (!complete_) Tell("msg-bundle-incomplete");
    return complete_ ? kExitPass : kExitNoVerdict;
  }
  const google::protobuf::Message& Answer() const override { return query_; }
  void PrintTable(const Style& /*style*/, std::ostream& /*out*/) override {}

  // The most bytes that a host sends.
  static constexpr uint64_t kSentBytes = 512 << 10;

  std::string out_;
  std::optional<Bundle> bundle_;
  bool complete_ = true;
};

constexpr char kStandardInput[] = "/dev/stdin";

class AnonymiseCommand final : public CliCommand {
 public:
  AnonymiseCommand() : CliCommand("anonymise") {}

  void AddOptions(CLI::App& app) override {
    AddArgument(app, "FILE", file_);
    AddOption(app, "--from", "FILE", from_);
  }
  bool TakesConnection() const override { return false; }

 private:
  int Work() override {
    if (from_ == kStandardInput && session().terminal.in_is_terminal) {
      AddMistake("msg-stdin-empty");
      return RejectUsage();
    }
    const absl::StatusOr<int> runs = Anonymise();
    if (!runs.ok()) return ReportFailure(runs.status());
    session().out << Say("ctl-anonymised", *runs, file_) << "\n";
    return *runs == 0 ? kExitNoVerdict : kExitPass;
  }

  // The number of runs written. Names in the recording must not leak, so
  // messages have only the path.
  absl::StatusOr<int> Anonymise() const {
    ASSIGN_OR_RETURN(const std::string bytes, ReadTextFile(from_));
    const absl::StatusOr<HostRecording> recording = ParseHostRecording(bytes);
    RETURN_IF_ERROR(InFront(from_, recording.status()));
    ASSIGN_OR_RETURN(std::string key, RandomAddressKey());
    ASSIGN_OR_RETURN(
        const std::string text,
        FormatRecords(MakeRecords(*recording, AddressMap(std::move(key)))));
    RETURN_IF_ERROR(WriteNewFile(file_, text));
    return recording->runs_size();
  }

  std::string file_;
  std::string from_ = kStandardInput;
};

}  // namespace

void AddLogsCommands(CommandList& commands) {
  AddCommands<LogsCommand, BundleCommand>(commands);
}

void AddAnonymiseCommand(CommandList& commands) {
  AddCommands<AnonymiseCommand>(commands);
}

}  // namespace clusterd
