// A command of clusterctl, its options and its work, and the program of all
// commands. Each command's help is a page in help/. A command that calls the
// controller is a Request (request.h).
#ifndef CLIENT_COMMAND_COMMAND_H_
#define CLIENT_COMMAND_COMMAND_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/connection/connector.h"
#include "client/connection/rpc_client.h"
#include "client/print/progress_line.h"
#include "config/report/verdict.h"
#include "config/words/message.h"
#include "config/words/terminal.h"

namespace clusterd {

// Time limit of a call that the controller answers at once.
inline constexpr absl::Duration kShortTimeout = absl::Seconds(10);

using MistakeList = std::vector<FindingValue>;

// The mistakes as one error, one per line. REQUIRES: not empty.
absl::Status MistakesError(const MistakeList& mistakes);
// Adds each line of the error, with `head` in front; nothing if it is OK.
void AddMistakes(absl::string_view head, const absl::Status& error,
                 MistakeList& mistakes);

// Adds an option; without a dash, an argument. Help names its `placeholder`,
// and describes it as help/en/options.txt and help/zh/options.txt do.
template <typename Value>
CLI::Option* AddOption(CLI::App& app, const std::string& name,
                       const char* placeholder, Value& value) {
  return app.add_option(name, value)->type_name(placeholder);
}
// Adds a required argument.
template <typename Value>
void AddArgument(CLI::App& app, const char* name, Value& value) {
  AddOption(app, name, "", value)->required();
}
// Adds an option whose values have the form "a,b", are repeated, or both.
CLI::Option* AddListOption(CLI::App& app, const char* name,
                           const char* placeholder,
                           std::vector<std::string>& values);

// Everything that a command gets from its process; tests replace it.
struct Session {
  std::ostream& out;  // Data.
  std::ostream& err;  // Messages.
  Terminal terminal;
  Environment environment;
  std::function<absl::Time()> now;
  Connector& connector;
  Interrupt& interrupt;
  // The folder of /etc; "/" in production. Does not apply to users' files.
  std::string root;
  // For printed times.
  absl::TimeZone zone;
  // Reads a line that the user types. Errors as ReadTypedLine.
  std::function<absl::StatusOr<std::string>()> read_line;
  std::string host_name;  // This machine's name; empty: not known.
  // Re-reads `terminal` for long-running commands; empty: it never changes.
  std::function<Terminal()> read_terminal = nullptr;
};

class CliCommand {
 public:
  // `name` is "check", or "config show" below "config". The page
  // help/config-show.txt must exist. `name` outlives the command.
  explicit CliCommand(const char* name) : name_(name) {}
  virtual ~CliCommand() = default;
  CliCommand(const CliCommand&) = delete;
  CliCommand& operator=(const CliCommand&) = delete;

  const char* name() const { return name_; }

  // Adds the command's own options.
  virtual void AddOptions(CLI::App& /*app*/) {}
  // True if the command also takes the options of the connection.
  virtual bool TakesConnection() const { return true; }

  // Does the command's work and returns the exit status. Called once.
  int Run(const ConnectionFlags& connection, Session& session);

  // Prints the mistakes of a line that cannot be parsed, also into the file of
  // --report if the command has that option.
  int RefuseLine(const MistakeList& mistakes, const std::string& report_file,
                 Session& session);

 protected:
  virtual int Work() = 0;
  virtual void WriteUsageReport(const std::string& /*report_file*/) {}

  Session& session() const { return *session_; }
  const ConnectionFlags& connection() const { return connection_; }
  Style OutStyle(ColorMode color) const {
    return StyleOf(&Terminal::out_is_terminal, session().terminal,
                   session().environment, color);
  }
  Style ErrStyle(ColorMode color = ColorMode::kAuto) const {
    return StyleOf(&Terminal::err_is_terminal, session().terminal,
                   session().environment, color);
  }

  // A client for the controller that flags, environment and files name; nullptr
  // after it has added mistakes. Sets cluster_ to the cluster that they name.
  // Warns of certificates that expire soon.
  std::unique_ptr<ControllerClient> Connect();
  // Another service of the same controller. REQUIRES: Connect made a client.
  template <typename Service>
  RpcClient<Service> ClientOf() {
    return RpcClient<Service>(channel_, peer_, session().interrupt);
  }

  // Shows a call's progress if stderr can. Any later message removes it.
  void ShowProgress(const std::string& text) { line_->Show(text); }
  void ClearProgress() { line_->Clear(); }

  // These read the values of options, which stay text while the command line is
  // parsed, so that one run can name every wrong value.

