#include "client/command/request.h"

#include <algorithm>

#include "absl/algorithm/container.h"
#include "absl/strings/str_join.h"
#include "client/files/user_files.h"
#include "client/print/report_formats.h"
#include "config/html/report_html.h"
#include "config/report/message_json.h"
#include "config/rules/finding_words.h"
#include "config/values/network_namespace.h"
#include "config/words/subject_text.h"

namespace clusterd {
namespace {

// Used for a spec without deadlines.
constexpr absl::Duration kDefaultRun = absl::Seconds(60);

struct FormatRow {
  OutputFormat format;
  const char* word;
};

// Ordered as OutputFormat.
constexpr FormatRow kFormats[] = {
    {OutputFormat::kTable, "table"},       {OutputFormat::kShort, "short"},
    {OutputFormat::kJson, "json"},         {OutputFormat::kYaml, "yaml"},
    {OutputFormat::kJsonl, "jsonl"},       {OutputFormat::kJunit, "junit"},
    {OutputFormat::kMarkdown, "markdown"}, {OutputFormat::kHtml, "html"}};

std::vector<absl::string_view> WordsOf(absl::Span<const OutputFormat> formats) {
  return Each<absl::string_view>(formats, [](OutputFormat format) {
    return kFormats[static_cast<size_t>(format)].word;
  });
}

}  // namespace

void Request::AddOutput(CLI::App& app, const std::string& why_no_short,
                        bool with_yaml) {
  why_no_short_ = why_no_short;
  formats_ = {OutputFormat::kTable, OutputFormat::kShort, OutputFormat::kJson};
  if (!why_no_short.empty()) formats_.erase(formats_.begin() + 1);
  if (with_yaml) formats_.push_back(OutputFormat::kYaml);
  AddOption(app, "-o,--output", "FORMAT", format_text_);
  AddColor(app);
}

void Request::AddReportOutput(CLI::App& app) {
  AddOutput(app);
  formats_ = Each<OutputFormat>(kFormats, &FormatRow::format);
}

void Request::AddTimeout(CLI::App& app, absl::Duration absent) {
  timeout_ = absent;
  AddOption(app, "--timeout", "DURATION", timeout_text_);
}

void Request::AddNamespace(CLI::App& app) {
  AddOption(app, "--netns", "container:NAME|pid:N|path:P", namespace_text_);
}

void Request::AddReport(CLI::App& app) {
  AddOption(app, "--report", "FILE", report_file_);
}

void Request::ReadShared() {
  ReadFormat();
  ReadColor();
  timeout_ =
      ReadDuration("--timeout", timeout_text_, absl::Milliseconds(1), timeout_);
  if (!namespace_text_.empty()) {
    const auto target = ParseNetworkNamespace(namespace_text_);
    if (target.ok()) {
      network_namespace_ = *target;
    } else {
      AddMistakes("--netns: ", target.status(), mistakes_);
    }
  }
}

void Request::ReadFormat() {
  const std::vector<absl::string_view> words = WordsOf(formats_);
  const auto* const row = FirstWith(kFormats, &FormatRow::word, format_text_);
  if (row == nullptr || absl::c_linear_search(formats_, row->format)) {
    format_ = formats_[ReadChoice("--output", format_text_, words)];
  } else {
    const bool is_short = row->format == OutputFormat::kShort;
    RefuseFormat(is_short ? "msg-format-not-short" : "msg-format-of-report",
                 is_short ? Worded(why_no_short_) : ToFindingValue(row->word),
                 formats_);
  }
}

void Request::RefuseFormat(absl::string_view row, const FindingValue& value,
                           absl::Span<const OutputFormat> left) {
  AddMistake(row, value, absl::StrJoin(WordsOf(left), ", "));
  format_ = OutputFormat::kTable;
}

int Request::Work() {
  ReadShared();
  ReadOptions();
  std::unique_ptr<ControllerClient> client;
  if (AsksController()) client = Connect();
  for (;;) {
    const int status = RunOnce(client.get());
    const bool repeats =
        next_ == Next::kAgain ||
        (next_ == Next::kShow && mistakes_.empty() && Repeats());
    if (!repeats) return status;
  }
}

int Request::RunOnce(ControllerClient* client) {
  started_ = session().now();
  absl::Status done;
  if (client != nullptr) done = Prepare(*client);
  if (mistakes_.empty() && done.ok()) done = Ask(client);
  ClearProgress();
  if (mistakes_.empty() && done.ok() && format_ > OutputFormat::kYaml &&
      CheckedReport() == nullptr) {
    RefuseFormat("msg-format-of-other-report", ToFindingValue(format_text_),
                 absl::MakeSpan(formats_).first(
                     static_cast<size_t>(OutputFormat::kJsonl)));
  }
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
    error = MistakesError(mistakes_);
  }
  status = StatusOfFailure(status);
  if (AnswerWithout(error)) return Show(status);
  std::ostream& out = PrintsToErr() ? session().err : session().out;
  const CommandError document = ErrorDocument(name(), error.message(), status);
  if (format_ == OutputFormat::kJson) out << MessageJson(document);
  if (format_ == OutputFormat::kYaml) out << MessageYaml(document);
  if (format_ == OutputFormat::kJsonl) out << KindLine("error", "", document);
  return status;
}

