#include "client/command/request.h"

#include <algorithm>
#include <iterator>
#include <map>

#include "absl/algorithm/container.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/files/user_files.h"
#include "config/report/message_json.h"
#include "config/spec/host_names.h"
#include "config/values/hostlist.h"
#include "config/values/nearest_word.h"
#include "config/values/network_namespace.h"
#include "config/values/status_macros.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Of a spec without deadlines.
constexpr absl::Duration kDefaultRun = absl::Seconds(60);

constexpr size_t kMaxHostfileBytes = 32 << 20;
// Unknown hosts that get a line of their own; the rest share one.
constexpr size_t kNamedUnknown = 10;
constexpr int kHostsColumns = 200;

// Adds the names of one hostlist. `where` says where it was given.
void Expand(const std::string& where, absl::string_view text,
            std::vector<std::string>& names,
            std::vector<std::string>& mistakes) {
  const absl::string_view list = absl::StripAsciiWhitespace(text);
  std::string why;
  if (list.empty()) {
    why = "is empty, expected host names";
  } else if (absl::StrContains(list, '@')) {
    why = absl::StrCat("host groups (\"", list,
                       "\") are not supported yet, expected names such as "
                       "node[01-12,15]");
  } else {
    const auto expanded = ExpandHostlist(list);
    if (expanded.ok()) {
      names.insert(names.end(), expanded->begin(), expanded->end());
      return;
    }
    why = std::string(expanded.status().message());
  }
  mistakes.push_back(absl::StrCat(where, ": ", why));
}

void ExpandHostfile(const std::string& path, std::vector<std::string>& names,
                    std::vector<std::string>& mistakes) {
  const absl::StatusOr<std::string> text =
      ReadTextFile(path, kMaxHostfileBytes);
  if (!text.ok()) {
    mistakes.push_back(absl::StrCat("--hostfile ", text.status().message()));
    return;
  }
  const size_t names_before = names.size();
  const size_t mistakes_before = mistakes.size();
  int number = 0;
  for (const absl::string_view line : absl::StrSplit(*text, '\n')) {
    ++number;
    const absl::string_view list =
        absl::StripAsciiWhitespace(line.substr(0, line.find('#')));
    if (list.empty()) continue;
    Expand(absl::StrCat(path, ":", number), list, names, mistakes);
  }
  if (names.size() == names_before && mistakes.size() == mistakes_before) {
    mistakes.push_back(absl::StrCat("--hostfile ", path, ": names no host"));
  }
}

void AddUnknownHosts(const std::vector<std::string>& unknown,
                     absl::Span<const std::string> spec_hosts,
                     std::vector<std::string>& mistakes) {
  const std::vector<absl::string_view> candidates(spec_hosts.begin(),
                                                  spec_hosts.end());
  for (size_t i = 0; i < unknown.size() && i < kNamedUnknown; ++i) {
    mistakes.push_back(absl::StrCat("host \"", unknown[i],
                                    "\" is not in the spec",
                                    DidYouMean(unknown[i], candidates)));
  }
  if (unknown.size() <= kNamedUnknown) return;
  const auto rest = absl::MakeConstSpan(unknown).subspan(kNamedUnknown);
  mistakes.push_back(absl::StrCat("nor are ", rest.size(), " more hosts: ",
                                  HostsText(rest, kHostsColumns)));
}

}  // namespace

void Request::AddOutput(CLI::App& app, const std::string& why_no_short) {
  why_no_short_ = why_no_short;
  AddOption(app, "-o,--output", "FORMAT", format_text_,
            why_no_short.empty()
                ? "table (default), short (one line for a chat message), "
                  "json"
                : "table (default), json");
  AddOption(app, "--color", "WHEN", color_text_,
            "auto (default; also obeys NO_COLOR and TERM=dumb), always, "
            "never");
}

void Request::AddTimeout(CLI::App& app, absl::Duration absent,
                         const std::string& words) {
  timeout_ = absent;
  AddOption(app, "--timeout", "DURATION", timeout_text_,
            absl::StrCat("Give up after this long, e.g. 90s or 2m (default: ",
                         words.empty()
                             ? absl::StrCat(absl::ToInt64Seconds(absent), "s")
                             : words,
                         ")"));
}

void Request::AddNamespace(CLI::App& app, const std::string& description) {
  AddOption(app, "--netns", "container:NAME|pid:N|path:P", namespace_text_,
            description);
}

