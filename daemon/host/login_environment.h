// Variables of jobs that a host's own files set for every login:
//   /etc/environment       as pam_env(8) reads it: NAME=value, or with "export
//   "
//                          in front; nothing is expanded
//   /etc/profile.d/*.sh    as a shell reads it
// No shell runs: what only one could work out is named and has no value. Files
// that these include are not read.
#ifndef DAEMON_HOST_LOGIN_ENVIRONMENT_H_
#define DAEMON_HOST_LOGIN_ENVIRONMENT_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Adds what the file sets to what earlier ones did. By its path it is read as
// one of the two kinds. Of a shell's file:
// | export A=1, declare -x A='1', typeset -x, A=1; export A | set | | A=1
// alone, declare A=1, export -n A                     | not exported     | |
// setenv A 1, A = 1, export A = 1, A: 1, A-B=1            | not read         |
// | export A=$B, A=`b`, A+=1, : ${A:=1}, eval "A=1"         | computed | |
// unset A                                                 | set to ""        |
// | any of them within if, case, a loop, a function, or     | the same, | |
// after && and ||                                         | under a condition|
// | A=1 program                                             | nothing | Names
// that IsJobVariable does not know are left out.
void AddLoginFile(absl::string_view path, absl::string_view text,
                  EnvironmentFact::Variables* variables);

// None of the files has to be there. The codes of FileReader.
absl::StatusOr<EnvironmentFact::Variables> ReadLoginEnvironment(
    const FileReader& files);

}  // namespace clusterd

#endif  // DAEMON_HOST_LOGIN_ENVIRONMENT_H_
