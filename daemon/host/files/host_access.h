// What an observation reaches a machine with: its files, its programs, and the
// time that is left.
#ifndef DAEMON_HOST_FILES_HOST_ACCESS_H_
#define DAEMON_HOST_FILES_HOST_ACCESS_H_

#include <string>

#include "daemon/host/command/clock.h"
#include "daemon/host/command/command_runner.h"
#include "daemon/host/files/file_reader.h"

namespace clusterd {

struct HostPaths {
  // Where the machine's files begin: "/" in production, a folder in tests.
  std::string root = "/";
};

// Both pointers outlive it.
struct HostAccess {
  HostPaths paths;
  CommandRunner* runner;
  const TimeBudget* budget;

  FileReader files() const { return FileReader(paths.root); }
};

}  // namespace clusterd

#endif  // DAEMON_HOST_FILES_HOST_ACCESS_H_