void Request::AddReport(CLI::App& app) {
  AddOption(app, "--report", "FILE", report_file_,
            "Also write the report as JSON, whatever happens");
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
  timeout_ =
      ReadDuration("--timeout", timeout_text_, absl::Milliseconds(1), timeout_);
  if (!namespace_text_.empty()) {
    const auto target = ParseNetworkNamespace(namespace_text_);
    if (target.ok()) {
      network_namespace_ = *target;
    } else {
      AddMistake("--netns: ", target.status().message());
    }
  }
}

absl::Duration Request::ReadDuration(absl::string_view option,
                                     const std::string& text,
                                     absl::Duration least,
                                     absl::Duration absent) {
  absl::Duration value = absent;
  if (text.empty() || (absl::ParseDuration(text, &value) && value >= least &&
                       value <= absl::Hours(24))) {
    return value;
  }
  AddMistake(option, ": \"", text, "\" is no duration, expected ",
             absl::FormatDuration(least), " to 24h, such as 90s or 2m");
  return absent;
}

int Request::Work() {
  ReadShared();
  ReadOptions();
  std::unique_ptr<ControllerClient> client;
  if (AsksController()) client = Connect();
  for (;;) {
    const int status = Look(client.get());
    const bool repeats =
        next_ == Next::kAgain ||
        (next_ == Next::kShow && mistakes_.empty() && Repeats());
    if (!repeats) return status;
  }
}

int Request::Look(ControllerClient* client) {
  started_ = session().now();
  absl::Status done;
  if (client != nullptr) done = Prepare(*client);
  if (mistakes_.empty() && done.ok()) done = Ask(client);
  ClearProgress();
  return mistakes_.empty() && done.ok() ? Finish() : FinishWithout(done);
}

int Request::FinishWithout(absl::Status error) {
  int status = kExitUsage;
  if (mistakes_.empty()) {
    status = ExitStatusOf(error);
    next_ = AfterAnswer(status);
    if (next_ != Next::kShow) return status;
    ReportFailure(error);
  } else {
    next_ = Next::kShow;
    RejectUsage();
    error = absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n"));
  }
  status = StatusOfFailure(status);
  if (AnswerWithout(error)) return Show(status);
  if (format_ == OutputFormat::kJson) {
    PrintErrorJson(name(), error.message(), status,
                   PrintsToErr() ? session().err : session().out);
  }
  return status;
}

void Request::WriteUsageReport(const std::string& report_file) {
  started_ = session().now();
  report_file_ = report_file;
  AnswerWithout(absl::InvalidArgumentError(absl::StrJoin(mistakes_, "\n")));
  WriteReport();
}

