// Everything a command gets from the process that it runs in, so that tests can
// run the whole program in-process.
#ifndef CLIENT_COMMAND_SESSION_H_
#define CLIENT_COMMAND_SESSION_H_

#include <functional>
#include <ostream>
#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "client/connection/connector.h"
#include "client/connection/interrupt.h"
#include "client/print/terminal.h"

namespace clusterd {

struct Session {
  std::ostream& out;  // Data.
  std::ostream& err;  // Talk.
  Terminal terminal;
  Environment environment;
  std::function<absl::Time()> now;
  Connector& connector;
  Interrupt& interrupt;
  // Where /etc is; "/" in production. Files named by the user are taken as
  // they are.
  std::string root;
  // In which moments are told.
  absl::TimeZone zone;
  // A line that the person types; see ReadTypedLine for what can go wrong.
  std::function<absl::StatusOr<std::string>()> read_line;
};

}  // namespace clusterd

#endif  // CLIENT_COMMAND_SESSION_H_
