#include "client/command/command.h"

#include <algorithm>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "config/values/nearest_word.h"
#include "config/words/number_text.h"
#include "config/words/quoted_text.h"

namespace clusterd {
namespace {

constexpr size_t kMinIdCharacters = 4;
constexpr size_t kIdCharacters = 16;
constexpr absl::Duration kLongestTimeout = absl::Hours(24);

}  // namespace

size_t ReadChoice(absl::string_view option, absl::string_view value,
                  const std::vector<absl::string_view>& words,
                  MistakeList& mistakes) {
  const auto found = std::find(words.begin(), words.end(), value);
  if (found != words.end()) return found - words.begin();
  mistakes.push_back(
      absl::StrCat(option, ": \"", value, "\" is not known, expected ",
                   absl::StrJoin(words, ", "), DidYouMean(value, words)));
  return 0;
}

uint32_t ReadNumber(absl::string_view option, absl::string_view text,
                    std::pair<uint32_t, uint32_t> smallest_largest,
                    uint32_t absent, MistakeList& mistakes) {
  if (text.empty()) return absent;
  uint32_t number = 0;
  if (absl::SimpleAtoi(text, &number) && number >= smallest_largest.first &&
      number <= smallest_largest.second) {
    return number;
  }
  mistakes.push_back(absl::StrCat(option, ": \"", text, "\", expected ",
                                  smallest_largest.first, " to ",
                                  smallest_largest.second));
  return absent;
}

absl::Duration ReadTimeout(absl::string_view text, absl::Duration absent,
                           MistakeList& mistakes) {
  if (text.empty()) return absent;
  absl::Duration timeout;
  if (!absl::ParseDuration(text, &timeout) || timeout < absl::Milliseconds(1) ||
      timeout > kLongestTimeout) {
    mistakes.push_back(
        absl::StrCat("--timeout: \"", text,
                     "\" is no duration, expected 1ms to 24h, such "
                     "as 90s or 2m"));
    return absent;
  }
  return timeout;
}

void CheckRunId(absl::string_view argument, absl::string_view id,
                MistakeList& mistakes) {
  const bool known_characters =
      id.find_first_not_of("0123456789abcdef") == absl::string_view::npos;
  if (known_characters && id.size() >= kMinIdCharacters &&
      id.size() <= kIdCharacters) {
    return;
  }
  mistakes.push_back(absl::StrCat(
      argument, ": \"", id, "\", expected ", kMinIdCharacters, " to ",
      kIdCharacters,
      " characters 0-9 and a-f, as clusterctl history shows them"));
}

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

int Command::RejectUsage() {
  ClearProgress();
  return TellMistakes(name_, mistakes_, session());
}

int Command::ReportFailure(const absl::Status& failure) {
  for (const absl::string_view line : absl::StrSplit(failure.message(), '\n')) {
    Tell(line);
  }
  return ExitStatusOf(failure);
}

int TellMistakes(absl::string_view name, const MistakeList& mistakes,
                 Session& session) {
  const std::string program = absl::StrCat("clusterctl", Part(" ", name));
  const Style style =
      StyleOfErr(session.terminal, session.environment, ColorMode::kNever);
  for (const std::string& mistake : mistakes) {
    for (const absl::string_view line : absl::StrSplit(mistake, '\n')) {
      session.err << program << ": " << SafeText(line, style.utf8) << "\n";
    }
  }
  session.err << "see: " << program << " --help\n";
  return kExitUsage;
}

}  // namespace clusterd