void Request::Print() {
  std::ostream& out = PrintsToErr() ? session().err : session().out;
  const Style style = PrintsToErr() ? ErrStyle(color_) : OutStyle(color_);
  if (format_ == OutputFormat::kTable) {
    PrintTable(style, out);
  } else if (format_ == OutputFormat::kShort) {
    out << Short(style.utf8) << "\n";
  } else {
    const std::string json = MessageJson(Answer());
    out << (PrintsJsonLines() ? OnOneLine(json) : json);
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
  next_ = AfterAnswer(status);
  return next_ == Next::kShow ? Show(status) : status;
}

int Request::Show(int status) {
  Print();
  return !WriteReport() && status == kExitPass ? kExitNoVerdict : status;
}

uint64_t Request::ElapsedMs(absl::Time since) const {
  return static_cast<uint64_t>(
      std::max<int64_t>(0, absl::ToInt64Milliseconds(session().now() - since)));
}

void ExpandHosts(const Environment& environment, HostSelection& selection,
                 std::vector<std::string>& mistakes) {
  const std::vector<std::string> lists = std::move(selection.hosts);
  selection.hosts.clear();
  for (const std::string& list : lists) {
    Expand("HOSTS", list, selection.hosts, mistakes);
  }
  if (!selection.hostfile.empty()) {
    ExpandHostfile(selection.hostfile, selection.hosts, mistakes);
  }
  const bool is_named = !lists.empty() || !selection.hostfile.empty();
  const auto job = environment.find("SLURM_JOB_ID");
  const auto nodes = environment.find("SLURM_JOB_NODELIST");
  const bool is_in_job = job != environment.end() && nodes != environment.end();
  if (selection.all && is_named) {
    mistakes.push_back(
        "--all: HOSTS or --hostfile are given too, expected one "
        "of them");
  } else if (!selection.all && !is_named && is_in_job) {
    selection.slurm_job = job->second;
    Expand("SLURM_JOB_NODELIST", nodes->second, selection.hosts, mistakes);
  } else {
    selection.all = !is_named;
  }
  std::vector<std::string> excluded;
  for (const std::string& list : selection.exclude) {
    Expand("--exclude", list, excluded, mistakes);
  }
  selection.exclude = std::move(excluded);
}

std::vector<std::string> ResolveHosts(HostSelection selection,
                                      const ClusterSpec& spec,
                                      std::vector<std::string>& mistakes) {
  const std::map<std::string, std::string> by_name = HostsByAnyName(spec);
  std::set<std::string> unknown_names;
  std::vector<std::string> unknown;
  for (auto* list : {&selection.hosts, &selection.exclude}) {
    for (std::string& name : *list) {
      const auto host = by_name.find(name);
      if (host != by_name.end()) {
        name = host->second;
      } else if (unknown_names.insert(name).second) {
        unknown.push_back(name);
      }
    }
  }
  const std::set<std::string> wanted(selection.hosts.begin(),
                                     selection.hosts.end());
  const std::set<std::string> excluded(selection.exclude.begin(),
                                       selection.exclude.end());
  std::vector<std::string> spec_hosts;
  for (const ServerSpec& server : spec.servers()) {
    spec_hosts.push_back(server.host());
  }
  AddUnknownHosts(unknown, spec_hosts, mistakes);

  std::vector<std::string> hosts;
  absl::c_copy_if(spec_hosts, std::back_inserter(hosts), [&](const auto& host) {
    return (selection.all || wanted.count(host) > 0) &&
           excluded.count(host) == 0;
  });
  if (hosts.empty() && unknown.empty()) {
    mistakes.push_back(spec_hosts.empty()
                           ? "no host to check: the spec has no servers"
                           : "no host to check: --exclude leaves none");
  }
  return hosts;
}

void ClusterRequest::AddHosts(CLI::App& app, const std::string& verb,
                              const char* slurm_hint) {
  slurm_hint_ = slurm_hint;
  AddOption(app, "HOSTS", "", hosts_.hosts,
            absl::StrCat("Hosts to ", verb, ", e.g. node[01-12,15]"));
  AddOption(app, "-x,--exclude", "HOSTS", hosts_.exclude, "Hosts to leave out")
      ->allow_extra_args(false);
  AddOption(app, "--hostfile", "FILE", hosts_.hostfile,
            "File with HOSTS on each line; # begins a comment");
  app.add_flag("--all", hosts_.all, "Every host, also inside a Slurm job");
}

void ClusterRequest::ReadOptions() {
  const size_t before = mistakes_.size();
  ExpandHosts(session().environment, hosts_, mistakes_);
  hosts_expanded_ = mistakes_.size() == before;
}

absl::Status ClusterRequest::Prepare(ControllerClient& client) {
  progress_.Clear();  // Of the look before.
  ASSIGN_OR_RETURN(spec_, client.Ask(&Controller::Stub::GetSpec, {},
                                     TimeoutOr(kShortTimeout)));
  if (!hosts_expanded_) return absl::OkStatus();
  const bool first = asked_.empty();
  asked_ = ResolveHosts(hosts_, spec_.spec(), mistakes_);
  if (!hosts_.all || !hosts_.exclude.empty()) named_ = asked_;
  if (first && mistakes_.empty() && !hosts_.slurm_job.empty()) {
    Tell("the hosts of Slurm job ", hosts_.slurm_job, ", ",
         HostsText(asked_, 100), " (", slurm_hint_, ")");
  }
  return absl::OkStatus();
}

absl::Duration ClusterRequest::RunTimeout() const {
  const uint32_t run_ms = spec_.spec().deadlines().run_ms();
  // Twice: an equal run that began earlier may have to end first.
  return TimeoutOr(2 * (run_ms > 0 ? absl::Milliseconds(run_ms) : kDefaultRun) +
                   margin_);
}

std::string OlderSpecText(absl::string_view refused, absl::string_view does) {
  return absl::StrCat(
      "the controller refused a newer cluster.yaml and ", does,
      " by the one before: ", refused.substr(0, refused.find('\n')),
      "; clusterctl config show has every mistake");
}

std::string LeftOutText(const std::vector<std::string>& left) {
  return absl::StrCat("leaves out ", left.size(),
                      " of the hosts asked for: ", HostsText(left, 200));
}

}  // namespace clusterd
