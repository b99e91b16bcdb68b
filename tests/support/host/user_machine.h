// A machine with one user, ann, whose folders the test fills.
#ifndef TESTS_SUPPORT_HOST_USER_MACHINE_H_
#define TESTS_SUPPORT_HOST_USER_MACHINE_H_

#include <grp.h>
#include <sys/stat.h>
#include <unistd.h>

#include <initializer_list>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "daemon/host/command/clock.h"
#include "daemon/host/command/posix_command_runner.h"
#include "gtest/gtest.h"
#include "tests/support/host/scratch_root.h"

namespace clusterd {

class UserMachineTest : public testing::Test {
 protected:
  // `programs` of the machine run this system's programs of that name.
  explicit UserMachineTest(std::initializer_list<const char*> programs) {
    const uid_t self = geteuid();
    user_ = self == 0 ? 65534 : self;
    group_ = self == 0 ? 65534 : getegid();
    // A user namespace may refuse to set groups, so the user stays.
    if (self == 0) {
      std::vector<gid_t> own(64);
      const int count = getgroups(64, own.data());
      can_become_ =
          count >= 0 && setgroups(static_cast<size_t>(count), own.data()) == 0;
    }
    chmod(root_.path().c_str(), 0755);
    root_.WriteProgram("/usr/bin/getent",
                       absl::StrCat("#!/bin/sh\necho 'ann:x:", user_, ":",
                                    group_, ":Ann:/home/ann:/bin/sh'\n"));
    root_.WriteProgram("/usr/bin/id",
                       absl::StrCat("#!/bin/sh\necho ", group_, "\n"));
    for (const char* name : programs) {
      root_.WriteProgram(
          absl::StrCat("/usr/bin/", name),
          absl::StrCat("#!/bin/sh\nexec /usr/bin/", name, " \"$@\"\n"));
    }
  }

  void SetUp() override {
    if (!can_become_) GTEST_SKIP() << "may not become another user here";
  }

  std::string Full(absl::string_view path) const {
    return absl::StrCat(root_.path(), path);
  }

  ScratchRoot root_{"/tmp"};  // The user may enter it.
  uid_t user_ = 0;
  gid_t group_ = 0;
  bool can_become_ = true;
  SystemClock clock_;
  PosixCommandRunner runner_;
};

}  // namespace clusterd

#endif  // TESTS_SUPPORT_HOST_USER_MACHINE_H_