void Request::WriteUsageReport(const std::string& report_file) {
  started_ = session().now();
  report_file_ = report_file;
  AnswerWithout(MistakesError(mistakes_));
  WriteReport();
}

absl::StatusOr<std::string> Request::Text(const Style& style) const {
  switch (format_) {
    case OutputFormat::kTable:
      break;
    case OutputFormat::kShort:
      return absl::StrCat(SafeShort(style), "\n");
    case OutputFormat::kJson:
      return PrintsJsonLines() ? OnOneLine(MessageJson(Answer()))
                               : MessageJson(Answer());
    case OutputFormat::kYaml:
      return MessageYaml(Answer());
    case OutputFormat::kJsonl:
      return ReportLines(Rendered(*CheckedReport()));
    case OutputFormat::kJunit:
      return ReportJunit(Rendered(*CheckedReport()));
    case OutputFormat::kMarkdown:
      return ReportMarkdown(Rendered(*CheckedReport()), verbose_);
    case OutputFormat::kHtml:
      return ReportHtml(*CheckedReport(), /*before=*/nullptr);
  }
  return "";
}

void Request::Print() {
  std::ostream& out = PrintsToErr() ? session().err : session().out;
  const Style style = PrintsToErr() ? ErrStyle(color_) : OutStyle(color_);
  const bool is_for_people = format_ == OutputFormat::kTable ||
                             format_ == OutputFormat::kShort ||
                             format_ == OutputFormat::kMarkdown;
  const InLanguage spoken(is_for_people ? CurrentLanguage()
                                        : Language::kEnglish);
  if (format_ == OutputFormat::kTable) return PrintTable(style, out);
  const absl::StatusOr<std::string> text = Text(style);
  if (text.ok()) {
    out << *text;
  } else {
    ReportFailure(text.status());
  }
}

void Request::CheckReport() {
  if (report_file_.empty()) return;
  const absl::Status target = CheckFileTarget(report_file_);
  if (target.ok()) return;
  AddMistakes("--report ", target, mistakes_);
  report_file_.clear();
}

bool Request::WriteReport() {
  if (report_file_.empty()) return true;
  const absl::Status written =
      WriteTextFile(report_file_, MessageJson(Answer()));
  if (!written.ok()) Tell("headed", "--report ", MessageWords(written));
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

void ClusterRequest::AddHosts(CLI::App& app, const char* slurm_hint) {
  slurm_hint_ = slurm_hint;
  AddOption(app, "HOSTS", "", hosts_.hosts);
  AddOption(app, "-x,--exclude", "HOSTS", hosts_.exclude)
      ->allow_extra_args(false);
  AddOption(app, "--hostfile", "FILE", hosts_.hostfile);
  app.add_flag("--all", hosts_.all);
}

void ClusterRequest::ReadOptions() {
  const size_t before = mistakes_.size();
  ExpandHosts(session().environment, hosts_, mistakes_);
  hosts_expanded_ = mistakes_.size() == before;
}

absl::Status ClusterRequest::Prepare(ControllerClient& client) {
  progress_.Clear();  // Removes the last round's.
  ASSIGN_OR_RETURN(spec_, client.Ask(&Controller::Stub::GetSpec, {},
                                     TimeoutOr(kShortTimeout)));
  if (!hosts_expanded_) return absl::OkStatus();
  const bool first = asked_.empty();
  asked_ = ResolveHosts(hosts_, spec_.spec(), mistakes_);
  if (!hosts_.all || !hosts_.exclude.empty()) named_ = asked_;
  if (first && mistakes_.empty() && !hosts_.slurm_job.empty()) {
    Tell("ctl-slurm-hosts", hosts_.slurm_job, HostsValue(asked_, 100),
         Worded(slurm_hint_));
  }
  return absl::OkStatus();
}

absl::Duration ClusterRequest::RunTimeout() const {
  const uint32_t run_ms = spec_.spec().deadlines().run_ms();
  // Twice, because an equal run that began earlier may have to end first.
  return TimeoutOr(2 * (run_ms > 0 ? absl::Milliseconds(run_ms) : kDefaultRun) +
                   margin_);
}

void AddNote(const FindingValue& words, Report& report) {
  auto& notes = *report.mutable_notes();
  const int place = std::min(report.said_size(), notes.size());
  report.add_notes(EnglishText(words));
  std::rotate(notes.begin() + place, notes.end() - 1, notes.end());
  *report.add_said() = words;
}

FindingValue OlderSpecWords(absl::string_view refused, absl::string_view does) {
  return Worded("msg-older-spec", Worded(does),
                refused.substr(0, refused.find('\n')));
}

}  // namespace clusterd
