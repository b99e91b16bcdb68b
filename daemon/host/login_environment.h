// Reads job variables that a host's own files set for every login:
//   /etc/environment     as pam_env(8) reads it: NAME=value, perhaps after
//                        "export "; nothing is expanded
//   /etc/profile.d/*.sh  as a shell reads it
// Runs no shell: a variable that only a shell could compute is named without a
// value. Included files, other login files and other files of the folder are
// not judged; the latter two are searched for names of variables.
#ifndef DAEMON_HOST_LOGIN_ENVIRONMENT_H_
#define DAEMON_HOST_LOGIN_ENVIRONMENT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Adds the file's variables to those of earlier ones; its path determines its
// kind. Names that IsJobVariable does not know are omitted. In a shell's file:
//   export A=1, declare -x A='1', typeset -x, A=1; export A  set
//   A=1 alone, declare A=1, export -n A                      not exported
//   setenv A 1, A = 1, export A = 1, A: 1, A-B=1             not read
//   exprot A=1, set A=1, env A=1                             not read
//   export A=$B, A=`b`, A+=1, : ${A:=1}, eval "A=1"          computed
//   unset A                                                  set to ""
//   A=1 program                                              nothing
//   export A=a:1;b:2, export A=1 2, export A=a(b)            cut off
//   export A=1&b, export A=1|b                               cut off, not read
//   within if, case, a loop, a function, after && and ||     conditional
//   after a return under a condition, or an open quote       conditional
//   export A=1 && export B=1                                 set, both
//   in a here-document, after a return                       nothing
void AddLoginFile(absl::string_view path, absl::string_view text,
                  EnvironmentFact::Variables* variables);

// Every file may be missing. The codes of FileReader.
absl::StatusOr<EnvironmentFact::Variables> ReadLoginEnvironment(
    const FileReader& files);

}  // namespace clusterd

#endif  // DAEMON_HOST_LOGIN_ENVIRONMENT_H_
