#include "client/command/command.h"

#include <filesystem>

#include "absl/algorithm/container.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/identity/tls_credentials.h"
#include "config/report/message_json.h"
#include "config/values/text_form.h"
#include "config/values/version.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"

namespace clusterd {

CLI::Option* AddListOption(CLI::App& app, const char* name,
                           const char* placeholder,
                           std::vector<std::string>& values) {
  return AddOption(app, name, placeholder, values)
      ->delimiter(',')
      ->allow_extra_args(false);
}

size_t CliCommand::ReadChoice(absl::string_view option, absl::string_view value,
                              const std::vector<absl::string_view>& words) {
  const auto found = absl::c_find(words, value);
  if (found != words.end()) return found - words.begin();
  AddMistake("msg-choice-not-known", option, value, absl::StrJoin(words, ", "),
             DidYouMeanWords(value, words));
  return 0;
}

uint32_t CliCommand::ReadCount(absl::string_view option, absl::string_view text,
                               uint32_t absent) {
  if (text.empty()) return absent;
  uint32_t count = 0;
  if (absl::SimpleAtoi(text, &count) && count >= 1 && count <= 100'000) {
    return count;
  }
  AddMistake("msg-count-out-of-range", option, text);
  return absent;
}

absl::Duration CliCommand::ReadDuration(absl::string_view option,
                                        const std::string& text,
                                        absl::Duration least,
                                        absl::Duration absent,
                                        absl::Duration most) {
  absl::Duration value = absent;
  if (text.empty()) return value;
  const bool is_one = absl::ParseDuration(text, &value);
  if (is_one && value >= least && value <= most) return value;
  AddMistake(is_one ? "msg-duration-out-of-range" : "msg-duration-not-valid",
             option, text, absl::FormatDuration(least),
             absl::FormatDuration(most));
  return absent;
}

void CliCommand::AddColor(CLI::App& app) {
  AddOption(app, "--color", "WHEN", color_text_);
}

void CliCommand::ReadColor() {
  color_ = static_cast<ColorMode>(
      ReadChoice("--color", color_text_, {"auto", "always", "never"}));
}

absl::Time CliCommand::ReadSince(absl::string_view option,
                                 const std::string& text) {
  static const LazyRE2 kDays = {R"((\d{1,5})d)"};
  const absl::Time now = session().now();
  int days = 0;
  absl::Duration ago;
  absl::Time time = absl::InfiniteFuture();
  if (text.empty()) return absl::InfinitePast();
  if (HasForm(text, *kDays, &days)) {
    time = now - absl::Hours(24 * days);
  } else if (absl::ParseDuration(text, &ago)) {
    if (ago > absl::ZeroDuration()) time = now - ago;
  } else {
    for (const char* format :
         {absl::RFC3339_full, "%Y-%m-%dT%H:%M%Ez", "%Y-%m-%d %H:%M:%S",
          "%Y-%m-%d %H:%M", "%Y-%m-%dT%H:%M:%S", "%Y-%m-%d"}) {
      if (absl::ParseTime(format, text, session().zone, &time, nullptr)) break;
    }
  }
  if (time <= now) return time;
  AddMistake(time < absl::InfiniteFuture() ? "msg-time-in-future"
                                           : "msg-time-not-valid",
             option, text);
  return absl::InfinitePast();
}

bool CliCommand::CheckNewFile(absl::string_view option,
                              const std::string& path) {
  std::error_code unknown;
  if (path.empty() || !std::filesystem::exists(path, unknown)) return true;
  AddMistake("msg-file-exists", option, path);
  return false;
}

void CliCommand::CheckRunId(absl::string_view argument, absl::string_view id) {
  static const LazyRE2 kForm = {"[0-9a-f]{4,16}"};
  if (HasForm(id, *kForm)) return;
  AddMistake("msg-run-id-not-valid", argument, id);
}

void CliCommand::Begin(Session& session) {
  session_ = &session;
  line_ = std::make_unique<ProgressLine>(ErrStyle(), session.err);
}

int CliCommand::Run(const ConnectionFlags& connection, Session& session) {
  Begin(session);
  connection_ = connection;
  const int status = Work();
  ClearProgress();
  return status;
}

int CliCommand::RefuseLine(const MistakeList& mistakes,
                           const std::string& report_file, Session& session) {
  Begin(session);
  mistakes_ = mistakes;
  if (!report_file.empty()) WriteUsageReport(report_file);
  return RejectUsage();
}

std::unique_ptr<ControllerClient> CliCommand::Connect() {
  const absl::StatusOr<ConnectionSettings> settings =
      ResolveConnection(connection_, session().environment,
                        SettingsFiles(session().environment, session().root));
  if (settings.ok()) {
    cluster_ = settings->cluster;
    controller_ = settings->controller;
  }
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      settings.ok() ? session().connector.ToController(*settings)
                    : settings.status();
  if (!channel.ok()) {
    AddMistakes("", channel.status(), mistakes_);
    return nullptr;
  }
  for (const FindingValue& line :
       EndingCertificates(settings->tls, session().now())) {
    Tell("warning", line);
  }
  channel_ = *channel;
  peer_ = Worded("controller-at", controller_);
  return std::make_unique<ControllerClient>(channel_, peer_,
                                            session().interrupt);
}

void CliCommand::TellLine(absl::string_view text) {
  ClearProgress();
  session().err << "clusterctl " << name_ << ": "
                << SafeText(text, ErrStyle().utf8) << std::endl;
}

int CliCommand::RejectUsage() {
  ClearProgress();
  return TellMistakes(name_, mistakes_, session());
}

int CliCommand::ReportFailure(const absl::Status& failure) {
  for (const FindingValue& line : MessageLines(failure)) {
    TellLine(ValueText(line));
  }
  return ExitStatusOf(failure);
}

void AddMistakes(absl::string_view head, const absl::Status& error,
                 MistakeList& mistakes) {
  for (const FindingValue& line : MessageLines(error)) {
    mistakes.push_back(head.empty() ? line : Worded("headed", head, line));
  }
}

absl::Status MistakesError(const MistakeList& mistakes) {
  return WithWords(absl::InvalidArgumentError(""), Lines(mistakes));
}

CommandError ErrorDocument(absl::string_view name, absl::string_view error,
                           int status) {
  CommandError document;
  document.set_schema_version(kReportSchemaVersion);
  document.set_command(std::string(name));
  document.set_error(std::string(error));
  document.set_exit_status(static_cast<uint32_t>(status));
  return document;
}

void PrintErrorJson(absl::string_view name, absl::string_view error, int status,
                    std::ostream& out) {
  out << MessageJson(ErrorDocument(name, error, status));
}

int TellMistakes(absl::string_view name, const MistakeList& mistakes,
                 Session& session) {
  const std::string program = absl::StrCat("clusterctl", Part(" ", name));
  const Style style = StyleOf(&Terminal::err_is_terminal, session.terminal,
                              session.environment, ColorMode::kNever);
  for (const FindingValue& mistake : mistakes) {
    for (const absl::string_view line :
         absl::StrSplit(ValueText(mistake), '\n')) {
      session.err << program << ": " << SafeText(line, style.utf8) << "\n";
    }
  }
  session.err << Say("see-help", program) << "\n";
  return kExitUsage;
}

}  // namespace clusterd