  // Adds a mistake with the words of that row and these values.
  template <typename... Values>
  void AddMistake(absl::string_view row, const Values&... values) {
    mistakes_.push_back(Worded(row, values...));
  }
  // The position of `value` among `words`; 0, with a mistake, if it is missing.
  size_t ReadChoice(absl::string_view option, absl::string_view value,
                    const std::vector<absl::string_view>& words);
  // A whole number of 1 to 100,000; `absent` if `text` is empty.
  uint32_t ReadCount(absl::string_view option, absl::string_view text,
                     uint32_t absent);
  // A duration of `least` to `most`; `absent` if `text` is empty.
  absl::Duration ReadDuration(absl::string_view option, const std::string& text,
                              absl::Duration least, absl::Duration absent,
                              absl::Duration most = absl::Hours(24));
  // --color, and its value in color_.
  void AddColor(CLI::App& app);
  void ReadColor();
  // A past moment: "2h" or "30d" ago, "2026-03-01 10:11", "2026-03-01"; the
  // infinite past if `text` is empty or malformed.
  absl::Time ReadSince(absl::string_view option, const std::string& text);
  // If the file to be made exists, adds a mistake and returns false.
  bool CheckNewFile(absl::string_view option, const std::string& path);
  // Adds a mistake unless `id` is an id of the history or the start of one.
  void CheckRunId(absl::string_view argument, absl::string_view id);

  // Prints "clusterctl COMMAND: " and the words of that row with these values,
  // as one line, made safe for a terminal.
  template <typename... Values>
  void Tell(absl::string_view row, const Values&... values) {
    TellLine(Say(row, values...));
  }
  // Prints the mistakes and points to help. Returns the status of wrong usage.
  int RejectUsage();
  // Prints each line of the message. Returns the exit status of the failure.
  int ReportFailure(const absl::Status& failure);

  MistakeList mistakes_;
  ColorMode color_ = ColorMode::kAuto;
  // Both empty before Connect, or if Connect did not find them.
  std::string cluster_;
  std::string controller_;  // HOST:PORT

 private:
  void Begin(Session& session);
  void TellLine(absl::string_view text);

  const char* const name_;
  std::string color_text_ = "auto";
  Session* session_ = nullptr;
  ConnectionFlags connection_;
  std::shared_ptr<grpc::Channel> channel_;
  FindingValue peer_;  // "controller head:7443"
  std::unique_ptr<ProgressLine> line_;
};

using CommandList = std::vector<std::unique_ptr<CliCommand>>;
template <typename... Commands>
void AddCommands(CommandList& commands) {
  (commands.push_back(std::make_unique<Commands>()), ...);
}
// Each adds the commands of one file, in the order of the help text.
void AddCheckCommand(CommandList& commands);
void AddHookCommand(CommandList& commands);
void AddPlanCommand(CommandList& commands);
void AddRunCommands(CommandList& commands);
void AddCancelCommands(CommandList& commands);
void AddHistoryCommands(CommandList& commands);
void AddDiffCommands(CommandList& commands);
void AddWatchCommand(CommandList& commands);
void AddHostCommands(CommandList& commands);
void AddLogsCommands(CommandList& commands);
void AddLockCommands(CommandList& commands);
void AddWaiverCommands(CommandList& commands);
void AddAuditCommands(CommandList& commands);
void AddConfigCommands(CommandList& commands);
void AddGenerateCommands(CommandList& commands);
void AddExplainCommand(CommandList& commands);
void AddTrustCommands(CommandList& commands);
void AddAnonymiseCommand(CommandList& commands);
// clusterctl help and completion; `root` of the tree outlives them.
void AddHelpCommands(const CLI::App& root, CommandList& commands);

// A page of help/ by its name, with blanks for dashes. REQUIRES: it exists.
absl::string_view HelpPageText(absl::string_view name);

// Refuses a word on the line of `command`, and suggests the nearest valid one.
FindingValue UnexpectedArgument(const CLI::App& command,
                                const std::string& word);

// Completion for a shell, for words after "clusterctl complete". `words` are
// those of the line, the last one as far as it is typed. Prints possible words,
// one per line, with a tab and a description; ":files" for a file. Waits a
// second for the controller. Prints nothing on stderr, and always returns 0.
int CompleteLine(const CLI::App& root, std::vector<std::string> words,
                 Session& session);

// Prints each mistake, made safe for a terminal, and a pointer to help. `name`
// of the command; empty: of the program. The status of wrong usage.
int TellMistakes(absl::string_view name, const MistakeList& mistakes,
                 Session& session);

// The JSON of -o json if there is no answer. `error` has a line per message.
CommandError ErrorDocument(absl::string_view name, absl::string_view error,
                           int status);
void PrintErrorJson(absl::string_view name, absl::string_view error, int status,
                    std::ostream& out);

// Runs the command that `arguments` (without the program's name) name, in the
// user's language, and returns the exit status. Help goes to session.out with
// status 0. A line that cannot be parsed gets one message, status 3, and with
// --report FILE also a report file with that message.
int RunClusterctl(const std::vector<std::string>& arguments, Session& session);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_COMMAND_H_
