// Reads a launch's environment on this machine, except the devices: interfaces
// and their addresses, the addresses of its own name, job variables of every
// login, Docker, whether this is a container, and the open file limits of
// programs that start jobs.
#ifndef DAEMON_HOST_LAUNCH_OBSERVER_H_
#define DAEMON_HOST_LAUNCH_OBSERVER_H_

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "daemon/host/files/file_reader.h"
#include "proto/facts.pb.h"

namespace clusterd {

// Parses interfaces with their IPv4 addresses in order of index, from `ip -o -4
// address show` (iproute2 6.1):
//   2: eth0    inet 10.77.0.4/16 brd 10.77.255.255 scope global eth0\ …
// `up` is not set. InvalidArgument, quoting the line, for another form.
absl::StatusOr<InterfacesFact::Interfaces> ParseInterfaces(
    absl::string_view text);

// Parses each address once, from `getent ahostsv4 NAME` (glibc 2.36):
//   10.77.0.4       STREAM node07
// InvalidArgument, quoting the line, for another form.
absl::StatusOr<AddressesFact::Addresses> ParseResolved(absl::string_view text);

// Parses the soft and hard limit of open files from /proc/PID/limits (Linux,
// fs/proc/base.c):
//   Limit                     Soft Limit           Hard Limit           Units
//   Max open files            1024                 524288               files
// "unlimited" is the largest number. InvalidArgument without that line.
absl::StatusOr<OpenFilesLimit> ParseOpenFilesLimit(absl::string_view limits);

// Returns whether this machine is a container, from the files that Docker,
// Podman, systemd and Kubernetes leave in theirs. The codes of
// FileReader::CheckExists but NotFound.
absl::StatusOr<bool> IsContainer(const FileReader& files);

// Fills interfaces, own_name, docker_running, environment, in_container,
// open_files, directories, and peer_names of the request's peers, until one
// lookup exceeds 2 s. getent resolves names, within the budget: an unresponsive
// server costs at most a command's deadline. Docker's daemon is found by its
// pid file. Programs that start jobs are those of root that process 1 started.
// sshd is omitted where a file of pam_limits(8) names open files: a login's
// limits then depend on its user.
void ObserveLaunch(const HostAccess& host, const ObserveRequest& request,
                   HostFacts* facts);

// Finds the packages of a job's Python interpreter on this host:
//   /home/ann/venv/pyvenv.cfg                                  its search path
//   …/lib/python3.10/site-packages/torch-2.1.0.dist-info/METADATA
//     Metadata-Version: 2.1
//     Name: torch
//     Version: 2.1.0+cpu
// Reports only the requested packages. Only reads files, with `readlink`,
// `find` and `grep` as the job's user; never runs Python. Folders that .pth
// files name by absolute paths are read, too. Missing: ABSENT where the
// interpreter is not a file that the user may execute; NOT_PERMITTED where the
// user may not read a folder or metadata; NOT_QUERIED where the host lacks the
// user or a program; UNREADABLE where name and pyvenv.cfg do not show the
// interpreter's version, no folder has a package, or there is more than 1 MiB.
PythonFact ReadPython(const HostAccess& host, const PythonQuestion& question);

// Reads job variables that a host's own files set for every login:
//   /etc/environment     as pam_env(8) reads it: NAME=value, perhaps after
//                        "export "; nothing is expanded
//   /etc/profile.d/*.sh  as a shell reads it
// Runs no shell: a variable that only a shell could compute is named without a
// value. Included files, other login files and other files of the folder are
// not judged; the latter two are searched for names of variables.

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

#endif  // DAEMON_HOST_LAUNCH_OBSERVER_H_
