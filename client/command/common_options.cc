#include "client/command/common_options.h"

#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "client/command/exit_status.h"
#include "client/print/terminal_text.h"
#include "config/spec/nearest_word.h"
#include "config/spec/network_namespace.h"

namespace clusterd {
namespace {

constexpr size_t kMinIdCharacters = 4;
constexpr size_t kIdCharacters = 16;
constexpr absl::Duration kLongestTimeout = absl::Hours(24);

// The position of `value` among `words`; 0 and a mistake if it is none.
size_t ReadChoice(const char* option, absl::string_view value,
                  const std::vector<absl::string_view>& words,
                  std::vector<std::string>& mistakes) {
  for (size_t i = 0; i < words.size(); ++i) {
    if (value == words[i]) return i;
  }
  mistakes.push_back(
      absl::StrCat(option, ": \"", value, "\" is not known, expected ",
                   absl::StrJoin(words, ", "), DidYouMean(value, words)));
  return 0;
}

void PrintLines(const std::string& command, absl::string_view text,
                Session& session) {
  const Style style =
      StyleOfErr(session.terminal, session.environment, ColorMode::kNever);
  for (const absl::string_view line : absl::StrSplit(text, '\n')) {
    session.err << "clusterctl " << command << ": "
                << SafeText(line, style.utf8) << "\n";
  }
}

}  // namespace

void AddHostOptions(CLI::App& command, const std::string& verb,
                    HostArguments& hosts) {
  command
      .add_option("HOSTS", hosts.hosts,
                  absl::StrCat("Hosts to ", verb, ", e.g. node[01-12,15]"))
      ->type_name("");
  command.add_option("-x,--exclude", hosts.exclude, "Hosts to leave out")
      ->type_name("HOSTS")
      ->allow_extra_args(false);
  command
      .add_option("--hostfile", hosts.hostfile,
                  "File with HOSTS on each line; # begins a comment")
      ->type_name("FILE");
  command.add_flag("--all", hosts.all, "Every host, also inside a Slurm job");
}

void AddNamespaceOption(CLI::App& command, const std::string& description,
                        std::string& text) {
  command.add_option("--netns", text, description)
      ->type_name("container:NAME|pid:N|path:P");
}

void AddOutputOptions(CLI::App& command, OutputFlags& flags,
                      const std::string& why_no_short) {
  flags.why_no_short = why_no_short;
  command
      .add_option(
          "-o,--output", flags.format,
          why_no_short.empty()
              ? "table (default), short (one line for a chat message), json"
              : "table (default), json")
      ->type_name("FORMAT");
  command
      .add_option("--color", flags.color,
                  "auto (default; also obeys NO_COLOR and TERM=dumb), always, "
                  "never")
      ->type_name("WHEN");
}

void AddConnectionOptions(CLI::App& command, ConnectionFlags& flags) {
  const std::string group = "Connection";
  command
      .add_option("--controller", flags.controller,
                  "Where the controller listens [CLUSTERD_CONTROLLER]")
      ->type_name("HOST:PORT")
      ->group(group);
  command
      .add_option("--cluster", flags.cluster,
                  "Name of the cluster [CLUSTERD_CLUSTER]")
      ->type_name("NAME")
      ->group(group);
  command
      .add_option("--ca", flags.ca,
                  "The cluster's CA certificate [CLUSTERD_CA]")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--cert", flags.cert, "Your certificate [CLUSTERD_CERT]")
      ->type_name("FILE")
      ->group(group);
  command.add_option("--key", flags.key, "Its private key [CLUSTERD_KEY]")
      ->type_name("FILE")
      ->group(group);
}

void AddTimeoutOption(CLI::App& command, const std::string& absent,
                      std::string& timeout) {
  command
      .add_option("--timeout", timeout,
                  absl::StrCat("Give up after this long, e.g. 90s or 2m "
                               "(default: ",
                               absent, ")"))
      ->type_name("DURATION");
}

OutputFormat ReadFormat(const OutputFlags& flags,
                        std::vector<std::string>& mistakes) {
  if (flags.why_no_short.empty()) {
    return static_cast<OutputFormat>(ReadChoice(
        "--output", flags.format, {"table", "short", "json"}, mistakes));
  }
  if (flags.format == "short") {
    mistakes.push_back(absl::StrCat("--output: short ", flags.why_no_short,
                                    ", expected table or json"));
    return OutputFormat::kTable;
  }
  return ReadChoice("--output", flags.format, {"table", "json"}, mistakes) == 0
             ? OutputFormat::kTable
             : OutputFormat::kJson;
}

ColorMode ReadColor(const OutputFlags& flags,
                    std::vector<std::string>& mistakes) {
  return static_cast<ColorMode>(ReadChoice(
      "--color", flags.color, {"auto", "always", "never"}, mistakes));
}

NetworkNamespace ReadNamespace(const std::string& text,
                               std::vector<std::string>& mistakes) {
  if (text.empty()) return {};
  const absl::StatusOr<NetworkNamespace> target = ParseNetworkNamespace(text);
  if (target.ok()) return *target;
  mistakes.push_back(absl::StrCat("--netns: ", target.status().message()));
  return {};
}

uint32_t ReadNumber(const char* option, const std::string& text,
                    std::pair<uint32_t, uint32_t> smallest_largest,
                    uint32_t absent, std::vector<std::string>& mistakes) {
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

void CheckRunId(const char* argument, const std::string& id,
                std::vector<std::string>& mistakes) {
  const bool known_characters =
      id.find_first_not_of("0123456789abcdef") == std::string::npos;
  if (known_characters && id.size() >= kMinIdCharacters &&
      id.size() <= kIdCharacters) {
    return;
  }
  mistakes.push_back(absl::StrCat(
      argument, ": \"", id, "\", expected ", kMinIdCharacters, " to ",
      kIdCharacters,
      " characters 0-9 and a-f, as clusterctl history shows them"));
}

bool CheckReportTarget(const std::string& report_file,
                       std::vector<std::string>& mistakes) {
  if (report_file.empty()) return true;
  std::error_code unknown;
  const auto there = std::filesystem::status(report_file, unknown);
  if (std::filesystem::is_directory(there)) {
    mistakes.push_back(absl::StrCat("--report ", report_file,
                                    ": is a folder, expected a file"));
    return false;
  }
  // Devices, pipes and our own stdout are written in place, files replaced.
  if (std::filesystem::exists(there) &&
      (!std::filesystem::is_regular_file(there) ||
       absl::StartsWith(report_file, "/dev/"))) {
    return true;
  }
  const std::filesystem::path target =
      std::filesystem::weakly_canonical(report_file, unknown);
  const std::string folder = target.parent_path().string();
  if (access(folder.empty() ? "." : folder.c_str(), W_OK | X_OK) == 0) {
    return true;
  }
  mistakes.push_back(
      absl::StrCat("--report ", report_file, ": ", std::strerror(errno)));
  return false;
}

absl::Duration ReadTimeout(absl::string_view text, absl::Duration absent,
                           std::vector<std::string>& mistakes) {
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

std::unique_ptr<ControllerClient> ConnectToController(
    const ConnectionFlags& flags, Session& session,
    std::vector<std::string>& mistakes) {
  const absl::StatusOr<ConnectionSettings> settings =
      ResolveConnection(flags, session.environment,
                        SettingsFiles(session.environment, session.root));
  if (!settings.ok()) {
    mistakes.push_back(std::string(settings.status().message()));
    return nullptr;
  }
  absl::StatusOr<std::shared_ptr<grpc::Channel>> channel =
      session.connector.ToController(*settings);
  if (!channel.ok()) {
    mistakes.push_back(std::string(channel.status().message()));
    return nullptr;
  }
  return std::make_unique<ControllerClient>(
      *std::move(channel), settings->controller, session.interrupt);
}

int RejectUsage(const std::string& command,
                const std::vector<std::string>& mistakes, Session& session) {
  for (const std::string& mistake : mistakes)
    PrintLines(command, mistake, session);
  session.err << "see: clusterctl " << command << " --help\n";
  return kExitUsage;
}

int ReportFailure(const std::string& command, const absl::Status& failure,
                  Session& session) {
  PrintLines(command, failure.message(), session);
  return ExitStatusOf(failure);
}

}  // namespace clusterd
