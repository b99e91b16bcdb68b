#include "tests/sim/private_root.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>

#include "absl/strings/str_cat.h"
#include "tests/sim/host_folder.h"

namespace clusterd::sim {
namespace {

constexpr char kHccnConf[] = "etc/hccn.conf";
constexpr char kLogFolder[] = "var/log/hccn_tool";
constexpr mode_t kUsualConfMode = 0644;

absl::Status WriteConf(const HostFolder& folder, const RunSetup& setup,
                       const std::optional<std::string>& conf) {
  const mode_t mode = setup.conf_mode.value_or(kUsualConfMode);
  switch (setup.conf_kind) {
    case RunSetup::ConfKind::kDirectory:
      return folder.MakeFolder(kHccnConf);
    case RunSetup::ConfKind::kSymlink: {
      absl::Status status = folder.Link(kHccnConf, "hccn.conf.target");
      if (!status.ok()) return status;
      // A link that leads nowhere, where the record had no file.
      if (!conf) return absl::OkStatus();
      return folder.Write("etc/hccn.conf.target", *conf, mode);
    }
    case RunSetup::ConfKind::kFile:
      break;
  }
  if (!conf) return absl::OkStatus();
  return folder.Write(kHccnConf, *conf, mode);
}

absl::Status WriteLogFolder(const HostFolder& folder, const RunSetup& setup) {
  switch (setup.log_folder) {
    case RunSetup::LogFolder::kPresent:
      return folder.MakeFolder(kLogFolder);
    case RunSetup::LogFolder::kAbsent:
      return folder.MakeFolder("var/log");
    case RunSetup::LogFolder::kRegularFile:
      return folder.Write(kLogFolder, "");
  }
  return absl::OkStatus();
}

std::string PasswdText(const RunSetup& setup) {
  std::string text =
      "root:x:0:0:root:/root:/bin/sh\n"
      "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n";
  if (setup.in_passwd && geteuid() != 0) {
    absl::StrAppend(&text, "tester:x:", geteuid(), ":", getegid(),
                    ":tester:/:/bin/sh\n");
  }
  return text;
}

absl::Status Fill(const HostFolder& folder, const RunSetup& setup,
                  const std::optional<std::string>& conf) {
  DeviceState state = setup.state;
  // Only root may change devices; here root is the test's user.
  if (geteuid() != 0) state.Set("root_uid", absl::StrCat(geteuid()));
  absl::Status status = WriteConf(folder, setup, conf);
  status.Update(folder.Write("etc/passwd", PasswdText(setup)));
  if (setup.install_info) {
    status.Update(folder.Write("etc/ascend_install.info",
                               "Driver_Install_Path_Param=/usr/local/Ascend\n"
                               "Driver_Install_Status=complete\n"));
  }
  status.Update(WriteLogFolder(folder, setup));
  // Every user's run counts its own busy answers down.
  status.Update(folder.Write("var/lib/hccn_sim/state", state.Text(), 0666));
  return status;
}

bool BindReadOnly(const std::string& path) {
  return mount(path.c_str(), path.c_str(), nullptr, MS_BIND, nullptr) == 0 &&
         mount(nullptr, path.c_str(), nullptr, MS_BIND | MS_REMOUNT | MS_RDONLY,
               nullptr) == 0;
}

bool MountPrivately(const PrivateRoot& root, const RunSetup& setup) {
  const bool needed = setup.conf_read_only || setup.log_read_only;
  if (unshare(CLONE_NEWNS) != 0 ||
      mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
    return !needed;
  }
  if (setup.conf_read_only && !BindReadOnly(root.ConfPath())) return false;
  const std::string log = root.path() + "/var/log";
  if (setup.log_read_only && !BindReadOnly(log)) return false;
  // A tool that knows no HCCN_SIM_ROOT finds the same files in their places.
  const std::string etc = root.path() + "/etc";
  mount(etc.c_str(), "/etc", nullptr, MS_BIND | MS_REC, nullptr);
  mount(log.c_str(), "/var/log", nullptr, MS_BIND | MS_REC, nullptr);
  return true;
}

}  // namespace

absl::StatusOr<std::unique_ptr<PrivateRoot>> PrivateRoot::Create(
    const RunSetup& setup, const std::optional<std::string>& conf) {
  const char* where = getenv("TEST_TMPDIR");
  if (where == nullptr) where = getenv("TMPDIR");
  // A test's own folder may be closed to the user that the setup asks for.
  if (setup.uid) where = nullptr;
  std::string path =
      absl::StrCat(where == nullptr ? "/tmp" : where, "/hccn-replay.XXXXXX");
  if (mkdtemp(path.data()) == nullptr) {
    return absl::ErrnoToStatus(errno, path);
  }
  std::unique_ptr<PrivateRoot> root(new PrivateRoot(path));
  if (chmod(path.c_str(), 0755) != 0) return absl::ErrnoToStatus(errno, path);
  const mode_t usual_mask = umask(022);
  const absl::Status status = Fill(HostFolder(path), setup, conf);
  umask(usual_mask);
  if (!status.ok()) return status;
  return root;
}

PrivateRoot::~PrivateRoot() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::optional<std::string> PrivateRoot::ReadConf() const {
  struct stat found;
  if (stat(ConfPath().c_str(), &found) != 0) return std::nullopt;
  if (S_ISDIR(found.st_mode)) return "<directory>";
  return HostFolder(path_).Read(kHccnConf);
}

DeviceState PrivateRoot::ReadState() const {
  return HostFolder(path_).state().Read();
}

bool EnterPrivateRoot(const PrivateRoot& root, const RunSetup& setup) {
  if (!MountPrivately(root, setup)) return false;
  if (!setup.uid) return true;
  return setgroups(0, nullptr) == 0 && setgid(*setup.uid) == 0 &&
         setuid(*setup.uid) == 0;
}

bool MayEnterPrivately() {
  if (geteuid() != 0) return false;
  const pid_t child = fork();
  if (child == 0) {
    const bool may =
        unshare(CLONE_NEWNS) == 0 &&
        mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) == 0;
    _exit(may ? 0 : 1);
  }
  int status = 0;
  return child > 0 && waitpid(child, &status, 0) == child && status == 0;
}

}  // namespace clusterd::sim
