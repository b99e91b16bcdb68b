// Shows one program a file of its own in place of a file of the machine, in a
// mount namespace that ends with the program. For questions that write:
// whatever becomes of them, the machine's file stays as it is.
//
// The copy lies in a memory file system that only this namespace has and whose
// folder only root enters, so that nothing is left to remove, also after a
// kill. The folder around the file is read-only there: somebody who puts
// another file in its place takes our mount away with it (Linux 3.18 and
// later), and the program must not write that file either.
#ifndef DAEMON_HOST_COMMAND_PRIVATE_VIEW_H_
#define DAEMON_HOST_COMMAND_PRIVATE_VIEW_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "daemon/host/command/command_runner.h"

namespace clusterd {

struct PrivateView {
  std::string file;  // Without a link on the way.
  std::string folder;
  std::string text;
  uint32_t mode;
};

// Before there is a child. FailedPrecondition: no such file.
absl::StatusOr<PrivateView> MakePrivateView(const PrivateFile& file);

// In the child, before it becomes the program; takes no lock and no memory.
// Null, or, as a literal, what could not be had, with errno. Then the program
// must not run.
const char* EnterPrivateView(const PrivateView& view);

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_PRIVATE_VIEW_H_
