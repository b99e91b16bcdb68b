// Options that several commands share, and how their values are read. Values
// stay text while the command line is parsed, so that a command can name every
// wrong one in one run.
#ifndef CLIENT_COMMAND_COMMON_OPTIONS_H_
#define CLIENT_COMMAND_COMMON_OPTIONS_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "client/command/host_selection.h"
#include "client/command/session.h"
#include "client/connection/connection_settings.h"
#include "client/connection/controller_client.h"
#include "client/print/terminal.h"
#include "proto/facts.pb.h"

namespace clusterd {

enum class OutputFormat { kTable, kShort, kJson };

struct OutputFlags {
  std::string format = "table";
  std::string color = "auto";
  std::string why_no_short;  // Empty: the command has that format too.
};

// HOSTS, --exclude, --hostfile and --all. `verb` says what happens to them,
// e.g. "check".
void AddHostOptions(CLI::App& command, const std::string& verb,
                    HostArguments& hosts);
// -o/--output and --color. `why_no_short` for a command without that format,
// e.g. "says nothing of one host".
void AddOutputOptions(CLI::App& command, OutputFlags& flags,
                      const std::string& why_no_short = "");
// --controller, --cluster, --ca, --cert, --key.
void AddConnectionOptions(CLI::App& command, ConnectionFlags& flags);
// --timeout, a text such as "90s"; `absent` says what holds without it.
void AddTimeoutOption(CLI::App& command, const std::string& absent,
                      std::string& timeout);
// --netns.
void AddNamespaceOption(CLI::App& command, const std::string& description,
                        std::string& text);

// Each adds a mistake, naming the option, the value and what was expected, and
// then returns the default.
OutputFormat ReadFormat(const OutputFlags& flags,
                        std::vector<std::string>& mistakes);
ColorMode ReadColor(const OutputFlags& flags,
                    std::vector<std::string>& mistakes);
// No target if `text` is empty.
NetworkNamespace ReadNamespace(const std::string& text,
                               std::vector<std::string>& mistakes);
// A whole number of `smallest` to `largest`; `absent` if `text` is empty.
uint32_t ReadNumber(const char* option, const std::string& text,
                    std::pair<uint32_t, uint32_t> smallest_largest,
                    uint32_t absent, std::vector<std::string>& mistakes);
// Adds a mistake if `id` is neither an id of the history nor the start of one.
void CheckRunId(const char* argument, const std::string& id,
                std::vector<std::string>& mistakes);
// False, and a mistake, if no file could be made at the path of --report.
bool CheckReportTarget(const std::string& report_file,
                       std::vector<std::string>& mistakes);
// `absent` if `text` is empty.
absl::Duration ReadTimeout(absl::string_view text, absl::Duration absent,
                           std::vector<std::string>& mistakes);

// A client for the controller that flags, environment and files name; nullptr
// after it has added mistakes.
std::unique_ptr<ControllerClient> ConnectToController(
    const ConnectionFlags& flags, Session& session,
    std::vector<std::string>& mistakes);

// Prints "clusterctl COMMAND: mistake" for each, made safe for a terminal, then
// where help is. The exit status for wrong usage.
int RejectUsage(const std::string& command,
                const std::vector<std::string>& mistakes, Session& session);

// Prints "clusterctl COMMAND: message", each line of it. The exit status that
// the failure stands for.
int ReportFailure(const std::string& command, const absl::Status& failure,
                  Session& session);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_COMMON_OPTIONS_H_
