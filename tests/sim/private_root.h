// A temporary folder with all that one run of the tool may see and change:
// etc/hccn.conf, etc/passwd, var/log, the state of the devices.
#ifndef TESTS_SIM_PRIVATE_ROOT_H_
#define TESTS_SIM_PRIVATE_ROOT_H_

#include <sys/types.h>

#include <memory>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "tests/sim/run_setup.h"

namespace clusterd::sim {

// Deletes the folder when it goes.
class PrivateRoot {
 public:
  // `conf`: content of hccn.conf; nullopt: no such file.
  static absl::StatusOr<std::unique_ptr<PrivateRoot>> Create(
      const RunSetup& setup, const std::optional<std::string>& conf);
  ~PrivateRoot();
  PrivateRoot(const PrivateRoot&) = delete;
  PrivateRoot& operator=(const PrivateRoot&) = delete;

  const std::string& path() const { return path_; }
  std::string ConfPath() const { return path_ + "/etc/hccn.conf"; }
  // Uses a record's form: the content, "<directory>", or nullopt.
  std::optional<std::string> ReadConf() const;
  DeviceState ReadState() const;

 private:
  explicit PrivateRoot(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

// Prepares a process before it becomes the tool: own view of /etc and /var/log,
// read-only mounts if the kernel allows them, the setup's user. False, with
// errno, if the setup is not possible.
bool EnterPrivateRoot(const PrivateRoot& root, const RunSetup& setup);

// True if this process has the rights of RunSetup::NeedsPrivilege.
bool MayEnterPrivately();

}  // namespace clusterd::sim

#endif  // TESTS_SIM_PRIVATE_ROOT_H_
