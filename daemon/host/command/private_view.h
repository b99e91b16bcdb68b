// Shows one program a replacement of a machine's file, which never changes, in
// a mount namespace that ends with the program. For queries that write.
//
// The copy lies in a memory file system of this namespace alone, in a folder
// that only root enters, so nothing needs removal, even after a kill. The
// folder around the file is read-only there. Otherwise replacing the file would
// remove our mount (Linux 3.18 and later), and the program must not write the
// new file either.
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

// Called before the fork. FailedPrecondition: no such file.
absl::StatusOr<PrivateView> MakePrivateView(const PrivateFile& file);

// Called in the child, before it becomes the program; takes no lock and
// allocates no memory. Returns null, or a literal naming what failed, with
// errno: then the program must not run.
const char* EnterPrivateView(const PrivateView& view);

}  // namespace clusterd

#endif  // DAEMON_HOST_COMMAND_PRIVATE_VIEW_H_
