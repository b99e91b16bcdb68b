#include "client/command/request.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/files/user_files.h"
#include "config/report/message_json.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

constexpr absl::Duration kSpecTimeout = absl::Seconds(10);
// Of a spec without deadlines.
constexpr absl::Duration kDefaultRun = absl::Seconds(60);

}  // namespace

void Request::AddOutput(CLI::App& app, const std::string& why_no_short) {
  why_no_short_ = why_no_short;
  app.add_option("-o,--output", format_text_,
                 why_no_short.empty()
                     ? "table (default), short (one line for a chat message), "
                       "json"
                     : "table (default), json")
      ->type_name("FORMAT");
  app.add_option("--color", color_text_,
                 "auto (default; also obeys NO_COLOR and TERM=dumb), always, "
                 "never")
      ->type_name("WHEN");
}

void Request::AddTimeout(CLI::App& app, absl::Duration absent,
                         const std::string& words) {
  timeout_ = absent;
  app.add_option(
         "--timeout", timeout_text_,
         absl::StrCat("Give up after this long, e.g. 90s or 2m (default: ",
                      words.empty()
                          ? absl::StrCat(absl::ToInt64Seconds(absent), "s")
                          : words,
                      ")"))
      ->type_name("DURATION");
}

void Request::AddNamespace(CLI::App& app, const std::string& description) {
  app.add_option("--netns", namespace_text_, description)
      ->type_name("container:NAME|pid:N|path:P");
}

void Request::AddReport(CLI::App& app) {
  has_report_ = true;
  app.add_option("--report", report_file_,
                 "Also write the report as JSON, whatever happens")
      ->type_name("FILE");
}

void Request::ReadShared() {
  if (format_text_ == "short" && !why_no_short_.empty()) {
    AddMistake("--output: short ", why_no_short_, ", expected table or json");
  } else if (why_no_short_.empty()) {
    format_ = static_cast<OutputFormat>(
        ReadChoice("--output", format_text_, {"table", "short", "json"}));
  } else if (ReadChoice("--output", format_text_, {"table", "json"}) == 1) {
    format_ = OutputFormat::kJson;
  }
  color_ = static_cast<ColorMode>(
      ReadChoice("--color", color_text_, {"auto", "always", "never"}));
  absl::Duration timeout = timeout_;
  if (timeout_text_.empty() ||
      (absl::ParseDuration(timeout_text_, &timeout) &&
       timeout >= absl::Milliseconds(1) && timeout <= absl::Hours(24))) {
    timeout_ = timeout;
  } else {
    AddMistake("--timeout: \"", timeout_text_, "\" is no duration, expected ",
               "1ms to 24h, such as 90s or 2m");
  }
  if (!namespace_text_.empty()) {
    const auto target = ParseNetworkNamespace(namespace_text_);
    if (target.ok()) {
      network_namespace_ = *target;
    } else {
      AddMistake("--netns: ", target.status().message());
    }
  }
}

int Request::Work() {
  started_ = session().now();
  ReadShared();
  ReadOptions();
  std::unique_ptr<ControllerClient> client;
  absl::Status done;
  if (AsksController()) client = Connect();
  if (client != nullptr) done = Prepare(*client);
  if (mistakes_.empty() && done.ok()) done = Ask(client.get());
  ClearProgress();
  return mistakes_.empty() && done.ok() ? Finish() : FinishWithout(done);
}

int Request::FinishWithout(absl::Status error) {
  int status = kExitUsage;
  if (mistakes_.empty()) {
    status = ReportFailure(error);
  } else {
    status = RejectUsage();
    error = absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n"));
  }
  status = StatusOfFailure(status);
  return AnswerWithout(error) ? Deliver(status) : status;
}

