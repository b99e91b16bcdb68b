// The commands of clusterctl, one .cc file each. Every function adds one
// command with its options, help and examples to the tree; when the command
// line names that command, `run` gets what is to be done.
#ifndef CLIENT_COMMAND_COMMANDS_H_
#define CLIENT_COMMAND_COMMANDS_H_

#include <functional>

#include "CLI/CLI.hpp"
#include "client/command/session.h"
#include "client/connection/connection_settings.h"

namespace clusterd {

// Does the command's work; the exit status.
using CommandRun = std::function<int(Session&)>;

// `connection` holds what was given before the command's name and outlives the
// run; a command's own connection options write to it too.
void AddCheckCommand(CLI::App& root, ConnectionFlags& connection,
                     CommandRun& run);
void AddPlanCommand(CLI::App& root, ConnectionFlags& connection,
                    CommandRun& run);
void AddApplyCommand(CLI::App& root, ConnectionFlags& connection,
                     CommandRun& run);
void AddRollbackCommand(CLI::App& root, ConnectionFlags& connection,
                        CommandRun& run);
void AddHistoryCommand(CLI::App& root, ConnectionFlags& connection,
                       CommandRun& run);
void AddShowCommand(CLI::App& root, ConnectionFlags& connection,
                    CommandRun& run);
void AddHostsCommand(CLI::App& root, ConnectionFlags& connection,
                     CommandRun& run);
void AddDescribeCommand(CLI::App& root, ConnectionFlags& connection,
                        CommandRun& run);
void AddConfigCommand(CLI::App& root, ConnectionFlags& connection,
                      CommandRun& run);
void AddExplainCommand(CLI::App& root, CommandRun& run);
void AddVersionCommand(CLI::App& root, ConnectionFlags& connection,
                       CommandRun& run);

}  // namespace clusterd

#endif  // CLIENT_COMMAND_COMMANDS_H_
