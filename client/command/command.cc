#include "client/command/command.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "config/words/quoted_text.h"

namespace clusterd {

void Command::Begin(Session& session) {
  session_ = &session;
  line_ = std::make_unique<ProgressLine>(ErrStyle(), session.err);
}

int Command::Run(const ConnectionFlags& connection, Session& session) {
  Begin(session);
  connection_ = connection;
  const int status = Work();
  ClearProgress();
  return status;
}

int Command::RefuseLine(const MistakeList& mistakes,
                        const std::string& report_file, Session& session) {
  Begin(session);
  mistakes_ = mistakes;
  if (!report_file.empty()) WriteUsageReport(report_file);
  return RejectUsage();
}

std::unique_ptr<ControllerClient> Command::Connect() {
  const absl::StatusOr<ConnectionSettings> settings =
      ResolveConnection(connection_, session().environment,
                        SettingsFiles(session().environment, session().root));
  if (!settings.ok()) {
    mistakes_.emplace_back(settings.status().message());
    return nullptr;
  }
  const absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      session().connector.ToController(*settings);
  if (!channel.ok()) {
    mistakes_.emplace_back(channel.status().message());
    return nullptr;
  }
  return std::make_unique<ControllerClient>(
      *channel, absl::StrCat("controller ", settings->controller),
      session().interrupt);
}

void Command::Tell(absl::string_view text) {
  ClearProgress();
  session().err << "clusterctl " << name_ << ": "
                << SafeText(text, ErrStyle().utf8) << "\n";
}

void Command::TellLines(absl::string_view lines) {
  for (const absl::string_view line : absl::StrSplit(lines, '\n')) Tell(line);
}

int Command::RejectUsage() {
  for (const std::string& mistake : mistakes_) TellLines(mistake);
  session().err << "see: clusterctl " << name_ << " --help\n";
  return kExitUsage;
}

int Command::ReportFailure(const absl::Status& failure) {
  TellLines(failure.message());
  return ExitStatusOf(failure);
}

}  // namespace clusterd