void Request::WriteUsageReport(const std::string& report_file) {
  started_ = session().now();
  report_file_ = report_file;
  if (!has_report_) return;
  AnswerWithout(absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n")));
  WriteReport();
}

void Request::Print() {
  std::ostream& out = PrintsToErr() ? session().err : session().out;
  const Style style = PrintsToErr() ? StyleOfErr(session().terminal,
                                                 session().environment, color_)
                                    : OutStyle(color_);
  switch (format_) {
    case OutputFormat::kTable:
      PrintTable(style, out);
      break;
    case OutputFormat::kShort:
      out << Short(style.utf8) << "\n";
      break;
    case OutputFormat::kJson:
      out << MessageJson(Answer());
      break;
  }
}

void Request::CheckReport() {
  if (report_file_.empty()) return;
  const absl::Status target = CheckFileTarget(report_file_);
  if (target.ok()) return;
  AddMistake("--report ", target.message());
  report_file_.clear();
}

bool Request::WriteReport() {
  if (report_file_.empty()) return true;
  const absl::Status written =
      WriteTextFile(report_file_, MessageJson(Answer()));
  if (!written.ok()) Tell("--report ", written.message());
  return written.ok();
}

int Request::Deliver(int status) {
  Print();
  return !WriteReport() && status == kExitPass ? kExitNoVerdict : status;
}

uint64_t Request::ElapsedMs(absl::Time since) const {
  return static_cast<uint64_t>(
      std::max<int64_t>(0, absl::ToInt64Milliseconds(session().now() - since)));
}

void ClusterRequest::AddHosts(CLI::App& app, const std::string& verb,
                              const char* slurm_hint) {
  slurm_hint_ = slurm_hint;
  app.add_option("HOSTS", hosts_.hosts,
                 absl::StrCat("Hosts to ", verb, ", e.g. node[01-12,15]"))
      ->type_name("");
  app.add_option("-x,--exclude", hosts_.exclude, "Hosts to leave out")
      ->type_name("HOSTS")
      ->allow_extra_args(false);
  app.add_option("--hostfile", hosts_.hostfile,
                 "File with HOSTS on each line; # begins a comment")
      ->type_name("FILE");
  app.add_flag("--all", hosts_.all, "Every host, also inside a Slurm job");
}

void ClusterRequest::ReadOptions() {
  const size_t before = mistakes_.size();
  ExpandHosts(session().environment, hosts_, mistakes_);
  hosts_expanded_ = mistakes_.size() == before;
}

absl::Status ClusterRequest::Prepare(ControllerClient& client) {
  ASSIGN_OR_RETURN(spec_, client.Ask(&Controller::Stub::GetSpec, {},
                                     TimeoutOr(kSpecTimeout)));
  if (!hosts_expanded_) return absl::OkStatus();
  std::vector<std::string> hosts;
  for (const ServerSpec& server : spec_.spec().servers()) {
    hosts.push_back(server.host());
  }
  asked_ = ResolveHosts(hosts_, hosts, mistakes_);
  if (!hosts_.all || !hosts_.exclude.empty()) named_ = asked_;
  if (mistakes_.empty() && !hosts_.slurm_job.empty()) {
    Tell("the hosts of Slurm job ", hosts_.slurm_job, ", ",
         HostsText(asked_, 100), " (", slurm_hint_, ")");
  }
  return absl::OkStatus();
}

absl::Duration ClusterRequest::RunTimeout() const {
  const uint32_t run_ms = spec_.spec().deadlines().run_ms();
  return TimeoutOr((run_ms > 0 ? absl::Milliseconds(run_ms) : kDefaultRun) +
                   margin_);
}

std::string OlderSpecText(absl::string_view does) {
  return absl::StrCat("the controller refused a newer cluster.yaml and ", does,
                      " by the one before; clusterctl config show says why");
}

std::string LeftOutText(const std::vector<std::string>& left) {
  return absl::StrCat("leaves out ", left.size(),
                      " of the hosts asked for: ", HostsText(left, 200));
}

}  // namespace clusterd
